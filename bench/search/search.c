/* build/bench/search: see docs/simulate.md. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/units.h"
#include "bench.h"
#include "search/search.h"

static const char usage[] =
	"usage: search [--landscapes DIR] [--surfaces DIR] [--budgets 15,20,50] [--seeds N]\n"
	"              [--strategies LIST] [--without LIST] [--with LIST] [--experience siblings] [--jobs "
	"N]\n"
	"              [--hints] [--json FILE]\n"
	"Runs every strategy on every landscape (*.json) and surface (*.csv, defaults.json) and prints a "
	"table for\n"
	"each group of them. Strategies: all (default), or names with commas between; u is the controller, "
	"and the\n"
	"first one is what the others are compared with. --without and --with: operators and starts; each is "
	"one more\n"
	"strategy, the controller with it off (u-NAME) or on (u+NAME). NAME+NAME switches several at once.\n"
	"--hints: some failures of landscapes say what is to blame.\n";

static enum err_code whole_number(
	const char *option, const char *text, int most, int *ret, struct err *reterr)
{
	int64_t value;
	if (!parse_integer(text, &value) || value < 1 || value > most)
		return err_set(reterr, ERR_INPUT, "%s: expected an integer in 1 .. %d, got '%s'", option,
			most, text);
	*ret = (int)value;
	return OK;
}

static enum err_code read_budgets(struct bench_options *o, char *list, struct err *reterr)
{
	o->n_budgets = 0;
	for (char *rest = list, *word; (word = strsep(&rest, ","));) {
		int budget = 0;
		TRY(whole_number("--budgets", word, 10000, &budget, reterr));
		if (o->n_budgets == BUDGETS_MAX || (o->n_budgets && budget <= o->budgets[o->n_budgets - 1]))
			return err_set(
				reterr, ERR_INPUT, "--budgets: expected at most %d, ascending", BUDGETS_MAX);
		o->budgets[o->n_budgets++] = budget;
	}
	return OK;
}

static bool add_strategy(struct bench_options *o, const struct strategy *s)
{
	if (!s || o->n_strategies == STRATEGIES_MAX)
		return false;
	o->rules[o->n_strategies] = s;
	o->strategies[o->n_strategies++] = s->name;
	return true;
}

static void all_strategies(struct bench_options *o)
{
	size_t n;
	const struct strategy *list = strategy_list(&n);
	for (size_t i = 0; i < n; i++)
		(void)add_strategy(o, &list[i]);
}

static enum err_code read_strategies(struct bench_options *o, char *list, struct err *reterr)
{
	for (char *rest = list, *word; (word = strsep(&rest, ","));) {
		const struct strategy *s = strategy_find(strcmp(word, "u") == 0 ? "controller" : word);
		if (!add_strategy(o, s))
			return err_set(reterr, ERR_INPUT, "--strategies: there is no strategy '%s'", word);
	}
	return OK;
}

/* Bits of the starts that are on by default. */
static unsigned default_starts(void)
{
	unsigned bits = 0;
	for (int i = 0; i < N_STARTS; i++)
		bits |= (unsigned)search_start_part((enum search_start)i).on_by_default << i;
	return bits;
}

static enum err_code switch_part(
	struct search_switches *w, const char *option, const char *name, bool on, struct err *reterr)
{
	int start = switch_index(start_names, name);
	unsigned bits = 0;
	if (start < 0) {
		TRY(switches_read_operators(option, name, &bits, reterr));
		*(on ? &w->operators_on : &w->operators_off) |= bits;
		return OK;
	}
	if (!w->starts_given)
		w->starts = default_starts();
	w->starts_given = true;
	w->starts = on ? w->starts | 1u << start : w->starts & ~(1u << start);
	return OK;
}

/* The controller with one part switched, or several with + between them. */
static enum err_code add_variant(
	struct bench_options *o, const char *option, char *parts, bool on, struct err *reterr)
{
	int k = o->n_strategies;
	if (k == STRATEGIES_MAX)
		return err_set(reterr, ERR_INPUT, "%s: more than %d strategies", option, STRATEGIES_MAX);
	snprintf(o->variants[k], VARIANT_NAME_SIZE, "u%c%s", on ? '+' : '-', parts);
	for (char *rest = parts, *word; (word = strsep(&rest, "+"));)
		TRY(switch_part(&o->switches[k], option, word, on, reterr));
	o->rules[k] = strategy_find("controller");
	o->strategies[k] = o->variants[k];
	o->n_strategies++;
	return OK;
}

static enum err_code add_variants(
	struct bench_options *o, const char *option, char *list, bool on, struct err *reterr)
{
	for (char *rest = list, *word; (word = strsep(&rest, ","));)
		TRY(add_variant(o, option, word, on, reterr));
	return OK;
}

struct lists { /* read when all options are known */
	char *strategies, *without, *with;
};

static enum err_code read_lists(struct bench_options *o, const struct lists *lists, struct err *reterr)
{
	if (!lists->strategies || strcmp(lists->strategies, "all") == 0)
		all_strategies(o);
	else
		TRY(read_strategies(o, lists->strategies, reterr));
	TRY(add_variants(o, "--without", lists->without, false, reterr));
	return add_variants(o, "--with", lists->with, true, reterr);
}

static enum err_code read_option(
	struct bench_options *o, struct lists *lists, const char *name, char *value, struct err *reterr)
{
	if (strcmp(name, "--budgets") == 0)
		return read_budgets(o, value, reterr);
	char **list = strcmp(name, "--strategies") == 0 ? &lists->strategies
		      : strcmp(name, "--without") == 0  ? &lists->without
		      : strcmp(name, "--with") == 0     ? &lists->with
							: NULL;
	if (list) {
		*list = value;
		return OK;
	}
	if (strcmp(name, "--seeds") == 0)
		return whole_number(name, value, 100000, &o->seeds, reterr);
	if (strcmp(name, "--jobs") == 0)
		return whole_number(name, value, 1024, &o->jobs, reterr);
	const char **text = strcmp(name, "--landscapes") == 0 ? &o->landscapes
			    : strcmp(name, "--surfaces") == 0 ? &o->surfaces
			    : strcmp(name, "--json") == 0     ? &o->json
							      : NULL;
	if (text) {
		*text = value;
		return OK;
	}
	if (strcmp(name, "--experience") == 0 && strcmp(value, "siblings") == 0) {
		o->siblings = true;
		return OK;
	}
	return err_set(reterr, ERR_INPUT, "unknown option %s %s\n%s", name, value, usage);
}

static enum err_code read_options(struct bench_options *o, int argc, char **argv, struct err *reterr)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	*o = (struct bench_options){.budgets = {15, 20, 50}, .n_budgets = 3, .seeds = 3};
	o->jobs = cores > 0 ? (int)MIN_OF(cores, 1024L) : 1;
	struct lists lists = {NULL, NULL, NULL};
	for (int i = 1; i < argc; i += 2) {
		if (strcmp(argv[i], "--hints") == 0) {
			o->hints = true;
			i--;
			continue;
		}
		if (i + 1 == argc)
			return err_set(reterr, ERR_INPUT, "%s needs a value\n%s", argv[i], usage);
		TRY(read_option(o, &lists, argv[i], argv[i + 1], reterr));
	}
	return read_lists(o, &lists, reterr);
}

static enum err_code run(const struct bench_options *options, bool *ret_complete, struct err *reterr)
{
	struct bench b = {.options = options};
	enum err_code code = bench_load(&b, reterr);
	if (code == OK)
		code = bench_run(&b, ret_complete, reterr);
	if (code == OK) {
		bench_print_tables(&b, stdout);
		CLEANUP(free_ptr) char *json = bench_json(&b, *ret_complete);
		if (options->json)
			code = file_write_atomic(options->json, json, strlen(json), 0644, reterr);
	}
	bench_release(&b);
	return code;
}

int main(int argc, char **argv)
{
	struct bench_options options;
	struct err e = ERR_INIT;
	bool complete = false;
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	enum err_code code = read_options(&options, argc, argv, &e);
	if (code == OK)
		code = run(&options, &complete, &e);
	if (code != OK) {
		char text[sizeof(e.file) + sizeof(e.message) + 32];
		err_format(&e, text, sizeof(text));
		fprintf(stderr, "search: %s\n", text);
		return err_exit_code(code);
	}
	return complete ? 0 : 4;
}

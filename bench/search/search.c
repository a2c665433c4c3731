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
	"              [--strategies LIST] [--experience siblings] [--jobs N] [--json FILE]\n"
	"Runs every strategy on every landscape (*.json) and surface (*.csv, defaults.json) and prints a "
	"table for\n"
	"each group of them. Strategies: all (default), or names with commas between; u is the controller, "
	"and the\n"
	"first one is what the others are compared with.\n";

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

static void all_strategies(struct bench_options *o)
{
	size_t n;
	const struct strategy *list = strategy_list(&n);
	o->n_strategies = 0;
	for (size_t i = 0; i < n && i < STRATEGIES_MAX; i++)
		o->strategies[o->n_strategies++] = list[i].name;
}

static enum err_code read_strategies(struct bench_options *o, char *list, struct err *reterr)
{
	if (strcmp(list, "all") == 0)
		return OK;
	o->n_strategies = 0;
	for (char *rest = list, *word; (word = strsep(&rest, ","));) {
		const struct strategy *s = strategy_find(strcmp(word, "u") == 0 ? "controller" : word);
		if (!s || o->n_strategies == STRATEGIES_MAX)
			return err_set(reterr, ERR_INPUT, "--strategies: there is no strategy '%s'", word);
		o->strategies[o->n_strategies++] = s->name;
	}
	return OK;
}

static enum err_code read_option(struct bench_options *o, const char *name, char *value, struct err *reterr)
{
	if (strcmp(name, "--budgets") == 0)
		return read_budgets(o, value, reterr);
	if (strcmp(name, "--strategies") == 0)
		return read_strategies(o, value, reterr);
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
	all_strategies(o);
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			return err_set(reterr, ERR_INPUT, "%s needs a value\n%s", argv[i], usage);
		TRY(read_option(o, argv[i], argv[i + 1], reterr));
	}
	return OK;
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

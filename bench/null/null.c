/* build/bench/null: see docs/testing.md. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/units.h"
#include "null.h"

static const char usage[] = "usage: null [--campaigns N] [--levels 0.05,0.1,...] [--arms LIST] [--trials N] "
			    "[--seed N] [--jobs N]\n"
			    "            [--json FILE]\n"
			    "Runs whole simulated campaigns on jobs where no setting matters (arms null, "
			    "null-slow) and where one\n"
			    "setting is worth 1.5% (gain, gain-slow), and counts what is promoted. Levels: "
			    "sigma_pair in percent.\n"
			    "Slow: one run in twenty is slower by |N(0, 3 sd)|. Exit 1: a gate is missed.\n";

/* 1.5% faster: ln 1.015. */
#define GAIN_LN 0.014888612493750637
static const struct arm all_arms[] = {
	{"null", 0, false},
	{"null-slow", 0, true},
	{"gain", GAIN_LN, false},
	{"gain-slow", GAIN_LN, true},
};

static enum err_code read_levels(struct null_options *o, char *list, struct err *reterr)
{
	o->n_levels = 0;
	for (char *rest = list, *word; (word = strsep(&rest, ","));) {
		double percent;
		if (!parse_number(word, &percent) || !(percent > 0 && percent <= 100) ||
			o->n_levels == LEVELS_MAX)
			return err_set(reterr, ERR_INPUT,
				"--levels: expected at most %d percentages above 0 and up to 100, got '%s'",
				LEVELS_MAX, word);
		o->levels[o->n_levels++] = percent / 100;
	}
	return OK;
}

static enum err_code read_arms(struct null_options *o, char *list, struct err *reterr)
{
	o->n_arms = 0;
	for (char *rest = list, *word; (word = strsep(&rest, ","));) {
		const struct arm *found = NULL;
		for (size_t i = 0; i < ARRAY_LEN(all_arms); i++)
			if (strcmp(word, all_arms[i].name) == 0)
				found = &all_arms[i];
		if (!found || o->n_arms == ARMS_MAX)
			return err_set(reterr, ERR_INPUT,
				"--arms: expected null, null-slow, gain or gain-slow, got '%s'", word);
		o->arms[o->n_arms++] = found;
	}
	return OK;
}

static enum err_code read_option(struct null_options *o, const char *name, char *value, struct err *reterr)
{
	const struct {
		const char *name;
		int64_t most;
		int *number;
	} numbers[] = {{"--campaigns", 10000000, &o->campaigns}, {"--trials", 1000, &o->trials},
		{"--jobs", 1024, &o->jobs}};
	int64_t parsed;
	if (strcmp(name, "--levels") == 0)
		return read_levels(o, value, reterr);
	if (strcmp(name, "--arms") == 0)
		return read_arms(o, value, reterr);
	if (strcmp(name, "--json") == 0) {
		o->json = value;
		return OK;
	}
	if (strcmp(name, "--seed") == 0) {
		if (!parse_integer(value, &parsed) || parsed < 1)
			return err_set(
				reterr, ERR_INPUT, "--seed: expected an integer above 0, got '%s'", value);
		o->seed = (uint64_t)parsed;
		return OK;
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (strcmp(name, numbers[i].name) != 0)
			continue;
		if (!parse_integer(value, &parsed) || parsed < 1 || parsed > numbers[i].most)
			return err_set(reterr, ERR_INPUT, "%s: expected an integer in 1 .. %lld, got '%s'",
				name, (long long)numbers[i].most, value);
		*numbers[i].number = (int)parsed;
		return OK;
	}
	return err_set(reterr, ERR_INPUT, "unknown option %s\n%s", name, usage);
}

static enum err_code read_options(struct null_options *o, int argc, char **argv, struct err *reterr)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	*o = (struct null_options){.levels = {0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.06},
		.n_levels = 9,
		.campaigns = 2000,
		.trials = 17,
		.seed = 1};
	o->jobs = cores > 0 ? (int)MIN_OF(cores, 1024L) : 1;
	for (size_t i = 0; i < ARRAY_LEN(all_arms); i++)
		o->arms[o->n_arms++] = &all_arms[i];
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			return err_set(reterr, ERR_INPUT, "%s needs a value\n%s", argv[i], usage);
		TRY(read_option(o, argv[i], argv[i + 1], reterr));
	}
	return OK;
}

static enum err_code run(const struct null_options *o, bool *ret_holds, struct err *reterr)
{
	struct null_campaign *campaigns = NULL;
	TRY(null_run(o, &campaigns, reterr));
	null_print_table(o, campaigns);
	*ret_holds = true;
	for (int l = 0; l < o->n_levels; l++)
		for (int a = 0; a < o->n_arms; a++) {
			struct cell c = null_cell(o, campaigns, l, a);
			*ret_holds &= null_cell_holds(&c, NULL);
		}
	if (!o->json)
		return OK;
	CLEANUP(free_ptr) char *json = null_json(o, campaigns);
	return file_write_atomic(o->json, json, strlen(json), 0644, reterr);
}

int main(int argc, char **argv)
{
	struct null_options options;
	struct err e = ERR_INIT;
	bool holds = false;
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	enum err_code code = read_options(&options, argc, argv, &e);
	if (code == OK)
		code = run(&options, &holds, &e);
	if (code != OK) {
		fprintf(stderr, "null: %s\n", e.message);
		return err_exit_code(code);
	}
	return holds ? 0 : 1;
}

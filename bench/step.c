/*
 * What one decision of the controller costs: `step [--repeat N]` makes up tasks of several sizes, a ledger of
 * runs for each, and times the next decision: CPU seconds of the one thread that decides, so that a busy
 * machine does not show. Memory is the process's peak so far. The limits: 50 ms at 40 knobs, 1 s and 200 MB
 * at 2,000 settings and 500 trials.
 */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/random.h"
#include "search/search.h"

enum kind { CATEGORIES, NUMBERS, MIXED };

static const struct size {
	const char *name;
	int knobs, settings, trials;
	enum kind kind;
	double limit_s;
} sizes[] = {
	{"40 knobs of 4 categories, 17 trials", 40, 4, 17, CATEGORIES, 0.05},
	{"40 knobs of 4 settings, half numbers, 17 trials", 40, 4, 17, MIXED, 0.05},
	{"40 knobs of 4 numbers, 17 trials", 40, 4, 17, NUMBERS, 0.05},
	{"40 knobs of 4 settings, half numbers, 50 trials", 40, 4, 50, MIXED, 0.05},
	{"200 knobs of 11 categories, 500 trials", 200, 11, 500, CATEGORIES, 1},
	{"200 knobs of 11 settings, half numbers, 500 trials", 200, 11, 500, MIXED, 1},
	{"200 knobs of 11 settings, half numbers, 100 trials", 200, 11, 100, MIXED, 1},
};

#define GIB 1073741824.0

struct task {
	struct lever *levers;
	int *setting; /* trials x knobs */
	struct observation *observations;
	const int **visited;
	struct search_input in;
};

/* 1, 2, 4, ... or a, b, c, ... */
static const char *const *names_of(int n, bool is_number)
{
	char **names = xcalloc((size_t)n, sizeof(*names));
	for (int s = 0; s < n; s++)
		names[s] = is_number ? xasprintf("%ld", 1L << s) : xasprintf("%c", 'a' + s % 26);
	return (const char *const *)names;
}

static void make_levers(struct task *t, const struct size *size, struct random *random)
{
	t->levers = xcalloc((size_t)size->knobs, sizeof(*t->levers));
	for (int l = 0; l < size->knobs; l++) {
		bool is_number = size->kind == NUMBERS || (size->kind == MIXED && l % 2 == 0);
		struct lever_prior *prior = xcalloc((size_t)size->settings, sizeof(*prior));
		for (int s = 0; s < size->settings; s++)
			prior[s] = (struct lever_prior){.amdahl_cap_ln = INFINITY,
				.predicted_gain_ln = s ? 0.05 * random_normal(random) : 0,
				.declared_bytes = s && l % 4 == 1 ? GIB * random_normal(random) : 0};
		t->levers[l] = (struct lever){.name = "knob",
			.ordered = is_number,
			.n_settings = size->settings,
			.prior = prior,
			.setting_names = names_of(size->settings, is_number)};
	}
}

/* Random runs with up to four changes; one in ten fails. */
static void make_ledger(struct task *t, const struct size *size, struct random *random)
{
	size_t trials = (size_t)size->trials, knobs = (size_t)size->knobs;
	t->setting = xcalloc(trials * knobs, sizeof(int));
	t->observations = xcalloc(trials, sizeof(*t->observations));
	t->visited = xcalloc(trials, sizeof(*t->visited));
	for (size_t i = 0; i < trials; i++) {
		int *setting = t->setting + i * knobs;
		for (int k = 0; k < 4; k++)
			setting[random_below(random, knobs)] =
				(int)random_below(random, (uint64_t)size->settings);
		static const enum observed_status ends[10] = {OBSERVED_OOM, OBSERVED_CRASH};
		enum observed_status end = ends[random_below(random, 10)];
		bool ran = end == OBSERVED_OK;
		t->observations[i] = (struct observation){.setting = setting,
			.status = end,
			.has_gain = ran,
			.gain_ln = 0.1 * random_normal(random),
			.incumbent_allowed = ran,
			.peak_bytes = ran ? 60 * GIB + 5 * GIB * random_normal(random) : NAN,
			.shortfall_bytes = NAN};
		t->visited[i] = setting;
	}
}

static void make_task(struct task *t, const struct size *size)
{
	struct random random;
	random_init(&random, 1, size->name, 0);
	make_levers(t, size, &random);
	make_ledger(t, size, &random);
	t->in = (struct search_input){.model = {.levers = t->levers,
					      .n_levers = size->knobs,
					      .observations = t->observations,
					      .n_observations = (size_t)size->trials,
					      .sigma_pair = 0.005,
					      .reference_runs = 4,
					      .capacity_bytes = 80 * GIB,
					      .memory_cap_bytes = INFINITY,
					      .reference_peak_bytes = 60 * GIB,
					      .reference_shortfall_bytes = NAN},
		.visited = t->visited,
		.n_visited = (size_t)size->trials,
		.seed = 1,
		.gate_ln = 0.02};
}

static void release_task(struct task *t, const struct size *size)
{
	for (int l = 0; l < size->knobs; l++) {
		for (int s = 0; s < size->settings; s++)
			free((char *)t->levers[l].setting_names[s]);
		free((void *)t->levers[l].setting_names);
		free(t->levers[l].prior);
	}
	free(t->levers);
	free(t->setting);
	free(t->observations);
	free(t->visited);
}

static double cpu_now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *va, const void *vb)
{
	double a = *(const double *)va, b = *(const double *)vb;
	return (a > b) - (a < b);
}

/* Median CPU seconds of a decision. */
static enum err_code measure(const struct size *size, int repeat, double *ret_s, struct err *reterr)
{
	struct task task;
	CLEANUP(free_ptr) double *cpu_s = xcalloc((size_t)repeat, sizeof(*cpu_s));
	enum err_code code = OK;
	make_task(&task, size);
	for (int i = 0; i < repeat && code == OK; i++) {
		struct decision d = {0};
		double begun_s = cpu_now_s();
		code = strategy_find("controller")->next(&task.in, &d, reterr);
		cpu_s[i] = cpu_now_s() - begun_s;
		if (code == OK)
			decision_release(&d);
	}
	release_task(&task, size);
	qsort(cpu_s, (size_t)repeat, sizeof(*cpu_s), ascending);
	*ret_s = cpu_s[repeat / 2];
	return code;
}

int main(int argc, char **argv)
{
	int repeat = argc == 3 && strcmp(argv[1], "--repeat") == 0 ? atoi(argv[2]) : 5;
	if (argc != 1 && (argc != 3 || repeat < 1)) {
		fputs("usage: step [--repeat N]\n", stderr);
		return 2;
	}
	printf("%-52s %10s %8s %8s\n", "task", "step", "limit", "peak");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct err e = ERR_INIT;
		double cpu_s;
		struct rusage usage;
		if (measure(&sizes[i], repeat, &cpu_s, &e) != OK) {
			fprintf(stderr, "step: %s\n", e.message);
			return 1;
		}
		getrusage(RUSAGE_SELF, &usage);
		printf("%-52s %7.1f ms %5.0f ms %5.0f MB\n", sizes[i].name, 1e3 * cpu_s,
			1e3 * sizes[i].limit_s, (double)usage.ru_maxrss / 1e3);
	}
	return 0;
}

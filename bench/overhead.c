/*
 * build/bench/overhead [--repeats N] [--updates N] [--update-s S] [--json FILE] [--program INFRARSI]
 *
 * Takes about two minutes at the default shape: 5 trials of 30 updates of 0.25 s, once through the runner
 * alone and once as a campaign.
 */
#include "base/base.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "overhead.h"

static const double trial_target = 0.01, hook_target = 0.005;
static const double step_s = 0.07; /* of the example's sped-up job */

struct results {
	struct runner_cost runner;
	double campaign_cpu_s;
	struct hook_cost hook;
	double share[MAX_REPEATS]; /* runner alone */
	double whole_share;        /* with everything that a campaign does */
};

struct spread {
	double median, least, most;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static struct spread spread_of(const double *values, int n)
{
	double sorted[MAX_REPEATS];
	memcpy(sorted, values, (size_t)n * sizeof(double));
	qsort(sorted, (size_t)n, sizeof(double), compare);
	double median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
	return (struct spread){median, sorted[0], sorted[n - 1]};
}

static void derive(const struct shape *shape, struct results *r)
{
	const struct runner_cost *c = &r->runner;
	int n = shape->repeats;
	for (int i = 0; i < n; i++)
		r->share[i] = (c->harness_cpu_s[i] + c->supervisor_cpu_s[i] + c->launch_s[i]) / c->wall_s[i];
	r->whole_share = (r->campaign_cpu_s + spread_of(c->supervisor_cpu_s, n).median +
				 spread_of(c->launch_s, n).median) /
			 spread_of(c->wall_s, n).median;
}

static void print_row(const char *name, const double *values, int n, double scale, const char *unit)
{
	struct spread s = spread_of(values, n);
	printf("  %-38s %10.3f %10.3f %10.3f  %s\n", name, scale * s.median, scale * s.least, scale * s.most,
		unit);
}

static void print_table(const struct shape *shape, const struct results *r)
{
	const struct runner_cost *c = &r->runner;
	int n = shape->repeats;
	printf("Trials of %d updates of %.3f s, %d repeats\n", shape->updates, shape->update_s, n);
	printf("  %-38s %10s %10s %10s\n", "", "median", "least", "most");
	print_row("trial", c->wall_s, n, 1, "s");
	print_row("harness CPU, runner alone", c->harness_cpu_s, n, 1e3, "ms");
	print_row("supervisor CPU", c->supervisor_cpu_s, n, 1e3, "ms");
	print_row("launch latency", c->launch_s, n, 1e3, "ms");
	print_row("from the job's end to its outcome", c->wrap_up_s, n, 1e3, "ms");
	print_row("CPU and launch, runner alone", r->share, n, 100, "% of the trial");
	printf("  %-38s %10.3f %21s  ms a trial\n", "harness CPU, whole campaign", 1e3 * r->campaign_cpu_s,
		"");
	printf("  %-38s %10.3f %21s  %% of the trial; target %.1f %%\n", "CPU and launch, whole campaign",
		100 * r->whole_share, "", 100 * trial_target);
	printf("Hook, %d rows of %d tokens and one event, %d calls\n", r->hook.rows, r->hook.tokens,
		r->hook.calls);
	printf("  %-38s %10s %10s %10s\n", "", "median", "p90", "p99");
	printf("  %-38s %10.1f %10.1f %10.1f  us\n", "rows and update", 1e6 * r->hook.median_s,
		1e6 * r->hook.p90_s, 1e6 * r->hook.p99_s);
	printf("  of a step of %.2f s %19s %10.3f %10.3f %10.3f  %%; target %.1f %%\n", step_s, "",
		100 * r->hook.median_s / step_s, 100 * r->hook.p90_s / step_s, 100 * r->hook.p99_s / step_s,
		100 * hook_target);
}

static json_t *numbers(const double *values, int n)
{
	json_t *array = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(array, json_from_number(values[i]));
	return array;
}

static enum err_code write_json(
	const struct shape *shape, const struct results *r, const char *path, struct err *reterr)
{
	const struct runner_cost *c = &r->runner;
	int n = shape->repeats;
	json_t *trial = json_pack("{s:i, s:f, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f}", "updates",
		shape->updates, "update_s", shape->update_s, "repeats", n, "wall_s", numbers(c->wall_s, n),
		"harness_cpu_s", numbers(c->harness_cpu_s, n), "supervisor_cpu_s",
		numbers(c->supervisor_cpu_s, n), "launch_s", numbers(c->launch_s, n), "wrap_up_s",
		numbers(c->wrap_up_s, n), "share", numbers(r->share, n), "campaign_cpu_per_trial_s",
		r->campaign_cpu_s, "whole_share", r->whole_share, "target_share", trial_target);
	json_t *hook = json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "rows", r->hook.rows,
		"tokens", r->hook.tokens, "calls", r->hook.calls, "median_s", r->hook.median_s, "p90_s",
		r->hook.p90_s, "p99_s", r->hook.p99_s, "step_s", step_s, "share", r->hook.median_s / step_s,
		"target_share", hook_target);
	CLEANUP(free_ptr)
	char *text = json_dump_pretty_take(
		json_pack("{s:i, s:o, s:o}", "schema", 1, "trial", trial, "hook", hook));
	CLEANUP(free_ptr) char *line = xasprintf("%s\n", text);
	return file_write_atomic(path, line, strlen(line), 0644, reterr);
}

static enum err_code parse(
	int argc, char **argv, struct shape *shape, const char **ret_json, struct err *reterr)
{
	const struct {
		const char *name;
		int *integer;
		double *real;
		const char **text;
	} options[] = {
		{"--repeats", .integer = &shape->repeats},
		{"--updates", .integer = &shape->updates},
		{"--update-s", .real = &shape->update_s},
		{"--program", .text = &shape->program},
		{"--json", .text = ret_json},
	};
	for (int i = 1; i < argc; i += 2) {
		size_t k = 0;
		while (k < ARRAY_LEN(options) && strcmp(argv[i], options[k].name) != 0)
			k++;
		if (k == ARRAY_LEN(options) || i + 1 == argc)
			return err_set(reterr, ERR_INPUT,
				"usage: overhead [--repeats N] [--updates N] [--update-s S] [--json FILE] "
				"[--program INFRARSI]");
		if (options[k].integer)
			*options[k].integer = atoi(argv[i + 1]);
		else if (options[k].real)
			*options[k].real = atof(argv[i + 1]);
		else
			*options[k].text = argv[i + 1];
	}
	return OK;
}

static enum err_code check_shape(const struct shape *shape, struct err *reterr)
{
	if (shape->repeats >= 1 && shape->repeats <= MAX_REPEATS && shape->updates >= 3 &&
		shape->update_s > 0)
		return OK;
	return err_set(reterr, ERR_INPUT, "expected 1 to %d repeats, 3 updates or more, longer than 0 s",
		MAX_REPEATS);
}

static enum err_code measure(const struct shape *shape, struct results *r, struct err *reterr)
{
	TRY(measure_hook(shape->scratch, &r->hook, reterr));
	TRY(measure_runner(shape, &r->runner, reterr));
	TRY(measure_campaign(shape, &r->campaign_cpu_s, reterr));
	derive(shape, r);
	return OK;
}

/* This program and the infrarsi that was built beside it. */
static enum err_code find_programs(char self[PATH_MAX], char program[PATH_MAX], struct err *reterr)
{
	ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
	if (n < 0)
		return err_errno(reterr, "cannot tell where this program is");
	self[n] = '\0';
	const char *slash = strrchr(self, '/');
	if (snprintf(program, PATH_MAX, "%.*s/../infrarsi", (int)(slash - self), self) >= PATH_MAX)
		return err_set(reterr, ERR_LIMIT, "the path of this program is too long");
	return OK;
}

static enum err_code bench(int argc, char **argv, struct err *reterr)
{
	char self[PATH_MAX], program[PATH_MAX], scratch[] = "/tmp/infrarsi-overhead-XXXXXX";
	const char *json = NULL;
	static struct results results;
	TRY(find_programs(self, program, reterr));
	struct shape shape = {program, self, scratch, 30, 5, 0.25};
	TRY(parse(argc, argv, &shape, &json, reterr));
	TRY(check_shape(&shape, reterr));
	char real[PATH_MAX];
	if (!realpath(shape.program, real))
		return err_errno(reterr, "%s", shape.program);
	shape.program = real;
	if (!mkdtemp(scratch))
		return err_errno(reterr, "cannot make %s", scratch);
	enum err_code code = measure(&shape, &results, reterr);
	if (code == OK) {
		print_table(&shape, &results);
		code = json ? write_json(&shape, &results, json, reterr) : OK;
	}
	/* After a failure the logs are wanted. */
	return code == OK ? remove_tree(scratch, reterr) : code;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	if (argc >= 4 && strcmp(argv[1], "--job") == 0)
		return waiting_job(atoi(argv[2]), atof(argv[3]));
	if (sodium_init() < 0 || bench(argc, argv, &e) != OK) {
		fprintf(stderr, "overhead: %s\n", e.message);
		return err_exit_code(e.code);
	}
	return 0;
}

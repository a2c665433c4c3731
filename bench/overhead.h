/*
 * What InfraRSI costs the jobs that it measures: harness and supervisor against a trial, the hook against a
 * step. Targets: DESIGN section 15.
 */
#ifndef INFRARSI_BENCH_OVERHEAD_H
#define INFRARSI_BENCH_OVERHEAD_H

#include "base/base.h"

enum { MAX_REPEATS = 100 };

struct shape {               /* of a trial; the job waits instead of computing */
	const char *program; /* the infrarsi to measure, absolute */
	const char *self;    /* this program: it is its own job */
	const char *scratch; /* an empty folder, absolute */
	int updates, repeats;
	double update_s;
};

struct runner_cost { /* seconds, by repeat */
	double harness_cpu_s[MAX_REPEATS], supervisor_cpu_s[MAX_REPEATS];
	double launch_s[MAX_REPEATS];  /* from the request to the job's start */
	double wrap_up_s[MAX_REPEATS]; /* from the job's end to the outcome */
	double wall_s[MAX_REPEATS];    /* of the job */
};

/* Through the runner alone. */
enum err_code measure_runner(
	const struct shape *shape, struct runner_cost *ret_cost, struct err *reterr) MUST_CHECK;
/* CPU seconds of `infrarsi run` itself, without its children, divided by its trials: decisions, events,
 * receipts, verdicts and ledger included. */
enum err_code measure_campaign(
	const struct shape *shape, double *ret_cpu_per_trial_s, struct err *reterr) MUST_CHECK;

struct hook_cost { /* seconds an update: its rows and its event */
	int rows, tokens, calls;
	double median_s, p90_s, p99_s;
};
enum err_code measure_hook(const char *scratch, struct hook_cost *ret_cost, struct err *reterr) MUST_CHECK;

/* The job: `updates` updates of `update_s` each. Returns its exit status. */
int waiting_job(int updates, double update_s);

#endif

/*
 * The search benchmark: every strategy on every job over several seeds. A course is one campaign: one job,
 * one seed, one strategy; it serves all budgets. Courses run in forked workers; what they found lies in
 * memory that all share; tables are made from it at the end, or when the user has had enough.
 */
#ifndef INFRARSI_BENCH_SEARCH_BENCH_H
#define INFRARSI_BENCH_SEARCH_BENCH_H

#include <stdio.h>

#include "base/base.h"
#include "base/memory.h"
#include "simulate/job.h"

enum { BUDGETS_MAX = 8, STRATEGIES_MAX = 48, VARIANT_NAME_SIZE = 128, ERROR_SIZE = 256 };

enum group { GROUP_GENERATED, GROUP_PAPER, GROUP_TRAINING, GROUP_KERNELS, N_GROUPS };
extern const char *const group_names[N_GROUPS];

struct bench_options {
	const char *landscapes, *surfaces, *json; /* NULL = none */
	int budgets[BUDGETS_MAX], n_budgets;      /* ascending */
	int seeds, jobs;
	const char *strategies[STRATEGIES_MAX]; /* names in tables */
	const struct strategy *rules[STRATEGIES_MAX];
	struct search_switches switches[STRATEGIES_MAX];
	char variants[STRATEGIES_MAX][VARIANT_NAME_SIZE]; /* names of the controller with a part off or on */
	int n_strategies;
	bool siblings; /* with experience */
	bool hints;    /* failures of landscapes say what is to blame */
};

struct bench_job {
	struct simulated_job job;
	enum group group;
	const char *family; /* of a surface: its name before the model's size and "__" */
	double size_b;      /* of its model, parameters in billions; 1 = the name has none */
};

struct bench {
	const struct bench_options *options;
	struct arena arena;
	struct bench_job *jobs;
	size_t n_jobs, capacity;
	struct course *courses; /* shared between processes */
	size_t course_bytes, n_courses;
};

struct course_outcome { /* at one budget */
	int n_trials, n_failed;
	bool delivered;
	double true_ln, claimed_ln, promotion_s;
};

struct course_trial {
	double true_ln; /* NAN = not valid */
	double device_s;
};

struct course {
	int done; /* written last */
	char error[ERROR_SIZE];
	double reference_run_s; /* device-seconds of one */
	int n_trials;
	struct course_outcome outcomes[BUDGETS_MAX];
	struct course_trial trials[]; /* the largest budget's */
};

/* jobs.c: reads what the options name; prints what it leaves out and why. */
enum err_code bench_load(struct bench *b, struct err *reterr) MUST_CHECK;
void bench_release(struct bench *b);

/* courses.c */
size_t course_index(const struct bench *b, size_t job, int seed, int strategy);
const struct course *bench_course(const struct bench *b, size_t job, int seed, int strategy);
/* Runs all in workers; *ret_complete false: stopped by the user. */
enum err_code bench_run(struct bench *b, bool *ret_complete, struct err *reterr) MUST_CHECK;

/* measures.c: what one strategy reached on one group at one budget. */
enum measure {
	MEASURE_FRACTION,   /* of the optimal ln speed-up */
	MEASURE_SPEEDUP_LN, /* delivered, true */
	MEASURE_REGRET_LN,
	MEASURE_HIT,             /* within 10% of the best time */
	MEASURE_REACHED,         /* share of courses that reached 90% of the peak */
	MEASURE_TRIALS_TO_90,    /* budget + 1 = never */
	MEASURE_HOURS_TO_90,     /* device-hours of those that reached it */
	MEASURE_RUNS_TO_90,      /* the same in reference runs */
	MEASURE_HOURS_SPENT,     /* until it was reached, or all where it never was */
	MEASURE_RUNS_SPENT,      /* the same in reference runs */
	MEASURE_FAILED,          /* trials */
	MEASURE_BEHIND_FRACTION, /* the first strategy's fraction less this one's, paired */
	MEASURE_BEHIND_LN,       /* the same of the ln speed-up */
	N_MEASURES
};
extern const char *const measure_names[N_MEASURES];

/*
 * What is spent on all courses over how many reached 90% of the peak: what reaching it once costs somebody
 * who starts again where it fails. The figure for those that reached it flatters who reaches it in easy cases
 * only.
 */
enum price {
	PRICE_HOURS,
	PRICE_RUNS,
	PRICE_RATIO, /* in multiples of the first strategy's: device-hours, of measured jobs reference runs */
	N_PRICES
};
extern const char *const price_names[N_PRICES];

struct interval {
	double mean, low,
		high; /* 95%, bootstrap over jobs; NAN = nothing to tell, INFINITY = never reached */
};
struct measured {
	size_t n_jobs;
	struct interval measure[N_MEASURES], price[N_PRICES];
	double seeds_se[N_MEASURES]; /* standard error of the mean on just these jobs, from the seeds alone */
};
/* A table has no device-hours, and its seconds are no job's: reference runs stand in for them. */
bool group_is_measured(enum group group);
struct measured bench_measure(const struct bench *b, enum group group, int budget_index, int strategy);
struct job_figures {
	double mean[N_MEASURES], se[N_MEASURES]; /* over seeds; NAN = nothing to tell */
};
/* False where no seed is complete. */
bool job_measure(
	const struct bench *b, size_t job, int budget_index, int strategy, struct job_figures *ret_figures);

/* tables.c */
void bench_print_tables(const struct bench *b, FILE *to);
char *bench_json(const struct bench *b, bool complete);

#endif

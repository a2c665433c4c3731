/*
 * A/A campaigns: whole campaigns in memory (reference runs, search, promotion: simulate/fast_campaign.h) on
 * jobs where no setting matters, so that whatever is promoted is a false promotion, and on jobs where one
 * setting alone is worth something, so that it should be.
 */
#ifndef INFRARSI_BENCH_NULL_NULL_H
#define INFRARSI_BENCH_NULL_NULL_H

#include "base/base.h"
#include "base/memory.h"
#include "simulate/job.h"

enum { LEVELS_MAX = 16, ARMS_MAX = 8, ERROR_SIZE = 256 };

struct arm {
	const char *name;
	double gain_ln; /* of one setting; 0 = of none */
	bool has_slow_runs;
};

struct null_options {
	double levels[LEVELS_MAX]; /* sigma_pair */
	int n_levels;
	const struct arm *arms[ARMS_MAX];
	int n_arms;
	int campaigns; /* of each level and arm */
	int trials, jobs;
	uint64_t seed;
	const char *json; /* NULL = none */
};

struct null_campaign {
	int done; /* written last */
	char error[ERROR_SIZE];
	bool promoted;
	bool is_false;      /* promoted, and no faster than the reference */
	bool was_found;     /* a trial had the setting that gains */
	bool was_finalist;  /* and one with it was re-tested */
	double claimed_ln;  /* of what was promoted: what the search measured */
	double duel_ln;     /* what the duel did */
	double true_ln;     /* what it is */
	double promotion_s; /* device-seconds */
	double reference_s; /* of one reference run */
};

/* landscapes.c: the job of one campaign. The setting that gains and the predictions, which have nothing to do
 * with the truth, are drawn from its seed. */
void null_job_init(struct simulated_job *ret_job, const struct arm *arm, double sigma_pair, uint64_t seed);

/* campaigns.c: runs all of them in forked workers. The result, of n_levels x n_arms x campaigns, is shared
 * memory that lives as long as the process. */
enum err_code null_run(const struct null_options *options, struct null_campaign **ret_campaigns,
	struct err *reterr) MUST_CHECK;

/* cells.c: what one level and arm came to. */
struct share {
	int hits, of;
	double low, high; /* 95%, Wilson's score interval */
};
struct cell {
	const struct arm *arm;
	double sigma_pair;
	struct share false_promotions;
	struct share found, promoted, promoted_of_finalists; /* of the setting that gains */
	double claimed_ln, duel_ln; /* means over what was promoted; NAN = nothing was */
	double promotion_runs;      /* mean cost of promotion in reference runs */
};
struct cell null_cell(
	const struct null_options *o, const struct null_campaign *campaigns, int level, int arm);
/* The gates; *ret_why (may be NULL): the one that is missed. */
bool null_cell_holds(const struct cell *c, const char **ret_why);

void null_print_table(const struct null_options *o, const struct null_campaign *campaigns);
char *null_json(const struct null_options *o, const struct null_campaign *campaigns);

#endif

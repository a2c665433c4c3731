/*
 * A simulated training job: levers as a search sees them, and behind them what a run of any configuration
 * would give. Two kinds fill it: landscapes (landscape.h) and measured surfaces (surface.h).
 *
 *     struct simulated_job job;
 *     TRY(landscape_load("job.json", &job, reterr));
 *     struct truth truth = job_evaluate(&job, setting);
 *     struct simulated_run run;
 *     job_run(&job, setting, seed, execution, &run);
 *     simulated_run_release(&run);
 *     simulated_job_release(&job);
 *
 * Nothing here is changed once it runs: several processes may share one.
 */
#ifndef INFRARSI_SIMULATE_JOB_H
#define INFRARSI_SIMULATE_JOB_H

#include "base/base.h"
#include "base/memory.h"
#include "search/search.h"

enum job_end {
	JOB_RUNS,
	JOB_OOM,
	JOB_CRASHES,
	JOB_HANGS,
	JOB_LOSES, /* runs, and its loss is not the reference's */
	JOB_CHEATS /* runs, and does other work than the reference */
};
extern const char *const job_end_names[6];

struct truth {
	enum job_end end;
	double gain_ln;      /* of runs that get as far as a step */
	double peak_bytes;   /* NAN = not known */
	double excess_bytes; /* of JOB_OOM: beyond the capacity; NAN = not known */
};

struct simulated_job {
	struct arena arena;
	const char *name;
	const struct lever *levers; /* knobs, then patches */
	int n_levers, n_knobs;
	const struct lever
		*experienced_levers;  /* the same with priors from experience; NULL = there is none */
	const int *experienced_start; /* may not fit; NULL = none */
	const struct sibling_run *sibling_runs; /* of tables of the same family */
	size_t n_sibling_runs;
	const struct lever_pair *declared_pairs;
	size_t n_declared_pairs;
	double capacity_bytes; /* INFINITY = not known */
	double sigma_pair;     /* of ln(T_a / T_b) of two runs of one configuration */
	bool has_outliers;     /* a run in twenty is slow */
	double peak_sd_bytes;  /* of a peak that is read */
	double reference_step_s, startup_s;
	int updates, warmup, devices;
	double reference_gain_ln; /* of the truth at the reference: what nearness to the capacity costs it */
	double optimum_ln;        /* the best that is known of, against the reference */
	const int *optimum_setting;
	bool is_measured;       /* a surface */
	bool failures_explain;  /* some say what is to blame (failure_text.h); off unless it is set after
				   loading */
	double horizon_updates; /* that the faster job will run; 0 = nobody says, unless it is set likewise */
	const struct job_kind *kind;
	const void *data; /* of the kind; in the arena */
};

struct job_kind {
	const char *name;
	struct truth (*evaluate)(const struct simulated_job *job, const int *setting);
	/* NULL = everything is */
	bool (*is_legal)(const struct simulated_job *job, const int *setting);
	/* Levers whose settings make it crash or hang together, at most CULPRITS_MAX; how many. NULL = nobody
	 * knows. */
	int (*culprits)(const struct simulated_job *job, const int *setting, int *ret_lever);
};
enum { CULPRITS_MAX = 3 };

void simulated_job_release(struct simulated_job *job);
struct truth job_evaluate(const struct simulated_job *job, const int *setting);
/* The true ln speed-up against the reference; NAN of what does not run or is not valid. */
double job_gain_ln(const struct simulated_job *job, const int *setting);
/* A legal_fn; context: the job. */
bool job_is_legal(void *context, const int *setting);
/* The reference's setting of every lever. */
void job_reference(const struct simulated_job *job, int *ret_setting);
/* "a=2 b=on", or "reference". */
struct strbuf;
void job_describe(const struct simulated_job *job, const int *setting, struct strbuf *text);

/* What a search may know of the job beyond what was measured: priors, capacity, what is legal. */
void job_inform(const struct simulated_job *job, bool with_experience, struct search_input *in);

/* One execution, on a clock that begins with 0. */
struct simulated_run {
	struct truth truth;
	double *arrived_s; /* of each update that was reported */
	double *step_s; /* differences of these, as a harness would compute them; the first from the start */
	int n_updates;  /* all, or those before it ran out of memory */
	double started_s, end_s;
	double peak_bytes;      /* whole bytes; NAN = not read */
	double shortfall_bytes; /* whole bytes; NAN = the message does not say */
	char *explanation; /* the line that says what is to blame for a crash or hang; NULL = none does */
};
/* The noise of an execution comes from the seed and its number alone: every strategy meets the same. */
void job_run(const struct simulated_job *job, const int *setting, uint64_t seed, uint64_t execution,
	struct simulated_run *ret_run);
void simulated_run_release(struct simulated_run *run);

#endif

/*
 * A whole campaign without a ledger, receipts or files: reference runs, search, promotion, in memory. It
 * takes exactly the decisions of the campaign that `infrarsi simulate` runs through controller, verifier,
 * ledger and receipts: the state is the same struct, filled by hand, and what is decided from it is the same
 * code.
 *
 *     struct fast_campaign c;
 *     struct fast_options options = {.job = &job, .strategy = strategy_find("controller"), .seed = 1,
 *             .budgets = (int[]){15, 20}, .n_budgets = 2};
 *     TRY(fast_campaign_run(&options, &c, reterr));
 *     ... c.outcomes[1].true_ln ...
 *     fast_campaign_release(&c);
 *
 * One search serves all budgets: a strategy does not know its own, so the first trials are the same. The
 * noise of each promotion is that of a campaign that ended there.
 */
#ifndef INFRARSI_SIMULATE_FAST_CAMPAIGN_H
#define INFRARSI_SIMULATE_FAST_CAMPAIGN_H

#include "base/base.h"
#include "simulate/job.h"
#include "state/state.h"

enum { SIMULATED_REFERENCE_RUNS = 4 };

struct fast_options {
	const struct simulated_job *job; /* with a knob: patches alone need the folder of a whole campaign */
	const struct strategy *strategy;
	uint64_t seed; /* 1 .. 2^53 - 1, as a campaign keeps it */
	bool with_experience;
	struct search_switches switches; /* of the controller; all zero = the defaults */
	const int *budgets;              /* ascending */
	int n_budgets;
};

struct fast_trial {
	const int *setting;
	enum trial_status status;
	const char *operators;
	double measured_ln; /* NAN without a usable time */
	double true_ln;     /* NAN where the run is not valid */
	double device_s;
};

struct fast_outcome {
	int budget, n_trials; /* fewer where nothing was left to try */
	bool delivered;
	const int *setting;         /* of what was delivered; the reference otherwise */
	double claimed_ln, duel_ln; /* 0 where nothing was delivered */
	double true_ln;             /* against the reference */
	double best_finalist_ln;    /* true, of those that were re-tested; NAN = none was */
	double promotion_s;         /* device-seconds */
};

struct fast_campaign {
	struct arena arena;
	struct fast_trial *trials;
	int n_trials;
	struct fast_outcome *outcomes; /* one a budget */
	int n_outcomes;
	double sigma_pair;             /* as the reference runs showed it */
	double reference_s, profile_s; /* device-seconds */
};

enum err_code fast_campaign_run(const struct fast_options *options, struct fast_campaign *ret_campaign,
	struct err *reterr) MUST_CHECK;
void fast_campaign_release(struct fast_campaign *c);

#endif

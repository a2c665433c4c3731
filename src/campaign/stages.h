/* The stages that execute: doctor and run. Each is resumable: what the ledger already has is not done again.
 */
#ifndef INFRARSI_CAMPAIGN_STAGES_H
#define INFRARSI_CAMPAIGN_STAGES_H

#include "base/base.h"
#include "campaign/campaign.h"
#include "machine/machine.h"

struct doctor_options {
	int runs;        /* reference runs; 0 = 4; 3 when told to hurry */
	bool start_over; /* leave an unfinished or finished campaign behind and begin a new one */
	uint64_t seed;   /* of a new campaign; 0 = from its id */
};
struct doctor_result {
	struct machine machine;
	struct machine_probe probe;
	bool has_probe;
	double mfu; /* NAN = cannot be told */
	bool has_phases;
	double shares[N_PHASES], other_share;
	int checkable, conditional_absent; /* contract items */
	bool too_noisy;                    /* run wants --accept-noise */
	bool quiet;                        /* this machine can tell the effects that matter apart */
	const char *verdict;               /* one sentence, in the campaign's arena */
};
enum err_code doctor_run(struct campaign *c, const struct doctor_options *options,
	struct doctor_result *ret_result, struct err *reterr) MUST_CHECK;
/* ERR_STATE where the reference has not been measured, with what doctor found where it tried, and what to do.
 */
enum err_code doctor_check_measured(struct campaign *c, struct err *reterr) MUST_CHECK;

struct run_options {
	int trials;           /* 0 = the task's budget */
	const char *strategy; /* NULL = controller */
	bool search_only;     /* no promotion */
	const char **fixed;   /* "knob=value" */
	size_t n_fixed;
	const char **starts; /* "knob=value,knob=value" */
	size_t n_starts;
	bool accept_noise;
	int parallel;                    /* trials at once, each on its own device slot; 0 or 1 = one */
	bool early_stop;                 /* also where the task does not ask for it */
	bool stop_when_not_worth;        /* the same; needs a horizon */
	int confirm_updates;             /* 0 = what the task says */
	struct search_switches switches; /* changes what the task says; all zero = nothing */
};
/* Search, then promotion. OK when a candidate was delivered; ERR_FAILED is never used for "nothing promoted":
 * look at state_delivered(). ERR_INTERRUPTED when stopped by the user. */
/* Reads the patch folders that the task names, audits what is new, and records proposals and refusals. Part
 * of search_run(). */
enum err_code patches_gather(struct campaign *c, struct err *reterr) MUST_CHECK;
/* Only tells which of the campaign's patches are no longer at hand (campaign.patch_gone); records nothing. */
enum err_code patches_find_gone(struct campaign *c, struct err *reterr) MUST_CHECK;
enum err_code search_run(
	struct campaign *c, const struct run_options *options, struct err *reterr) MUST_CHECK;

#endif

/*
 * One execution, start to end: build, run, receipt, verdict, ledger entry. The same path for the reference,
 * the profile, a search trial and each side of a duel, so that all are measured alike.
 *
 *     TRY(trial_execute(c, &request, &end, reterr));
 *
 * or, for several at once, in three parts:
 *
 *     TRY(trial_begin(c, &request, &job, reterr));
 *     trial_work(job);     in a thread of its own, if need be
 *     TRY(trial_end_take(job, &end, reterr));
 *
 * Beginning and ending read and write the ledger and the state: one thread does that. The work in between
 * reads of the campaign only what does not change while it is open.
 */
#ifndef INFRARSI_CAMPAIGN_TRIAL_H
#define INFRARSI_CAMPAIGN_TRIAL_H

#include <stdatomic.h>

#include "base/base.h"
#include "campaign/campaign.h"

/* Of an execution that another thread watches. */
struct trial_monitor {
	_Atomic int update;   /* the last that it reported */
	_Atomic bool abandon; /* it is to stop: the search cannot go on */
};

struct execute_request { /* with what it points to, it outlives the execution */
	enum receipt_role role;
	int trial; /* number; 0 = not a search trial */
	const struct candidate *candidate;
	const char *label;  /* for progress */
	int finalist, pair; /* duels */
	bool is_candidate_side;
	int updates;                    /* of a confirmation; 0 = the contract's */
	const struct duel_result *duel; /* for speed_reproduces; NULL = not decided */
	int slot;                       /* index of the device slot, where the task declares any */
	int at_once;                    /* how many run beside each other; 0 or 1 = alone */
	struct trial_monitor *monitor;  /* NULL = progress is reported from where it works */
};

enum execute_end {
	EXECUTE_FINISHED,    /* a receipt exists, whatever it says */
	EXECUTE_INTERRUPTED, /* the user stopped it */
	EXECUTE_TRANSIENT,   /* the harness could not do its part: reason in *ret_reason */
};

/* Appends started and finished (or interrupted, transient) entries and refreshes the state. */
enum err_code trial_execute(struct campaign *c, const struct execute_request *request,
	enum execute_end *ret_end, struct err *reterr) MUST_CHECK;

struct trial_job;
/* Appends the started entry. The state is not refreshed. */
enum err_code trial_begin(struct campaign *c, const struct execute_request *request,
	struct trial_job **ret_job, struct err *reterr) MUST_CHECK;
void trial_work(struct trial_job *job);
/* Appends the entry of its end, refreshes the state and frees the job. */
enum err_code trial_end_take(struct trial_job *job, enum execute_end *ret_end, struct err *reterr) MUST_CHECK;
/* Frees one that no work was done for; its start stays recorded. NULL is fine. */
void trial_forget(struct trial_job *job);

/* Reconciles after a crash: every execution that was started and has no end gets one. Called on opening. */
enum err_code trial_reconcile(struct campaign *c, struct err *reterr) MUST_CHECK;

/* What a candidate would run, for people: command, environment, build. */
enum err_code trial_describe(struct campaign *c, const struct candidate *candidate, struct strbuf *text,
	struct err *reterr) MUST_CHECK;

#endif

/*
 * One execution, start to end: build, run, receipt, verdict, ledger entry. The same path for the reference,
 * the profile, a search trial and each side of a duel, so that all are measured alike.
 */
#ifndef INFRARSI_CAMPAIGN_TRIAL_H
#define INFRARSI_CAMPAIGN_TRIAL_H

#include "base/base.h"
#include "campaign/campaign.h"

struct execute_request {
	enum receipt_role role;
	int trial; /* number; 0 = not a search trial */
	const struct candidate *candidate;
	const char *label;  /* for progress */
	int finalist, pair; /* duels */
	bool is_candidate_side;
	const struct duel_result *duel; /* for speed_reproduces; NULL = not decided */
};

enum execute_end {
	EXECUTE_FINISHED,    /* a receipt exists, whatever it says */
	EXECUTE_INTERRUPTED, /* the user stopped it */
	EXECUTE_TRANSIENT,   /* the harness could not do its part: reason in *ret_reason */
};

/* Appends started and finished (or interrupted, transient) entries and refreshes the state. */
enum err_code trial_execute(struct campaign *c, const struct execute_request *request,
	enum execute_end *ret_end, struct err *reterr) MUST_CHECK;

/* Reconciles after a crash: every execution that was started and has no end gets one. Called on opening. */
enum err_code trial_reconcile(struct campaign *c, struct err *reterr) MUST_CHECK;

/* What a candidate would run, for people: command, environment, build. */
enum err_code trial_describe(struct campaign *c, const struct candidate *candidate, struct strbuf *text,
	struct err *reterr) MUST_CHECK;

#endif

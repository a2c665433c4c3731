/*
 * Promotion (DESIGN section 10, CONTROLLER R9): finalists one after another, each in a sequential,
 * order-swapped duel against the untouched reference. A pure function of the state says what is to be done
 * next; the campaign does it and records it, so promotion resumes wherever it was stopped.
 *
 * Where an earlier promotion delivered a winner, it stands: only candidates that the models believe better
 * are re-tested, and one takes its place only when its gain is larger beyond the noise of both duels.
 *
 * A winner can be confirmed over more updates than the contract's: one run of the reference and one of the
 * winner, the second judged against the first by the same 16 items.
 */
#ifndef INFRARSI_PROMOTE_PROMOTION_H
#define INFRARSI_PROMOTE_PROMOTION_H

#include "base/base.h"
#include "state/state.h"

enum { FINALISTS_ALLOWED = 3 };

enum promotion_kind {
	PROMOTION_OPEN,      /* take trial `trial` as finalist number `finalist` with `pairs` pairs */
	PROMOTION_EXECUTE,   /* run one side of a pair of the open duel */
	PROMOTION_JUDGE,     /* the open duel is complete, or cannot become valid any more */
	PROMOTION_CONFIRM,   /* take the winner to more updates */
	PROMOTION_LENGTHEN,  /* run one side of the confirmation */
	PROMOTION_CONFIRMED, /* the confirmation is complete, or cannot be */
	PROMOTION_CONCLUDE,  /* delivered_finalist (0 = none) */
	PROMOTION_OVER,      /* nothing left to do */
};

struct promotion_step {
	enum promotion_kind kind;
	int finalist, trial, pairs; /* open */
	double claimed_ln;
	int pair; /* execute */
	bool is_candidate_side;
	bool valid; /* judge */
	struct duel_result result;
	int delivered_finalist; /* conclude */
	int updates;            /* confirm, lengthen */
	struct confirmation
		confirmation; /* confirmed: its outcome; the reason is in the state or lasts for ever */
};

/* confirm_updates: over which the winner is to be confirmed, more than the contract's; 0 = not wanted. A
 * confirmation that was begun is ended with the updates that it was begun with. */
enum err_code promotion_next(const struct state *s, int confirm_updates, struct promotion_step *ret_step,
	struct err *reterr) MUST_CHECK;

#endif

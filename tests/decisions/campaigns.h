/*
 * Made-up campaigns of every kind of task, from whole numbers that are the same on every machine: what
 * test_recorded.c holds to recorded candidates and scripts/check-decisions compares between compilers and
 * machines.
 */
#ifndef INFRARSI_TESTS_DECISIONS_CAMPAIGNS_H
#define INFRARSI_TESTS_DECISIONS_CAMPAIGNS_H

#include "base/base.h"
#include "search/search.h"

enum { MADE_UP_LEVERS = 7, MADE_UP_TRIALS = 12 };

/* What a campaign has beside the defaults; bits. */
enum made_up_extra {
	MADE_UP_OPERATORS = 1 << 0, /* every operator takes part */
	MADE_UP_STARTS = 1 << 1,    /* every start, and two of the user's */
	MADE_UP_PENDING = 1 << 2,   /* three trials at once: each decision but the first has some that run */
	MADE_UP_EXPERIENCE =
		1 << 3,             /* of a third of the settings; with MADE_UP_STARTS a configuration, too */
	MADE_UP_SIBLINGS = 1 << 4,  /* runs of the same job elsewhere */
	MADE_UP_EVIDENCE = 1 << 5,  /* failures name what is to blame, sometimes wrongly */
	MADE_UP_CONFLICTS = 1 << 6, /* known conflicts, one of them real, and a declared pair */
	MADE_UP_LEGALITY =
		1 << 7, /* an invariant that couples two levers, and a combination that is excluded */
	MADE_UP_NO_REVISION = 1 << 8, /* the operator `prior_revision` off */
	MADE_UP_SOURCES = 1 << 9, /* two proposers predict, too, one rightly, one the wrong way round, and say
				     how sure they are */
	MADE_UP_PROPOSED = 1 << 10, /* configurations are proposed */
	N_MADE_UP_EXTRAS = 11,
	MADE_UP_EVERYTHING = (1 << 9) - 1 - MADE_UP_NO_REVISION, /* of the task and its bank */
	MADE_UP_PROPOSERS = MADE_UP_SOURCES | MADE_UP_PROPOSED,
};

enum made_up_kind {
	MADE_UP_CATEGORIES,
	MADE_UP_ORDERED,
	MADE_UP_NUMBERS,
	MADE_UP_MIXED,
	MADE_UP_UNFIT, /* the reference does not fit */
	N_MADE_UP
};

struct made_up_campaign {
	int n_trials; /* fewer than MADE_UP_TRIALS where the strategy stopped */
	char candidates[MADE_UP_TRIALS * MADE_UP_LEVERS + 1]; /* a digit a lever */
	char reasons[MADE_UP_TRIALS][SEARCH_REASON_SIZE], operators[MADE_UP_TRIALS][OPERATORS_TEXT_SIZE];
	int finalists[MADE_UP_TRIALS]; /* trials, best first */
	size_t n_finalists;
};

/* Variation 0 is the recorded one; others have other effects and another seed. */
enum err_code made_up_play(enum made_up_kind kind, uint64_t variation, unsigned extras,
	const struct strategy *strategy, struct made_up_campaign *ret, struct err *reterr) MUST_CHECK;

#endif

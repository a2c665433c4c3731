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
enum err_code made_up_play(enum made_up_kind kind, uint64_t variation, const struct strategy *strategy,
	struct made_up_campaign *ret, struct err *reterr) MUST_CHECK;

#endif

/*
 * Hill climbing as automatic research does it: one incumbent, one change at a time, kept when the measured
 * figure is strictly better. No noise rule. Changes are tried in the order of their predictions; without
 * predictions in random order. What was tried is not tried again on the next incumbent before all else was.
 */
#include "base/base.h"

#include "search/strategies.h"
#include "search/strategy_rival.h"

static struct candidate *propose(struct rival *r)
{
	int incumbent = rival_incumbent(r->s.in, 0, 1, 0);
	const int *base = rival_build_on(r, incumbent, "incumbent");
	return rival_best_change(r, base, rival_untried_worth(r, base, 0, 1), false);
}

enum err_code greedy_next(const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	return rival_next(in, "greedy", propose, ret_decision, reterr);
}

#include "base/base.h"

#include "search/anywhere.h"
#include "search/strategies.h"
#include "search/strategy_rival.h"

static struct candidate *propose(struct rival *r)
{
	r->origin.name = "anywhere";
	return anywhere(&r->s, &r->random, r->s.reference, 1);
}

enum err_code random_next(const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	return rival_next(in, "random", propose, ret_decision, reterr);
}

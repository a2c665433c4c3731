#include "base/base.h"

#include "search/anywhere.h"
#include "search/explain.h"
#include "search/score.h"
#include "search/strategies.h"

enum err_code random_next(const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	CLEANUP(scores_release) struct scores s = {0};
	TRY(scores_init(&s, in, reterr));
	struct random random;
	random_init(&random, in->seed, "random", in->decision);
	struct candidate *c = anywhere(&s, &random, s.reference, 1);
	if (c)
		decision_fill(&s, c, "random", "anywhere", ret_decision);
	else
		*ret_decision = (struct decision){.base_observation = -1, .incumbent_ln = s.incumbent_ln};
	return OK;
}

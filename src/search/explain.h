/* What a decision says about itself: the operators' names and one sentence for a person. */
#ifndef INFRARSI_SEARCH_EXPLAIN_H
#define INFRARSI_SEARCH_EXPLAIN_H

#include "base/base.h"
#include "search/score.h"

/* Fills the decision from the candidate. `label` names a start or a strategy; with label NULL the operators
 * that reached the candidate are named. `from` says for a person what kind it is; with from NULL the
 * candidate's origin does. Without models (scores_open()) nothing is predicted: NAN. */
void decision_fill(
	struct scores *s, struct candidate *c, const char *label, const char *from, struct decision *d);

#endif

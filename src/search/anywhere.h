/* Candidates without a model: the last resort of the controller, and the strategy `random`. */
#ifndef INFRARSI_SEARCH_ANYWHERE_H
#define INFRARSI_SEARCH_ANYWHERE_H

#include "base/base.h"
#include "base/random.h"
#include "search/score.h"

/* Each lever of `from` is redrawn with probability p, until the candidate may run. Where luck fails, small
 * spaces are walked from end to end. NULL = nothing may run, as far as was looked. */
struct candidate *anywhere(struct scores *s, struct random *random, const int *from, double p);

#endif

/*
 * Rule R7: what runs before the search proper. User starts first, in their order; then, where the bank knows
 * something, the best experienced configuration, memory-repaired.
 */
#ifndef INFRARSI_SEARCH_START_H
#define INFRARSI_SEARCH_START_H

#include "base/base.h"
#include "search/score.h"

/* NULL = no start is left; else *ret_name says which kind it is. */
struct candidate *next_start(struct scores *s, const char **ret_name);

#endif

/*
 * Rule R7: what runs before the search proper. User starts first, in their order; then the starts that are
 * on, one a trial, in the order of a table (start.c): adding one is adding a row, a name (spec/switches.h)
 * and a file.
 */
#ifndef INFRARSI_SEARCH_START_H
#define INFRARSI_SEARCH_START_H

#include "base/base.h"
#include "search/score.h"

/* NULL = no start is left; else *ret_name says which kind it is. */
struct candidate *next_start(struct scores *s, const char **ret_name);

/* The rows. is_known: there is something to start from, whatever has run by now. make: NULL = it cannot run.
 */
bool experience_is_known(const struct scores *s);
struct candidate *experience_start(struct scores *s);
bool prior_is_known(const struct scores *s);
struct candidate *prior_start(struct scores *s);
struct candidate *random_start(struct scores *s);

#endif

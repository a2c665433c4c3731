/*
 * One-change moves and the climb of rule R6. Where an invariant couples free knobs, a move is the smallest
 * joint change that restores it: one more lever.
 */
#ifndef INFRARSI_SEARCH_CLIMB_H
#define INFRARSI_SEARCH_CLIMB_H

#include "base/base.h"
#include "search/score.h"

/* The candidate that sets one lever, completed by a second one where it must be; NULL when none may run.
 * `setting` is unchanged on return. */
struct candidate *move(struct scores *s, int *setting, int lever, int to);
/* From `setting`, `steps` times to the best neighbour that may run. Every neighbour is considered. */
void climb(struct scores *s, const int *setting, const struct origin *origin, int steps);

#endif

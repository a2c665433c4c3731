/*
 * Is a run hopeless? Far slower than the reference, warm-up included: a trial that takes a hundred times as
 * long must not run to its end to be known for it. No test of small differences (that is early_stop.h): a run
 * is given up at update u, before its last, when
 *
 *     both of its last two intervals are longer than factor * T, and
 *     the time since its first update, the longest interval left out, is at least max(60 s, U T),
 *
 * T the reference's seconds an update and U the updates of a run. The first update is not looked at, for
 * there things are compiled, tuned and read in; the longest interval is not counted, for what compiles in the
 * second update takes long once.
 *
 *     struct far_slower watch = {.reference_s = T, .factor = 3, .updates = U};
 *     for each update
 *             if (far_slower_update(&watch, update, arrived_s))
 *                     stop it: watch.slow_s is what its updates take at least
 */
#ifndef INFRARSI_STATS_FAR_SLOWER_H
#define INFRARSI_STATS_FAR_SLOWER_H

#include "base/base.h"

struct far_slower {
	double reference_s; /* seconds an update; NAN = not known, nothing is given up */
	double factor;      /* 0 = nothing is given up */
	int updates;        /* of a whole run */
	int last_update;    /* 0 = none yet */
	double first_arrived_s, last_arrived_s, interval_s, longest_s;
	double slow_s; /* the smaller of the last two intervals */
};

/* True: give it up. A number that is left out, or comes twice, begins the two intervals anew. */
bool far_slower_update(struct far_slower *w, int update, double arrived_s);

#endif

/*
 * What a trial is expected to save, to be held against what it costs. It looks at this one trial: that what
 * it teaches makes later ones better is not in it, so it errs on the side of stopping.
 */
#ifndef INFRARSI_SEARCH_WORTH_H
#define INFRARSI_SEARCH_WORTH_H

#include "base/base.h"
#include "search/search.h"

/*
 * E max(0, exp(-incumbent) - exp(-f)) of f ~ N(mean, sd^2), f and incumbent being ln speed-ups: the expected
 * improvement, as a part of the reference's time. exp(-f) is lognormal, so this is the price of a put option
 * (Black and Scholes 1973) with strike exp(-incumbent):
 *
 *     exp(-incumbent) Phi(d) - exp(-mean + sd^2/2) Phi(d - sd),   d = (mean - incumbent)/sd
 */
double worth_improvement(double mean_ln, double sd_ln, double incumbent_ln);

/* The same of the candidate that was decided on, times the probability that it fits and runs; NAN where the
 * strategy has no model that says. Times reference seconds an update, updates and devices: device-seconds. */
double worth_of(const struct decision *d);

#endif

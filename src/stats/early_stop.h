/*
 * May a run be stopped because it is slower than the best so far? A sequential test over its measured
 * (post-warm-up) update times, looked at after every update from the fifth to the 64th and after every 16th
 * beyond; the bound holds at any number of looks.
 *
 *     struct early_stop test;
 *     early_stop_init(&test, &terms);
 *     for each measured update
 *             if (early_stop_add(&test, step_s))
 *                     stop it: early_stop_slower_ln(&test) is by how much
 *     early_stop_release(&test);
 *
 * With x_i = ln of the i-th update time, T the incumbent's seconds an update and
 *
 *     slower_n = min(mean, median of x_1 .. x_n) - ln T,    se^2 = sigma_pair^2 + s^2/5,
 *
 * the run is stopped at n >= 5 when slower_n > gate + c se. A run that is slower than the incumbent by the
 * gate or less is ever stopped with a probability of at most 0.5%:
 *
 * x_i = ln(true time) + b + w_i: b is one draw a run, w_i are independent with sd s. Let d be what b and the
 * error of the incumbent's own measured time differ by: its variance is at most sigma_pair^2 (two runs,
 * sigma_pair^2/2 each). The error of slower_n is d + mean(w_1 .. w_n). These means have the covariances
 * s^2/max(m, n), those of a Brownian motion at the times s^2/n, so over all n >= 5 together the error is a
 * Brownian motion that begins at d and runs for s^2/5, and by the reflection principle (Levy 1939)
 *
 *     P(it ever exceeds t) <= 2 P(it exceeds t at its end) = 2 P(N(0, se^2) > t).
 *
 * So nothing has to be spent on the looks but the factor 2. se is an estimate: sigma_pair of R-1 degrees of
 * freedom, s of two thirds of the reference runs' successive differences. c is the quantile of Student's t at
 * 1 - 0.0025 with the degrees of freedom of their sum (Welch 1947, Satterthwaite 1946).
 *
 * s is the reference runs' or this run's own, whichever is larger. The median is there for what is not
 * normal: a hiccup moves the mean, and stops no run.
 *
 * Two lines that are read at once leave an interval of no length behind one that is too long. Both are left
 * out: the second alone would leave the error of the first in the mean. What is kept is then a part of the
 * updates that the reader's delays chose, which know nothing of the w_i, so its means are those of fewer
 * updates, n still counts what is in them, and the argument above holds as it is; the interval behind the two
 * begins late and is if anything too short, which stops nothing.
 */
#ifndef INFRARSI_STATS_EARLY_STOP_H
#define INFRARSI_STATS_EARLY_STOP_H

#include "base/base.h"
#include "stats/noise.h"

enum { EARLY_STOP_UPDATES_MIN = 5 };

struct early_stop_terms {
	double incumbent_s; /* seconds an update of the best so far */
	double gate_ln;     /* how much slower is still as good */
	double sigma_pair;
	int reference_runs; /* R; under 2 nothing is ever stopped */
	double step_sd_ln;  /* s, from early_stop_calibrate() */
	double step_dof;
};

struct early_stop {
	struct early_stop_terms terms;
	double *step_s; /* malloc; those that count */
	size_t n, capacity;
	double sum_ln;
	bool last_counts; /* the latest interval is the last of step_s */
	bool unreadable;  /* a time that is none: nothing is concluded any more */
};

/* Fills step_sd_ln and step_dof: white noise of one update over all reference runs. */
void early_stop_calibrate(const struct run_times *runs, size_t n_runs, struct early_stop_terms *terms);

void early_stop_init(struct early_stop *test, const struct early_stop_terms *terms);
void early_stop_release(struct early_stop *test);
/* True: stop. An interval of no length takes itself and the one before it out of the test; a time that is no
 * finite number makes it answer no from there on. */
bool early_stop_add(struct early_stop *test, double step_s);
/* ln of how much slower than the incumbent the run is so far; NAN before its first update. */
double early_stop_slower_ln(const struct early_stop *test);
/* What slower_ln has to exceed; INFINITY where nothing can be concluded yet. */
double early_stop_bound_ln(const struct early_stop *test);

#endif

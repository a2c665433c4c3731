/*
 * Noise and duels (DESIGN section 10). All effects are ln ratios, y = ln(T_reference / T_candidate).
 *
 * Calibrate once per task from R reference runs, then judge finalists with pairs of fresh, order-swapped
 * runs:
 *
 *     struct noise noise;
 *     TRY(noise_estimate(runs, n_runs, &noise, reterr));
 *     int n = duel_pairs_wanted(noise.sigma_pair);
 *     struct duel_input in = {.pair_ln = differences, .n_pairs = n, .reference_runs = noise.runs,
 *             .sigma_pair = noise.sigma_pair, .finalists_allowed = 3};
 *     duel_judge(&in, &result);
 *
 * sigma_pair is the standard deviation of one paired ln difference: sqrt(2) times that of one ln window mean.
 */
#ifndef INFRARSI_STATS_NOISE_H
#define INFRARSI_STATS_NOISE_H

#include "base/base.h"

struct run_times { /* one execution's measured window, seconds per update */
	const double *step_s;
	size_t n;
};

enum { NOISE_STALLS_MAX = 32 };

struct noise {
	int runs;            /* R */
	double mean_s;       /* exp of the mean of the ln window means */
	double sigma_pair;   /* what everything uses: the largest of the next three */
	double between_runs; /* sqrt(2 * sample variance of the ln window means) */
	double half_floor;   /* sqrt(mean over runs of h^2/2) */
	double white_floor;  /* sqrt(mean over runs of 2 * s_w^2 / n) */
	/* One pool of every paired difference that the runs hold, as in the paper: each run's halves count as
	 * a pair (h^2/2, one degree of freedom each) beside the R-1 of the re-runs. The halves outnumber the
	 * re-runs and see no noise between runs, so this is too small where such noise exists: shown for
	 * comparison only. */
	double pooled_paper;
	double gate;             /* max(0.02, 2 * sigma_pair) */
	double drift_ln_per_run; /* slope of ln window mean over run index */
	/* The slope differs from 0 (two-sided t test, 1%) and moved the last run off the first by more than
	 * the white floor. */
	bool drifts;
	bool mean_and_median_disagree; /* in at least one run; see mean_median_gap_ln() */
	/* Update offsets (0-based in the window) that are stalls in the majority of runs, ascending; the
	 * first NOISE_STALLS_MAX of them. */
	int stall_updates[NOISE_STALLS_MAX];
	int n_stalls;
	int stall_period; /* updates from stall to stall; 0 = no period found */
};

/* ERR_INPUT for fewer than two runs, an empty run, or a time that is not a positive number. Runs may differ
 * in length; stalls are looked for in the part that all have. */
/* Above this sd of a pair, effects of practical size drown; a user has to say that a search is meant all the
 * same. */
#define NOISY_SIGMA_PAIR 0.05
/* The smallest speed-up that can be told from noise, exp(2 sigma_pair) - 1, as a fraction. */
double noise_detectable(const struct noise *n);

enum err_code noise_estimate(
	const struct run_times *runs, size_t n_runs, struct noise *ret_noise, struct err *reterr) MUST_CHECK;

/* s_w of ln step times: sd from successive differences, robust to a slow drift. 0 for n < 3. */
double white_noise_ln(const double *step_s, size_t n);
/* ln mean - ln median of one window. *ret_disagree (may be NULL): the gap is larger than half the gate's
 * least value (0.01) and than three standard errors of the difference under white noise; then one hiccup or a
 * train of stalls carries the mean, and an observation's variance should grow by the square of the gap. */
double mean_median_gap_ln(const double *step_s, size_t n, bool *ret_disagree);

/* NAN for n = 0. */
double mean_of(const double *x, size_t n);
double median_of(const double *x, size_t n); /* does not change x */
/* 1.4826 * median absolute deviation: the standard deviation of a normal sample, blind to under half of it
 * being outliers. */
double robust_sd_of(const double *x, size_t n);

/* Student's t: quantile of probability p with nu > 0 degrees of freedom (|error| < 1e-9 against SciPy);
 * p = 0 and 1 give -INFINITY and INFINITY, anything outside NAN. */
double student_t_quantile(double p, double nu);
double student_t_cdf(double t, double nu);

struct duel_input {
	const double *pair_ln; /* ln(T_ref / T_cand) of each order-swapped pair */
	size_t n_pairs;
	int reference_runs;    /* R */
	double sigma_pair;     /* calibrated */
	int finalists_allowed; /* m */
};

struct duel_result {
	int pairs;
	double gain_ln, low_ln, high_ln; /* mean and 95% interval */
	double sigma, nu;
	double threshold_ln; /* what gain_ln had to exceed */
	bool delivered;
};
int duel_pairs_wanted(double sigma_pair); /* 2 or 4 */
/* Without any degree of freedom, or with a pair that is not finite, nothing is delivered and the threshold
 * and the interval are infinite. */
void duel_judge(const struct duel_input *in, struct duel_result *ret_result);

#endif

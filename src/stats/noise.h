/*
 * Noise and duels (DESIGN section 10). All effects are ln ratios, y = ln(T_reference / T_candidate).
 */
#ifndef INFRARSI_STATS_NOISE_H
#define INFRARSI_STATS_NOISE_H

#include "base/base.h"

struct run_times { /* one execution's measured window, seconds per update */
	const double *step_s;
	size_t n;
};

struct noise {
	int runs;                /* R */
	double mean_s;           /* exp of the mean of the ln window means */
	double sigma_pair;       /* what everything uses */
	double between_runs;     /* sqrt(2 * sample variance of the ln window means) */
	double half_floor;       /* sqrt(mean over runs of h^2/2) */
	double white_floor;      /* sqrt(2 * s_w^2 / n) */
	double pooled_paper;     /* pooled as in the paper, for comparison */
	double gate;             /* max(0.02, 2 * sigma_pair) */
	double drift_ln_per_run; /* slope of ln window mean over run index */
	bool drifts;             /* the slope explains the spread (t test, 1%) and exceeds the white floor */
	bool mean_and_median_disagree;
	int stall_updates[32]; /* update offsets (0-based in the window) that are stalls in the majority of
				  runs */
	int n_stalls;
	int stall_period; /* 0 = no period found */
};

enum err_code noise_estimate(
	const struct run_times *runs, size_t n_runs, struct noise *ret_noise, struct err *reterr) MUST_CHECK;

/* s_w of ln step times: sd from successive differences, robust to a slow drift. 0 for n < 3. */
double white_noise_ln(const double *step_s, size_t n);
double mean_of(const double *x, size_t n);
double median_of(const double *x, size_t n); /* does not change x */

/* Student's t: quantile of probability p with nu degrees of freedom (|error| < 1e-9 against SciPy). */
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
void duel_judge(const struct duel_input *in, struct duel_result *ret_result);

#endif

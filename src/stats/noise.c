#include "base/base.h"

#include <math.h>

#include "base/memory.h"
#include "stats/noise.h"

static enum err_code check_runs(const struct run_times *runs, size_t n_runs, struct err *reterr)
{
	if (n_runs < 2)
		return err_set(reterr, ERR_INPUT,
			"noise needs at least 2 reference runs (4 are usual), there are %zu", n_runs);
	for (size_t r = 0; r < n_runs; r++) {
		if (runs[r].n == 0)
			return err_set(reterr, ERR_INPUT, "reference run %zu has no measured update", r + 1);
		for (size_t i = 0; i < runs[r].n; i++)
			if (!(runs[r].step_s[i] > 0) || isinf(runs[r].step_s[i]))
				return err_set(reterr, ERR_INPUT,
					"reference run %zu, window update %zu: expected a step time above "
					"0 s, got %g",
					r + 1, i + 1, runs[r].step_s[i]);
	}
	return OK;
}

/* h^2/2: of the same expectation as the squared difference of two window means, because h compares two means
 * of half as many updates. */
static double half_square(const struct run_times *run)
{
	if (run->n < 2)
		return 0;
	size_t half = run->n / 2;
	double h = log(mean_of(run->step_s, half) / mean_of(run->step_s + half, run->n - half));
	return 0.5 * h * h;
}

static void estimate_spread(
	const struct run_times *runs, const double *ln_mean, size_t n_runs, struct noise *noise)
{
	double centre = mean_of(ln_mean, n_runs);
	double squares = 0, halves = 0, white = 0;
	for (size_t r = 0; r < n_runs; r++) {
		double s_w = white_noise_ln(runs[r].step_s, runs[r].n);
		squares += (ln_mean[r] - centre) * (ln_mean[r] - centre);
		halves += half_square(&runs[r]);
		white += 2 * s_w * s_w / (double)runs[r].n;
	}
	double count = (double)n_runs;
	noise->mean_s = exp(centre);
	noise->between_runs = sqrt(2 * squares / (count - 1));
	noise->half_floor = sqrt(halves / count);
	noise->white_floor = sqrt(white / count);
	noise->sigma_pair = fmax(noise->between_runs, fmax(noise->half_floor, noise->white_floor));
	noise->pooled_paper = sqrt((2 * squares + halves) / (2 * count - 1));
	noise->gate = fmax(0.02, 2 * noise->sigma_pair);
}

/* Ordinary least squares of ln window mean over run index. */
static void estimate_drift(const double *ln_mean, size_t n_runs, struct noise *noise)
{
	double index_mean = 0.5 * (double)(n_runs - 1), centre = mean_of(ln_mean, n_runs);
	double index_squares = 0, products = 0, residuals = 0;
	for (size_t r = 0; r < n_runs; r++) {
		double x = (double)r - index_mean;
		index_squares += x * x;
		products += x * (ln_mean[r] - centre);
	}
	double slope = products / index_squares;
	noise->drift_ln_per_run = slope;
	if (n_runs < 3)
		return;
	for (size_t r = 0; r < n_runs; r++) {
		double residual = ln_mean[r] - centre - slope * ((double)r - index_mean);
		residuals += residual * residual;
	}
	double dof = (double)(n_runs - 2);
	double standard_error = sqrt(residuals / dof / index_squares);
	double moved = fabs(slope) * (double)(n_runs - 1);
	/* 1e-6: runs without any noise differ by rounding alone. */
	noise->drifts = fabs(slope) > student_t_quantile(0.995, dof) * standard_error &&
			moved > fmax(noise->white_floor, 1e-6);
}

/* Adds one to votes[i] for each of the first n updates that this run stalled in. */
static void vote_stalls(const struct run_times *run, size_t n, int *votes)
{
	CLEANUP(free_ptr) double *ln_step = xcalloc(run->n, sizeof(double));
	for (size_t i = 0; i < run->n; i++)
		ln_step[i] = log(run->step_s[i]);
	double median = median_of(ln_step, run->n);
	double allowed = fmax(0.02, 6 * robust_sd_of(ln_step, run->n));
	for (size_t i = 0; i < n; i++)
		votes[i] += ln_step[i] - median > allowed;
}

/* The distance d for which stalls fall on one phase i = start (mod d), at least three of them, with at most a
 * fifth of the stalls elsewhere and at most a fifth of the phase's updates without one. The best such d;
 * among equals the smallest. */
static int find_period(const bool *stalled, size_t n)
{
	size_t total = 0;
	double best = 0;
	int period = 0;
	for (size_t i = 0; i < n; i++)
		total += stalled[i];
	if (total < 3)
		return 0;
	for (size_t d = 2; d <= n / 2; d++)
		for (size_t start = 0; start < d; start++) {
			size_t hits = 0, places = 0;
			for (size_t i = start; i < n; i += d) {
				hits += stalled[i];
				places++;
			}
			double covered = (double)hits / (double)places;
			double explained = (double)hits / (double)total;
			if (hits < 3 || covered < 0.8 || explained < 0.8 || covered * explained <= best)
				continue;
			best = covered * explained;
			period = (int)d;
		}
	return period;
}

static void find_stalls(const struct run_times *runs, size_t n_runs, struct noise *noise)
{
	size_t n = runs[0].n;
	for (size_t r = 1; r < n_runs; r++)
		n = MIN_OF(n, runs[r].n);
	CLEANUP(free_ptr) int *votes = xcalloc(n, sizeof(int));
	CLEANUP(free_ptr) bool *stalled = xcalloc(n, sizeof(bool));
	for (size_t r = 0; r < n_runs; r++)
		vote_stalls(&runs[r], n, votes);
	for (size_t i = 0; i < n; i++) {
		stalled[i] = 2 * (size_t)votes[i] > n_runs;
		if (stalled[i] && noise->n_stalls < NOISE_STALLS_MAX)
			noise->stall_updates[noise->n_stalls++] = (int)i;
	}
	noise->stall_period = find_period(stalled, n);
}

enum err_code noise_estimate(
	const struct run_times *runs, size_t n_runs, struct noise *ret_noise, struct err *reterr)
{
	TRY(check_runs(runs, n_runs, reterr));
	struct noise noise = {.runs = (int)n_runs};
	CLEANUP(free_ptr) double *ln_mean = xcalloc(n_runs, sizeof(double));
	for (size_t r = 0; r < n_runs; r++) {
		bool disagree;
		ln_mean[r] = log(mean_of(runs[r].step_s, runs[r].n));
		mean_median_gap_ln(runs[r].step_s, runs[r].n, &disagree);
		noise.mean_and_median_disagree |= disagree;
	}
	estimate_spread(runs, ln_mean, n_runs, &noise);
	estimate_drift(ln_mean, n_runs, &noise);
	find_stalls(runs, n_runs, &noise);
	*ret_noise = noise;
	return OK;
}

double noise_detectable(const struct noise *n)
{
	return expm1(2 * n->sigma_pair);
}

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench.h"

const char *const measure_names[N_MEASURES] = {"fraction", "speedup_ln", "regret_ln", "hit_10pct",
	"reached_90pct", "trials_to_90pct", "device_hours_to_90pct", "reference_runs_to_90pct",
	"failed_trials", "first_strategy_ahead_fraction"};

enum { RESAMPLES = 2000 };
static const double peak_part = 0.9, smallest_peak_ln = 0.02;
#define HIT_LN 0.0953101798043249 /* ln 1.1 */

/* Strategies are compared on what all of them did. */
static bool is_complete(const struct bench *b, size_t job, int seed)
{
	for (int k = 0; k < b->options->n_strategies; k++) {
		const struct course *c = bench_course(b, job, seed, k);
		if (!__atomic_load_n(&c->done, __ATOMIC_ACQUIRE) || *c->error)
			return false;
	}
	return true;
}

/* The best that any strategy found in this job with this seed and budget: the common peak. */
static double common_peak_ln(const struct bench *b, size_t job, int seed, int budget_index)
{
	double peak = 0;
	for (int k = 0; k < b->options->n_strategies; k++) {
		const struct course *c = bench_course(b, job, seed, k);
		for (int i = 0; i < c->outcomes[budget_index].n_trials; i++)
			peak = fmax(peak, c->trials[i].true_ln);
	}
	return peak;
}

static void measure_way(
	const struct course *c, int budget, int n_trials, double peak_ln, double ret[N_MEASURES])
{
	double spent_s = 0;
	ret[MEASURE_REACHED] = ret[MEASURE_TRIALS_TO_90] = NAN;
	ret[MEASURE_HOURS_TO_90] = ret[MEASURE_RUNS_TO_90] = NAN;
	if (peak_ln < smallest_peak_ln)
		return;
	ret[MEASURE_REACHED] = 0;
	ret[MEASURE_TRIALS_TO_90] = budget + 1;
	for (int i = 0; i < n_trials; i++) {
		spent_s += c->trials[i].device_s;
		if (!(c->trials[i].true_ln >= peak_part * peak_ln))
			continue;
		ret[MEASURE_REACHED] = 1;
		ret[MEASURE_TRIALS_TO_90] = i + 1;
		ret[MEASURE_HOURS_TO_90] = spent_s / 3600;
		ret[MEASURE_RUNS_TO_90] = spent_s / c->reference_run_s;
		return;
	}
}

static void measure_course(
	const struct bench *b, size_t job, int seed, int budget_index, int strategy, double ret[N_MEASURES])
{
	const struct course *c = bench_course(b, job, seed, strategy);
	const struct course_outcome *o = &c->outcomes[budget_index];
	double optimum = b->jobs[job].job.optimum_ln;
	double first = bench_course(b, job, seed, 0)->outcomes[budget_index].true_ln;
	ret[MEASURE_FRACTION] = o->true_ln / optimum;
	ret[MEASURE_SPEEDUP_LN] = o->true_ln;
	ret[MEASURE_REGRET_LN] = optimum - o->true_ln;
	ret[MEASURE_HIT] = optimum - o->true_ln <= HIT_LN;
	ret[MEASURE_FAILED] = o->n_failed;
	ret[MEASURE_BEHIND_FRACTION] = (first - o->true_ln) / optimum;
	measure_way(c, b->options->budgets[budget_index], o->n_trials,
		common_peak_ln(b, job, seed, budget_index), ret);
}

bool job_measure(const struct bench *b, size_t job, int budget_index, int strategy, double ret[N_MEASURES])
{
	int n = 0, known[N_MEASURES] = {0};
	memset(ret, 0, N_MEASURES * sizeof(*ret));
	for (int seed = 1; seed <= b->options->seeds; seed++) {
		double one[N_MEASURES];
		if (!is_complete(b, job, seed))
			continue;
		n++;
		measure_course(b, job, seed, budget_index, strategy, one);
		for (int m = 0; m < N_MEASURES; m++)
			if (!isnan(one[m])) {
				ret[m] += one[m];
				known[m]++;
			}
	}
	for (int m = 0; m < N_MEASURES; m++)
		ret[m] = known[m] ? ret[m] / known[m] : NAN;
	return n > 0;
}

static int ascending(const void *va, const void *vb)
{
	double a = *(const double *)va, b = *(const double *)vb;
	return (a > b) - (a < b);
}

/* Percentiles of the mean over jobs drawn with replacement. */
static struct interval bootstrap(const double *value, size_t n, uint64_t stream)
{
	struct interval result = {NAN, NAN, NAN};
	struct random random;
	double means[RESAMPLES], sum = 0;
	if (n == 0)
		return result;
	for (size_t i = 0; i < n; i++)
		sum += value[i];
	result.mean = sum / (double)n;
	random_init(&random, 1, "bootstrap", stream);
	for (int k = 0; k < RESAMPLES; k++) {
		means[k] = 0;
		for (size_t i = 0; i < n; i++)
			means[k] += value[random_below(&random, n)];
		means[k] /= (double)n;
	}
	qsort(means, RESAMPLES, sizeof(*means), ascending);
	result.low = means[RESAMPLES / 40];
	result.high = means[RESAMPLES - 1 - RESAMPLES / 40];
	return result;
}

struct measured bench_measure(const struct bench *b, enum group group, int budget_index, int strategy)
{
	struct measured result = {0};
	CLEANUP(free_ptr) double *values = xcalloc(N_MEASURES * b->n_jobs + 1, sizeof(*values));
	size_t n[N_MEASURES] = {0};
	for (size_t job = 0; job < b->n_jobs; job++) {
		double one[N_MEASURES];
		if (b->jobs[job].group != group || !job_measure(b, job, budget_index, strategy, one))
			continue;
		result.n_jobs++;
		for (int m = 0; m < N_MEASURES; m++)
			if (!isnan(one[m]))
				values[(size_t)m * b->n_jobs + n[m]++] = one[m];
	}
	for (int m = 0; m < N_MEASURES; m++)
		result.measure[m] = bootstrap(values + (size_t)m * b->n_jobs, n[m],
			(uint64_t)group * 1000 + (uint64_t)budget_index * 100 + (uint64_t)m);
	return result;
}

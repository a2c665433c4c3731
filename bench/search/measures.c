#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench.h"

const char *const measure_names[N_MEASURES] = {"fraction", "speedup_ln", "regret_ln", "hit_10pct",
	"reached_90pct", "trials_to_90pct", "device_hours_to_90pct", "reference_runs_to_90pct",
	"device_hours_spent", "reference_runs_spent", "failed_trials", "first_strategy_ahead_fraction",
	"first_strategy_ahead_ln"};
const char *const price_names[N_PRICES] = {
	"device_hours_per_success", "reference_runs_per_success", "cost_per_success_against_first"};

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
	ret[MEASURE_HOURS_SPENT] = ret[MEASURE_RUNS_SPENT] = NAN;
	if (peak_ln < smallest_peak_ln)
		return;
	ret[MEASURE_REACHED] = 0;
	ret[MEASURE_TRIALS_TO_90] = budget + 1;
	for (int i = 0; i < n_trials && ret[MEASURE_REACHED] == 0; i++) {
		spent_s += c->trials[i].device_s;
		if (!(c->trials[i].true_ln >= peak_part * peak_ln))
			continue;
		ret[MEASURE_REACHED] = 1;
		ret[MEASURE_TRIALS_TO_90] = i + 1;
		ret[MEASURE_HOURS_TO_90] = spent_s / 3600;
		ret[MEASURE_RUNS_TO_90] = spent_s / c->reference_run_s;
	}
	ret[MEASURE_HOURS_SPENT] = spent_s / 3600;
	ret[MEASURE_RUNS_SPENT] = spent_s / c->reference_run_s;
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
	ret[MEASURE_BEHIND_LN] = first - o->true_ln;
	measure_way(c, b->options->budgets[budget_index], o->n_trials,
		common_peak_ln(b, job, seed, budget_index), ret);
}

bool job_measure(
	const struct bench *b, size_t job, int budget_index, int strategy, struct job_figures *ret_figures)
{
	int n = 0, known[N_MEASURES] = {0};
	double sum[N_MEASURES] = {0}, squares[N_MEASURES] = {0};
	for (int seed = 1; seed <= b->options->seeds; seed++) {
		double one[N_MEASURES];
		if (!is_complete(b, job, seed))
			continue;
		n++;
		measure_course(b, job, seed, budget_index, strategy, one);
		for (int m = 0; m < N_MEASURES; m++)
			if (!isnan(one[m])) {
				sum[m] += one[m];
				squares[m] += one[m] * one[m];
				known[m]++;
			}
	}
	for (int m = 0; m < N_MEASURES; m++) {
		double mean = known[m] ? sum[m] / known[m] : NAN;
		double variance = known[m] > 1 ? (squares[m] - sum[m] * mean) / (known[m] - 1) : NAN;
		ret_figures->mean[m] = mean;
		ret_figures->se[m] = sqrt(fmax(variance, 0) / known[m]);
		if (known[m] < 2)
			ret_figures->se[m] = NAN;
	}
	return n > 0;
}

static int ascending(const void *va, const void *vb)
{
	double a = *(const double *)va, b = *(const double *)vb;
	return (a > b) - (a < b);
}

/* Of sums over jobs: those above over those below; one with nothing below is a mean. */
struct statistic {
	const double *above[2], *below[2]; /* n each; NULL = none */
	size_t n;
};

static double sum_over(const double *value, const size_t *drawn, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += value[drawn[i]];
	return sum;
}

static double evaluate(const struct statistic *s, const size_t *drawn)
{
	double above = 1, below = s->below[0] ? 1 : (double)s->n;
	for (int k = 0; k < 2; k++) {
		above *= s->above[k] ? sum_over(s->above[k], drawn, s->n) : 1;
		below *= s->below[k] ? sum_over(s->below[k], drawn, s->n) : 1;
	}
	return below > 0 ? above / below : INFINITY;
}

/* Percentiles over jobs drawn with replacement. */
static struct interval bootstrap(const struct statistic *s, uint64_t stream)
{
	struct interval result = {NAN, NAN, NAN};
	struct random random;
	double values[RESAMPLES];
	if (s->n == 0)
		return result;
	CLEANUP(free_ptr) size_t *drawn = xcalloc(s->n, sizeof(*drawn));
	for (size_t i = 0; i < s->n; i++)
		drawn[i] = i;
	result.mean = evaluate(s, drawn);
	random_init(&random, 1, "bootstrap", stream);
	for (int k = 0; k < RESAMPLES; k++) {
		for (size_t i = 0; i < s->n; i++)
			drawn[i] = (size_t)random_below(&random, s->n);
		values[k] = evaluate(s, drawn);
	}
	qsort(values, RESAMPLES, sizeof(*values), ascending);
	result.low = values[RESAMPLES / 40];
	result.high = values[RESAMPLES - 1 - RESAMPLES / 40];
	return result;
}

/* One row a job, in columns by measure; NAN = not known. */
struct rows {
	double *value, *se;
	size_t n, room;
};

static void rows_release(struct rows *r)
{
	free(r->value);
	free(r->se);
}

static const double *column_of(const struct rows *r, enum measure m)
{
	return r->value + (size_t)m * r->room;
}

static void collect(
	const struct bench *b, enum group group, int budget_index, int strategy, struct rows *ret_rows)
{
	*ret_rows = (struct rows){.room = b->n_jobs};
	ret_rows->value = xcalloc(N_MEASURES * b->n_jobs + 1, sizeof(double));
	ret_rows->se = xcalloc(N_MEASURES * b->n_jobs + 1, sizeof(double));
	for (size_t job = 0; job < b->n_jobs; job++) {
		struct job_figures one;
		if (b->jobs[job].group != group || !job_measure(b, job, budget_index, strategy, &one))
			continue;
		for (size_t m = 0; m < N_MEASURES; m++) {
			ret_rows->value[m * ret_rows->room + ret_rows->n] = one.mean[m];
			ret_rows->se[m * ret_rows->room + ret_rows->n] = one.se[m];
		}
		ret_rows->n++;
	}
}

/* Only jobs whose value is known. */
static struct interval interval_of(const struct rows *r, enum measure m, uint64_t stream)
{
	CLEANUP(free_ptr) double *known = xcalloc(r->n + 1, sizeof(*known));
	struct statistic s = {.above = {known}};
	for (size_t i = 0; i < r->n; i++)
		if (!isnan(column_of(r, m)[i]))
			known[s.n++] = column_of(r, m)[i];
	return bootstrap(&s, stream);
}

/* NAN with a single seed. */
static double seeds_se(const struct rows *r, enum measure m)
{
	double sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < r->n; i++) {
		double se = r->se[(size_t)m * r->room + i];
		if (isnan(column_of(r, m)[i]))
			continue;
		sum += se * se;
		n++;
	}
	return n ? sqrt(sum) / (double)n : NAN;
}

/* Jobs without a peak worth the name have no price, with any strategy. */
static void keep_priced(struct rows *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (isnan(column_of(r, MEASURE_REACHED)[i]))
			continue;
		for (size_t m = 0; m < N_MEASURES; m++)
			r->value[m * r->room + n] = r->value[m * r->room + i];
		n++;
	}
	r->n = n;
}

bool group_is_measured(enum group group)
{
	return group == GROUP_TRAINING || group == GROUP_KERNELS;
}

static void fill_prices(
	struct rows *mine, struct rows *first, enum group group, uint64_t stream, struct measured *ret)
{
	enum measure spent = group_is_measured(group) ? MEASURE_RUNS_SPENT : MEASURE_HOURS_SPENT;
	keep_priced(mine);
	keep_priced(first);
	const double *reached = column_of(mine, MEASURE_REACHED);
	const struct statistic prices[N_PRICES] = {
		[PRICE_HOURS] = {.above = {column_of(mine, MEASURE_HOURS_SPENT)},
			.below = {reached},
			.n = mine->n},
		[PRICE_RUNS] = {.above = {column_of(mine, MEASURE_RUNS_SPENT)},
			.below = {reached},
			.n = mine->n},
		[PRICE_RATIO] = {.above = {column_of(mine, spent), column_of(first, MEASURE_REACHED)},
			.below = {reached, column_of(first, spent)},
			.n = mine->n},
	};
	for (int p = 0; p < N_PRICES; p++)
		ret->price[p] = bootstrap(&prices[p], stream + (uint64_t)p);
}

struct measured bench_measure(const struct bench *b, enum group group, int budget_index, int strategy)
{
	struct measured result = {0};
	struct rows mine, first;
	uint64_t stream = (uint64_t)group * 1000 + (uint64_t)budget_index * 100;
	collect(b, group, budget_index, strategy, &mine);
	collect(b, group, budget_index, 0, &first);
	result.n_jobs = mine.n;
	for (int m = 0; m < N_MEASURES; m++) {
		result.measure[m] = interval_of(&mine, (enum measure)m, stream + (uint64_t)m);
		result.seeds_se[m] = seeds_se(&mine, (enum measure)m);
	}
	fill_prices(&mine, &first, group, stream + N_MEASURES, &result);
	rows_release(&mine);
	rows_release(&first);
	return result;
}

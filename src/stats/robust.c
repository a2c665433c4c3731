#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "stats/noise.h"

double mean_of(const double *x, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : NAN;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorts x. */
static double median_in_place(double *x, size_t n)
{
	if (!n)
		return NAN;
	qsort(x, n, sizeof(*x), compare_doubles);
	return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

double median_of(const double *x, size_t n)
{
	if (!n)
		return NAN;
	CLEANUP(free_ptr) double *sorted = xmalloc(n * sizeof(*x));
	memcpy(sorted, x, n * sizeof(*x));
	return median_in_place(sorted, n);
}

double robust_sd_of(const double *x, size_t n)
{
	if (!n)
		return NAN;
	CLEANUP(free_ptr) double *deviation = xmalloc(n * sizeof(*x));
	double centre = median_of(x, n);
	for (size_t i = 0; i < n; i++)
		deviation[i] = fabs(x[i] - centre);
	/* 1 / the third quartile of the standard normal distribution */
	return 1.4826022185056018 * median_in_place(deviation, n);
}

double white_noise_ln(const double *step_s, size_t n)
{
	if (n < 3)
		return 0;
	double sum = 0;
	for (size_t i = 1; i < n; i++) {
		double step = log(step_s[i] / step_s[i - 1]);
		sum += step * step;
	}
	/* A difference of two independent values has twice the variance of one (von Neumann 1941). */
	return sqrt(sum / (2 * (double)(n - 1)));
}

double mean_median_gap_ln(const double *step_s, size_t n, bool *ret_disagree)
{
	double median = median_of(step_s, n);
	double gap = log(mean_of(step_s, n) / median);
	if (ret_disagree) {
		/* Of a normal sample, var(median - mean) = (pi/2 - 1) s^2 / n. The robust s, because what
		 * is to be found would otherwise raise the bar over itself. */
		double standard_error = robust_sd_of(step_s, n) / median * sqrt((M_PI_2 - 1) / (double)n);
		*ret_disagree = fabs(gap) > 0.01 && fabs(gap) > 3 * standard_error;
	}
	return gap;
}

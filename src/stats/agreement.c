#include "base/base.h"

#include <math.h>

#include "stats/agreement.h"

enum { RANKED_LEAST = 3 };
/* As a ln ratio. Below what a clock can tell of a training step; keeps the weights finite. */
static const double least_sd = 1e-6;

static int order_of(double a, double b)
{
	return (a > b) - (a < b);
}

/* M. G. Kendall, The treatment of ties in ranking problems, Biometrika 33 (1945): tau-b = (C - D) /
 * sqrt((C + D + T_x) (C + D + T_y)) over all pairs; C in the same order, D in the opposite one, T tied in one
 * of the two only. */
double rank_correlation(const double *x, const double *y, size_t n)
{
	double score = 0, untied_x = 0, untied_y = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			int of_x = order_of(x[i], x[j]), of_y = order_of(y[i], y[j]);
			score += of_x * of_y;
			untied_x += of_x != 0;
			untied_y += of_y != 0;
		}
	if (n < RANKED_LEAST || untied_x == 0 || untied_y == 0)
		return NAN;
	return score / sqrt(untied_x * untied_y);
}

/* The sd is that of known weights, 1 / sqrt(sum of x^2/sd^2), times the Birge ratio sqrt(chi^2 / (n - 1))
 * where that exceeds 1 (R. T. Birge, Phys. Rev. 40 (1932) 207): measurements are precise, predictions are
 * not, and the scatter about the line is mostly theirs. */
void slope_through_origin(
	const double *x, const double *y, const double *sd, size_t n, double *ret_slope, double *ret_sd)
{
	double xx = 0, xy = 0, chi_squared = 0;
	for (size_t i = 0; i < n; i++) {
		double weight = 1 / pow(fmax(sd[i], least_sd), 2);
		xx += weight * x[i] * x[i];
		xy += weight * x[i] * y[i];
	}
	*ret_slope = *ret_sd = NAN;
	if (!(xx > 0))
		return;
	for (size_t i = 0; i < n; i++)
		chi_squared += pow((y[i] - xy / xx * x[i]) / fmax(sd[i], least_sd), 2);
	double birge = n > 1 ? sqrt(chi_squared / (double)(n - 1)) : 1;
	*ret_slope = xy / xx;
	*ret_sd = fmax(birge, 1) / sqrt(xx);
}

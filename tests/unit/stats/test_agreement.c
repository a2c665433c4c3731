/* Rank correlations are SciPy 1.17.1's, scipy.stats.kendalltau(x, y, variant='b'); slopes are by hand. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "stats/agreement.h"

static void assert_close(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.12g, expected %.12g", got, wanted);
}

static void ranks_as_scipy_has_them(void **state)
{
	(void)state;
	static const struct {
		double x[6], y[6];
		size_t n;
		double tau;
	} cases[] = {
		{{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}, 5, 1},
		{{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}, 5, -1},
		{{1, 2, 3}, {2, 1, 3}, 3, 0.33333333333333337},
		{{0.05, 0.1, 0.02, 0.3, 0.07, -0.01}, {0.03, 0.12, 0.01, 0.1, 0.08, 0}, 6,
			0.8666666666666666},
		/* ties on both sides, on one side, and pairs tied on both at once */
		{{1, 1, 2, 2, 3}, {1, 2, 2, 3, 3}, 5, 0.7499999999999999},
		{{0.1, 0.1, 0.1, 0.2}, {0.3, 0.1, 0.2, 0.4}, 4, 0.7071067811865477},
		{{12, 2, 1, 12, 2}, {1, 4, 7, 1, 0}, 5, -0.4714045207910316},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_close(rank_correlation(cases[i].x, cases[i].y, cases[i].n), cases[i].tau, 1e-15 * 4);
}

static void ranks_need_an_order(void **state)
{
	(void)state;
	const double rising[] = {1, 2, 3, 4}, equal[] = {1, 1, 1, 1};
	assert_true(isnan(rank_correlation(rising, rising, 2)));
	assert_true(isnan(rank_correlation(rising, rising, 0)));
	assert_true(isnan(rank_correlation(rising, equal, 4)));
	assert_true(isnan(rank_correlation(equal, rising, 4)));
}

/* Weights 1e4 and 2500: sum w x^2 = 100 + 100, sum w x y = 50 + 100: slope 0.75. Off by -0.025 and 0.05, each
 * 2.5 sd: chi^2 = 12.5 over 1 degree of freedom, so 1 / sqrt(200) grows to sqrt(12.5 / 200) = 0.25. */
static void slope_by_hand(void **state)
{
	(void)state;
	const double x[] = {0.1, 0.2}, y[] = {0.05, 0.2}, sd[] = {0.01, 0.02};
	double slope, slope_sd;
	slope_through_origin(x, y, sd, 2, &slope, &slope_sd);
	assert_close(slope, 0.75, 1e-14);
	assert_close(slope_sd, 0.25, 1e-14);
}

static void scatter_widens_and_never_narrows(void **state)
{
	(void)state;
	const double x[] = {0.1, 0.2}, exact[] = {0.075, 0.15}, sd[] = {0.01, 0.02};
	double slope, slope_sd;
	slope_through_origin(x, exact, sd, 2, &slope, &slope_sd);
	assert_close(slope, 0.75, 1e-14);
	assert_close(slope_sd, 1 / sqrt(200), 1e-14);
	slope_through_origin(x, exact, sd, 1, &slope, &slope_sd); /* 0.075 / 0.1, 0.01 / 0.1 */
	assert_close(slope, 0.75, 1e-14);
	assert_close(slope_sd, 0.1, 1e-14);
}

static void slope_of_nothing(void **state)
{
	(void)state;
	const double zero[] = {0, 0}, y[] = {0.1, 0.2}, sd[] = {0.01, 0.01}, none[] = {0, 0};
	double slope = 0, slope_sd = 0;
	slope_through_origin(zero, y, sd, 2, &slope, &slope_sd);
	assert_true(isnan(slope) && isnan(slope_sd));
	slope_through_origin(y, y, sd, 0, &slope, &slope_sd);
	assert_true(isnan(slope) && isnan(slope_sd));
	slope_through_origin(y, y, none, 2, &slope, &slope_sd); /* measured without any noise */
	assert_close(slope, 1, 1e-14);
	assert_true(isfinite(slope_sd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_as_scipy_has_them),
		cmocka_unit_test(ranks_need_an_order),
		cmocka_unit_test(slope_by_hand),
		cmocka_unit_test(scatter_widens_and_never_narrows),
		cmocka_unit_test(slope_of_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a trial is worth, against numerical integration. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "search/worth.h"

static void assert_near(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.12g, expected %.12g", got, wanted);
}

/* The integral of max(0, exp(-incumbent) - exp(-f)) over a normal f by scipy.integrate.quad; relative, since
 * the last is 7.5 sd away. There the formula is a difference of two numbers of 2.2e-14 that agree in two
 * digits. */
static void improvement_is_the_integral(void **state)
{
	(void)state;
	static const struct {
		double mean, sd, incumbent, wanted;
	} cases[] = {
		{0.1, 0.05, 0.1, 0.017498066430499407},
		{0.0, 0.1, 0.3, 2.7575713385722555e-05},
		{0.5, 0.2, 0.1, 0.287701940307224},
		{0.2, 0.02, 0.35, 5.785141226727228e-17},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_near(worth_improvement(cases[i].mean, cases[i].sd, cases[i].incumbent),
			cases[i].wanted, 1e-9 * cases[i].wanted);
}

static void without_doubt_it_is_the_difference(void **state)
{
	(void)state;
	assert_near(worth_improvement(0.5, 0, 0.2), exp(-0.2) - exp(-0.5), 1e-15);
	assert_near(worth_improvement(0.1, 0, 0.2), 0, 0);
}

/* 40 standard deviations behind: nothing, and not a rounding error below it. */
static void it_is_never_negative(void **state)
{
	(void)state;
	for (int k = 0; k < 400; k++)
		assert_true(worth_improvement(-0.01 * k, 0.1, 0) >= 0);
	assert_near(worth_improvement(-4, 0.1, 0), 0, 1e-12);
}

static void what_may_not_run_is_worth_less(void **state)
{
	(void)state;
	struct decision d = {.mean_ln = 0.5, .sd_ln = 0, .incumbent_ln = 0.2, .p_fits = 0.5, .p_ok = 0.4};
	assert_near(worth_of(&d), 0.2 * (exp(-0.2) - exp(-0.5)), 1e-15);
	/* A strategy without models says nothing. */
	d.mean_ln = NAN;
	assert_true(isnan(worth_of(&d)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(improvement_is_the_integral),
		cmocka_unit_test(without_doubt_it_is_the_difference),
		cmocka_unit_test(it_is_never_negative),
		cmocka_unit_test(what_may_not_run_is_worth_less),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

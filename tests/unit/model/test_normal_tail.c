#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/normal_tail.h"

#include "oracle_normal.h"

static void assert_relative(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("%.17g, expected %.17g", got, want);
}

static void log_cdf_and_hazard_match_scipy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(oracle_normal); i++) {
		double t = oracle_normal[i].t;
		assert_relative(normal_log_cdf(t), oracle_normal[i].log_cdf, 1e-13);
		/* SciPy forms the hazard of t > 0 from erfcx(-t), we from the logarithm: both lose digits as
		 * t grows. */
		if (t < 8)
			assert_relative(normal_hazard(t), oracle_normal[i].hazard, t < 0 ? 1e-13 : 1e-12);
		assert_relative(normal_cdf(fmax(t, -37)), exp(normal_log_cdf(fmax(t, -37))), 1e-12);
	}
}

static void arguments_below_the_lowest_are_clipped(void **state)
{
	(void)state;
	assert_true(normal_log_cdf(-1e9) == normal_log_cdf(-1e6));
	assert_true(normal_log_cdf(-INFINITY) == normal_log_cdf(-1e6));
	assert_true(normal_hazard(-1e300) == normal_hazard(-1e6));
	assert_true(normal_log_cdf(INFINITY) == 0);
}

/* Phi(1) - Phi(-1) = 0.682689492137085897 (tables). Far out, phi(a)(b-a) is the limit of a thin slice. */
static void interval_keeps_its_digits_in_both_tails(void **state)
{
	(void)state;
	assert_relative(normal_log_interval(-1, 1), log(0.682689492137085897), 1e-14);
	assert_relative(normal_log_interval(30, 40), normal_log_interval(-40, -30), 1e-15);
	assert_relative(normal_log_interval(30, 40), normal_log_cdf(-30), 1e-15);
	assert_relative(normal_log_interval(5, 5 + 1e-7), normal_log_pdf(5) + log(1e-7), 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_cdf_and_hazard_match_scipy),
		cmocka_unit_test(arguments_below_the_lowest_are_clipped),
		cmocka_unit_test(interval_keeps_its_digits_in_both_tails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

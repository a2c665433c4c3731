#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/dense.h"

/* [4 2 2; 2 5 3; 2 3 6] = L L' with L = [2; 1 2; 1 1 2], by hand. */
static const double spd[9] = {4, 0, 0, 2, 5, 0, 2, 3, 6};
static const double factor[9] = {2, 0, 0, 1, 2, 0, 1, 1, 2};

static void cholesky_of_a_small_matrix(void **state)
{
	(void)state;
	double a[9];
	for (int i = 0; i < 9; i++)
		a[i] = spd[i];
	assert_true(cholesky(a, 3));
	for (int i = 0; i < 3; i++)
		for (int j = 0; j <= i; j++)
			assert_true(a[3 * i + j] == factor[3 * i + j]);
}

static void triangular_solves_invert_each_other(void **state)
{
	(void)state;
	/* A (1, -2, 3)' = (6, 1, 14)'. */
	double x[3] = {6, 1, 14};
	solve_lower(factor, 3, x);
	solve_lower_transposed(factor, 3, x);
	assert_true(x[0] == 1 && x[1] == -2 && x[2] == 3);
}

static void matrices_that_are_not_positive_are_refused(void **state)
{
	(void)state;
	double indefinite[4] = {1, 0, 2, 1}, nan[1] = {NAN}, infinite[1] = {INFINITY};
	assert_false(cholesky(indefinite, 2));
	assert_false(cholesky(nan, 1));
	assert_false(cholesky(infinite, 1));
	assert_true(cholesky(NULL, 0));
}

static void jitter_grows_until_the_pivot_is_positive(void **state)
{
	(void)state;
	const double nearly[4] = {1, 0, 1, 1 - 1e-7}; /* the second pivot is -1e-7 */
	double l[4];
	assert_false(cholesky_with_jitter(nearly, 2, 1e-10, 1e-9, l));
	assert_true(cholesky_with_jitter(nearly, 2, 1e-10, 1e-4, l));
	assert_true(fabs(l[0] - sqrt(1 + 1e-7)) < 1e-12);
	const double indefinite[4] = {1, 0, 2, 1};
	assert_false(cholesky_with_jitter(indefinite, 2, 1e-10, 1e-4, l));
}

/* 40 right-hand sides: one full block of columns and a rest. Each must equal the single solve to the bit's
 * neighbourhood (the sums run in another order). */
static void many_right_hand_sides(void **state)
{
	(void)state;
	enum { N = 3, M = 40 };
	double x[N * M], turned[M * N];
	for (int i = 0; i < N * M; i++)
		x[i] = 1 + i % 7 - 0.25 * i;
	transpose(x, N, M, turned);
	solve_lower_many(factor, N, x, M);
	for (int k = 0; k < M; k++) {
		solve_lower(factor, N, turned + N * k);
		for (int i = 0; i < N; i++)
			assert_true(fabs(turned[N * k + i] - x[i * M + k]) < 1e-13);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cholesky_of_a_small_matrix),
		cmocka_unit_test(triangular_solves_invert_each_other),
		cmocka_unit_test(many_right_hand_sides),
		cmocka_unit_test(matrices_that_are_not_positive_are_refused),
		cmocka_unit_test(jitter_grows_until_the_pivot_is_positive),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

/* Published with the authors' C code and used by the rand_xoshiro crate: xoshiro256** from the state 1, 2,
 * 3, 4. */
static void generator_matches_the_reference(void **state)
{
	(void)state;
	static const uint64_t expected[] = {11520u, 0u, 1509978240u, 1215971899390074240u,
		1216172134540287360u, 607988272756665600u, 16172922978634559625u, 8476171486693032832u,
		10595114339597558777u, 2904607092377533576u};
	struct random r = {.state = {1, 2, 3, 4}};
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		assert_true(random_u64(&r) == expected[i]);
}

/* SHA-256 of seed and index (little-endian) and purpose, its first 8 bytes big-endian, then four outputs of
 * SplitMix64: computed with Python's hashlib and a transcription of Vigna's splitmix64.c that gives his
 * published 6457827717110365317, 3203168211198807973 for the seed 1234567. */
static void seeding_is_fixed_for_all_time(void **state)
{
	(void)state;
	struct random r;
	random_init(&r, 7, "search", 3);
	static const uint64_t expected[4] = {
		15128602917314958126u, 16415131336102179302u, 661080942118699416u, 12987219116455413239u};
	for (size_t i = 0; i < 4; i++)
		assert_true(r.state[i] == expected[i]);
}

static void streams_depend_on_seed_purpose_and_index(void **state)
{
	(void)state;
	struct random a, b;
	static const struct {
		uint64_t seed;
		const char *purpose;
		uint64_t index;
	} others[] = {{8, "x", 1}, {7, "y", 1}, {7, "x", 2}, {7, "", 1}, {7, "xx", 1}};
	random_init(&a, 7, "x", 1);
	random_init(&b, 7, "x", 1);
	assert_memory_equal(a.state, b.state, sizeof(a.state));
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		random_init(&b, others[i].seed, others[i].purpose, others[i].index);
		assert_memory_not_equal(a.state, b.state, sizeof(a.state));
	}
}

static void uniform_and_below_stay_in_range(void **state)
{
	(void)state;
	struct random r;
	random_init(&r, 1, "range", 0);
	int counts[6] = {0};
	double sum = 0;
	for (int i = 0; i < 60000; i++) {
		double u = random_uniform(&r);
		assert_true(u >= 0 && u < 1);
		sum += u;
		counts[random_below(&r, 6)]++;
	}
	assert_true(fabs(sum / 60000 - 0.5) < 0.006); /* five standard errors */
	for (int i = 0; i < 6; i++)
		assert_true(abs(counts[i] - 10000) < 460); /* five standard deviations */
	assert_true(random_below(&r, 1) == 0);
	for (int i = 0; i < 100; i++)
		assert_true(random_below(&r, UINT64_MAX / 2 + 2) < UINT64_MAX / 2 + 2);
}

static void normal_has_the_right_moments(void **state)
{
	(void)state;
	enum { N = 200000 };
	struct random r;
	random_init(&r, 1, "normal", 0);
	double sum = 0, squares = 0, fourths = 0;
	int beyond = 0;
	for (int i = 0; i < N; i++) {
		double x = random_normal(&r);
		assert_true(isfinite(x));
		sum += x;
		squares += x * x;
		fourths += x * x * x * x;
		beyond += fabs(x) > 1.959963984540054;
	}
	assert_true(fabs(sum / N) < 5 / sqrt(N));
	assert_true(fabs(squares / N - 1) < 5 * sqrt(2.0 / N));
	assert_true(fabs(fourths / N - 3) < 5 * sqrt(96.0 / N));
	assert_true(fabs((double)beyond / N - 0.05) < 5 * sqrt(0.05 * 0.95 / N));
}

/* The polar method written down again with the C library's log(): equal to rounding. */
static void normal_is_the_polar_method(void **state)
{
	(void)state;
	struct random r, uniform;
	random_init(&r, 3, "polar", 0);
	uniform = r;
	for (int i = 0; i < 1000; i++) {
		double u, v, s;
		do {
			u = 2 * random_uniform(&uniform) - 1;
			v = 2 * random_uniform(&uniform) - 1;
			s = u * u + v * v;
		} while (s >= 1 || s == 0);
		double scale = sqrt(-2 * log(s) / s);
		double x = random_normal(&r), y = random_normal(&r);
		assert_true(fabs(x - u * scale) <= 1e-14 * fabs(x));
		assert_true(fabs(y - v * scale) <= 1e-14 * fabs(y));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generator_matches_the_reference),
		cmocka_unit_test(seeding_is_fixed_for_all_time),
		cmocka_unit_test(streams_depend_on_seed_purpose_and_index),
		cmocka_unit_test(uniform_and_below_stay_in_range),
		cmocka_unit_test(normal_has_the_right_moments),
		cmocka_unit_test(normal_is_the_polar_method),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

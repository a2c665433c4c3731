/* TPE: the Parzen weights against figures worked out by hand from Optuna's definition, and the order of
 * trials. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "search/strategy_tpe.h"
#include "search_fixture.h"

static struct decision next_of(const struct fixture *f, const char *strategy)
{
	struct decision d;
	struct err err = ERR_INIT;
	assert_int_equal(strategy_find(strategy)->next(&f->in, &d, &err), OK);
	assert_true(d.found);
	return d;
}

/* n trials and k settings: each trial's kernel has (1 + 1/(n+1)) / (1 + k/(n+1)) at its own setting and
 * (1/(n+1)) / (1 + k/(n+1)) elsewhere; the prior's is 1/k; all n + 1 weigh the same below 25 trials. */
static void parzen_weights_are_those_of_the_definition(void **state)
{
	(void)state;
	static const struct {
		int seen[3];
		size_t n;
		int n_settings;
		double p[4];
	} cases[] = {
		{{0}, 0, 4, {0.25, 0.25, 0.25, 0.25}},
		/* kernel (1/2) / 3 = 1/6 and 1/2, prior 1/4: halves of the sums */
		{{1}, 1, 4, {5.0 / 24, 3.0 / 8, 5.0 / 24, 5.0 / 24}},
		/* kernels (4/3) / (5/3) = 0.8 and 0.2: (0.8 + 0.8 + 0.5) / 3 */
		{{0, 0}, 2, 2, {0.7, 0.3}},
		/* symmetric */
		{{0, 1, 2}, 3, 3, {1.0 / 3, 1.0 / 3, 1.0 / 3}},
		/* kernels 5/6 and 1/6: (5/6 + 1/6 + 1/6 + 1/2) / 4 */
		{{0, 1, 1}, 3, 2, {5.0 / 12, 7.0 / 12}},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double p[4];
		tpe_parzen(cases[i].seen, cases[i].n, cases[i].n_settings, p);
		for (int k = 0; k < cases[i].n_settings; k++)
			if (fabs(p[k] - cases[i].p[k]) > 1e-12)
				fail_msg("case %zu, setting %d: %.12f, expected %.12f", i, k, p[k],
					cases[i].p[k]);
	}
}

/* 26 trials: the oldest weighs 1/26, the others 1, the prior 1; kernels 28/29 and 1/29.
 * P(0) = (28/29/26 + 25/29 + 1/2) / (1/26 + 26), where the oldest alone was 0. */
static void old_trials_weigh_less(void **state)
{
	(void)state;
	int seen[26] = {0};
	double p[2];
	for (int i = 1; i < 26; i++)
		seen[i] = 1;
	tpe_parzen(seen, 26, 2, p);
	assert_true(fabs(p[0] - (28.0 / 29 / 26 + 25.0 / 29 + 0.5) / (1.0 / 26 + 26)) < 1e-12);
	assert_true(fabs(p[0] + p[1] - 1) < 1e-12);
}

static void a_tenth_counts_as_good(void **state)
{
	(void)state;
	static const size_t cases[][2] = {
		{0, 0}, {1, 1}, {10, 1}, {11, 2}, {20, 2}, {21, 3}, {250, 25}, {9999, 25}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(tpe_good(cases[i][0]), cases[i][1]);
}

static void it_starts_up_at_random(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	for (int trial = 0; trial < 12; trial++) {
		struct decision d = next_of(&f, "tpe");
		assert_names(&d, trial < 10 ? "start-up" : "tpe");
		execute(&f, d.setting);
		decision_release(&d);
	}
}

static void sparse_starts_beside_the_reference(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	for (int trial = 0; trial < 5; trial++) {
		struct decision d = next_of(&f, "tpe-sparse");
		assert_names(&d, trial < 4 ? "start-up" : "tpe-sparse");
		assert_true(trial == 4 || changes(&f, d.setting) == 1);
		execute(&f, d.setting);
		decision_release(&d);
	}
}

/* Two levers, twelve trials of which one is best: with `max` (of recompute) and `on` (of compile) in the good
 * trials and not in the others, the drawn candidate with the larger ratio is these. The good ones (2 of 13
 * with the reference) are the two fastest valid ones; a crashed run never counts as good, whatever it
 * "gained". */
static void good_trials_are_followed_and_failures_are_not(void **state)
{
	(void)state;
	struct fixture f;
	int followed = 0, n = 100;
	fixture_init(&f);
	for (int i = 0; i < 10; i++) {
		int setting[LEVERS] = {1, 0, 1, i % 3, i / 3 % 2, i / 6};
		observe(&f, setting, i % 2 ? OBSERVED_OK : OBSERVED_CRASH, i % 2 ? -0.1 : 5);
	}
	observe(&f, (int[LEVERS]){2, 1, 1}, OBSERVED_OK, 0.3);
	observe(&f, (int[LEVERS]){2, 1, 1, 1}, OBSERVED_OK, 0.2);
	for (int seed = 1; seed <= n; seed++) {
		f.in.seed = (uint64_t)seed;
		struct decision d = next_of(&f, "tpe");
		followed += d.setting[0] == 2 && d.setting[1] == 1;
		decision_release(&d);
	}
	/* 24 draws miss a setting of probability 0.4 about once in 2e5. */
	assert_int_equal(followed, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parzen_weights_are_those_of_the_definition),
		cmocka_unit_test(old_trials_weigh_less),
		cmocka_unit_test(a_tenth_counts_as_good),
		cmocka_unit_test(it_starts_up_at_random),
		cmocka_unit_test(sparse_starts_beside_the_reference),
		cmocka_unit_test(good_trials_are_followed_and_failures_are_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

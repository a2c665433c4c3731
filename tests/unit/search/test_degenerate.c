/* Tasks with little to choose and little to tell apart. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/random.h"
#include "degenerate_world.h"

/* ------------------------------------------------------------- little or nothing to choose */

static void no_lever_at_all(void **state)
{
	(void)state;
	struct world *w = world_new();
	assert_int_equal(play_all(w, 3), 0);
	free(w);
}

static void one_knob_with_one_setting(void **state)
{
	(void)state;
	struct world *w = world_new();
	add_levers(w, 1, CATEGORY, 1);
	assert_int_equal(play_all(w, 3), 0);
	free(w);
}

static void one_knob(void **state)
{
	(void)state;
	static const enum lever_kind kinds[] = {CATEGORY, RANK, NUMBER};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (int n_settings = 2; n_settings <= 5; n_settings++) {
			struct world *w = world_new();
			add_levers(w, 1, kinds[i], n_settings);
			w->lever[0].reference = n_settings / 2;
			w->gain_ln[0][0] = 0.1;
			assert_int_equal(play_all(w, 17), n_settings - 1);
			double mean;
			int best = incumbent(w, &mean);
			assert_true(best >= 0 && w->setting[best][0] == 0);
			free(w);
		}
}

/* A lever without a choice among others is never moved. */
static void a_knob_without_a_choice_stays(void **state)
{
	(void)state;
	struct world *w = world_new();
	add_levers(w, 2, NUMBER, 3);
	add_levers(w, 1, NUMBER, 1);
	add_levers(w, 1, CATEGORY, 2);
	assert_int_equal(play_all(w, 17), 17); /* all of 3 * 3 * 2 but the reference */
	assert_int_equal(play(w, controller(), 1), 0);
	free(w);
}

static void no_knobs_but_patches(void **state)
{
	(void)state;
	struct world *w = world_new();
	add_levers(w, 3, PATCH, 2);
	w->gain_ln[1][1] = 0.05;
	w->gain_ln[2][1] = 0.04;
	w->gain_ln[0][1] = -0.1;
	assert_int_equal(play_all(w, 17), 7);
	double mean;
	int best = incumbent(w, &mean);
	static const int expected[] = {0, 1, 1};
	assert_true(best >= 0);
	assert_memory_equal(w->setting[best], expected, sizeof(expected));
	free(w);
}

/* A budget of one is a decision like any other, and what it finds can be a finalist. */
static void a_budget_of_one(void **state)
{
	(void)state;
	struct world *w = world_new();
	add_levers(w, 4, CATEGORY, 3);
	add_levers(w, 2, PATCH, 2);
	for (int l = 0; l < 6; l++)
		for (int s = 1; s < 3; s++)
			w->gain_ln[l][s] = 0.02;
	assert_int_equal(play_all(w, 1), 1);
	int order[TRIALS_MAX];
	assert_int_equal(finalists(w, order), 1);
	assert_int_equal(order[0], 0);
	free(w);
}

/* Reference 1, best 64 of 500. As categories they are 500 separate questions, asked in order; along an axis
 * what is near is alike, and a budget of 17 comes within a third of the way. */
static void a_knob_with_five_hundred_settings(void **state)
{
	(void)state;
	static const enum lever_kind kinds[] = {CATEGORY, RANK, NUMBER};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (int others = 0; others <= 2; others += 2) {
			struct world *w = world_new();
			add_levers(w, 1, kinds[i], SETTINGS_MAX);
			add_levers(w, others, CATEGORY, 2);
			for (int s = 0; s < SETTINGS_MAX; s++)
				w->gain_ln[0][s] = 0.3 - fabs(log2(s + 1) - 6) / 20;
			assert_int_equal(play_all(w, 17), 17);
			double mean;
			int best = incumbent(w, &mean);
			assert_true(best >= 0 && w->observation[best].gain_ln > 0);
			if (kinds[i] == NUMBER && !others)
				assert_true(w->observation[best].gain_ln > 0.2);
			free(w);
		}
}

/* ------------------------------------------------------------- nothing to tell apart */

/* Two levers that nothing distinguishes: wherever one of them alone is proposed first, it is the first. */
static void ties_go_by_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world *w = world_new();
		add_levers(w, 2, CATEGORY, 2);
		w->in.seed = seed;
		bool first_alone = false;
		for (int k = 0; k < 3; k++) {
			struct decision d = decide(w, controller());
			assert_true(d.found);
			if (d.setting[1] && !d.setting[0])
				assert_true(first_alone);
			first_alone |= d.setting[0] && !d.setting[1];
			run(w, d.setting);
			decision_release(&d);
		}
		free(w);
	}
}

/* Six levers of three settings, all exactly alike and without effect: nothing is promoted on equal figures.
 */
static void identical_settings_end_in_no_finalist(void **state)
{
	(void)state;
	struct world *w = world_new();
	add_levers(w, 6, CATEGORY, 3);
	assert_int_equal(play_all(w, 17), 17);
	int order[TRIALS_MAX];
	double mean;
	assert_int_equal(incumbent(w, &mean), -1);
	assert_true(mean == 0);
	assert_int_equal(finalists(w, order), 0);
	free(w);
}

/* The same decision whatever the settings are called and however often it is asked. */
static void the_same_ledger_decides_the_same(void **state)
{
	(void)state;
	static const char *const words[] = {"off", "on", "max"};
	struct world *w = world_new();
	add_levers(w, 6, CATEGORY, 3);
	for (int k = 0; k < 8; k++) {
		struct decision one = decide(w, controller()), two;
		for (int l = 0; l < 6; l++) {
			w->lever[l].name = k % 2 ? "zeta" : "alpha";
			w->lever[l].setting_names = words;
		}
		two = decide(w, controller());
		assert_memory_equal(one.setting, two.setting, 6 * sizeof(int));
		assert_true(one.score == two.score);
		run(w, one.setting);
		decision_release(&one);
		decision_release(&two);
	}
	free(w);
}

/* sigma_pair of 50%, effects of at most 3%: figures stay finite, the models believe next to nothing, and what
 * is believed of any run stays within the effects that were possible. */
static void noise_larger_than_every_effect(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct random random;
	random_init(&random, 5, "noise", 0);
	add_levers(w, 6, CATEGORY, 3);
	add_levers(w, 2, PATCH, 2);
	w->in.model.sigma_pair = 0.5;
	w->in.gate_ln = 1;
	for (int k = 0; k < 17; k++) {
		struct decision d = decide(w, controller());
		assert_true(d.found);
		/* One run's sd is that of a pair over sqrt 2; both it and the reference's mean are noisy. */
		run(w, d.setting)->gain_ln = 0.5 * M_SQRT1_2 * random_normal(&random);
		decision_release(&d);
	}
	double mean;
	(void)incumbent(w, &mean);
	assert_true(mean >= 0 && mean < 0.15);
	free(w);
}

/* Repeated runs of one configuration that agree to the last bit, and no noise at all: the covariance is
 * singular. */
static void no_noise_at_all(void **state)
{
	(void)state;
	struct world *w = world_new();
	add_levers(w, 4, NUMBER, 4);
	w->in.model.sigma_pair = 0;
	for (int s = 1; s < 4; s++)
		w->gain_ln[0][s] = 0.03 * s;
	static const int setting[LEVERS_MAX] = {1, 1};
	for (int i = 0; i < 4; i++)
		run(w, setting);
	assert_int_equal(play(w, controller(), 12), 12);
	int order[TRIALS_MAX];
	size_t n = finalists(w, order);
	assert_true(n > 0);
	assert_int_equal(w->setting[order[0]][0], 3);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_lever_at_all),
		cmocka_unit_test(one_knob_with_one_setting),
		cmocka_unit_test(one_knob),
		cmocka_unit_test(a_knob_without_a_choice_stays),
		cmocka_unit_test(no_knobs_but_patches),
		cmocka_unit_test(a_budget_of_one),
		cmocka_unit_test(a_knob_with_five_hundred_settings),
		cmocka_unit_test(ties_go_by_order),
		cmocka_unit_test(identical_settings_end_in_no_finalist),
		cmocka_unit_test(the_same_ledger_decides_the_same),
		cmocka_unit_test(noise_larger_than_every_effect),
		cmocka_unit_test(no_noise_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

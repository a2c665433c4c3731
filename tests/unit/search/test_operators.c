/*
 * Every operator on an input small enough that its seeds follow by hand from what it promises, and that a
 * switch takes it out. Settings that nothing is said about are capped at no gain, so that they stay out of
 * the way.
 */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/strbuf.h"
#include "search/seeds.h"
#include "search_fixture.h"

enum { EVERY_OPERATOR = (1 << N_OPERATORS) - 1 };

static void only(struct fixture *f, enum search_operator which)
{
	f->in.switches.operators_off = (unsigned)EVERY_OPERATOR & ~(1u << which);
	f->in.switches.operators_on = 1u << which;
}

/* The seeds of one operator. */
struct sown {
	struct scores s;
	struct seed_list list;
};

static void sow(struct sown *w, const struct fixture *f, enum search_operator which)
{
	struct err err = ERR_INIT;
	*w = (struct sown){.list = {.n = 0}};
	assert_int_equal(scores_init(&w->s, &f->in, &err), OK);
	seed_operator(which)->generate(&w->s, &w->list);
}

static bool has_seed(const struct sown *w, const int *setting)
{
	for (int i = 0; i < w->list.n; i++)
		if (same_settings(w->list.seed[i].setting, setting, w->s.n_levers))
			return true;
	return false;
}

static void assert_seeds(const struct fixture *f, enum search_operator which, const int (*expected)[LEVERS],
	int n, bool all_of_them)
{
	struct sown w;
	sow(&w, f, which);
	for (int i = 0; i < n; i++)
		if (!has_seed(&w, expected[i]))
			fail_msg("%s: seed %d is missing among %d", operator_names[which], i, w.list.n);
	if (all_of_them)
		assert_int_equal(w.list.n, n);
	scores_release(&w.s);
}

/* With nothing else on, a decision bears the operator's name; with it off, too, only chance is left. */
static void assert_switch(struct fixture *f, enum search_operator which)
{
	only(f, which);
	struct decision d = next_decision(f);
	assert_true(d.found);
	assert_int_equal(strncmp(d.operators, operator_names[which], strlen(operator_names[which])), 0);
	decision_release(&d);
	f->in.switches.operators_off |= 1u << which;
	d = next_decision(f);
	assert_int_equal(strncmp(d.operators, "random", strlen("random")), 0);
	decision_release(&d);
	f->in.switches = (struct search_switches){.operators_on = (unsigned)EVERY_OPERATOR};
	d = next_decision(f);
	assert_true(d.found);
	decision_release(&d);
}

/* ------------------------------------------------------------- from what has run */

static void exploit_is_the_incumbent_and_backtrack_the_reference(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int best[1][LEVERS] = {{0, 1, 1}}, worse[LEVERS] = {0, 0, 1, 1},
			 reference[1][LEVERS] = {{0, 0, 1}};
	run_ok(&f, best[0], 0.2);
	run_ok(&f, worse, 0.05);
	assert_seeds(&f, OPERATOR_EXPLOIT, best, 1, true);
	assert_seeds(&f, OPERATOR_BACKTRACK, reference, 1, true);
	assert_switch(&f, OPERATOR_EXPLOIT);
	assert_switch(&f, OPERATOR_BACKTRACK);
}

static void a_bundle_starts_from_the_failure_that_memory_repairs(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int fast[1][LEVERS] = {{2, 1, 1, 2}};
	f.prior[0][2].predicted_gain_ln = 0.5;
	f.prior[1][1].predicted_gain_ln = 0.3;
	f.prior[3][2].predicted_gain_ln = 0.4;
	f.prior[4][1].declared_bytes = -20 * GIB;
	observe(&f, fast[0], OBSERVED_OOM, 0)->shortfall_bytes = 2 * GIB;
	assert_seeds(&f, OPERATOR_BUNDLE, fast, 1, true);
	only(&f, OPERATOR_BUNDLE);
	struct decision d = next_decision(&f);
	assert_int_equal(d.setting[4], 1); /* the saver */
	decision_release(&d);
	assert_switch(&f, OPERATOR_BUNDLE);
}

static void warm_restart_is_three_changes_away(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int best[LEVERS] = {1, 1, 1}, near[LEVERS] = {0, 1, 1, 1},
			 far[1][LEVERS] = {{0, 0, 1, 2, 1, 1}};
	run_ok(&f, best, 0.3);
	run_ok(&f, near, 0.2);
	run_ok(&f, far[0], 0.1);
	assert_seeds(&f, OPERATOR_WARM_RESTART, far, 1, true);
	assert_switch(&f, OPERATOR_WARM_RESTART);
}

/* Experience is sure of two gains: every draw from the posterior takes both. */
static void escape_takes_what_every_draw_likes(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	for (int l = 1; l <= 5; l += 4)
		f.prior[l][1] = (struct lever_prior){
			.amdahl_cap_ln = INFINITY, .experienced = true, .mean_ln = 0.3, .sd_ln = 0.001};
	static const int both[1][LEVERS] = {{0, 1, 1, 0, 0, 1}};
	static const int visited[LEVERS] = {0, 0, 1, 1}; /* so that the experienced start has had its turn */
	run_ok(&f, visited, -0.01);
	assert_seeds(&f, OPERATOR_ESCAPE, both, 1, false);
	assert_switch(&f, OPERATOR_ESCAPE);
}

static bool all_or_none(void *context, const int *setting)
{
	const struct fixture *f = context;
	int n = changes(f, setting);
	return n == 0 || n == f->in.model.n_levers;
}

static void a_survey_is_the_only_way_to_an_island(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.model.n_levers = 4;
	f.in.is_legal = all_or_none;
	f.in.legal_context = &f;
	assert_switch(&f, OPERATOR_SURVEY);
}

/* Two knobs that were predicted to gain 0.2 each lost as much. What remains of the predictions is rescaled,
 * or, with the rule off, stays where it was: only the number of changes, which has its own column, still
 * lowers it. */
static void predictions_are_revised_or_stay(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int lost[2][LEVERS] = {{0, 1, 1}, {0, 0, 1, 0, 1}}, untried[LEVERS] = {0, 0, 1, 0, 0, 1};
	f.prior[1][1].predicted_gain_ln = f.prior[4][1].predicted_gain_ln = f.prior[5][1].predicted_gain_ln =
		0.2;
	run_ok(&f, lost[0], -0.2);
	run_ok(&f, lost[1], -0.2);
	double mean[2];
	for (int off = 0; off < 2; off++) {
		struct scores s;
		struct err err = ERR_INIT;
		f.in.switches.operators_off = off ? 1u << OPERATOR_PRIOR_REVISION : 0;
		assert_int_equal(scores_init(&s, &f.in, &err), OK);
		struct candidate *c = scores_look_up(&s, untried);
		candidate_predict(&s, c);
		mean[off] = c->mean_ln;
		scores_release(&s);
	}
	/* By hand, gains g of the two runs: g = 0.2 slope + count + own, sds 0.4, 0.02 and max(0.07, 0.5 *
	 * 0.2) = 0.1, prior mean 0.3 * 0.2 = 0.06, misfit sd 0.02, noise variance 0.004^2 / 2. Both say
	 * -0.26. */
	double shared_on = 0.04 * 0.16 + 0.0004, shared_off = 0.0004, own = 0.01 + 0.0004 + 0.004 * 0.004 / 2,
	       reference = 0.004 * 0.004 / 8;
	double on = 0.06 - 0.26 * 2 * shared_on / (own + 2 * (shared_on + reference));
	double off = 0.06 - 0.26 * 2 * shared_off / (own + 2 * (shared_off + reference));
	assert_true(fabs(mean[0] - on) < 1e-6);
	assert_true(fabs(mean[1] - off) < 1e-6);
	assert_true(mean[0] < 0 && mean[1] > 0);
}

/* ------------------------------------------------------------- contrarian */

/* Predicted to lose 20 %, so mean -0.06 and sd 0.1: up to 0.14. It needs 40 of the 20 GiB that are free, and
 * another knob gives 30 back. */
static void contrarian_probes_are_repaired(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	open_setting(&f, 0, 2, -0.2);
	open_setting(&f, 1, 1, 0.3); /* promising, so not contrarian */
	f.prior[0][2].declared_bytes = 40 * GIB;
	f.prior[4][1].declared_bytes = -30 * GIB;
	static const int expected[1][LEVERS] = {{2, 0, 1, 0, 1}};
	assert_seeds(&f, OPERATOR_CONTRARIAN, expected, 1, true);
	assert_switch(&f, OPERATOR_CONTRARIAN);
	/* It has run: there is nothing to be contrary about. */
	run_ok(&f, expected[0], -0.1);
	assert_seeds(&f, OPERATOR_CONTRARIAN, NULL, 0, true);
}

/* ------------------------------------------------------------- big knobs */

/* Predictions 0.5, 0.3 and 0.1 give bounds 0.3p + max(2 * 0.07, p): in their order. 0.01 is below the gate.
 */
static void big_knobs_go_together_after_two_trials_without_gain(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	open_setting(&f, 0, 2, 0.5);
	open_setting(&f, 3, 2, 0.3);
	open_setting(&f, 5, 1, 0.1);
	open_setting(&f, 6, 1, 0.01);
	static const int poor[2][LEVERS] = {{0, 1, 1}, {0, 0, 0}};
	static const int expected[3][LEVERS] = {{2, 0, 1}, {2, 0, 1, 2}, {2, 0, 1, 2, 0, 1}};
	run_ok(&f, poor[0], -0.05);
	assert_seeds(&f, OPERATOR_BIG_KNOB, NULL, 0, true);
	run_ok(&f, poor[1], -0.05);
	assert_seeds(&f, OPERATOR_BIG_KNOB, expected, 3, true);
	assert_switch(&f, OPERATOR_BIG_KNOB);
	/* A gain above the gate: the search is not stuck. */
	static const int good[LEVERS] = {0, 0, 1, 0, 1};
	run_ok(&f, good, 0.1);
	assert_seeds(&f, OPERATOR_BIG_KNOB, NULL, 0, true);
}

/* ------------------------------------------------------------- extrapolation */

/* Settings 1, 2, 4, 8, 16 written out of order: from 1 to 2 was a gain, so 4 and then 8 are next. */
static void a_monotone_knob_goes_on(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	static const char *const sizes[] = {"2", "16", "1", "8", "4"};
	struct lever_prior prior[5];
	for (int s = 0; s < 5; s++)
		prior[s] = (struct lever_prior){.amdahl_cap_ln = INFINITY};
	f.lever[0].n_settings = 5;
	f.lever[0].prior = prior;
	f.lever[0].setting_names = sizes;
	f.lever[0].reference = 2;
	static const int two[LEVERS] = {0, 0, 1}, expected[2][LEVERS] = {{4, 0, 1}, {3, 0, 1}};
	assert_seeds(&f, OPERATOR_EXTRAPOLATE, NULL, 0, true);
	run_ok(&f, two, 0.2);
	assert_seeds(&f, OPERATOR_EXTRAPOLATE, expected, 2, true);
	assert_switch(&f, OPERATOR_EXTRAPOLATE);
}

/* Ranks. The best run has both knobs a step up: each alone a step further, and both. */
static void monotone_knobs_go_on_together(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.lever[0].ordered = f.lever[3].ordered = true;
	static const int up[LEVERS] = {1, 0, 1, 1};
	static const int expected[3][LEVERS] = {{2, 0, 1, 2}, {2, 0, 1, 1}, {1, 0, 1, 2}};
	run_ok(&f, up, 0.3);
	assert_seeds(&f, OPERATOR_EXTRAPOLATE, expected, 3, true);
	f.lever[0].ordered = false;
	assert_seeds(&f, OPERATOR_EXTRAPOLATE, &expected[2], 1, true);
}

/* ------------------------------------------------------------- patches */

static void two_patches_that_passed_are_stacked(void **state)
{
	(void)state;
	struct fixture f;
	quiet_init(&f);
	for (int l = 7; l <= 8; l++)
		open_setting(&f, l, 1, 0);
	open_setting(&f, 1, 1, 0.1);
	static const int best[LEVERS] = {0, 1, 1}, first[LEVERS] = {0, 0, 1, 0, 0, 0, 0, 1},
			 second[LEVERS] = {0, 0, 1, 0, 0, 0, 0, 0, 1};
	static const int expected[1][LEVERS] = {{0, 1, 1, 0, 0, 0, 0, 1, 1}};
	run_ok(&f, best, 0.3);
	run_ok(&f, first, 0.05);
	assert_seeds(&f, OPERATOR_STACK, NULL, 0, true); /* one alone is no stack */
	run_ok(&f, second, 0.05);
	assert_seeds(&f, OPERATOR_STACK, expected, 1, true);
	assert_switch(&f, OPERATOR_STACK);
	/* Together 0.01, below the gate of 0.02. */
	f.observation[1].gain_ln = f.observation[2].gain_ln = 0.005;
	assert_seeds(&f, OPERATOR_STACK, NULL, 0, true);
}

static void the_best_untested_patch_goes_onto_the_incumbent(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	open_setting(&f, 7, 1, 0.1);
	open_setting(&f, 8, 1, 0.2);
	static const int best[LEVERS] = {0, 1, 1};
	static const int expected[2][LEVERS] = {{0, 1, 1, 0, 0, 0, 0, 0, 1}, {0, 1, 1, 0, 0, 0, 0, 1}};
	run_ok(&f, best, 0.3);
	assert_seeds(&f, OPERATOR_PATCH, expected, 1, true);
	assert_switch(&f, OPERATOR_PATCH);
	observe(&f, expected[0], OBSERVED_CRASH, 0);
	assert_seeds(&f, OPERATOR_PATCH, &expected[1], 1, true);
	observe(&f, expected[1], OBSERVED_CRASH, 0);
	assert_seeds(&f, OPERATOR_PATCH, NULL, 0, true);
}

/* ------------------------------------------------------------- conflicts */

/* Three settings crashed together; two of them have run. The third is the only single suspect, pairs with it
 * are ten times less likely. */
static void what_is_suspected_goes_back(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int crashed[LEVERS] = {0, 1, 1, 2, 0, 1}, one[LEVERS] = {0, 0, 1, 2},
			 other[LEVERS] = {0, 0, 1, 0, 0, 1};
	static const int expected[1][LEVERS] = {{0, 0, 1, 2, 0, 1}};
	run_ok(&f, one, 0.05);
	run_ok(&f, other, 0.05);
	assert_seeds(&f, OPERATOR_CONFLICT, NULL, 0, true);
	observe(&f, crashed, OBSERVED_CRASH, 0);
	assert_seeds(&f, OPERATOR_CONFLICT, expected, 1, true);
	assert_switch(&f, OPERATOR_CONFLICT);
}

/* Two singles are equally likely: nothing less than both clears what is suspected. */
static void equal_suspects_go_back_together(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int crashed[LEVERS] = {0, 1, 1, 0, 1, 1, 1}, one[LEVERS] = {0, 0, 1, 0, 1},
			 other[LEVERS] = {0, 0, 1, 0, 0, 0, 1};
	static const int expected[1][LEVERS] = {{0, 0, 1, 0, 1, 0, 1}};
	run_ok(&f, one, 0.05);
	run_ok(&f, other, 0.05);
	observe(&f, crashed, OBSERVED_HANG, 0);
	assert_seeds(&f, OPERATOR_CONFLICT, expected, 1, true);
}

/* ------------------------------------------------------------- switches */

static void switches_are_said_where_they_differ(void **state)
{
	(void)state;
	struct search_switches w = {.operators_off = 1u << OPERATOR_ESCAPE | 1u << OPERATOR_CONTRARIAN,
		.operators_on = 1u << OPERATOR_STACK | 1u << OPERATOR_EXPLOIT,
		.starts_given = true,
		.starts = 1u << START_PRIOR};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	search_switches_text(&w, &text);
	assert_string_equal(text.buf, "-escape +stack -start:experience +start:prior");
	strbuf_clear(&text);
	search_switches_text(&(struct search_switches){0}, &text);
	assert_string_equal(text.buf, "");
}

static void every_part_has_a_name_and_a_summary(void **state)
{
	(void)state;
	for (int i = 0; i < N_OPERATORS; i++) {
		struct search_part part = search_operator_part((enum search_operator)i);
		assert_true(*part.name && *part.summary);
		assert_int_equal(switch_index(operator_names, part.name), i);
	}
	for (int i = 0; i < N_STARTS; i++) {
		struct search_part part = search_start_part((enum search_start)i);
		assert_true(*part.name && *part.summary);
		assert_int_equal(switch_index(start_names, part.name), i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exploit_is_the_incumbent_and_backtrack_the_reference),
		cmocka_unit_test(a_bundle_starts_from_the_failure_that_memory_repairs),
		cmocka_unit_test(warm_restart_is_three_changes_away),
		cmocka_unit_test(escape_takes_what_every_draw_likes),
		cmocka_unit_test(a_survey_is_the_only_way_to_an_island),
		cmocka_unit_test(predictions_are_revised_or_stay),
		cmocka_unit_test(contrarian_probes_are_repaired),
		cmocka_unit_test(big_knobs_go_together_after_two_trials_without_gain),
		cmocka_unit_test(a_monotone_knob_goes_on),
		cmocka_unit_test(monotone_knobs_go_on_together),
		cmocka_unit_test(two_patches_that_passed_are_stacked),
		cmocka_unit_test(the_best_untested_patch_goes_onto_the_incumbent),
		cmocka_unit_test(what_is_suspected_goes_back),
		cmocka_unit_test(equal_suspects_go_back_together),
		cmocka_unit_test(switches_are_said_where_they_differ),
		cmocka_unit_test(every_part_has_a_name_and_a_summary),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ledger_fixture.h"
#include "stats/early_stop.h"

static void expect_near(double value, double expected)
{
	if (!(fabs(value - expected) < 1e-9))
		fail_msg("%.12g, expected %.12g", value, expected);
}

static void finish_on(struct world *w, enum receipt_role role, int trial, const char *slot, double time_s)
{
	world_finish(w, role, trial, &(struct ending){.time_s = time_s, .slot = slot, .at_once = 2});
}

/* Each slot 2% from its first run to its second. */
static void measure_slots(struct world *w)
{
	finish_on(w, ROLE_REFERENCE, 0, "devices 0", 0.20);
	finish_on(w, ROLE_REFERENCE, 0, "devices 1", 0.22);
	finish_on(w, ROLE_REFERENCE, 0, "devices 1", 0.22 * 1.02);
	finish_on(w, ROLE_REFERENCE, 0, "devices 0", 0.20 * 1.02);
}

static void a_gain_is_told_against_the_slots_own_reference(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	world_load(&w);
	double alone_s = w.state.noise.mean_s, alone_cost_s = w.state.cost.reference_s;
	measure_slots(&w);
	finish_on(&w, ROLE_SEARCH, world_register(&w, "{\"threads\":\"2\"}", "[]"), "devices 1", 0.11);
	world_finish(&w, ROLE_SEARCH, world_register(&w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.11});
	/* On a slot, and with a number beside it, that the reference was not measured on. */
	finish_on(&w, ROLE_SEARCH, world_register(&w, "{\"mode\":\"fast\"}", "[]"), "devices 7", 0.11);
	world_load(&w);
	const struct state *s = &w.state;
	assert_int_equal(s->n_references, 4);
	assert_int_equal(s->noise.runs, 4);
	expect_near(s->noise.mean_s, alone_s); /* noise alone is what was measured alone */
	expect_near(s->cost.reference_s, alone_cost_s + 4 * 10);
	expect_near(s->trials[0].run.gain_ln, log(0.22 * sqrt(1.02) / 0.11));
	expect_near(s->trials[1].run.gain_ln, log(alone_s / 0.11));
	assert_true(isnan(s->trials[2].run.gain_ln));
	const struct observation *o = s->search.model.observations;
	assert_true(o[0].has_gain && o[1].has_gain && !o[2].has_gain);
	world_close(&w);
}

/* By hand: four runs, each ln(1.02)/2 from its slot's mean, two degrees of freedom: the variance of a run is
 * ln(1.02)^2 / 2, and sigma_pair is sqrt(2) times its root. Steps do not vary within a run. */
static void noise_beside_others_is_pooled_over_slots(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	measure_slots(&w);
	finish_on(&w, ROLE_SEARCH, world_register(&w, "{\"threads\":\"2\"}", "[]"), "devices 1", 0.11);
	world_finish(&w, ROLE_SEARCH, world_register(&w, "{\"threads\":\"4\"}", "[]"),
		&(struct ending){.time_s = 0.11});
	world_load(&w);
	const struct state *s = &w.state;
	const struct slot_base *base = state_slot_base(s, "devices 1", 2);
	assert_non_null(base);
	assert_int_equal(base->runs, 2);
	expect_near(base->sigma_pair, log(1.02));
	assert_null(state_slot_base(s, "devices 1", 3));
	/* What is less sure there: the excess of a run's variance, and a mean of two in place of none. */
	double alone = s->noise.sigma_pair, here = log(1.02);
	assert_true(alone < here);
	expect_near(s->search.model.observations[0].extra_sd_ln,
		sqrt((here * here - alone * alone) / 2 + here * here / 4));
	assert_true(s->search.model.observations[1].extra_sd_ln == 0);
	world_close(&w);
}

static void one_round_says_no_noise_of_its_own(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	finish_on(&w, ROLE_REFERENCE, 0, "devices 0", 0.20);
	world_finish(&w, ROLE_REFERENCE, 0,
		&(struct ending){
			.time_s = 0.3, .failing_item = ITEM_SAME_DATA, .slot = "devices 1", .at_once = 2});
	finish_on(&w, ROLE_SEARCH, world_register(&w, "{\"threads\":\"2\"}", "[]"), "devices 0", 0.10);
	world_load(&w);
	const struct slot_base *base = state_slot_base(&w.state, "devices 0", 2);
	assert_true(isnan(base->sigma_pair));
	assert_null(state_slot_base(&w.state, "devices 1", 2)); /* its only run is not valid */
	assert_int_equal(w.state.n_slot_runs, 2);
	assert_true(isfinite(w.state.search.model.observations[0].extra_sd_ln));
	world_close(&w);
}

static int64_t start(struct world *w, int trial)
{
	return world_entry(w, ENTRY_STARTED, trial, NULL,
		"{\"role\":\"search\",\"seq\":%d,\"nonce\":\"n\",\"slot\":\"devices %d\",\"at_once\":2}",
		(int)++w->seq, trial % 2);
}

static void what_runs_is_pending_until_it_ends(void **unused)
{
	(void)unused;
	struct world w;
	world_measured(&w);
	measure_slots(&w);
	int first = world_register(&w, "{\"threads\":\"2\"}", "[]");
	world_load(&w);
	assert_int_equal(w.state.search.n_pending, 0); /* registered, not started */
	size_t visited = w.state.search.n_visited;
	start(&w, first);
	int second = world_register(&w, "{\"threads\":\"4\"}", "[]");
	start(&w, second);
	world_load(&w);
	assert_int_equal(w.state.search.n_pending, 2);
	assert_int_equal(w.state.search.pending[0][0], w.state.trials[0].candidate.setting[0]);
	assert_int_equal(w.state.search.pending[1][0], w.state.trials[1].candidate.setting[0]);
	assert_int_equal(w.state.search.n_visited, visited + 1);
	assert_int_equal(w.state.search.model.n_observations, 0);
	/* The second ends first, with its own number; the other is sealed behind it. */
	world_finish(&w, ROLE_SEARCH, second, &(struct ending){.slot = "devices 0", .at_once = 2, .seq = 10});
	world_load(&w);
	assert_int_equal(w.state.search.n_pending, 1);
	assert_int_equal(w.state.search.pending[0][0], w.state.trials[0].candidate.setting[0]);
	assert_int_equal(w.state.next_seq, 11);
	assert_int_equal(w.state.last_receipt_seq, 10);
	world_finish(&w, ROLE_SEARCH, first,
		&(struct ending){.slot = "devices 1", .at_once = 2, .seq = 11, .execution = 9});
	world_load(&w);
	assert_int_equal(w.state.search.n_pending, 0);
	assert_int_equal(w.state.n_counted, 2);
	assert_int_equal(w.state.next_seq, 12);
	assert_int_equal(w.state.last_receipt_seq, 11);
	assert_string_equal(w.state.last_receipt_digest, "receipts/0011.json");
	world_close(&w);
}

static void a_wrong_number_at_once_is_refused(void **unused)
{
	(void)unused;
	struct world w;
	world_open(&w, NULL);
	world_begin(&w, 7);
	world_finish(&w, ROLE_REFERENCE, 0, &(struct ending){.slot = "devices 0", .at_once = -2});
	world_refused(&w, "at_once: expected an integer");
	world_close(&w);
}

/* 0.20 and 0.204 on devices 0, alone 0.2 or so: the incumbent's time is that of the slot, the noise no less
 * than the slots', and two runs of the base are all there are. */
static void an_early_stop_is_held_against_the_slot(void **unused)
{
	(void)unused;
	struct world w;
	struct early_stop_terms alone, beside, unknown;
	world_measured(&w);
	measure_slots(&w);
	world_load(&w);
	const struct state *s = &w.state;
	assert_int_equal(state_early_stop_terms(s, "", 1, &alone, &w.error), OK);
	assert_int_equal(state_early_stop_terms(s, "devices 1", 2, &beside, &w.error), OK);
	assert_int_equal(state_early_stop_terms(s, "devices 1", 3, &unknown, &w.error), OK);
	expect_near(alone.incumbent_s, s->noise.mean_s);
	expect_near(beside.incumbent_s, 0.22 * sqrt(1.02));
	expect_near(beside.sigma_pair, log(1.02));
	assert_true(alone.sigma_pair < beside.sigma_pair);
	assert_int_equal(alone.reference_runs, 4);
	assert_int_equal(beside.reference_runs, 2);
	assert_int_equal(unknown.reference_runs, 0); /* nothing is stopped */
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gain_is_told_against_the_slots_own_reference),
		cmocka_unit_test(noise_beside_others_is_pooled_over_slots),
		cmocka_unit_test(an_early_stop_is_held_against_the_slot),
		cmocka_unit_test(one_round_says_no_noise_of_its_own),
		cmocka_unit_test(what_runs_is_pending_until_it_ends),
		cmocka_unit_test(a_wrong_number_at_once_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Trials that were stopped early, what the next one is held against, and why a search ended. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "ledger_fixture.h"
#include "stats/early_stop.h"

static const char *const threads4 = "{\"threads\":\"4\"}", *const fast = "{\"mode\":\"fast\"}";

static void begin(struct world *w)
{
	world_open(w, NULL);
	world_begin(w, 7);
	world_references(w);
}

/* The verdict of a run that did not complete, with one more item failing (0 = none) or unchecked. */
static char *stopped_verdict(int failing, int unchecked)
{
	struct verdict v;
	CLEANUP(free_ptr) char *plain = verdict_text(-1);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	assert_int_equal(verdict_from_json(plain, &v, NULL), OK);
	if (failing)
		v.items[failing].result = ITEM_FAIL;
	if (unchecked)
		v.items[unchecked].result = ITEM_UNCHECKED;
	verdict_to_json(&v, &text);
	return xstrdup(text.buf);
}

/* Five measured updates of 0.4 s and, in turn, 2% more. */
static void finish_slow(struct world *w, int failing, int unchecked)
{
	int trial = world_register(w, fast, "[]");
	CLEANUP(free_ptr) char *verdict = stopped_verdict(failing, unchecked);
	world_entry(w, ENTRY_FINISHED, trial, NULL,
		"{\"role\":\"search\",\"seq\":%lld,\"receipt\":\"receipts/"
		"9.json\",\"receipt_digest\":\"9\",\"log\":"
		"\"logs/9.log\",\"failure\":\"stopped_slow\",\"evidence\":\"0.4 against 0.2 s an update\","
		"\"evidence_source\":\"harness\",\"time_s\":0.4032,\"median_s\":0.4,\"updates\":15,"
		"\"step_s\":[0.4,0.408,0.4,0.408,0.4],\"peak_bytes\":5e8,\"device_s\":7,\"verdict\":%s}",
		(long long)++w->seq, verdict);
}

static const struct observation *only_observation(struct world *w)
{
	world_load(w);
	assert_int_equal(w->state.trials[0].status, TRIAL_SLOWER);
	assert_int_equal(w->state.search.model.n_observations, 1);
	return &w->state.search.model.observations[0];
}

/* It ran, so it clears its settings and its peak is a reading; it counts and costs; it never wins. Its time
 * has the white noise of 5 updates in place of the window's 20: successive differences are all ln(1.02), so s
 * = ln(1.02)/sqrt(2), and the extra variance is s^2 (1/5 - 1/20). */
static void a_slower_trial_is_a_passing_run_that_cannot_win(void **unused)
{
	(void)unused;
	struct world w;
	begin(&w);
	finish_slow(&w, 0, 0);
	const struct observation *o = only_observation(&w);
	assert_int_equal(o->status, OBSERVED_OK);
	assert_true(o->has_gain);
	assert_false(o->incumbent_allowed);
	assert_true(fabs(o->gain_ln - log(w.state.noise.mean_s / 0.4032)) < 1e-12);
	assert_true(fabs(o->extra_sd_ln - log(1.02) / M_SQRT2 * sqrt(0.15)) < 1e-9);
	assert_true(o->peak_bytes == 5e8);
	assert_null(o->evidence); /* the harness's words, not the job's: they blame nothing */
	assert_int_equal(w.state.n_counted, 1);
	assert_true(w.state.cost.search_s == 7);
	world_close(&w);
}

/* What failed an item as far as it came would have been rejected at its end, too. */
static void what_fails_besides_is_a_rejection(void **unused)
{
	(void)unused;
	static const struct {
		int failing, unchecked;
		enum observed_status status;
		bool has_gain;
	} cases[] = {
		{ITEM_LOSS, 0, OBSERVED_INVALID, true},
		{ITEM_MEMORY_CAP, 0, OBSERVED_OK, true},
		{ITEM_OPTIMIZER_STEPS, 0, OBSERVED_INVALID, false},
		{ITEM_SAME_DATA, 0, OBSERVED_INVALID, false},
		{0, ITEM_SAME_WORKLOAD, OBSERVED_INVALID, false},
		/* checks that only a whole run is given say nothing about it */
		{0, ITEM_EVAL, OBSERVED_OK, true},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;
		begin(&w);
		finish_slow(&w, cases[i].failing, cases[i].unchecked);
		const struct observation *o = only_observation(&w);
		if (o->status != cases[i].status || o->has_gain != cases[i].has_gain)
			fail_msg("case %zu: observed %d, time %d", i, o->status, o->has_gain);
		assert_false(o->incumbent_allowed);
		if (o->status == OBSERVED_INVALID)
			assert_true(o->extra_sd_ln == 0.03); /* CONTROLLER R2 */
		world_close(&w);
	}
}

/* ---- what a trial is held against ---- */

static void without_an_incumbent_it_is_the_reference(void **unused)
{
	(void)unused;
	struct world w;
	struct early_stop_terms terms;
	begin(&w);
	finish_slow(&w, 0, 0);
	world_load(&w);
	assert_int_equal(state_early_stop_terms(&w.state, "", 1, &terms, &w.error), OK);
	assert_true(fabs(terms.incumbent_s - w.state.noise.mean_s) < 1e-12);
	assert_true(terms.gate_ln == w.state.noise.gate);
	assert_true(terms.sigma_pair == w.state.noise.sigma_pair);
	assert_int_equal(terms.reference_runs, 4);
	/* 4 runs of 20 equal steps: no noise within, 76 differences */
	assert_true(terms.step_sd_ln == 0);
	assert_true(fabs(terms.step_dof - 2 * 76.0 / 3) < 1e-12);
	world_close(&w);
}

/* The models shrink a first gain, so what it measured is the faster of the two, and the slower one counts. */
static void the_incumbent_is_no_faster_than_believed_and_measured(void **unused)
{
	(void)unused;
	struct world w;
	struct early_stop_terms terms;
	int trial;
	double believed_ln;
	begin(&w);
	world_finish(&w, ROLE_SEARCH, world_register(&w, threads4, "[]"), &(struct ending){.time_s = 0.1});
	world_load(&w);
	assert_int_equal(state_incumbent(&w.state, &trial, &believed_ln, &w.error), OK);
	assert_int_equal(trial, 0);
	assert_int_equal(state_early_stop_terms(&w.state, "", 1, &terms, &w.error), OK);
	assert_true(terms.incumbent_s >= 0.1);
	assert_true(terms.incumbent_s >= w.state.noise.mean_s * exp(-believed_ln) * (1 - 1e-12));
	world_close(&w);
}

static void before_the_reference_there_is_nothing_to_hold_against(void **unused)
{
	(void)unused;
	struct world w;
	struct early_stop_terms terms;
	world_open(&w, NULL);
	world_begin(&w, 7);
	world_load(&w);
	assert_int_equal(state_early_stop_terms(&w.state, "", 1, &terms, &w.error), ERR_STATE);
	world_close(&w);
}

/* ---- why the search ended ---- */

static void end_search(struct world *w)
{
	world_entry(w, ENTRY_ACCEPT, 0, NULL,
		"{\"what\":\"search_over\",\"why\":\"not_worth\",\"text\":\"it costs more than it saves\"}");
}

static void why_it_ended_holds_until_there_is_something_new(void **unused)
{
	(void)unused;
	struct world w;
	begin(&w);
	world_load(&w);
	assert_int_equal(w.state.search_over.why, SEARCH_OVER_NONE);
	end_search(&w);
	world_load(&w);
	assert_int_equal(w.state.search_over.why, SEARCH_OVER_NOT_WORTH);
	assert_string_equal(w.state.search_over.text, "it costs more than it saves");
	world_register(&w, threads4, "[]");
	world_load(&w);
	assert_int_equal(w.state.search_over.why, SEARCH_OVER_NONE);
	end_search(&w);
	world_propose(&w, "aa", "01-fuse", "[]");
	world_load(&w);
	assert_int_equal(w.state.search_over.why, SEARCH_OVER_NONE);
	world_close(&w);
}

static void an_end_leaves_promotion_as_it_is(void **unused)
{
	(void)unused;
	struct world w;
	begin(&w);
	world_finish(&w, ROLE_SEARCH, world_register(&w, threads4, "[]"), &(struct ending){.time_s = 0.1});
	world_deliver(&w, 1, log(2));
	end_search(&w);
	world_load(&w);
	assert_true(w.state.finished);
	assert_non_null(state_delivered(&w.state));
	world_close(&w);
}

static void an_unknown_reason_is_refused(void **unused)
{
	(void)unused;
	struct world w;
	begin(&w);
	world_entry(&w, ENTRY_ACCEPT, 0, NULL, "{\"what\":\"search_over\",\"why\":\"tired\",\"text\":\"\"}");
	world_refused(&w, "why: expected a reason that this version knows");
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slower_trial_is_a_passing_run_that_cannot_win),
		cmocka_unit_test(what_fails_besides_is_a_rejection),
		cmocka_unit_test(without_an_incumbent_it_is_the_reference),
		cmocka_unit_test(the_incumbent_is_no_faster_than_believed_and_measured),
		cmocka_unit_test(before_the_reference_there_is_nothing_to_hold_against),
		cmocka_unit_test(why_it_ended_holds_until_there_is_something_new),
		cmocka_unit_test(an_end_leaves_promotion_as_it_is),
		cmocka_unit_test(an_unknown_reason_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

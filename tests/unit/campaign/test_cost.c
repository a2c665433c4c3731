/* What ends trials and searches early, and what is kept for promotion. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign_fixture.h"
#include "promote/promotion.h"

static const struct row rows[] = {{0.1}, {0.05}, {0.2}, {0.0495}, {0.3}};

/* The task with one text in place of another, before the campaign begins. */
static void edit_task(struct stage *s, const char *old, const char *new)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	assert_int_equal(file_read(s->task_path, 1 << 20, &text, &s->error), OK);
	const char *at = strstr(text.buf, old);
	assert_non_null(at);
	CLEANUP(free_ptr)
	char *edited = xasprintf("%.*s%s%s", (int)(at - text.buf), text.buf, new, at + strlen(old));
	stage_write(s, "infrarsi.yaml", edited);
	stage_lock(s);
}

static const struct trial *trial_of_row(const struct stage *s, int row)
{
	for (size_t i = 0; i < s->c.state.n_trials; i++)
		if (s->c.state.trials[i].candidate.setting[0] == row)
			return &s->c.state.trials[i];
	fail_msg("row %d was not tried", row);
	return NULL;
}

static int entries_that_say(struct stage *s, const char *what)
{
	struct arena arena = ARENA_INIT;
	struct ledger_entry *entries = NULL;
	size_t n = 0;
	int found = 0;
	assert_int_equal(ledger_read_all(s->c.ledger, &arena, &entries, &n, &s->error), OK);
	for (size_t i = 0; i < n; i++)
		found += strstr(entries[i].body, what) != NULL;
	arena_release(&arena);
	return found;
}

/* ---- early stops ---- */

/* Rows 2 and 4 are twice and three times as slow as the reference: whoever is the incumbent, they go after
 * the fifth measured update, the ninth of all. The others are within 2% of each other and run to their end,
 * and so do the duel's reference runs, twice as slow as the winner. */
static void slower_trials_are_stopped_and_recorded_as_that(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), "search: {early_stop: true}\n");
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	stage_open_campaign(&s); /* read anew: what the ledger says */
	for (int row = 1; row <= 4; row++) {
		const struct trial *t = trial_of_row(&s, row);
		const struct item_verdict *completes = &t->run.verdict.items[ITEM_COMPLETES];
		bool slow = row == 2 || row == 4;
		assert_int_equal(t->status, slow ? TRIAL_SLOWER : TRIAL_VALID);
		assert_int_equal(t->run.updates_seen, slow ? 9 : 12);
		assert_int_equal(t->run.verdict.valid, !slow);
		if (!slow)
			continue;
		assert_int_equal(t->run.failure, FAILURE_STOPPED_SLOW);
		assert_non_null(strstr(completes->reason, "stopped early as too slow, 9 of 12"));
		assert_int_equal(t->run.verdict.primary, ITEM_COMPLETES);
		/* start-up and nine updates, not twelve */
		assert_true(fabs(t->device_s - (0.5 + 9 * rows[row].time_s)) < 0.01);
		assert_true(fabs(t->run.time_s - rows[row].time_s) < 0.01 * rows[row].time_s);
	}
	const struct duel *duel = state_delivered(&s.c.state);
	assert_non_null(duel);
	assert_int_equal(duel->trial, trial_of_row(&s, 3)->number);
	for (size_t p = 0; p < duel->n_pairs; p++)
		assert_int_equal(duel->reference_runs[p].updates_seen, 12);
	stage_close(&s);
}

static void without_being_asked_nothing_is_stopped(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, ARRAY_LEN(rows), NULL);
	s.run.search_only = true;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	for (int row = 1; row <= 4; row++)
		assert_int_equal(trial_of_row(&s, row)->status, TRIAL_VALID);
	stage_close(&s);
}

/* Unasked: 40 s against 0.1 s of the reference. Two such intervals, beside the one that is left out, are more
 * than a minute: it is over at its fourth update, in the warm-up, is never valid, and is known for what it
 * is. */
static const struct row hopeless_rows[] = {{0.1}, {0.05}, {40}};

static void a_hopeless_trial_is_given_up(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, hopeless_rows, ARRAY_LEN(hopeless_rows), NULL);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	stage_open_campaign(&s); /* read anew: what the ledger says */
	const struct trial *t = trial_of_row(&s, 2);
	assert_int_equal(t->status, TRIAL_SLOWER);
	assert_int_equal(t->run.updates_seen, 4);
	assert_false(t->run.has_time);
	assert_true(fabs(t->run.slow_s - 40) < 0.4);
	assert_true(fabs(t->device_s - (0.5 + 4 * 40)) < 2);
	assert_non_null(strstr(t->run.evidence, " s an update of the reference, more than 3 times"));
	assert_non_null(
		strstr(t->run.verdict.items[ITEM_COMPLETES].reason, "stopped early as too slow, 4 of 12"));
	const struct search_input *in = &s.c.state.search;
	for (size_t i = 0; i < in->model.n_observations; i++) {
		const struct observation *o = &in->model.observations[i];
		if (s.c.state.observation_trial[i] != t->number - 1)
			continue;
		assert_true(o->has_gain && !o->incumbent_allowed);
		assert_true(fabs(o->gain_ln - log(s.c.state.noise.mean_s / 40)) < 0.02);
		assert_true(fabs(o->extra_sd_ln - 0.1) < 1e-12);
	}
	assert_int_equal(state_delivered(&s.c.state)->trial, trial_of_row(&s, 1)->number);
	stage_close(&s);
}

static void unless_it_is_switched_off(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, hopeless_rows, ARRAY_LEN(hopeless_rows), "search: {give_up_at: 0}\n");
	s.run.search_only = true;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(trial_of_row(&s, 2)->status, TRIAL_VALID);
	stage_close(&s);
}

/* What the user stops while a watch is on was stopped by the user. */
static void the_users_stop_is_no_verdict(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, rows, 2, "search: {early_stop: true}\n");
	stage_campaign(&s);
	s.stop_at = s.executions + 1;
	stage_expect(&s, stage_go_on(&s), ERR_INTERRUPTED, NULL);
	assert_int_equal(s.c.state.trials[0].status, TRIAL_INTERRUPTED);
	assert_int_equal(s.c.state.n_counted, 0);
	stage_close(&s);
}

/* ---- budgets ---- */

static const struct row even_rows[] = {{0.1}, {0.05}, {0.0501}, {0.0502}, {0.0503}, {0.0504}};

/* By hand: a reference run takes 0.5 + 12 * 0.1 + 0.01 = 1.71 s, a duel of two pairs keeps 4 of them, 6.84 s,
 * and a trial takes 1.11 s. Of 10.8 s, before trial n + 1: 1.11 n + 1.11 + 6.84 <= 10.8 up to n = 2, so there
 * are three. */
static void one_duel_is_kept_of_a_budget_of_device_hours(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, even_rows, ARRAY_LEN(even_rows), NULL);
	edit_task(&s, "{trials: 8}", "{trials: 8, device_hours: 0.003}");
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 3);
	assert_int_equal(s.c.state.search_over.why, SEARCH_OVER_DEVICE_HOURS);
	assert_non_null(strstr(s.c.state.search_over.text, "kept for the final duel"));
	assert_int_equal(s.notes, 1);
	assert_non_null(state_delivered(&s.c.state));
	assert_true(s.c.state.cost.search_s + s.c.state.cost.promotion_s <= 10.8);
	/* Said again, recorded once. */
	stage_open_campaign(&s);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 3);
	assert_int_equal(entries_that_say(&s, "\"search_over\""), 1);
	stage_close(&s);
}

static void a_budget_below_one_duel_leaves_no_trial(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, even_rows, 2, NULL);
	edit_task(&s, "{trials: 8}", "{trials: 8, device_hours: 0.001}");
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 0);
	assert_true(s.c.state.finished);
	assert_null(state_delivered(&s.c.state));
	stage_close(&s);
}

static void a_search_that_has_tried_everything_says_so(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, even_rows, 3, NULL);
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 2);
	assert_int_equal(s.c.state.search_over.why, SEARCH_OVER_EXHAUSTED);
	stage_close(&s);
}

/* ---- what a trial is worth ---- */

static void open_with_horizon(struct stage *s, const char *horizon)
{
	stage_open(s, even_rows, ARRAY_LEN(even_rows), NULL);
	CLEANUP(free_ptr) char *field = xasprintf("  horizon: %s\n  frozen_files", horizon);
	edit_task(s, "  frozen_files", field);
}

/* One update of 0.1 s cannot save the 1.7 s that a trial takes. */
static void what_is_not_worth_its_price_is_not_tried(void **unused)
{
	(void)unused;
	struct stage s;
	open_with_horizon(&s, "1");
	s.run.stop_when_not_worth = true;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 0);
	assert_int_equal(s.c.state.search_over.why, SEARCH_OVER_NOT_WORTH);
	assert_non_null(strstr(s.c.state.search_over.text, "over 1 updates"));
	assert_int_equal(entries_that_say(&s, "\"search_over\""), 1);
	/* Who does not ask for it any more goes on, told once. */
	stage_open_campaign(&s);
	s.run.stop_when_not_worth = false;
	s.notes = 0;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 5);
	assert_int_equal(s.notes, 2); /* worth less than its price; everything has been tried */
	stage_close(&s);
}

static void what_the_user_names_is_tried_all_the_same(void **unused)
{
	(void)unused;
	struct stage s;
	const char *starts[] = {"row=2"};
	open_with_horizon(&s, "1");
	s.run.stop_when_not_worth = true;
	s.run.starts = starts;
	s.run.n_starts = 1;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 1);
	assert_int_equal(s.c.state.trials[0].candidate.setting[0], 2);
	assert_int_equal(s.c.state.search_over.why, SEARCH_OVER_NOT_WORTH);
	stage_close(&s);
}

static void a_long_training_is_worth_every_trial(void **unused)
{
	(void)unused;
	struct stage s;
	open_with_horizon(&s, "1000000000");
	s.run.stop_when_not_worth = true;
	s.run.trials = 3;
	stage_expect(&s, stage_go_on(&s), OK, NULL);
	assert_int_equal(s.c.state.n_counted, 3);
	assert_int_equal(s.c.state.search_over.why, SEARCH_OVER_NONE);
	assert_int_equal(s.notes, 0);
	stage_close(&s);
}

static void a_price_needs_a_horizon(void **unused)
{
	(void)unused;
	struct stage s;
	stage_open(&s, even_rows, 3, NULL);
	s.run.stop_when_not_worth = true;
	stage_expect(&s, stage_go_on(&s), ERR_INPUT, "contract.horizon");
	assert_int_equal(s.c.state.n_counted, 0);
	stage_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slower_trials_are_stopped_and_recorded_as_that),
		cmocka_unit_test(without_being_asked_nothing_is_stopped),
		cmocka_unit_test(a_hopeless_trial_is_given_up),
		cmocka_unit_test(unless_it_is_switched_off),
		cmocka_unit_test(the_users_stop_is_no_verdict),
		cmocka_unit_test(one_duel_is_kept_of_a_budget_of_device_hours),
		cmocka_unit_test(a_budget_below_one_duel_leaves_no_trial),
		cmocka_unit_test(a_search_that_has_tried_everything_says_so),
		cmocka_unit_test(what_is_not_worth_its_price_is_not_tried),
		cmocka_unit_test(what_the_user_names_is_tried_all_the_same),
		cmocka_unit_test(a_long_training_is_worth_every_trial),
		cmocka_unit_test(a_price_needs_a_horizon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

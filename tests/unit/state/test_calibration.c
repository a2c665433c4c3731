/*
 * Who predicted what, from constructed ledgers. References take 0.2000 to 0.2003 s an update: the measured
 * gain of a trial of t seconds is ln(m / t), m their geometric mean.
 */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ledger_fixture.h"
#include "state/calibration.h"

#define FAST "{\"mode\":\"fast\"}"
#define THREADS "{\"threads\":\"4\"}"

static double reference_ln(void)
{
	return (log(0.2) + log(0.2002) + log(0.2001) + log(0.2003)) / 4;
}

static void assert_close(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.12g, expected %.12g", got, wanted);
}

/* ---- the ledger ---- */

static void answer(struct world *w, const char *who, int after, const char *lists)
{
	world_entry(w, ENTRY_PROPOSAL, 0, NULL,
		"{\"kind\":\"answer\",\"proposer\":\"%s\",\"after\":%d,\"ok\":true,\"error\":\"\",%s}", who,
		after, lists);
}

static void predict(struct world *w, const char *who, int after, const char *settings, double gain_ln)
{
	CLEANUP(free_ptr)
	char *lists = xasprintf("\"configurations\":[{\"candidate\":{\"settings\":%s,"
				"\"patches\":[]},\"predicted_ln\":%.17g}]",
		settings, gain_ln);
	answer(w, who, after, lists);
}

static void expect(struct world *w, const char *who, int after, const char *of, double gain_ln, double sd_ln)
{
	CLEANUP(free_ptr)
	char *lists =
		xasprintf("\"priors\":[{%s,\"gain_ln\":%.17g,\"gain_sd_ln\":%.17g}]", of, gain_ln, sd_ln);
	answer(w, who, after, lists);
}
static const char mode_fast[] = "\"knob\":\"mode\",\"setting\":\"fast\"";

static void propose_patch(
	struct world *w, const char *who, const char *digest, const char *name, const char *predicted)
{
	world_entry(w, ENTRY_PROPOSAL, 0, NULL,
		"{\"kind\":\"command\",\"proposer\":\"%s\",\"diff_path\":\"patches/"
		"%s.diff\",\"conflicts\":[],"
		"\"audit\":\"clean\",\"findings\":[],\"patch\":{\"digest\":\"%s\",\"name\":\"%s\",\"title\":"
		"\"\","
		"\"mechanism\":\"\",\"phases\":[],\"predicted_gain_ln\":%s}}",
		who, digest, digest, name, predicted);
}

static void run_trial(struct world *w, const char *settings, const char *patches, double time_s)
{
	world_finish(
		w, ROLE_SEARCH, world_register(w, settings, patches), &(struct ending){.time_s = time_s});
}

static struct calibration form(struct world *w, struct arena *arena)
{
	struct calibration c;
	world_load(w);
	if (calibration_form(&w->state, arena, &c, &w->error) != OK)
		fail_msg("%s", w->error.message);
	return c;
}

static const struct calibration_row *row_of(
	const struct world *w, const struct calibration *c, const char *who)
{
	for (size_t i = 0; i < c->n_rows; i++)
		if (strcmp(state_source_name(&w->state, c->rows[i].source), who) == 0)
			return &c->rows[i];
	fail_msg("no row of %s", who);
	return NULL;
}

/* ---- configurations ---- */

static void a_configuration_against_its_trial(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	predict(&w, "ideas", 0, FAST, 0.3);
	predict(&w, "ideas", 0, THREADS, 0.4); /* never runs */
	run_trial(&w, FAST, "[]", 0.16);
	struct calibration c = form(&w, &arena);
	assert_int_equal(c.n_predictions, 2);
	const struct prediction *p = &c.predictions[0];
	assert_int_equal(p->what, PREDICTED_CONFIGURATION);
	assert_int_equal(p->measured_by, MEASURED_TRIAL);
	assert_int_equal(p->trial, 1);
	assert_close(p->gain_ln, 0.3, 0);
	assert_close(p->measured_ln, reference_ln() - log(0.16), 1e-12);
	/* One run against the mean of four, each with a variance of sigma_pair^2 / 2. */
	assert_close(p->measured_sd_ln, w.state.noise.sigma_pair / sqrt(2) * sqrt(1.25), 1e-12);
	assert_int_equal(c.predictions[1].measured_by, MEASURED_NOT);
	const struct calibration_row *r = row_of(&w, &c, "ideas");
	assert_int_equal(r->n_predictions, 2);
	assert_int_equal(r->n_measured, 1);
	assert_int_equal(r->n_suggested, 2);
	assert_int_equal(r->n_run, 1);
	assert_int_equal(r->n_failed, 0);
	assert_close(r->mean_abs_error_ln, 0.3 - p->measured_ln, 1e-12);
	assert_close(r->share, p->measured_ln / 0.3, 1e-12);
	assert_true(isnan(r->rank_correlation));
	arena_release(&arena);
	world_close(&w);
}

static void what_is_said_afterwards_is_no_prediction(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	run_trial(&w, FAST, "[]", 0.16);
	predict(&w, "ideas", 1, FAST, 0.22);
	expect(&w, "ideas", 1, mode_fast, 0.22, 0.01);
	struct calibration c = form(&w, &arena);
	assert_int_equal(c.n_predictions, 0);
	assert_int_equal(c.n_rows, 0);
	arena_release(&arena);
	world_close(&w);
}

static void what_stood_first_counts(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	predict(&w, "ideas", 0, FAST, 0.5);
	expect(&w, "ideas", 0, mode_fast, 0.5, 0.1);
	run_trial(&w, THREADS, "[]", 0.19);
	predict(&w, "ideas", 1, FAST, 0.3); /* replaces the first */
	expect(&w, "ideas", 1, mode_fast, 0.3, 0.1);
	predict(&w, "other", 1, FAST, 0.1); /* somebody else's own */
	run_trial(&w, FAST, "[]", 0.16);
	predict(&w, "ideas", 2, FAST, 0.2231); /* too late */
	expect(&w, "ideas", 2, mode_fast, 0.2231, 0.1);
	struct calibration c = form(&w, &arena);
	assert_int_equal(c.n_predictions, 3);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(state_source_name(&w.state, c.predictions[i].source), "ideas");
		assert_close(c.predictions[i].gain_ln, 0.3, 0);
	}
	assert_string_equal(state_source_name(&w.state, c.predictions[2].source), "other");
	assert_int_equal(row_of(&w, &c, "ideas")->n_suggested, 1);
	arena_release(&arena);
	world_close(&w);
}

/* Trial 2 ends first. What is said then of trial 1, which still runs, is a prediction; of trial 2 it is none.
 */
static void trials_end_in_another_order(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	int first = world_register(&w, FAST, "[]"), second = world_register(&w, THREADS, "[]");
	world_finish(&w, ROLE_SEARCH, second, &(struct ending){.time_s = 0.18});
	predict(&w, "ideas", 1, FAST, 0.3);
	predict(&w, "ideas", 1, THREADS, 0.1);
	world_finish(&w, ROLE_SEARCH, first, &(struct ending){.time_s = 0.16});
	struct calibration c = form(&w, &arena);
	assert_int_equal(c.n_predictions, 1);
	assert_int_equal(c.predictions[0].trial, first);
	arena_release(&arena);
	world_close(&w);
}

/* The fixture's duel: sigma 0.001 over two pairs. */
static void a_duel_outweighs_the_trial(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	predict(&w, "ideas", 0, FAST, 0.3);
	run_trial(&w, FAST, "[]", 0.16);
	world_deliver(&w, 1, 0.2);
	struct calibration c = form(&w, &arena);
	assert_int_equal(c.predictions[0].measured_by, MEASURED_DUEL);
	assert_close(c.predictions[0].measured_ln, 0.2, 1e-12);
	assert_close(c.predictions[0].measured_sd_ln, 0.001 / sqrt(2), 1e-12);
	arena_release(&arena);
	world_close(&w);
}

/* A failure measures nothing and is counted; one that was stopped as slower is measured. */
static void failures_are_counted(void **unused)
{
	(void)unused;
	static const struct {
		const char *settings;
		struct ending ending;
	} runs[] = {
		{FAST, {.time_s = -1, .failure = "oom", .failing_item = ITEM_NO_ERRORS}},
		{THREADS, {.time_s = 0.1, .failing_item = ITEM_LOSS}},
		{"{\"threads\":\"2\"}", {.time_s = -1, .failure = "crash", .failing_item = -1}},
		{"{\"threads\":\"2\",\"mode\":\"fast\"}",
			{.time_s = 0.4, .failure = "stopped_slow", .failing_item = -1}},
	};
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		predict(&w, "ideas", (int)i, runs[i].settings, 0.1);
		world_finish(&w, ROLE_SEARCH, world_register(&w, runs[i].settings, "[]"), &runs[i].ending);
	}
	struct calibration c = form(&w, &arena);
	const struct calibration_row *r = row_of(&w, &c, "ideas");
	assert_int_equal(r->n_predictions, 4);
	assert_int_equal(r->n_run, 4);
	assert_int_equal(r->n_failed, 3);
	assert_int_equal(r->n_measured, 1);
	assert_close(c.predictions[3].measured_ln, reference_ln() - log(0.4), 1e-12);
	arena_release(&arena);
	world_close(&w);
}

/* A host fault is nobody's: what ran afterwards is what counts. */
static void a_run_that_the_host_ended_does_not_count(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	predict(&w, "ideas", 0, FAST, 0.3);
	world_release(&w, ENTRY_TRANSIENT, "search", world_register(&w, FAST, "[]"), 5);
	run_trial(&w, FAST, "[]", 0.16);
	struct calibration c = form(&w, &arena);
	assert_int_equal(c.predictions[0].trial, 2);
	assert_int_equal(row_of(&w, &c, "ideas")->n_failed, 0);
	arena_release(&arena);
	world_close(&w);
}

/* ---- settings and patches ---- */

/* What is measured must not depend on what was predicted, and where a patch ran alone it is the trial's gain:
 * within the 2% that the model leaves to a configuration for itself. */
static void a_patch_is_not_measured_by_its_own_prediction(void **unused)
{
	(void)unused;
	static const char *const predicted[] = {"0.05", "0.6"};
	double measured[2], sd[2];
	for (size_t i = 0; i < 2; i++) {
		struct world w;
		struct arena arena = ARENA_INIT;
		world_measured(&w);
		propose_patch(&w, "ideas", "aa", "fuse", predicted[i]);
		run_trial(&w, "{}", "[\"aa\"]", 0.2 * exp(-0.25));
		struct calibration c = form(&w, &arena);
		assert_int_equal(c.n_predictions, 1);
		assert_int_equal(c.predictions[0].what, PREDICTED_PATCH);
		assert_int_equal(c.predictions[0].measured_by, MEASURED_MODEL);
		assert_close(c.predictions[0].gain_ln, strtod(predicted[i], NULL), 0);
		measured[i] = c.predictions[0].measured_ln;
		sd[i] = c.predictions[0].measured_sd_ln;
		arena_release(&arena);
		world_close(&w);
	}
	assert_close(measured[0], measured[1], 1e-12);
	assert_close(sd[0], sd[1], 1e-12);
	assert_close(measured[0], 0.25, 0.002);
	assert_in_range(1e6 * sd[0], 15000, 40000);
}

/* Two patches that only ever ran together: what one gains is as uncertain as what the other may gain, of
 * which 6% is the model's sd where nothing is known; and what somebody predicts of the other says nothing
 * about it. */
static void what_never_ran_alone_is_uncertain(void **unused)
{
	(void)unused;
	static const char *const of_the_other[] = {"null", "0.5"};
	double measured[2];
	for (int i = 0; i < 2; i++) {
		struct world w;
		struct arena arena = ARENA_INIT;
		world_measured(&w);
		propose_patch(&w, "ideas", "aa", "fuse", "0.05");
		propose_patch(&w, "other", "bb", "tile", of_the_other[i]);
		run_trial(&w, "{}", "[\"aa\",\"bb\"]", 0.2 * exp(-0.1));
		struct calibration c = form(&w, &arena);
		assert_int_equal(c.n_predictions, 1 + i);
		assert_true(c.predictions[0].measured_sd_ln > 0.06);
		assert_close(c.predictions[0].measured_ln, 0.1, 0.01);
		measured[i] = c.predictions[0].measured_ln;
		arena_release(&arena);
		world_close(&w);
	}
	assert_close(measured[0], measured[1], 1e-12);
}

static void intervals_that_hold_the_measurement(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	expect(&w, "ideas", 0, mode_fast, 0.2, 0.05);
	expect(&w, "ideas", 0, "\"knob\":\"threads\",\"setting\":\"4\"", 0.9, 0.05);
	expect(&w, "ideas", 0, "\"knob\":\"threads\",\"setting\":\"2\"", 0.1, 0); /* no sd, and never timed */
	run_trial(&w, FAST, "[]", 0.2 * exp(-0.22));
	run_trial(&w, THREADS, "[]", 0.2 * exp(-0.1));
	struct calibration c = form(&w, &arena);
	const struct calibration_row *r = row_of(&w, &c, "ideas");
	assert_int_equal(r->n_predictions, 3);
	assert_int_equal(r->n_measured, 2);
	assert_int_equal(r->n_intervals, 2);
	assert_int_equal(r->n_hits, 1);
	arena_release(&arena);
	world_close(&w);
}

static const char task_with_priors[] = "version: 1\n"
				       "name: job\n"
				       "stack: native\n"
				       "launch: {command: [./train, '{mode}', '{threads}']}\n"
				       "contract: {updates: 30, warmup: 10}\n"
				       "knobs:\n"
				       "  - {name: mode, values: [slow, fast], reference: slow,\n"
				       "     prior: {fast: {speedup: 30%}}}\n"
				       "  - {name: threads, values: [1, 4], reference: 1}\n";

static void the_task_is_a_source_too(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_open(&w, task_with_priors);
	world_begin(&w, 7);
	world_references(&w);
	propose_patch(&w, "", "aa", "fuse", "0.05");
	run_trial(&w, FAST, "[]", 0.16);
	struct calibration c = form(&w, &arena);
	assert_int_equal(c.n_rows, 1);
	assert_int_equal(c.rows[0].source, 0);
	assert_null(c.rows[0].record);
	assert_int_equal(c.rows[0].n_predictions, 2);
	assert_int_equal(c.rows[0].n_measured, 1);
	assert_close(c.predictions[0].gain_ln, log(1.3), 1e-12);
	arena_release(&arena);
	world_close(&w);
}

/* ---- rows ---- */

static void nobody_said_anything(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	propose_patch(&w, "", "aa", "fuse", "null");
	propose_patch(&w, "catalogue", "bb", "tile", "null");
	run_trial(&w, FAST, "[\"aa\"]", 0.16);
	struct calibration c = form(&w, &arena);
	assert_int_equal(c.n_rows, 0);
	arena_release(&arena);
	world_close(&w);
}

static void questions_and_what_they_cost(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_measured(&w);
	answer(&w, "model", 0, "\"cost\":{\"tokens\":1000,\"usd\":0.01,\"seconds\":2}");
	world_entry(&w, ENTRY_PROPOSAL, 0, NULL,
		"{\"kind\":\"answer\",\"proposer\":\"model\",\"after\":0,\"ok\":false,\"error\":\"late\","
		"\"cost\":{\"tokens\":500,\"usd\":0.02,\"seconds\":60}}");
	answer(&w, "model", 0, "\"configurations\":[]"); /* unasked: no question */
	struct calibration c = form(&w, &arena);
	const struct calibration_row *r = row_of(&w, &c, "model");
	assert_int_equal(r->n_predictions, 0);
	assert_int_equal(r->record->questions, 2);
	assert_int_equal(r->record->unanswered, 1);
	assert_close(r->record->tokens, 1500, 0);
	assert_close(r->record->usd, 0.03, 1e-12);
	assert_close(r->record->seconds, 62, 0);
	arena_release(&arena);
	world_close(&w);
}

static void without_a_reference_nothing_is_measured(void **unused)
{
	(void)unused;
	struct world w;
	struct arena arena = ARENA_INIT;
	world_open(&w, NULL);
	world_begin(&w, 7);
	predict(&w, "ideas", 0, FAST, 0.3);
	expect(&w, "ideas", 0, mode_fast, 0.3, 0.1);
	run_trial(&w, FAST, "[]", 0.16);
	struct calibration c = form(&w, &arena);
	assert_int_equal(c.n_predictions, 2);
	assert_int_equal(row_of(&w, &c, "ideas")->n_measured, 0);
	assert_true(isnan(c.rows[0].share) && isnan(c.rows[0].mean_abs_error_ln));
	arena_release(&arena);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_configuration_against_its_trial),
		cmocka_unit_test(what_is_said_afterwards_is_no_prediction),
		cmocka_unit_test(what_stood_first_counts),
		cmocka_unit_test(trials_end_in_another_order),
		cmocka_unit_test(a_duel_outweighs_the_trial),
		cmocka_unit_test(failures_are_counted),
		cmocka_unit_test(a_run_that_the_host_ended_does_not_count),
		cmocka_unit_test(a_patch_is_not_measured_by_its_own_prediction),
		cmocka_unit_test(what_never_ran_alone_is_uncertain),
		cmocka_unit_test(intervals_that_hold_the_measurement),
		cmocka_unit_test(the_task_is_a_source_too),
		cmocka_unit_test(nobody_said_anything),
		cmocka_unit_test(questions_and_what_they_cost),
		cmocka_unit_test(without_a_reference_nothing_is_measured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

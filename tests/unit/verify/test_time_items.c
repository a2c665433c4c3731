/* Layer 5, the window's statistics, and the reviews. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "verify_fixture.h"

static struct verify_fixture f;

static int set_up(void **state)
{
	(void)state;
	fixture_init(&f);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_release(&f);
	return 0;
}

static void assert_close(double got, double wanted)
{
	if (!(fabs(got - wanted) <= 1e-12))
		fail_msg("%.17g, expected %.17g", got, wanted);
}

/* Window of 20: one of 0.3 s and nineteen of 0.1 s. Mean 2.2 / 20 = 0.11; halves (0.3 + 0.9) / 10 and 0.1. */
static void window_statistics(void **state)
{
	(void)state;
	struct window_stats s;
	f.candidate.updates[10].harness_s = 0.3;
	receipt_window(&f.candidate, &s);
	assert_true(s.has_time && s.has_loss && s.has_reported_time);
	assert_int_equal(s.n, 20);
	assert_close(s.mean_s, 0.11);
	assert_close(s.median_s, 0.1);
	assert_close(s.first_half_ln, log(0.12));
	assert_close(s.second_half_ln, log(0.1));
	assert_close(s.loss_mean, 4.59);
	assert_close(s.reported_mean_s, 0.1);
	assert_true(s.white_sd_ln > 0);
}

static void window_with_gaps(void **state)
{
	(void)state;
	struct window_stats s;
	f.candidate.updates[15].harness_s = NAN;
	f.candidate.updates[16].loss = none;
	f.candidate.updates[17].step_s = f.candidate.updates[18].step_s = none;
	receipt_window(&f.candidate, &s);
	assert_false(s.has_time || s.has_loss || s.has_reported_time);
	assert_true(isnan(s.mean_s) && isnan(s.loss_mean) && isnan(s.reported_mean_s));
	f.candidate.n_updates = 10;
	receipt_window(&f.candidate, &s);
	assert_int_equal(s.n, 0);
	assert_false(s.has_time || s.has_loss || s.has_reported_time);
}

/* Reported 0.1 s, by the harness's clock 0.1 exp(0.03): exactly at the limit. */
static void clocks_must_agree(void **state)
{
	(void)state;
	expect_valid(&f, ITEM_TIMING, ITEM_PASS, "2.0000x by the harness's clock, 2.0000x reported");
	EVERY_UPDATE(&f.candidate, harness_s, 0.1 * exp(0.03));
	expect_valid(&f, ITEM_TIMING, ITEM_PASS, "differs by 0.0300 (limit 0.03)");
	EVERY_UPDATE(&f.candidate, harness_s, 0.1 * exp(0.03001));
	expect_rejected(&f, ITEM_TIMING, ITEM_FAIL, "differs by 0.0300");
	EVERY_UPDATE(&f.candidate, harness_s, 0.1 * exp(-0.03001)); /* either way */
	expect_rejected(&f, ITEM_TIMING, ITEM_FAIL, NULL);
}

/* A constant share of overhead on both sides cancels: gains are compared, not times. */
static void a_common_offset_cancels(void **state)
{
	(void)state;
	EVERY_UPDATE(&f.refs[0], step_s, some(0.18));
	EVERY_UPDATE(&f.refs[1], step_s, some(0.18));
	EVERY_UPDATE(&f.candidate, step_s, some(0.09));
	expect_valid(&f, ITEM_TIMING, ITEM_PASS, NULL);
}

static void clocks_that_are_not_there(void **state)
{
	(void)state;
	EVERY_UPDATE(&f.candidate, step_s, none);
	expect_valid(&f, ITEM_TIMING, ITEM_UNCHECKED, "no step time reported, by the reference it is");
	f.candidate.updates[15].step_s = some(0.1); /* a choice of them is worse than none */
	expect_rejected(&f, ITEM_TIMING, ITEM_FAIL, "no step time at 19 updates");
	f.candidate.updates[15].step_s = none;
	EVERY_UPDATE(&f.refs[0], step_s, none);
	EVERY_UPDATE(&f.refs[1], step_s, none);
	expect_valid(&f, ITEM_TIMING, ITEM_UNCHECKED, "no step time of its own");
	f.candidate.updates[15].harness_s = 0; /* two events at one instant */
	expect_rejected(&f, ITEM_TIMING, ITEM_FAIL, "no reliable time stamps");
	EVERY_UPDATE(&f.refs[0], harness_s, NAN);
	EVERY_UPDATE(&f.refs[1], harness_s, NAN);
	expect_valid(&f, ITEM_TIMING, ITEM_UNCHECKED, "reference has no reliable");
	f.candidate.n_updates = 10;
	expect_item(&f, ITEM_TIMING, ITEM_UNCHECKED, "no update of the window ran");
}

static void speed_by_the_duel(void **state)
{
	(void)state;
	struct duel_result duel = {.pairs = 4,
		.gain_ln = log(1.05),
		.low_ln = log(1.04),
		.high_ln = log(1.06),
		.threshold_ln = log(1.01),
		.delivered = true};
	expect_valid(&f, ITEM_SPEED, ITEM_NA, "not promoted");
	f.candidate.role = ROLE_PROMOTION;
	expect_valid(&f, ITEM_SPEED, ITEM_UNCHECKED, "one run of a duel");
	f.duel = &duel;
	expect_valid(&f, ITEM_SPEED, ITEM_PASS, "1.0500x in 4 pairs (95% interval 1.0400 to 1.0600)");
	duel.delivered = false;
	expect_rejected(&f, ITEM_SPEED, ITEM_FAIL, "needed more than 1.0100x");
}

static void resume_and_tests_if_configured(void **state)
{
	(void)state;
	expect_valid(&f, ITEM_RESUME, ITEM_NA, NULL);
	f.candidate.terms.checkpoint_configured = f.candidate.terms.tests_configured = true;
	expect_rejected(&f, ITEM_RESUME, ITEM_UNCHECKED, "not run"); /* what is asked for has to be done */
	expect_item(&f, ITEM_TESTS, ITEM_UNCHECKED, "not run");
	f.candidate.resume_difference = some(0.03);
	f.candidate.tests_passed = some(1);
	expect_valid(&f, ITEM_RESUME, ITEM_PASS, "3% (limit 3%)");
	expect_valid(&f, ITEM_TESTS, ITEM_PASS, NULL);
	f.candidate.tests_passed = some(0);
	expect_rejected(&f, ITEM_TESTS, ITEM_FAIL, "a test command failed");
	f.candidate.resume_difference = some(0.0301);
	expect_rejected(&f, ITEM_RESUME, ITEM_FAIL, NULL);
}

/*
 * References: 30 * 0.2 s of updates, 7.1 s in all; outside the intervals 1 + 0.2 + 0.1 = 1.3 s. The candidate
 * won 29 * 0.1 = 2.9 s; another 1.6 s at its end are more than half of that.
 */
static void time_outside_the_updates_of_a_patch(void **state)
{
	(void)state;
	f.candidate.wall_s += 1.6;
	expect_review(&f, NULL); /* settings cannot forge */
	f.candidate.candidate_json = "{\"patches\":[\"ab\"],\"settings\":{}}";
	expect_review(&f, "2.8 s of 5.7 s lie outside the updates, 1.5 s more");
	f.candidate.wall_s -= 0.2; /* 1.3 s more: less than half of 2.9 s */
	expect_review(&f, NULL);
}

static void events_nobody_understands(void **state)
{
	(void)state;
	f.candidate.candidate_json = "{\"patches\":[\"ab\"],\"settings\":{}}";
	f.candidate.bad_event_lines = 3;
	expect_review(&f, "3 lines malformed");
	f.refs[1].bad_event_lines = 3;
	expect_review(&f, NULL);
}

static void irrational_losses(struct receipt *r, double phase)
{
	for (size_t i = 0; i < r->n_updates; i++)
		r->updates[i].loss = some(4.5 - 0.01 * sqrt((double)i + 2) + phase);
}

static void losses_too_equal(void **state)
{
	(void)state;
	irrational_losses(&f.refs[0], 0);
	irrational_losses(&f.refs[1], 0);
	irrational_losses(&f.candidate, 0);
	expect_review(&f, NULL); /* a deterministic job */
	f.candidate.compute_precision = "bf16";
	expect_review(&f, "to the last digit at all 30 updates, although the precision changed");
	f.candidate.compute_precision = "fp32";
	irrational_losses(&f.refs[0], 1e-9); /* the job does not repeat itself */
	expect_review(&f, "although the reference runs differ");
	f.candidate.storage_precision = f.candidate.compute_precision =
		"float32"; /* what fp32 is also called */
	expect_review(&f, "although the reference runs differ");
	irrational_losses(&f.candidate, 2e-9);
	expect_review(&f, NULL);
}

static void rounded_losses_may_be_equal(void **state)
{
	(void)state;
	f.candidate.compute_precision = "bf16";
	for (int i = 0; i < 30; i++)
		FOR_ALL(&f, updates[i].loss, some((49 - i / 4) / 10.0));
	expect_review(&f, NULL);
}

static void losses_that_lag(void **state)
{
	(void)state;
	irrational_losses(&f.refs[0], 0);
	irrational_losses(&f.refs[1], 0);
	for (size_t i = 1; i < 30; i++)
		f.candidate.updates[i].loss = f.refs[0].updates[i - 1].loss;
	f.candidate.updates[0].loss = some(4.51);
	expect_review(&f, "1 update before at 29 of 29 updates");
}

/* The optimizer takes 0.02 of 0.2 s: removing it gives at most 1 / 0.9 = 1.111x; measured are 2x. */
static void gains_beyond_the_declared_phases(void **state)
{
	(void)state;
	static const char *phases[] = {"optimizer"};
	f.candidate.reference_phase_s[PHASE_OPTIMIZER] = some(0.02);
	expect_review(&f, NULL);
	f.candidate.declared_phases = phases;
	f.candidate.n_declared_phases = 1;
	expect_review(&f, "2.000x, the declared phases are 10.0% of the time and allow at most 1.111x, "
			  "1.116x with noise");
	f.candidate.reference_phase_s[PHASE_OPTIMIZER] = some(0.11); /* 1 / 0.45 = 2.2x */
	expect_review(&f, NULL);
	f.candidate.reference_phase_s[PHASE_OPTIMIZER] = none;
	expect_review(&f, NULL);
}

/* (6 * 1e6 + 12 * 4 * 128 * 128) * 4096 = 2.7797e10 FLOP in 0.1 s: 2.7797e11 FLOP/s. */
static void gains_beyond_the_devices(void **state)
{
	(void)state;
	f.candidate.device_peak_flops = some(2.8e11);
	expect_review(&f, NULL);
	f.candidate.device_peak_flops = some(2.7e11);
	expect_review(&f, "103% of the devices' peak");
	f.candidate.device_peak_flops = some(1.3e11); /* the reference at 107%: the peak is wrong */
	expect_review(&f, NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(window_statistics),
		TEST(window_with_gaps),
		TEST(clocks_must_agree),
		TEST(a_common_offset_cancels),
		TEST(clocks_that_are_not_there),
		TEST(speed_by_the_duel),
		TEST(resume_and_tests_if_configured),
		TEST(time_outside_the_updates_of_a_patch),
		TEST(events_nobody_understands),
		TEST(losses_too_equal),
		TEST(rounded_losses_may_be_equal),
		TEST(losses_that_lag),
		TEST(gains_beyond_the_declared_phases),
		TEST(gains_beyond_the_devices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

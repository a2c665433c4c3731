/* Layer 1: completes, no_errors, memory_cap; and the verdict as a whole. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "event/synthetic.h"
#include "verify_fixture.h"

#define MIB 1048576.0

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

static void good_run_passes_everything(void **state)
{
	(void)state;
	static const enum item_result wanted[N_ITEMS] = {[ITEM_EVAL] = ITEM_NA,
		[ITEM_SPEED] = ITEM_NA,
		[ITEM_RESUME] = ITEM_NA,
		[ITEM_TESTS] = ITEM_NA};
	fixture_judge(&f);
	assert_true(f.verdict.valid);
	assert_int_equal(f.verdict.primary, -1);
	assert_int_equal(f.verdict.n_reviews, 0);
	for (int i = 0; i < N_ITEMS; i++) {
		if (f.verdict.items[i].result != wanted[i])
			fail_msg("%s: %s", item_infos[i].name, f.verdict.items[i].reason);
		assert_true(f.verdict.items[i].reason[0]);
	}
}

static void completes_says_how_it_ended(void **state)
{
	(void)state;
	struct receipt *r = &f.candidate;
	synthetic_stop_after(r, 18, 134);
	expect_rejected(&f, ITEM_COMPLETES, ITEM_FAIL, "exit 134, 18 of 30 updates");
	r->exit_status = 0;
	expect_rejected(&f, ITEM_COMPLETES, ITEM_FAIL, "exit 0 after 18 of 30");
	r->exit_status = -1;
	r->exit_signal = 9;
	expect_rejected(&f, ITEM_COMPLETES, ITEM_FAIL, "signal 9");
	r->exit_signal = 0;
	expect_rejected(&f, ITEM_COMPLETES, ITEM_FAIL, "did not run to its end");
	r->timed_out = true;
	r->failure = FAILURE_STALL;
	expect_rejected(&f, ITEM_COMPLETES, ITEM_FAIL, "time limit (stall)");
}

static void a_missing_update_in_the_middle_is_seen(void **state)
{
	(void)state;
	f.candidate.updates[29].update = 31; /* 1..29, 31 */
	expect_rejected(&f, ITEM_COMPLETES, ITEM_FAIL,
		"29 of 30 updates reported: number 30 is missing, the next one there is 31");
	for (int i = 0; i < 3; i++)
		f.candidate.updates[i].update = 10 * (i + 1); /* a log that prints every tenth */
	f.candidate.n_updates = 3;
	expect_rejected(&f, ITEM_COMPLETES, ITEM_FAIL,
		"3 of 30 updates reported: number 1 is missing, the next one there is 10");
}

static void failures_are_quoted(void **state)
{
	(void)state;
	f.candidate.failure = FAILURE_CRASH;
	f.candidate.failure_evidence = "free(): invalid\x1b[31m";
	f.candidate.failure_source = "log:883";
	expect_rejected(&f, ITEM_NO_ERRORS, ITEM_FAIL, "crash: free(): invalid\\x1b[31m (log:883)");
}

static void collective_noise_after_a_clean_exit_is_reported(void **state)
{
	(void)state;
	f.candidate.failure = FAILURE_COLLECTIVE;
	f.candidate.failure_evidence = "NCCL error";
	expect_valid(&f, ITEM_NO_ERRORS, ITEM_PASS, "after a clean exit only: NCCL error");
	f.candidate.failure_source = "log:883 after update 30";
	expect_valid(&f, ITEM_NO_ERRORS, ITEM_PASS, "(log:883 after update 30)");
	f.candidate.failure_source = "log:883 after update 29";
	expect_rejected(&f, ITEM_NO_ERRORS, ITEM_FAIL, "collective: NCCL error (log:883 after update 29)");
	f.candidate.failure_source = "log:883";
	f.candidate.n_updates = 29;
	expect_item(&f, ITEM_NO_ERRORS, ITEM_FAIL, "collective");
}

static void values_must_be_numbers(void **state)
{
	(void)state;
	struct receipt_update *u = &f.candidate.updates[13];
	u->loss = some(NAN);
	expect_rejected(&f, ITEM_NO_ERRORS, ITEM_FAIL, "loss is nan at update 14");
	u->loss = some(-INFINITY);
	expect_rejected(&f, ITEM_NO_ERRORS, ITEM_FAIL, "loss is -inf at update 14");
	u->loss = some(4.72);
	u->grad_norm = some(INFINITY);
	expect_rejected(&f, ITEM_NO_ERRORS, ITEM_FAIL, "gradient norm is inf at update 14");
	f.refs[1].updates[3].grad_norm = some(INFINITY); /* loss scaling overflows there too */
	expect_valid(&f, ITEM_NO_ERRORS, ITEM_PASS, NULL);
}

static void frozen_values_fail(void **state)
{
	(void)state;
	for (int i = 20; i < 25; i++)
		f.candidate.updates[i].loss = some(4.605);
	expect_rejected(&f, ITEM_NO_ERRORS, ITEM_FAIL, "loss frozen: the same over 5 updates up to 25");
	f.candidate.updates[24].loss = some(4.5);
	expect_valid(&f, ITEM_NO_ERRORS, ITEM_PASS, NULL); /* four in a row are no proof */
	EVERY_UPDATE(&f.candidate, grad_norm, some(1.9));
	expect_rejected(&f, ITEM_NO_ERRORS, ITEM_FAIL, "gradient norm frozen");
	EVERY_UPDATE(&f.refs[0], grad_norm, some(1.9)); /* clipped in the reference too */
	expect_item(&f, ITEM_NO_ERRORS, ITEM_PASS, NULL);
}

static void memory_cap_at_its_boundary(void **state)
{
	(void)state;
	struct receipt *r = &f.candidate;
	r->peak_reported_bytes = some(128 * MIB);
	expect_valid(&f, ITEM_MEMORY_CAP, ITEM_PASS, "peak 128 MiB (cap 128 MiB)");
	r->peak_reported_bytes = some(128 * MIB + 1);
	expect_rejected(&f, ITEM_MEMORY_CAP, ITEM_FAIL, NULL);
	r->peak_reported_bytes = some(100 * MIB);
	r->peak_observed_bytes = some(500 * MIB); /* host memory says nothing about a device's cap */
	expect_valid(&f, ITEM_MEMORY_CAP, ITEM_PASS, "peak 100 MiB");
	r->observed_is_device = true;
	expect_rejected(&f, ITEM_MEMORY_CAP, ITEM_FAIL, "peak 500 MiB");
	assert_true(receipt_peak_bytes(r) == 500 * MIB);
	r->terms.memory_cap_bytes = 0;
	expect_valid(&f, ITEM_MEMORY_CAP, ITEM_NA, "no cap declared");
	r->terms.memory_cap_bytes = 128 * MIB;
	r->observed_is_device = false;
	r->updates[7].mem_bytes = some(129 * MIB); /* whatever the summary says */
	expect_rejected(&f, ITEM_MEMORY_CAP, ITEM_FAIL, "peak 129 MiB");
	r->peak_reported_bytes = none;
	EVERY_UPDATE(r, mem_bytes, none);
	expect_valid(&f, ITEM_MEMORY_CAP, ITEM_UNCHECKED, "not reported, by the reference it is");
	assert_true(isnan(receipt_peak_bytes(r)));
	for (size_t i = 0; i < N_REFS; i++) {
		f.refs[i].peak_reported_bytes = none;
		EVERY_UPDATE(&f.refs[i], mem_bytes, none);
	}
	expect_valid(&f, ITEM_MEMORY_CAP, ITEM_UNCHECKED, "not reported (cap 128 MiB)");
}

/* 230 MiB asked, 192 free: 38 missing. More free than asked for is fragmentation: no bound. */
static void shortfall(void **state)
{
	(void)state;
	struct receipt *r = &f.candidate;
	assert_true(isnan(receipt_shortfall_bytes(r)));
	r->oom_requested_bytes = some(230 * MIB);
	assert_true(isnan(receipt_shortfall_bytes(r)));
	r->oom_free_bytes = some(192 * MIB);
	assert_true(receipt_shortfall_bytes(r) == 38 * MIB);
	r->oom_free_bytes = some(231 * MIB);
	assert_true(isnan(receipt_shortfall_bytes(r)));
}

/* Everything that can be unchecked is, except the one item that is required: still valid. */
static void an_oom_before_the_first_update(void **state)
{
	(void)state;
	synthetic_stop_after(&f.candidate, 0, 3);
	f.candidate.failure = FAILURE_OOM;
	f.candidate.start_seen = false;
	f.candidate.model_digest = f.candidate.storage_precision = f.candidate.compute_precision = "";
	expect_rejected(&f, ITEM_COMPLETES, ITEM_FAIL, "exit 3, 0 of 30");
	static const enum item unchecked[] = {ITEM_SAME_WORKLOAD, ITEM_SAME_DATA, ITEM_SAME_MODEL,
		ITEM_OPTIMIZER_STEPS, ITEM_LOSS, ITEM_GRAD_NORM, ITEM_PRECISION, ITEM_TIMING};
	for (size_t i = 0; i < ARRAY_LEN(unchecked); i++)
		expect_item(&f, unchecked[i], ITEM_UNCHECKED, NULL);
}

static void references_are_needed_and_of_one_contract(void **state)
{
	(void)state;
	const struct receipt *refs[] = {&f.refs[0]};
	struct verdict v;
	struct err err = ERR_INIT;
	assert_int_equal(verify_receipt(&f.candidate, refs, 0, NULL, &v, &err), ERR_INPUT);
	f.refs[0].terms.warmup = 5;
	assert_int_equal(verify_receipt(&f.candidate, refs, 1, NULL, &v, &err), ERR_INPUT);
	assert_non_null(strstr(err.message, "window 6..30, this one 11..30"));
}

static void a_reference_is_judged_against_the_others(void **state)
{
	(void)state;
	const struct receipt *refs[] = {&f.refs[0], &f.refs[1]};
	struct verdict v;
	struct err err = ERR_INIT;
	assert_int_equal(verify_receipt(&f.refs[0], refs, 2, NULL, &v, &err), OK);
	assert_true(v.valid);
	f.refs[0].updates[5].tokens = some(2048);
	assert_int_equal(verify_receipt(&f.refs[0], refs, 2, NULL, &v, &err), OK);
	assert_int_equal(v.primary, ITEM_SAME_WORKLOAD);
	/* The first of all is its own reference; what can be judged alone is. */
	assert_int_equal(verify_receipt(&f.refs[1], refs + 1, 1, NULL, &v, &err), OK);
	assert_true(v.valid && v.n_reviews == 0);
	EVERY_UPDATE(&f.refs[1], loss, some(4.0));
	assert_int_equal(verify_receipt(&f.refs[1], refs + 1, 1, NULL, &v, &err), OK);
	assert_int_equal(v.primary, ITEM_NO_ERRORS);
	EVERY_UPDATE(&f.refs[0], tokens, none);
	assert_int_equal(verify_receipt(&f.refs[0], refs, 1, NULL, &v, &err), OK);
	assert_int_equal(v.primary, ITEM_SAME_WORKLOAD); /* required, and nothing to check it by */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(good_run_passes_everything),
		TEST(completes_says_how_it_ended),
		TEST(a_missing_update_in_the_middle_is_seen),
		TEST(failures_are_quoted),
		TEST(collective_noise_after_a_clean_exit_is_reported),
		TEST(values_must_be_numbers),
		TEST(frozen_values_fail),
		TEST(memory_cap_at_its_boundary),
		TEST(shortfall),
		TEST(an_oom_before_the_first_update),
		TEST(references_are_needed_and_of_one_contract),
		TEST(a_reference_is_judged_against_the_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

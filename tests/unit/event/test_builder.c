/* Event lines into receipts. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "event/receipt.h"

/* A line and its arrival. */
struct arrival {
	const char *line;
	double at_s;
};

static void build(struct receipt *r, const char *nonce, const struct arrival *lines, size_t n)
{
	receipt_init(r);
	r->terms.updates = 4;
	r->terms.warmup = 2;
	struct receipt_builder *b = receipt_builder_new(r, nonce, 100.0);
	for (size_t i = 0; i < n; i++)
		receipt_builder_line(b, lines[i].line, strlen(lines[i].line), lines[i].at_s);
	receipt_builder_finish(b, 120.0);
}

#define BUILD(r, nonce, ...)                                                                                 \
	do {                                                                                                 \
		const struct arrival lines_[] = {__VA_ARGS__};                                               \
		build(r, nonce, lines_, ARRAY_LEN(lines_));                                                  \
	} while (0)

static void times_are_the_harness_s(void **state)
{
	(void)state;
	struct receipt r;
	BUILD(&r, "n1", {"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n1\",\"seq_len\":128}", 102},
		{"{\"e\":\"update\",\"i\":1,\"loss\":5,\"tokens\":10}", 105},
		{"{\"e\":\"update\",\"i\":2,\"loss\":4,\"tokens\":10,\"seq_len\":64}", 107.5},
		{"{\"e\":\"update\",\"i\":4,\"loss\":3,\"tokens\":10}", 108},
		{"{\"e\":\"end\",\"updates\":3}", 119});
	assert_true(r.start_seen && r.nonce_echoed && r.end_seen);
	assert_int_equal(r.end_updates, 3);
	assert_int_equal(r.n_updates, 3);
	assert_true(r.updates[0].harness_s == 3); /* since start */
	assert_true(r.updates[1].harness_s == 2.5);
	assert_true(r.updates[2].harness_s == 0.5);
	assert_true(r.startup_s == 5 && r.wall_s == 20);
	assert_true(r.updates[0].seq_len.value == 128 && r.updates[1].seq_len.value == 64);
	assert_int_equal(r.bad_event_lines, 0);
	receipt_release(&r);
}

static void updates_read_at_once_share_the_time(void **state)
{
	(void)state;
	struct receipt r;
	BUILD(&r, "n1", {"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n1\"}", 100},
		{"{\"e\":\"update\",\"i\":1}", 102}, {"{\"e\":\"update\",\"i\":2}", 108},
		{"{\"e\":\"update\",\"i\":3}", 108}, {"{\"e\":\"update\",\"i\":4}", 109});
	assert_true(r.updates[0].harness_s == 2 && r.updates[3].harness_s == 1);
	assert_true(r.updates[1].harness_s == 3 && r.updates[2].harness_s == 3); /* 6 between them */
	receipt_release(&r);
	/* Most of them at once: the job holds its events back. */
	BUILD(&r, "n1", {"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n1\"}", 100},
		{"{\"e\":\"update\",\"i\":1}", 108}, {"{\"e\":\"update\",\"i\":2}", 108},
		{"{\"e\":\"update\",\"i\":3}", 108}, {"{\"e\":\"update\",\"i\":4}", 108});
	assert_true(r.updates[0].harness_s == 8 && r.updates[1].harness_s == 0);
	receipt_release(&r);
	/* Nothing to count from. */
	BUILD(&r, "n1", {"{\"e\":\"update\",\"i\":1}", 108}, {"{\"e\":\"update\",\"i\":2}", 108},
		{"{\"e\":\"update\",\"i\":3}", 109});
	assert_true(isnan(r.updates[0].harness_s) && r.updates[1].harness_s == 0);
	assert_true(r.updates[2].harness_s == 1);
	receipt_release(&r);
}

static void without_a_start_the_first_time_is_unknown(void **state)
{
	(void)state;
	struct receipt r;
	BUILD(&r, "n1", {"{\"e\":\"update\",\"i\":1,\"loss\":5}", 105},
		{"{\"e\":\"update\",\"i\":2,\"loss\":5}", 106});
	assert_false(r.start_seen || r.nonce_echoed);
	assert_true(isnan(r.updates[0].harness_s));
	assert_true(r.updates[1].harness_s == 1);
	receipt_release(&r);
}

/* ff..ff + 00..02 = 1 00..01, which is 00..01 modulo 2^128. */
static void ranks_are_added_up(void **state)
{
	(void)state;
	struct receipt r;
	BUILD(&r, "n", {"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n\",\"world\":2,\"params\":7}", 101},
		{"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n\",\"world\":2,\"rank\":1,\"params\":9}", 101},
		{"{\"e\":\"update\",\"i\":1,\"rank\":1,\"tokens\":30,\"mem\":900,"
		 "\"data\":\"ffffffffffffffffffffffffffffffff\"}",
			102},
		{"{\"e\":\"update\",\"i\":1,\"loss\":5,\"tokens\":12,\"mem\":800,"
		 "\"data\":\"00000000000000000000000000000002\"}",
			103},
		{"{\"e\":\"update\",\"i\":2,\"loss\":4,\"tokens\":12,\"mem\":850,"
		 "\"data\":\"80000000000000000000000000000001\"}",
			104},
		{"{\"e\":\"end\",\"updates\":2}", 105},
		{"{\"e\":\"update\",\"i\":2,\"rank\":1,\"tokens\":30,"
		 "\"data\":\"80000000000000000000000000000001\"}",
			106},
		{"{\"e\":\"end\",\"updates\":2}", 107});
	assert_int_equal(r.bad_event_lines, 0); /* the first end is not that of both ranks */
	assert_int_equal(r.n_updates, 2);
	assert_true(r.updates[0].tokens.value == 42 && r.updates[0].loss.value == 5);
	assert_string_equal(r.updates[0].data, "00000000000000000000000000000001");
	assert_string_equal(r.updates[1].data, "00000000000000000000000000000002");
	assert_true(r.updates[0].mem_bytes.value == 900 && r.peak_reported_bytes.value == 900);
	assert_true(r.updates[0].harness_s == 2 && r.updates[1].harness_s == 1); /* rank 0's events */
	assert_true(r.params.value == 7);
	receipt_release(&r);
}

static void what_does_not_belong_is_counted(void **state)
{
	(void)state;
	struct receipt r;
	BUILD(&r, "n", {"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n\"}", 101},
		{"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n\"}", 101}, /* second */
		{"not json", 101}, {"{\"e\":\"update\",\"i\":1,\"loss\":5,\"tokens\":1}", 102},
		{"{\"e\":\"update\",\"i\":1,\"loss\":4,\"tokens\":1}", 103}, /* repeated */
		{"{\"e\":\"update\",\"i\":3,\"loss\":3,\"tokens\":1}", 104},
		{"{\"e\":\"update\",\"i\":2,\"loss\":2,\"tokens\":1}", 105}, /* backwards */
		{"{\"e\":\"update\",\"i\":3,\"rank\":1,\"tokens\":1}", 105}, /* not in this world */
		{"{\"e\":\"end\",\"updates\":3}", 106},
		{"{\"e\":\"update\",\"i\":4,\"loss\":1,\"tokens\":1}", 107}, /* after the end */
		{"{\"e\":\"end\",\"updates\":9}", 107}, {"{\"e\":\"phase\",\"i\":3,\"forward\":1}", 107});
	assert_int_equal(r.bad_event_lines, 8);
	assert_int_equal(r.n_updates, 2);
	assert_true(r.updates[0].loss.value == 5 && r.updates[0].tokens.value == 1);
	assert_int_equal(r.updates[1].update, 3);
	assert_int_equal(r.end_updates, 3);
	receipt_release(&r);
}

static void nonce_must_be_this_execution_s(void **state)
{
	(void)state;
	struct receipt r;
	BUILD(&r, "n1", {"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n2\"}", 101});
	assert_true(r.start_seen);
	assert_false(r.nonce_echoed);
	receipt_release(&r);
	BUILD(&r, "n1", {"{\"e\":\"start\",\"schema\":1}", 101});
	assert_false(r.nonce_echoed);
	receipt_release(&r);
	BUILD(&r, "", {"{\"e\":\"start\",\"schema\":1,\"nonce\":\"\"}", 101});
	assert_false(r.nonce_echoed);
	receipt_release(&r);
	BUILD(&r, "n1", {"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n1\",\"world\":2}", 101},
		{"{\"e\":\"start\",\"schema\":1,\"nonce\":\"n2\",\"world\":2,\"rank\":1}", 101});
	assert_false(r.nonce_echoed);
	receipt_release(&r);
}

/* Window 3..4: (0.3 + 0.5) / 2; without one in the window: the mean of all. */
static void phases_of_the_window(void **state)
{
	(void)state;
	struct receipt r;
	BUILD(&r, "n", {"{\"e\":\"phase\",\"i\":1,\"forward\":9,\"backward\":1}", 101},
		{"{\"e\":\"phase\",\"i\":2,\"forward\":9,\"backward\":2}", 101},
		{"{\"e\":\"phase\",\"i\":3,\"forward\":0.3}", 101},
		{"{\"e\":\"phase\",\"i\":4,\"forward\":0.5}", 101});
	assert_true(fabs(r.phase_s[PHASE_FORWARD].value - 0.4) < 1e-15);
	assert_true(r.phase_s[PHASE_BACKWARD].value == 1.5);
	assert_false(r.phase_s[PHASE_DATA].has);
	receipt_release(&r);
}

static void the_first_cause_is_kept(void **state)
{
	(void)state;
	struct receipt r;
	BUILD(&r, "n", {"{\"e\":\"oom\",\"requested\":230,\"free\":192,\"capacity\":500}", 101},
		{"{\"e\":\"update\",\"i\":1,\"loss\":\"nan\"}", 102},
		{"{\"e\":\"oom\",\"requested\":1,\"free\":0,\"capacity\":500}", 103});
	assert_int_equal(r.failure, FAILURE_OOM);
	assert_string_equal(r.failure_source, "event");
	assert_true(r.oom_requested_bytes.value == 230 && r.oom_free_bytes.value == 192);
	assert_int_equal(r.bad_event_lines, 1);
	receipt_release(&r);
	BUILD(&r, "n", {"{\"e\":\"update\",\"i\":3,\"loss\":\"-inf\"}", 102});
	assert_int_equal(r.failure, FAILURE_NAN);
	assert_string_equal(r.failure_evidence, "update 3: loss is infinite");
	receipt_release(&r);
}

static void updates_are_capped(void **state)
{
	(void)state;
	struct receipt r;
	char line[64];
	receipt_init(&r);
	struct receipt_builder *b = receipt_builder_new(&r, "n", 0);
	for (int i = 1; i <= RECEIPT_MAX_UPDATES + 5; i++) {
		int length = snprintf(line, sizeof(line), "{\"e\":\"update\",\"i\":%d}", i);
		receipt_builder_line(b, line, (size_t)length, i);
	}
	receipt_builder_finish(b, 1);
	assert_int_equal(r.n_updates, RECEIPT_MAX_UPDATES);
	assert_int_equal(r.bad_event_lines, 5);
	receipt_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_the_harness_s),
		cmocka_unit_test(updates_read_at_once_share_the_time),
		cmocka_unit_test(without_a_start_the_first_time_is_unknown),
		cmocka_unit_test(ranks_are_added_up),
		cmocka_unit_test(what_does_not_belong_is_counted),
		cmocka_unit_test(nonce_must_be_this_execution_s),
		cmocka_unit_test(phases_of_the_window),
		cmocka_unit_test(the_first_cause_is_kept),
		cmocka_unit_test(updates_are_capped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The parser of event lines: what it takes, what it refuses and how it says so. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"

static enum err_code parse(const char *line, struct event *e, struct err *err)
{
	return event_parse(line, strlen(line), e, err);
}

static struct event parsed(const char *line)
{
	struct event e;
	struct err err = ERR_INIT;
	if (parse(line, &e, &err) != OK)
		fail_msg("%s: %s", line, err.message);
	return e;
}

static void start_as_the_design_writes_it(void **state)
{
	(void)state;
	struct event e = parsed("{\"e\":\"start\",\"schema\":1,\"nonce\":\"n1\",\"rank\":3,\"world\":8,"
				"\"stack\":\"ddp\",\"params\":9.1e9,\"active_params\":9.1e9,\"layers\":36,"
				"\"d_attn\":4096,\"model_digest\":"
				"\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\","
				"\"precision\":{\"storage\":\"fp32\",\"compute\":\"bf16\"},\"seq_len\":2048,"
				"\"global_batch\":64,\"versions\":{\"torch\":\"2.9\",\"cc\":\"gcc 12\"}}\n");
	assert_int_equal(e.kind, EVENT_START);
	assert_int_equal(e.rank, 3);
	assert_int_equal(e.world, 8);
	assert_string_equal(e.nonce, "n1");
	assert_true(e.params.has && e.params.value == 9.1e9);
	assert_true(e.seq_len.has && e.seq_len.value == 2048);
	assert_string_equal(e.compute_precision, "bf16");
	assert_string_equal(e.versions_json, "{\"cc\":\"gcc 12\",\"torch\":\"2.9\"}");
	assert_false(e.loss.has);
	assert_true(isnan(e.loss.value));
}

static void update_with_words_for_numbers(void **state)
{
	(void)state;
	struct event e =
		parsed("@infrarsi {\"e\":\"update\",\"i\":11,\"loss\":\"nan\",\"grad_norm\":\"inf\","
		       "\"lr\":3e-4,\"opt_step\":11,\"tokens\":131072,"
		       "\"data\":\"9f3c000000000000000000000000abcd\",\"step_s\":0.412,\"mem\":61203283968,"
		       "\"new_key\":[1,2]}");
	assert_int_equal(e.update, 11);
	assert_int_equal(e.rank, 0);
	assert_true(e.loss.has && isnan(e.loss.value));
	assert_true(e.grad_norm.has && isinf(e.grad_norm.value));
	assert_true(
		e.tokens.value == 131072 && e.step_s.value == 0.412 && e.mem_bytes.value == 61203283968.0);
	e = parsed("{\"e\":\"update\",\"i\":1,\"loss\":\"-inf\"}");
	assert_true(e.loss.value == -INFINITY);
}

static void zero_means_unknown_where_zero_is_impossible(void **state)
{
	(void)state;
	struct event e = parsed("{\"e\":\"start\",\"schema\":1,\"params\":0,\"layers\":0}");
	assert_false(e.params.has || e.layers.has);
	e = parsed("{\"e\":\"update\",\"i\":1,\"step_s\":0,\"mem\":0,\"tokens\":0,\"lr\":0}");
	assert_false(e.step_s.has || e.mem_bytes.has);
	assert_true(e.tokens.has && e.tokens.value == 0 && e.lr.has);
}

static void phase_oom_end(void **state)
{
	(void)state;
	struct event e = parsed("{\"e\":\"phase\",\"i\":4,\"forward\":0.12,\"collective\":0}");
	assert_true(e.phase_s[PHASE_FORWARD].value == 0.12 && e.phase_s[PHASE_COLLECTIVE].has);
	assert_false(e.phase_s[PHASE_DATA].has);
	e = parsed("{\"e\":\"oom\",\"requested\":241172480,\"free\":4096,\"capacity\":201326592}");
	assert_true(e.requested_bytes.value == 241172480 && e.free_bytes.value == 4096);
	e = parsed("{\"e\":\"end\",\"updates\":30}");
	assert_int_equal(e.updates, 30);
}

/* Each line is refused, and the message names the field. */
static void bad_lines_name_the_field(void **state)
{
	(void)state;
	static const struct {
		const char *line, *says;
	} cases[] = {
		{"", "column"},
		{"{\"e\":\"update\",\"i\":1", "column"},
		{"[1]", "JSON object"},
		{"{\"e\":\"update\",\"i\":1,\"i\":2}", "duplicate"},
		{"{\"i\":1}", "e: expected start"},
		{"{\"e\":\"stop\"}", "e: expected start"},
		{"{\"e\":\"start\"}", "schema: missing"},
		{"{\"e\":\"start\",\"schema\":2}", "schema: expected 1, got 2"},
		{"{\"e\":\"start\",\"schema\":1,\"rank\":2,\"world\":2}", "rank: expected less than world"},
		{"{\"e\":\"start\",\"schema\":1,\"world\":0}", "world: expected an integer"},
		{"{\"e\":\"start\",\"schema\":1,\"model_digest\":\"ABC\"}", "model_digest: expected 64"},
		{"{\"e\":\"start\",\"schema\":1,\"precision\":\"fp32\"}", "precision: expected an object"},
		{"{\"e\":\"start\",\"schema\":1,\"versions\":{\"a\":1}}", "versions: expected an object"},
		{"{\"e\":\"start\",\"schema\":1,\"params\":1.5}", "params: expected an integer"},
		{"{\"e\":\"start\",\"schema\":1,\"params\":9007199254740994}", "params: expected an integer"},
		{"{\"e\":\"start\",\"schema\":1,\"stack\":\"0123456789012345678901234567890123\"}",
			"stack: expected at most 31"},
		{"{\"e\":\"update\"}", "i: missing"},
		{"{\"e\":\"update\",\"i\":0}", "i: expected an integer in 1"},
		{"{\"e\":\"update\",\"i\":-3}", "i: expected an integer in 1"},
		{"{\"e\":\"update\",\"i\":1.0}", "i: expected an integer in 1"},
		{"{\"e\":\"update\",\"i\":4294967297}", "i: expected an integer in 1"},
		{"{\"e\":\"update\",\"i\":99999999999999999999}", "too big integer"},
		{"{\"e\":\"update\",\"i\":1,\"tokens\":-1}", "tokens: expected an integer in 0"},
		{"{\"e\":\"update\",\"i\":1,\"tokens\":\"4096\"}", "tokens: expected an integer"},
		{"{\"e\":\"update\",\"i\":1,\"loss\":\"high\"}", "loss: expected a number"},
		{"{\"e\":\"update\",\"i\":1,\"loss\":null}", "loss: expected a number"},
		{"{\"e\":\"update\",\"i\":1,\"loss\":NaN}", "column"},
		{"{\"e\":\"update\",\"i\":1,\"loss\":1e999}", "column"},
		{"{\"e\":\"update\",\"i\":1,\"grad_norm\":-0.5}", "grad_norm: expected a number that is not"},
		{"{\"e\":\"update\",\"i\":1,\"grad_norm\":\"-inf\"}", "grad_norm: expected a number that is"},
		{"{\"e\":\"update\",\"i\":1,\"step_s\":-0.1}", "step_s: expected seconds"},
		{"{\"e\":\"update\",\"i\":1,\"step_s\":\"inf\"}", "step_s: expected seconds"},
		{"{\"e\":\"update\",\"i\":1,\"data\":\"9f3c\"}", "data: expected 32"},
		{"{\"e\":\"update\",\"i\":1,\"data\":\"9F3C000000000000000000000000ABCD\"}",
			"data: expected 32"},
		{"{\"e\":\"update\",\"i\":1,\"rank\":65536}", "rank: expected an integer"},
		{"{\"e\":\"phase\",\"i\":1,\"forward\":-1}", "forward: expected seconds"},
		{"{\"e\":\"end\"}", "updates: missing"},
		{"{\"e\":\"end\",\"updates\":true}", "updates: expected an integer"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct event e = {.rank = 77};
		struct err err = ERR_INIT;
		assert_int_equal(parse(cases[i].line, &e, &err), ERR_INPUT);
		if (!strstr(err.message, cases[i].says))
			fail_msg("%s: said '%s', expected '%s'", cases[i].line, err.message, cases[i].says);
		assert_int_equal(e.rank, 77); /* untouched */
	}
}

static void length_is_bounded(void **state)
{
	(void)state;
	char line[EVENT_LINE_MAX + 2];
	struct event e;
	struct err err = ERR_INIT;
	memset(line, ' ', sizeof(line));
	memcpy(line, "{\"e\":\"end\",\"updates\":1}", 23);
	assert_int_equal(event_parse(line, EVENT_LINE_MAX, &e, &err), OK);
	assert_int_equal(event_parse(line, EVENT_LINE_MAX + 1, &e, &err), ERR_INPUT);
	assert_non_null(strstr(err.message, "4097 bytes"));
}

static void deep_nesting_is_refused(void **state)
{
	(void)state;
	char line[4000];
	struct event e;
	memset(line, '[', sizeof(line));
	assert_int_equal(event_parse(line, sizeof(line), &e, NULL), ERR_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_as_the_design_writes_it),
		cmocka_unit_test(update_with_words_for_numbers),
		cmocka_unit_test(zero_means_unknown_where_zero_is_impossible),
		cmocka_unit_test(phase_oom_end),
		cmocka_unit_test(bad_lines_name_the_field),
		cmocka_unit_test(length_is_bounded),
		cmocka_unit_test(deep_nesting_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

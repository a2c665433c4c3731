/* Verdicts as JSON: there and back, and what is refused. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "verify_fixture.h"

static void there_and_back(void **state)
{
	(void)state;
	struct verify_fixture f;
	struct verdict back;
	struct err err = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT, again = STRBUF_INIT;
	fixture_init(&f);
	f.candidate.updates[3].tokens = some(1);
	fixture_judge(&f);
	f.verdict.n_reviews = 1;
	snprintf(f.verdict.reviews[0], REASON_SIZE, "gain: \"9x\"");
	verdict_to_json(&f.verdict, &json);
	assert_int_equal(verdict_from_json(json.buf, &back, &err), OK);
	assert_false(back.valid);
	assert_int_equal(back.primary, ITEM_SAME_WORKLOAD);
	assert_int_equal(back.items[ITEM_EVAL].result, ITEM_NA);
	assert_string_equal(back.items[ITEM_LOSS].reason, f.verdict.items[ITEM_LOSS].reason);
	assert_string_equal(back.reviews[0], "gain: \"9x\"");
	verdict_to_json(&back, &again);
	assert_string_equal(json.buf, again.buf);
	fixture_release(&f);
}

static void refused(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{"\"valid\":true", "\"valid\":1", "valid: expected true or false"},
		{"\"primary\":null", "\"primary\":\"luck\"", "primary: expected the name"},
		{"\"reviews\":[]", "\"reviews\":[1]", "reviews[0]"},
		{"\"reviews\":[]", "\"reviews\":{}", "reviews: expected an array"},
		{"\"same_data\":", "\"same_date\":", "items.same_data"},
		{"\"result\":\"pass\"", "\"result\":\"maybe\"", "expected a result"},
		{"{\"items\"", "[\"items\"", "line 1 column"},
	};
	struct verify_fixture f;
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	fixture_init(&f);
	fixture_judge(&f);
	verdict_to_json(&f.verdict, &json);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct verdict back;
		struct err err = ERR_INIT;
		CLEANUP(strbuf_release) struct strbuf bad = STRBUF_INIT;
		const char *at = strstr(json.buf, cases[i].from);
		assert_non_null(at);
		strbuf_add(&bad, json.buf, (size_t)(at - json.buf));
		strbuf_addstr(&bad, cases[i].to);
		strbuf_addstr(&bad, at + strlen(cases[i].from));
		assert_int_equal(verdict_from_json(bad.buf, &back, &err), ERR_INPUT);
		if (!strstr(err.message, cases[i].says))
			fail_msg("said '%s', expected '%s'", err.message, cases[i].says);
	}
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

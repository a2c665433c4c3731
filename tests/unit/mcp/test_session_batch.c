/* Batches of JSON-RPC 2.0 (section 6), which revision 2025-03-26 has and no other. */
#include "mcp_fixture.h"

#include <string.h>

#include "base/json.h"

#define BATCH                                                                                                \
	"[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"},"                                          \
	" {\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"},"                                \
	" 7,"                                                                                                \
	" {\"jsonrpc\": \"2.0\", \"id\": \"two\", \"method\": \"tools/call\", \"params\": {\"name\": "       \
	"\"echo\", "                                                                                         \
	"\"arguments\": {\"word\": \"x\"}}},"                                                                \
	" {\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": \"tools/call\", \"params\": {\"name\": \"later\"}}]"

static void answered_together(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	initialize(&f, "2025-03-26");
	CLEANUP(json_decref_ptr) json_t *replies = send_line(&f, BATCH);
	assert_int_equal(json_array_size(replies), 4);
	assert_int_equal(json_integer_value(at(json_array_get(replies, 0), "id")), 1);
	assert_int_equal(json_integer_value(at(json_array_get(replies, 1), "error.code")), -32600);
	assert_string_equal(text_at(json_array_get(replies, 2), "id"), "two");
	assert_string_equal(text_at(json_array_get(replies, 2), "result.content[0].text"), "heard x");
	/* All are answered together, so none can be later. */
	assert_false(f.may_wait);
	assert_string_equal(text_at(json_array_get(replies, 3), "result.content[0].text"), "now");
	assert_false(mcp_session_awaits(f.session, f.ticket));
	tear_down(&f);
}

static void edges(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	/* Before anything is agreed on there are none, so initialize is never in one. */
	expect_error(&f, BATCH, -32600, "null");
	initialize(&f, "2025-03-26");
	expect_error(&f, "[]", -32600, "null");
	expect_nothing(&f, "[{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}]");
	CLEANUP(json_decref_ptr) json_t *replies = send_line(&f, "[[]]");
	assert_int_equal(json_array_size(replies), 1);
	assert_int_equal(json_integer_value(at(json_array_get(replies, 0), "error.code")), -32600);
	tear_down(&f);
}

static void refused_elsewhere(void **state)
{
	(void)state;
	static const char *const revisions[] = {"2024-11-05", "2025-06-18", "2025-11-25"};
	for (size_t i = 0; i < ARRAY_LEN(revisions); i++) {
		struct fixture f;
		set_up(&f);
		initialize(&f, revisions[i]);
		expect_error(&f, BATCH, -32600, "null");
		assert_int_equal(f.calls, 0);
		tear_down(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answered_together),
		cmocka_unit_test(edges),
		cmocka_unit_test(refused_elsewhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Calls that are answered later, cancellation, and streams of notifications. */
#include "mcp_fixture.h"

#include <string.h>

#include "base/json.h"
#include "base/memory.h"

#define LATER(id)                                                                                            \
	"{\"jsonrpc\": \"2.0\", \"id\": " id                                                                 \
	", \"method\": \"tools/call\", \"params\": {\"name\": \"later\"}}"

static json_t *answer(struct fixture *f, int64_t ticket, const char *text)
{
	struct mcp_result result = MCP_RESULT_INIT;
	strbuf_addstr(&result.text, text);
	assert_int_equal(mcp_session_answer(f->session, ticket, &result, NULL), OK);
	mcp_result_release(&result);
	json_t *json = f->written.len ? json_loads(f->written.buf, 0, NULL) : NULL;
	strbuf_clear(&f->written);
	return json;
}

static void others_are_served_meanwhile(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	initialize(&f, "2025-06-18");
	expect_nothing(&f, LATER("1"));
	int64_t first = f.ticket;
	expect_nothing(&f, LATER("\"1\"")); /* another id: text and number differ */
	int64_t second = f.ticket;
	assert_true(first != second);
	CLEANUP(json_decref_ptr)
	json_t *pong = send_line(&f, "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"ping\"}");
	assert_non_null(pong);
	/* An id that waits is not used again. */
	expect_error(&f, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}", -32600, "1");
	CLEANUP(json_decref_ptr) json_t *reply = answer(&f, second, "at last");
	assert_string_equal(text_at(reply, "id"), "1");
	assert_string_equal(text_at(reply, "result.content[0].text"), "at last");
	assert_false(mcp_session_awaits(f.session, second));
	assert_true(mcp_session_awaits(f.session, first));
	assert_null(answer(&f, second, "once more"));
	CLEANUP(json_decref_ptr) json_t *other = answer(&f, first, "x");
	assert_int_equal(json_integer_value(at(other, "id")), 1);
	tear_down(&f);
}

static void cancelled(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	initialize(&f, "2025-06-18");
	expect_nothing(&f, LATER("5"));
	expect_nothing(&f, "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": "
			   "{\"requestId\": \"5\"}}");
	assert_true(mcp_session_awaits(f.session, f.ticket));
	expect_nothing(&f, "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": "
			   "{\"requestId\": 5, "
			   "\"reason\": \"r\"}}");
	assert_false(mcp_session_awaits(f.session, f.ticket));
	assert_null(answer(&f, f.ticket, "too late"));
	/* The id is free again. */
	expect_nothing(&f, LATER("5"));
	tear_down(&f);
}

static void so_many_and_no_more(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	initialize(&f, "2025-06-18");
	for (int i = 0; i < MCP_OPEN_REQUESTS; i++) {
		CLEANUP(free_ptr) char *line = xasprintf(LATER("%d"), i);
		expect_nothing(&f, line);
	}
	CLEANUP(json_decref_ptr) json_t *reply = send_line(&f, LATER("1000"));
	assert_false(f.may_wait);
	assert_string_equal(text_at(reply, "result.content[0].text"), "now");
	expect_error(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 1001, \"method\": \"subscriptions/listen\", \"params\": "
		"{" MODERN_META ", \"notifications\": {}}}",
		-32600, "1001");
	tear_down(&f);
}

static void later_without_a_handshake(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	expect_nothing(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": "
		"\"later\", " MODERN_META "}}");
	CLEANUP(json_decref_ptr) json_t *reply = answer(&f, f.ticket, "x");
	assert_string_equal(text_at(reply, "result.resultType"), "complete");
	tear_down(&f);
}

/* 2026-07-28, "Subscriptions": acknowledged first, with what is honoured, which is nothing. */
static void subscriptions(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	CLEANUP(json_decref_ptr)
	json_t *ack = send_line(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"subscriptions/listen\", \"params\": "
		"{" MODERN_META ", \"notifications\": {\"toolsListChanged\": true}}}");
	assert_string_equal(text_at(ack, "method"), "notifications/subscriptions/acknowledged");
	assert_int_equal(json_object_size(at(ack, "params.notifications")), 0);
	assert_null(json_object_get(ack, "id"));
	assert_int_equal(json_integer_value(json_object_get(
				 at(ack, "params._meta"), "io.modelcontextprotocol/subscriptionId")),
		9);
	expect_nothing(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 10, \"method\": \"tools/call\", \"params\": {\"name\": "
		"\"later\", " MODERN_META "}}");
	mcp_session_end(f.session);
	CLEANUP(json_decref_ptr) json_t *end = json_loads(f.written.buf, 0, NULL);
	assert_string_equal(text_at(end, "method"), "notifications/cancelled");
	assert_int_equal(json_integer_value(at(end, "params.requestId")), 9);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_are_served_meanwhile),
		cmocka_unit_test(cancelled),
		cmocka_unit_test(so_many_and_no_more),
		cmocka_unit_test(later_without_a_handshake),
		cmocka_unit_test(subscriptions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

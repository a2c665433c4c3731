/* One request after another, as the specification has them (revisions 2024-11-05 to 2026-07-28, and
 * JSON-RPC 2.0 section 5.1 for the codes): handshakes, listing, calling, and everything that is no request.
 */
#include "mcp_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "mcp/lines.h"

enum {
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	UNKNOWN_METHOD = -32601,
	INVALID_PARAMS = -32602,
	UNSUPPORTED_VERSION = -32022
};

#define PING(id) "{\"jsonrpc\": \"2.0\", \"id\": " id ", \"method\": \"ping\"}"

static void agrees_on_a_revision(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"2024-11-05", "2024-11-05"},
		{"2025-03-26", "2025-03-26"},
		{"2025-06-18", "2025-06-18"},
		{"2025-11-25", "2025-11-25"},
		/* The latest with a handshake, where another is asked for. */
		{"2026-07-28", "2025-11-25"},
		{"1900-01-01", "2025-11-25"},
		{"", "2025-11-25"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f;
		set_up(&f);
		CLEANUP(free_ptr)
		char *line =
			xasprintf("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\", \"params\": "
				  "{\"protocolVersion\": \"%s\"}}",
				cases[i][0]);
		CLEANUP(json_decref_ptr) json_t *reply = send_line(&f, line);
		assert_int_equal(json_integer_value(at(reply, "id")), 1);
		assert_string_equal(text_at(reply, "result.protocolVersion"), cases[i][1]);
		assert_string_equal(text_at(reply, "result.serverInfo.name"), "fixture");
		assert_string_equal(text_at(reply, "result.serverInfo.version"), "7");
		assert_string_equal(text_at(reply, "result.instructions"), "use echo");
		assert_true(json_is_object(at(reply, "result.capabilities.tools")));
		/* Belongs to later revisions. */
		assert_null(json_object_get(at(reply, "result"), "resultType"));
		tear_down(&f);
	}
}

static void handshake_comes_first_and_once(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	expect_error(
		&f, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}", INVALID_REQUEST, "1");
	expect_error(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": "
		"\"echo\", \"arguments\": {\"word\": \"x\"}}}",
		INVALID_REQUEST, "1");
	assert_int_equal(f.calls, 0);
	CLEANUP(json_decref_ptr) json_t *pong = send_line(&f, PING("\"p\""));
	assert_int_equal(json_object_size(at(pong, "result")), 0);
	expect_error(&f, "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"initialize\", \"params\": {}}",
		INVALID_PARAMS, "2");
	initialize(&f, "2025-06-18");
	expect_error(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": \"initialize\", \"params\": "
		"{\"protocolVersion\": "
		"\"2025-06-18\"}}",
		INVALID_REQUEST, "3");
	tear_down(&f);
}

/* Each is answered, and the next line is read as ever. */
static const struct {
	const char *line;
	int code;
	const char *id;
} broken[] = {
	{"{", PARSE_ERROR, "null"},
	{"nonsense", PARSE_ERROR, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 1, \"id\": 2, \"method\": \"ping\"}", PARSE_ERROR, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"\xff\"}", PARSE_ERROR, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"\xed\xa0\x80\"}", PARSE_ERROR, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 99999999999999999999, \"method\": \"ping\"}", PARSE_ERROR, "null"},
	{"{\"jsonrpc\": \"2.0\"} {}", PARSE_ERROR, "null"},
	{"1", INVALID_REQUEST, "null"},
	{"\"ping\"", INVALID_REQUEST, "null"},
	{"null", INVALID_REQUEST, "null"},
	{"{}", INVALID_REQUEST, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 4}", INVALID_REQUEST, "4"},
	{"{\"id\": 4, \"method\": \"ping\"}", INVALID_REQUEST, "4"},
	{"{\"jsonrpc\": \"1.0\", \"id\": \"x\", \"method\": \"ping\"}", INVALID_REQUEST, "\"x\""},
	{"{\"jsonrpc\": 2.0, \"id\": 4, \"method\": \"ping\"}", INVALID_REQUEST, "4"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 4, \"method\": 5}", INVALID_REQUEST, "4"},
	{"{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"ping\"}", INVALID_REQUEST, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 1.5, \"method\": \"ping\"}", INVALID_REQUEST, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": [1], \"method\": \"ping\"}", INVALID_REQUEST, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"ping\"}", INVALID_REQUEST, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": true, \"method\": \"ping\"}", INVALID_REQUEST, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 5, \"method\": \"ping\", \"params\": [1]}", INVALID_PARAMS, "5"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 5, \"method\": \"ping\", \"params\": \"x\"}", INVALID_PARAMS, "5"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 6, \"method\": \"resources/list\"}", UNKNOWN_METHOD, "6"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 6, \"method\": \"prompts/list\"}", UNKNOWN_METHOD, "6"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 6, \"method\": \"logging/setLevel\", \"params\": {\"level\": "
	 "\"info\"}}",
		UNKNOWN_METHOD, "6"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 6, \"method\": \"\"}", UNKNOWN_METHOD, "6"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tools/list\", \"params\": {\"cursor\": \"x\"}}",
		INVALID_PARAMS, "7"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"tools/call\"}", INVALID_PARAMS, "8"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"tools/call\", \"params\": {\"name\": 1}}",
		INVALID_PARAMS, "8"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"tools/call\", \"params\": {\"name\": \"shout\"}}",
		INVALID_PARAMS, "8"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"tools/call\", \"params\": {\"name\": \"echo\", "
	 "\"arguments\": [1]}}",
		INVALID_PARAMS, "8"},
	{"[]", INVALID_REQUEST, "null"},
	{"[" PING("1") "]", INVALID_REQUEST, "null"},
	{"{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"server/discover\"}", INVALID_PARAMS, "9"},
};

static void what_is_no_request(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	initialize(&f, "2025-06-18");
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		expect_error(&f, broken[i].line, broken[i].code, broken[i].id);
		CLEANUP(json_decref_ptr) json_t *pong = send_line(&f, PING("77"));
		assert_int_equal(json_integer_value(at(pong, "id")), 77);
	}
	tear_down(&f);
}

static void what_is_never_answered(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"",
		"  \t\r",
		"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}",
		"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/unheard_of\", \"params\": {}}",
		"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\"}",
		"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": {\"requestId\": "
		"5}}",
		"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": [5]}",
		"{\"jsonrpc\": \"2.0\", \"method\": \"tools/call\", \"params\": {\"name\": \"echo\", "
		"\"arguments\": "
		"{\"word\": \"x\"}}}",
		"{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}",
		"{\"jsonrpc\": \"2.0\", \"id\": 1, \"error\": {\"code\": 1, \"message\": \"x\"}}",
	};
	struct fixture f;
	set_up(&f);
	initialize(&f, "2025-11-25");
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		expect_nothing(&f, lines[i]);
	/* A notification that looks like a call calls nothing. */
	assert_int_equal(f.calls, 0);
	tear_down(&f);
}

static void lists_and_calls(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	initialize(&f, "2025-06-18");
	CLEANUP(json_decref_ptr)
	json_t *list = send_line(
		&f, "{\"jsonrpc\": \"2.0\", \"id\": \"a\", \"method\": \"tools/list\", \"params\": {}}");
	assert_string_equal(text_at(list, "id"), "a");
	assert_int_equal(json_array_size(at(list, "result.tools")), 3);
	assert_string_equal(text_at(list, "result.tools[0].name"), "echo");
	assert_string_equal(text_at(list, "result.tools[0].inputSchema.type"), "object");
	assert_null(json_object_get(at(list, "result"), "nextCursor"));
	assert_null(json_object_get(at(list, "result"), "ttlMs"));
	CLEANUP(json_decref_ptr)
	json_t *call =
		send_line(&f, "{\"jsonrpc\": \"2.0\", \"id\": -3, \"method\": \"tools/call\", \"params\": "
			      "{\"name\": \"echo\", \"arguments\": {\"word\": \"h\\u00e9\\n\"}, \"_meta\": "
			      "{\"progressToken\": 1}}}");
	assert_int_equal(json_integer_value(at(call, "id")), -3);
	assert_string_equal(text_at(call, "result.content[0].text"), "heard h\xc3\xa9\n");
	assert_string_equal(text_at(call, "result.structuredContent.word"), "h\xc3\xa9\n");
	assert_true(json_is_false(at(call, "result.isError")));
	tear_down(&f);
}

/* SEP-1303: what a model can mend is a result that it sees, and no protocol error. */
static void failures_of_tools_are_results(void **state)
{
	(void)state;
	static const struct {
		const char *params, *text;
	} cases[] = {
		{"{\"name\": \"echo\"}", "echo needs 'word': what to say"},
		{"{\"name\": \"echo\", \"arguments\": null}", "echo needs 'word': what to say"},
		{"{\"name\": \"echo\", \"arguments\": {\"words\": \"x\"}}",
			"echo has no argument 'words' (did you mean 'word'?)"},
		{"{\"name\": \"echo\", \"arguments\": {\"word\": \"x\", \"times\": 4}}",
			"echo: 'times' is an integer from 1 to 3"},
		{"{\"name\": \"fail\", \"arguments\": {}}", "a.yaml:3:4: not like this"},
	};
	struct fixture f;
	set_up(&f);
	initialize(&f, "2025-11-25");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(free_ptr)
		char *line = xasprintf(
			"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\", \"params\": %s}",
			cases[i].params);
		CLEANUP(json_decref_ptr) json_t *reply = send_line(&f, line);
		assert_true(json_is_true(at(reply, "result.isError")));
		assert_string_equal(text_at(reply, "result.content[0].text"), cases[i].text);
		assert_string_equal(text_at(reply, "result.structuredContent.error"), cases[i].text);
	}
	assert_int_equal(f.calls, 0);
	tear_down(&f);
}

static void without_a_handshake(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	CLEANUP(json_decref_ptr)
	json_t *found = send_line(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"server/discover\", \"params\": {" MODERN_META
		"}}");
	assert_string_equal(text_at(found, "result.resultType"), "complete");
	assert_string_equal(text_at(found, "result.supportedVersions[0]"), "2026-07-28");
	assert_int_equal(json_array_size(at(found, "result.supportedVersions")), 1);
	assert_true(json_is_object(at(found, "result.capabilities.tools")));
	assert_true(json_is_integer(at(found, "result.ttlMs")));
	assert_string_equal(text_at(found, "result.cacheScope"), "private");
	const json_t *meta = at(found, "result._meta");
	assert_string_equal(
		text_at(json_object_get(meta, "io.modelcontextprotocol/serverInfo"), "name"), "fixture");
	CLEANUP(json_decref_ptr)
	json_t *list = send_line(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/list\", \"params\": {" MODERN_META
		"}}");
	assert_int_equal(json_array_size(at(list, "result.tools")), 3);
	assert_true(json_is_integer(at(list, "result.ttlMs")));
	CLEANUP(json_decref_ptr)
	json_t *call =
		send_line(&f, "{\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": \"tools/call\", \"params\": "
			      "{\"name\": \"echo\", \"arguments\": {\"word\": \"x\"}, " MODERN_META "}}");
	assert_string_equal(text_at(call, "result.resultType"), "complete");
	assert_string_equal(text_at(call, "result.content[0].text"), "heard x");
	/* Nothing is remembered from one to the next. */
	expect_error(
		&f, "{\"jsonrpc\": \"2.0\", \"id\": 4, \"method\": \"tools/list\"}", INVALID_REQUEST, "4");
	expect_error(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 5, \"method\": \"initialize\", \"params\": {" MODERN_META
		"}}",
		UNKNOWN_METHOD, "5");
	/* Both eras over one stream. */
	initialize(&f, "2025-06-18");
	CLEANUP(json_decref_ptr)
	json_t *again = send_line(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 6, \"method\": \"tools/list\", \"params\": {" MODERN_META
		"}}");
	assert_string_equal(text_at(again, "result.resultType"), "complete");
	tear_down(&f);
}

static void revisions_that_are_not_known(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	CLEANUP(json_decref_ptr)
	json_t *reply = send_line(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\", \"params\": {\"_meta\": "
		"{\"io.modelcontextprotocol/protocolVersion\": \"1900-01-01\", "
		"\"io.modelcontextprotocol/clientCapabilities\": {}}}}");
	assert_int_equal(json_integer_value(at(reply, "error.code")), UNSUPPORTED_VERSION);
	assert_string_equal(text_at(reply, "error.data.requested"), "1900-01-01");
	assert_string_equal(text_at(reply, "error.data.supported[0]"), "2026-07-28");
	assert_string_equal(text_at(reply, "error.data.supported[1]"), "2025-11-25");
	/* Required with each request. */
	expect_error(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/list\", \"params\": {\"_meta\": "
		"{\"io.modelcontextprotocol/protocolVersion\": \"2026-07-28\"}}}",
		INVALID_PARAMS, "2");
	expect_error(&f,
		"{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/list\", \"params\": {\"_meta\": "
		"{\"io.modelcontextprotocol/protocolVersion\": 5, "
		"\"io.modelcontextprotocol/clientCapabilities\": {}}}}",
		INVALID_PARAMS, "2");
	tear_down(&f);
}

static void a_line_that_is_too_long(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	CLEANUP(free_ptr) char *line = xmalloc((size_t)MCP_LINE_BYTES + 2);
	memset(line, ' ', (size_t)MCP_LINE_BYTES + 1);
	line[MCP_LINE_BYTES + 1] = '\0';
	memcpy(line, PING("1"), sizeof(PING("1")) - 1);
	expect_error(&f, line, PARSE_ERROR, "null");
	line[MCP_LINE_BYTES] = '\0';
	CLEANUP(json_decref_ptr) json_t *pong = send_line(&f, line);
	assert_int_equal(json_integer_value(at(pong, "id")), 1);
	tear_down(&f);
}

static void deeper_than_anybody_writes(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	size_t depth = 1000000;
	CLEANUP(free_ptr) char *line = xmalloc(depth + 1);
	memset(line, '[', depth);
	line[depth] = '\0';
	expect_error(&f, line, PARSE_ERROR, "null");
	tear_down(&f);
}

static void a_client_that_is_gone(void **state)
{
	(void)state;
	struct fixture f;
	struct err e = ERR_INIT;
	set_up(&f);
	f.is_broken = true;
	const char line[] = PING("1") "\n" PING("2") "\n";
	assert_int_equal(mcp_session_feed(f.session, line, sizeof(line) - 1, &e), ERR_IO);
	assert_string_equal(e.message, "the client is gone");
	/* Half a line may be out: nothing follows it. */
	f.is_broken = false;
	assert_int_equal(mcp_session_feed(f.session, line, sizeof(line) - 1, &e), ERR_IO);
	assert_int_equal(f.written.len, 0);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_on_a_revision),
		cmocka_unit_test(handshake_comes_first_and_once),
		cmocka_unit_test(what_is_no_request),
		cmocka_unit_test(what_is_never_answered),
		cmocka_unit_test(lists_and_calls),
		cmocka_unit_test(failures_of_tools_are_results),
		cmocka_unit_test(without_a_handshake),
		cmocka_unit_test(revisions_that_are_not_known),
		cmocka_unit_test(a_line_that_is_too_long),
		cmocka_unit_test(deeper_than_anybody_writes),
		cmocka_unit_test(a_client_that_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

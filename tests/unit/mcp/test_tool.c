/* A table of arguments as a JSON schema (draft 2020-12), and as a check of what is sent. */
#include "mcp_fixture.h"

#include <string.h>

#include "base/json.h"
#include "mcp/tool.h"

static const struct mcp_argument arguments[] = {
	{"text", MCP_STRING, "a text", .is_required = true},
	{"count", MCP_INTEGER, "a count", .least = 1, .most = 20},
	{"share", MCP_NUMBER, "a share", .least = 0, .most = 0.5},
	{"on", MCP_BOOLEAN, "a switch"},
	{"settings", MCP_OBJECT, "an object", .more = "{\"additionalProperties\": {\"type\": \"string\"}}"},
	{"list", MCP_ARRAY, "a list", .more = "{\"items\": {\"type\": \"string\"}}"},
};
static const struct mcp_tool tool = {.name = "act",
	.title = "Act",
	.description = "does it",
	.arguments = arguments,
	.n_arguments = ARRAY_LEN(arguments)};

static void schema_of_a_table(void **state)
{
	(void)state;
	CLEANUP(json_decref_ptr) json_t *shown = mcp_tool_to_json(&tool);
	CLEANUP(json_decref_ptr)
	json_t *wanted = json_loads(
		"{\"name\": \"act\", \"title\": \"Act\", \"description\": \"does it\", \"annotations\": "
		"{\"readOnlyHint\": false, \"destructiveHint\": false, \"openWorldHint\": false},"
		" \"inputSchema\": {\"type\": \"object\", \"additionalProperties\": false, \"required\": "
		"[\"text\"], \"properties\": {"
		"\"text\": {\"type\": \"string\", \"description\": \"a text\"},"
		"\"count\": {\"type\": \"integer\", \"description\": \"a count\", \"minimum\": 1, "
		"\"maximum\": 20},"
		"\"share\": {\"type\": \"number\", \"description\": \"a share\", \"minimum\": 0, "
		"\"maximum\": 0.5},"
		"\"on\": {\"type\": \"boolean\", \"description\": \"a switch\"},"
		"\"settings\": {\"type\": \"object\", \"description\": \"an object\", "
		"\"additionalProperties\": "
		"{\"type\": \"string\"}},"
		"\"list\": {\"type\": \"array\", \"description\": \"a list\", \"items\": {\"type\": "
		"\"string\"}}}}}",
		0, NULL);
	assert_non_null(wanted);
	assert_true(json_equal(shown, wanted));
}

static const struct {
	const char *arguments, *error; /* NULL = they fit */
} cases[] = {
	{"{\"text\": \"x\"}", NULL},
	{"{\"text\": \"\", \"count\": 20, \"share\": 0, \"on\": false, \"settings\": {}, \"list\": []}",
		NULL},
	{"{\"text\": \"x\", \"count\": 3.0, \"on\": null}", NULL},
	{"{}", "act needs 'text': a text"},
	{"{\"text\": null}", "act needs 'text': a text"},
	{"{\"text\": 1}", "act: 'text' is a string"},
	{"{\"text\": \"x\", \"count\": 0}", "act: 'count' is an integer from 1 to 20"},
	{"{\"text\": \"x\", \"count\": 21}", "act: 'count' is an integer from 1 to 20"},
	{"{\"text\": \"x\", \"count\": 2.5}", "act: 'count' is an integer"},
	{"{\"text\": \"x\", \"count\": \"2\"}", "act: 'count' is an integer"},
	{"{\"text\": \"x\", \"share\": 0.6}", "act: 'share' is a number from 0 to 0.5"},
	{"{\"text\": \"x\", \"on\": 1}", "act: 'on' is true or false"},
	{"{\"text\": \"x\", \"settings\": []}", "act: 'settings' is an object"},
	{"{\"text\": \"x\", \"list\": {}}", "act: 'list' is a list"},
	{"{\"text\": \"x\", \"counts\": 2}", "act has no argument 'counts' (did you mean 'count'?)"},
	{"{\"text\": \"x\", \"\\u001b[2J\": 2}",
		"act has no argument '\\x1b[2J'; it has text, count, share, on, settings, list"},
};

static void check_of_a_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(json_decref_ptr) json_t *given = json_loads(cases[i].arguments, 0, NULL);
		struct err e = ERR_INIT;
		enum err_code code = mcp_tool_check(&tool, given, &e);
		assert_int_equal(code, cases[i].error ? ERR_INPUT : OK);
		if (cases[i].error)
			assert_string_equal(e.message, cases[i].error);
	}
	assert_int_equal(mcp_tool_check(&tool, NULL, NULL), ERR_INPUT);
}

static void results(void **state)
{
	(void)state;
	struct mcp_result result = MCP_RESULT_INIT;
	strbuf_addstr(&result.text, "bad \xff byte");
	result.is_error = true;
	CLEANUP(json_decref_ptr) json_t *json = mcp_result_to_json(&result);
	assert_string_equal(text_at(json, "content[0].type"), "text");
	assert_string_equal(text_at(json, "content[0].text"), "bad \\xff byte");
	assert_true(json_is_true(at(json, "isError")));
	assert_null(json_object_get(json, "structuredContent"));
	mcp_result_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schema_of_a_table),
		cmocka_unit_test(check_of_a_table),
		cmocka_unit_test(results),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

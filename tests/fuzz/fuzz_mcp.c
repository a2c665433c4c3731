/* Any bytes as what a client sends, cut anywhere into reads: the first byte says into what pieces. Every
 * reply is one line of JSON-RPC 2.0, no request is answered twice, and the session never fails of itself. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "mcp/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

struct client {
	struct mcp_session *session;
	int64_t waits[MCP_OPEN_REQUESTS];
	size_t n_waits;
};

static enum err_code say(
	void *context, const struct mcp_call *call, struct mcp_result *result, struct err *reterr)
{
	(void)context;
	const char *word = json_text_of(call->arguments, "word");
	if (strcmp(word, "fail") == 0)
		return err_set(reterr, ERR_INPUT, "so it was wished: %s", word);
	strbuf_addstr(&result->text, word);
	result->data = json_object();
	json_object_set(result->data, "arguments", (json_t *)call->arguments);
	return OK;
}

static enum err_code wait_for(
	void *context, const struct mcp_call *call, struct mcp_result *result, struct err *reterr)
{
	struct client *client = context;
	(void)reterr;
	result->is_later = call->may_wait && client->n_waits < MCP_OPEN_REQUESTS;
	if (result->is_later)
		client->waits[client->n_waits++] = call->ticket;
	return OK;
}

static const struct mcp_argument arguments[] = {
	{"word", MCP_STRING, "what to say", .is_required = true},
	{"times", MCP_INTEGER, "how often", .least = 1, .most = 3},
	{"how", MCP_OBJECT, "in what manner"},
	{"list", MCP_ARRAY, "of what"},
	{"on", MCP_BOOLEAN, "whether"},
};
static const struct mcp_tool tools[] = {
	{.name = "say",
		.title = "Say",
		.description = "says it",
		.arguments = arguments,
		.n_arguments = ARRAY_LEN(arguments),
		.call = say},
	{.name = "wait", .title = "Wait", .description = "answers later", .call = wait_for},
};

static void check_message(const json_t *message)
{
	const json_t *id = json_object_get(message, "id"), *result = json_object_get(message, "result"),
		     *error = json_object_get(message, "error");
	require(json_is_object(message) && strcmp(json_text_of(message, "jsonrpc"), "2.0") == 0);
	if (!result && !error) {
		require(!id && strncmp(json_text_of(message, "method"), "notifications/", 14) == 0);
		return;
	}
	require(!result != !error);
	require(json_is_string(id) || json_is_integer(id) || (error && json_is_null(id)));
	require(!result || json_is_object(result));
	require(!error || (json_integer_of(error, "code") < 0 && *json_text_of(error, "message")));
}

static enum err_code check_line(void *context, const char *line, size_t length, struct err *reterr)
{
	(void)context;
	(void)reterr;
	require(length > 1 && memchr(line, '\n', length) == line + length - 1);
	CLEANUP(json_decref_ptr) json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	require(json != NULL);
	if (!json_is_array(json))
		check_message(json);
	else
		require(json_array_size(json) > 0);
	for (size_t i = 0; json_is_array(json) && i < json_array_size(json); i++)
		check_message(json_array_get(json, i));
	return OK;
}

/* Every second one stays open until the end. */
static void answer_some(struct client *client)
{
	struct mcp_result result = MCP_RESULT_INIT;
	for (size_t i = 0; i < client->n_waits; i += 2) {
		require(mcp_session_answer(client->session, client->waits[i], &result, NULL) == OK);
		require(!mcp_session_awaits(client->session, client->waits[i]));
	}
	mcp_result_release(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client client = {0};
	const struct mcp_server server = {.name = "fuzz",
		.title = "Fuzz",
		.version = "1",
		.instructions = "",
		.tools = tools,
		.n_tools = ARRAY_LEN(tools),
		.tool_context = &client,
		.write = check_line};
	if (size < 2)
		return 0;
	size_t piece = data[0] ? data[0] : size;
	client.session = mcp_session_new(&server);
	for (size_t i = 1; i < size; i += piece)
		require(mcp_session_feed(
				client.session, (const char *)data + i, MIN_OF(piece, size - i), NULL) == OK);
	answer_some(&client);
	mcp_session_end(client.session);
	mcp_session_free(client.session);
	return 0;
}

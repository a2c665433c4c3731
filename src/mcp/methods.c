/* The methods of the protocol. Two eras: those revisions that begin with `initialize`, and the later ones in
 * which each request says its revision and nothing is remembered from one to the next. */
#include "base/base.h"

#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "mcp/session_int.h"

/* Oldest first. */
static const char *const revisions[] = {"2024-11-05", REVISION_WITH_BATCHES, "2025-06-18", "2025-11-25"};
static const char *const modern_revisions[] = {"2026-07-28"};

#define META_PREFIX "io.modelcontextprotocol/"
static const char version_key[] = META_PREFIX "protocolVersion";
static const char capabilities_key[] = META_PREFIX "clientCapabilities";

/* Tools are a table of the program: they stay as they are while it runs. */
enum { TOOLS_FRESH_MS = 3600 * 1000 };

static const char *shown(const char *text, struct strbuf *safe)
{
	enum { SHOWN = 100 };
	strbuf_add_escaped(safe, text, strnlen(text, SHOWN));
	return safe->buf;
}

static void send_error(
	struct mcp_session *s, const struct request *request, enum rpc_code code, const char *text)
{
	session_send(s, rpc_error(request->id, code, NULL, "%s", text));
}

static json_t *identity(const struct mcp_server *server)
{
	json_t *info = json_object();
	json_object_set_new(info, "name", json_string(server->name));
	json_object_set_new(info, "title", json_string(server->title));
	json_object_set_new(info, "version", json_string(server->version));
	return info;
}

static json_t *capabilities(void)
{
	json_t *all = json_object(), *tools = json_object();
	json_object_set_new(tools, "listChanged", json_false());
	json_object_set_new(all, "tools", tools);
	return all;
}

void session_send_result(struct mcp_session *s, const struct request *request, json_t *result_take)
{
	if (request->is_modern) {
		json_t *meta = json_object();
		json_object_set_new(meta, META_PREFIX "serverInfo", identity(s->server));
		json_object_set_new(result_take, "resultType", json_string("complete"));
		json_object_set_new(result_take, "_meta", meta);
	}
	session_send(s, rpc_result(request->id, result_take));
}

/* 2026-07-28, "CacheableResult". */
static void set_freshness(json_t *result, const struct request *request)
{
	if (!request->is_modern)
		return;
	json_object_set_new(result, "ttlMs", json_integer(TOOLS_FRESH_MS));
	json_object_set_new(result, "cacheScope", json_string("private"));
}

/* ---- methods ---- */

static void initialize(struct mcp_session *s, const struct request *request)
{
	const char *wanted = json_string_value(json_object_get(request->params, "protocolVersion"));
	if (s->batch) {
		send_error(s, request, RPC_INVALID_REQUEST, "initialize is no part of a batch");
		return;
	}
	if (s->revision) {
		send_error(s, request, RPC_INVALID_REQUEST, "initialize comes once");
		return;
	}
	if (!wanted) {
		send_error(s, request, RPC_INVALID_PARAMS, "initialize needs \"protocolVersion\", a string");
		return;
	}
	/* One that is not known here is answered with the latest that is; the client then decides. */
	s->revision = revisions[ARRAY_LEN(revisions) - 1];
	for (size_t i = 0; i < ARRAY_LEN(revisions); i++)
		if (strcmp(revisions[i], wanted) == 0)
			s->revision = revisions[i];
	json_t *result = json_object();
	json_object_set_new(result, "protocolVersion", json_string(s->revision));
	json_object_set_new(result, "capabilities", capabilities());
	json_object_set_new(result, "serverInfo", identity(s->server));
	json_object_set_new(result, "instructions", json_string(s->server->instructions));
	session_send_result(s, request, result);
}

static void discover(struct mcp_session *s, const struct request *request)
{
	json_t *result = json_object(), *versions = json_array();
	for (size_t i = 0; i < ARRAY_LEN(modern_revisions); i++)
		json_array_append_new(versions, json_string(modern_revisions[i]));
	json_object_set_new(result, "supportedVersions", versions);
	json_object_set_new(result, "capabilities", capabilities());
	json_object_set_new(result, "instructions", json_string(s->server->instructions));
	set_freshness(result, request);
	session_send_result(s, request, result);
}

static void ping(struct mcp_session *s, const struct request *request)
{
	session_send_result(s, request, json_object());
}

static void list_tools(struct mcp_session *s, const struct request *request)
{
	const json_t *cursor = json_object_get(request->params, "cursor");
	if (cursor && !json_is_null(cursor)) {
		send_error(
			s, request, RPC_INVALID_PARAMS, "\"cursor\" is none of ours: all tools are one page");
		return;
	}
	json_t *result = json_object(), *tools = json_array();
	for (size_t i = 0; i < s->server->n_tools; i++)
		json_array_append_new(tools, mcp_tool_to_json(&s->server->tools[i]));
	json_object_set_new(result, "tools", tools);
	set_freshness(result, request);
	session_send_result(s, request, result);
}

static void run_tool(struct mcp_session *s, const struct request *request, const struct mcp_tool *tool,
	const json_t *arguments)
{
	struct mcp_result result = MCP_RESULT_INIT;
	struct err e = ERR_INIT;
	CLEANUP(json_decref_ptr) json_t *none = json_object();
	const struct mcp_call call = {.arguments = arguments ? arguments : none,
		.ticket = ++s->last_ticket,
		.may_wait = !s->batch && s->n_open < MCP_OPEN_REQUESTS};
	enum err_code code = mcp_tool_check(tool, arguments, &e);
	if (code == OK)
		code = tool->call(s->server->tool_context, &call, &result, &e);
	if (code != OK) {
		char text[sizeof(e.message) + sizeof(e.file) + 32];
		json_t *data = json_object();
		err_format(&e, text, sizeof(text));
		json_object_set_new(data, "error", json_from_text(text));
		mcp_result_release(&result);
		result = (struct mcp_result){.text = STRBUF_INIT, .data = data, .is_error = true};
		strbuf_addstr(&result.text, text);
	}
	if (result.is_later)
		session_keep_open(s, request, call.ticket, false);
	else
		session_send_result(s, request, mcp_result_to_json(&result));
	mcp_result_release(&result);
}

static void call_tool(struct mcp_session *s, const struct request *request)
{
	const char *name = json_string_value(json_object_get(request->params, "name"));
	const json_t *arguments = json_object_get(request->params, "arguments");
	if (json_is_null(arguments))
		arguments = NULL;
	if (!name) {
		send_error(s, request, RPC_INVALID_PARAMS, "tools/call needs \"name\", a string");
		return;
	}
	if (arguments && !json_is_object(arguments)) {
		send_error(s, request, RPC_INVALID_PARAMS, "\"arguments\" is an object");
		return;
	}
	for (size_t i = 0; i < s->server->n_tools; i++)
		if (strcmp(s->server->tools[i].name, name) == 0) {
			run_tool(s, request, &s->server->tools[i], arguments);
			return;
		}
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	session_send(s, rpc_error(request->id, RPC_INVALID_PARAMS, NULL, "there is no tool '%s'",
				shown(name, &safe)));
}

/* Nothing here changes in a way that is told, so what is acknowledged is nothing; the stream stays open until
 * the client cancels it or the server ends. */
static void listen(struct mcp_session *s, const struct request *request)
{
	if (s->n_open == MCP_OPEN_REQUESTS) {
		send_error(s, request, RPC_INVALID_REQUEST, "too many requests wait for an answer");
		return;
	}
	json_t *params = json_object(), *meta = json_object();
	json_object_set(meta, META_PREFIX "subscriptionId", (json_t *)request->id);
	json_object_set_new(params, "_meta", meta);
	json_object_set_new(params, "notifications", json_object());
	session_keep_open(s, request, ++s->last_ticket, true);
	session_send(s, rpc_notification("notifications/subscriptions/acknowledged", params));
}

/* ---- which one ---- */

enum { BEFORE_INITIALIZE = 1, AFTER_INITIALIZE = 2, MODERN = 4 };
static const struct method {
	const char *name;
	unsigned when;
	void (*serve)(struct mcp_session *s, const struct request *request);
} methods[] = {
	{"initialize", BEFORE_INITIALIZE | AFTER_INITIALIZE, initialize},
	{"ping", BEFORE_INITIALIZE | AFTER_INITIALIZE, ping},
	{"tools/list", AFTER_INITIALIZE | MODERN, list_tools},
	{"tools/call", AFTER_INITIALIZE | MODERN, call_tool},
	{"server/discover", MODERN, discover},
	{"subscriptions/listen", MODERN, listen},
};

static void unsupported(struct mcp_session *s, const struct request *request, const char *version)
{
	json_t *data = json_object(), *supported = json_array();
	for (size_t i = ARRAY_LEN(modern_revisions); i-- > 0;)
		json_array_append_new(supported, json_string(modern_revisions[i]));
	for (size_t i = ARRAY_LEN(revisions); i-- > 0;)
		json_array_append_new(supported, json_string(revisions[i]));
	json_object_set_new(data, "supported", supported);
	json_object_set_new(data, "requested", json_string(version));
	session_send(
		s, rpc_error(request->id, RPC_UNSUPPORTED_VERSION, data, "Unsupported protocol version"));
}

/* False: answered. */
static bool check_modern(struct mcp_session *s, const struct request *request, const json_t *meta)
{
	const char *version = json_string_value(json_object_get(meta, version_key));
	if (!version || !json_is_object(json_object_get(meta, capabilities_key))) {
		session_send(s, rpc_error(request->id, RPC_INVALID_PARAMS, NULL,
					"\"_meta\" needs \"%s\", a string, and \"%s\", an object",
					version_key, capabilities_key));
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(modern_revisions); i++)
		if (strcmp(modern_revisions[i], version) == 0)
			return true;
	unsupported(s, request, version);
	return false;
}

/* A method that there is, where it has no place. */
static void misplaced(struct mcp_session *s, const struct request *request, const struct method *method)
{
	if (method->when == MODERN)
		session_send(s, rpc_error(request->id, RPC_INVALID_PARAMS, NULL,
					"%s needs \"_meta\" with \"%s\"", method->name, version_key));
	else if (request->is_modern)
		session_send(
			s, rpc_error(request->id, RPC_UNKNOWN_METHOD, NULL,
				   "%s is no method of the revision that \"_meta\" names", method->name));
	else
		session_send(s, rpc_error(request->id, RPC_INVALID_REQUEST, NULL, "%s comes after initialize",
					method->name));
}

void session_serve(struct mcp_session *s, const struct rpc_message *message)
{
	const json_t *meta = json_object_get(message->params, "_meta");
	struct request request = {.id = message->id,
		.params = message->params,
		.is_modern = json_object_get(meta, version_key) != NULL};
	unsigned now = request.is_modern ? MODERN : s->revision ? AFTER_INITIALIZE : BEFORE_INITIALIZE;
	if (request.is_modern && !check_modern(s, &request, meta))
		return;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(methods[i].name, message->method) != 0)
			continue;
		if (methods[i].when & now)
			methods[i].serve(s, &request);
		else
			misplaced(s, &request, &methods[i]);
		return;
	}
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	session_send(s, rpc_error(request.id, RPC_UNKNOWN_METHOD, NULL, "there is no method '%s'",
				shown(message->method, &safe)));
}

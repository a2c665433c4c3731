#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "mcp/lines.h"
#include "mcp/message.h"
#include "mcp/session.h"
#include "mcp/session_int.h"

struct mcp_session *mcp_session_new(const struct mcp_server *server)
{
	struct mcp_session *s = xcalloc(1, sizeof(*s));
	*s = (struct mcp_session){.server = server, .lines = MCP_LINES_INIT, .write_error = ERR_INIT};
	return s;
}

void mcp_session_free(struct mcp_session *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_open; i++)
		json_decref(s->open[i].id);
	mcp_lines_release(&s->lines);
	free(s);
}

/* ---- writing ---- */

static void write_line(struct mcp_session *s, json_t *message_take)
{
	/* 15 digits: "0.1" stays so short, and nothing that is measured is known better. */
	char *text = json_dumps(message_take, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(message_take);
	if (!text)
		die_oom(0);
	CLEANUP(free_ptr) char *line = xasprintf("%s\n", text);
	free(text);
	/* After one failure nothing more is written: half a line may be out. */
	if (s->write_error.code == OK)
		(void)!s->server->write(s->server->write_context, line, strlen(line), &s->write_error);
}

void session_send(struct mcp_session *s, json_t *message_take)
{
	if (s->batch)
		json_array_append_new(s->batch, message_take);
	else
		write_line(s, message_take);
}

static enum err_code written(const struct mcp_session *s, struct err *reterr)
{
	if (s->write_error.code != OK && reterr)
		*reterr = s->write_error;
	return s->write_error.code;
}

/* ---- requests that are answered later ---- */

static struct open_request *find_id(struct mcp_session *s, const json_t *id)
{
	for (size_t i = 0; i < s->n_open; i++)
		if (json_equal(s->open[i].id, id))
			return &s->open[i];
	return NULL;
}

static struct open_request *find_ticket(const struct mcp_session *s, int64_t ticket)
{
	for (size_t i = 0; i < s->n_open; i++)
		if (s->open[i].ticket == ticket)
			return (struct open_request *)&s->open[i];
	return NULL;
}

static void forget(struct mcp_session *s, struct open_request *r)
{
	json_decref(r->id);
	*r = s->open[--s->n_open];
}

void session_keep_open(
	struct mcp_session *s, const struct request *request, int64_t ticket, bool is_subscription)
{
	s->open[s->n_open++] = (struct open_request){.id = json_copy((json_t *)request->id),
		.ticket = ticket,
		.is_modern = request->is_modern,
		.is_subscription = is_subscription};
}

bool mcp_session_awaits(const struct mcp_session *s, int64_t ticket)
{
	return find_ticket(s, ticket) != NULL;
}

enum err_code mcp_session_answer(
	struct mcp_session *s, int64_t ticket, const struct mcp_result *result, struct err *reterr)
{
	struct open_request *r = find_ticket(s, ticket);
	if (!r)
		return OK;
	struct request request = {.id = r->id, .is_modern = r->is_modern};
	session_send_result(s, &request, mcp_result_to_json(result));
	forget(s, r);
	return written(s, reterr);
}

void mcp_session_end(struct mcp_session *s)
{
	while (s->n_open) {
		struct open_request *r = &s->open[s->n_open - 1];
		if (r->is_subscription) {
			json_t *params = json_object();
			json_object_set(params, "requestId", r->id);
			write_line(s, rpc_notification("notifications/cancelled", params));
		}
		forget(s, r);
	}
}

/* ---- reading ---- */

/* What nobody knows, or names no request that is open, is passed over: notifications are never answered. */
static void take_notification(struct mcp_session *s, const struct rpc_message *message)
{
	if (strcmp(message->method, "notifications/cancelled") != 0)
		return;
	const json_t *id = json_object_get(message->params, "requestId");
	struct open_request *r = id ? find_id(s, id) : NULL;
	if (r)
		forget(s, r);
}

static void take_message(struct mcp_session *s, const json_t *json)
{
	struct rpc_message message;
	json_t *error = NULL;
	enum rpc_kind kind = rpc_read_message(json, &message, &error);
	if (kind == RPC_IGNORED)
		return;
	if (kind == RPC_BROKEN)
		session_send(s, error);
	else if (!message.id)
		take_notification(s, &message);
	else if (find_id(s, message.id))
		session_send(s, rpc_error(message.id, RPC_INVALID_REQUEST, NULL,
					"a request with this id waits for its answer"));
	else
		session_serve(s, &message);
}

static void take_batch(struct mcp_session *s, const json_t *list)
{
	if (!s->revision || strcmp(s->revision, REVISION_WITH_BATCHES) != 0) {
		session_send(s, rpc_error(NULL, RPC_INVALID_REQUEST, NULL,
					"a list of messages: batches belong to revision %s alone; send one "
					"message a line",
					REVISION_WITH_BATCHES));
		return;
	}
	if (json_array_size(list) == 0) {
		session_send(s, rpc_error(NULL, RPC_INVALID_REQUEST, NULL, "an empty batch"));
		return;
	}
	json_t *replies = json_array();
	s->batch = replies;
	for (size_t i = 0; i < json_array_size(list); i++)
		take_message(s, json_array_get(list, i));
	s->batch = NULL;
	if (json_array_size(replies))
		write_line(s, replies);
	else
		json_decref(replies);
}

static bool is_blank(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(" \t\r", line[i]) || !line[i])
			return false;
	return true;
}

static void take_line(void *context, const char *line, size_t length)
{
	struct mcp_session *s = context;
	json_t *error = NULL;
	if (!line) {
		session_send(s, rpc_error(NULL, RPC_PARSE_ERROR, NULL, "a line of more than %d bytes",
					MCP_LINE_BYTES));
		return;
	}
	if (is_blank(line, length))
		return;
	CLEANUP(json_decref_ptr) json_t *json = rpc_parse(line, length, &error);
	if (!json)
		session_send(s, error);
	else if (json_is_array(json))
		take_batch(s, json);
	else
		take_message(s, json);
}

enum err_code mcp_session_feed(struct mcp_session *s, const char *bytes, size_t length, struct err *reterr)
{
	mcp_lines_feed(&s->lines, bytes, length, take_line, s);
	return written(s, reterr);
}

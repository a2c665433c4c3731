/* Shared by the two files of a session: what comes and goes (session.c), what the methods do (methods.c). */
#ifndef INFRARSI_MCP_SESSION_INT_H
#define INFRARSI_MCP_SESSION_INT_H

#include <jansson.h>

#include "base/base.h"
#include "mcp/lines.h"
#include "mcp/message.h"
#include "mcp/session.h"

#define REVISION_WITH_BATCHES "2025-03-26"

struct open_request {
	json_t *id;
	int64_t ticket;
	bool is_modern;       /* of a revision without handshake */
	bool is_subscription; /* subscriptions/listen: it is never answered */
};

struct mcp_session {
	const struct mcp_server *server;
	struct mcp_lines lines;
	const char *revision; /* that initialize agreed on; NULL = not yet */
	json_t *batch;        /* replies of the one at hand; NULL = none is */
	int64_t last_ticket;
	struct open_request open[MCP_OPEN_REQUESTS];
	size_t n_open;
	struct err write_error;
};

struct request {
	const json_t *id, *params; /* params NULL = none */
	bool is_modern;
};

/* methods.c */
void session_serve(struct mcp_session *s, const struct rpc_message *message);
/* Adds what the revision wants in every result. */
void session_send_result(struct mcp_session *s, const struct request *request, json_t *result_take);

/* session.c */
void session_send(struct mcp_session *s, json_t *message_take);
void session_keep_open(
	struct mcp_session *s, const struct request *request, int64_t ticket, bool is_subscription);

#endif

/*
 * A Model Context Protocol server over two byte streams: bytes of a client in, lines of JSON-RPC out. Knows
 * the protocol and no tool.
 *
 *     struct mcp_session *session = mcp_session_new(&server);
 *     while ((n = read(0, bytes, sizeof(bytes))) > 0)
 *             TRY(mcp_session_feed(session, bytes, n, reterr));
 *     mcp_session_end(session);
 *     mcp_session_free(session);
 *
 * Revisions 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25 begin with `initialize`; 2026-07-28 has no
 * handshake and says with each request what it is. Both may come over one stream. Batches are read in
 * 2025-03-26, which has them, and refused elsewhere.
 *
 * Requests are answered in order, but for tools that answer later: meanwhile others are served, and the
 * client may cancel. Nothing that a client sends ends a session; only a failing write does.
 */
#ifndef INFRARSI_MCP_SESSION_H
#define INFRARSI_MCP_SESSION_H

#include "base/base.h"
#include "mcp/tool.h"

/* Requests that wait for their answer at one time; one more is refused. */
enum { MCP_OPEN_REQUESTS = 64 };

struct mcp_server { /* outlives its sessions */
	const char *name, *title, *version;
	const char *instructions; /* for models: how the tools go together */
	const struct mcp_tool *tools;
	size_t n_tools;
	void *tool_context;
	enum err_code (*write)(void *context, const char *line, size_t length, struct err *reterr);
	void *write_context;
};

struct mcp_session;

struct mcp_session *mcp_session_new(const struct mcp_server *server);
void mcp_session_free(struct mcp_session *session);
/* Fails only where writing did. */
enum err_code mcp_session_feed(
	struct mcp_session *session, const char *bytes, size_t length, struct err *reterr) MUST_CHECK;
/* False: answered, or no longer wanted. */
bool mcp_session_awaits(const struct mcp_session *session, int64_t ticket);
/* Nothing where it is no longer awaited. */
enum err_code mcp_session_answer(struct mcp_session *session, int64_t ticket, const struct mcp_result *result,
	struct err *reterr) MUST_CHECK;
/* Tells the client what will not be answered any more; a client that is gone does not mind. */
void mcp_session_end(struct mcp_session *session);

#endif

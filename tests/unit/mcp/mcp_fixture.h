/* A session with three small tools, whose replies are kept as they were written. */
#ifndef INFRARSI_TESTS_MCP_FIXTURE_H
#define INFRARSI_TESTS_MCP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/base.h"
#include "base/strbuf.h"
#include "mcp/session.h"

/* In `params` of a request of 2026-07-28. */
#define MODERN_META                                                                                          \
	"\"_meta\": {\"io.modelcontextprotocol/protocolVersion\": \"2026-07-28\", "                          \
	"\"io.modelcontextprotocol/clientCapabilities\": {}}"

struct fixture {
	struct mcp_server server;
	struct mcp_session *session;
	struct strbuf written;
	int calls;      /* of the tool echo */
	int64_t ticket; /* of the last call of the tool later */
	bool may_wait;  /* as it was told */
	bool is_broken; /* writing fails */
};

void set_up(struct fixture *f);
void tear_down(struct fixture *f);
/* Sends a line (its newline is added) and gives what was written since the last call; the caller owns it.
 * NULL = nothing; fails when that is not exactly one line of JSON. */
json_t *send_line(struct fixture *f, const char *line);
/* The same, of a line that is answered by an error of this code; id: as JSON text. */
void expect_error(struct fixture *f, const char *line, int code, const char *id);
void expect_nothing(struct fixture *f, const char *line);
void initialize(struct fixture *f, const char *revision);
/* The value at a path such as "result.tools[1].name"; borrowed, fails when there is none. */
const json_t *at(const json_t *json, const char *path);
const char *text_at(const json_t *json, const char *path);

#endif

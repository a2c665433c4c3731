/*
 * Tools: what a client may call. A tool's table of arguments is both the JSON schema that clients are shown
 * and the check of what they send, so the two cannot differ.
 *
 *     static const struct mcp_argument arguments[] = {
 *             {"seconds", MCP_NUMBER, "how long to wait", .least = 0, .most = 50},
 *     };
 *     static const struct mcp_tool wait = {.name = "wait", .description = "...", .arguments = arguments,
 *             .n_arguments = ARRAY_LEN(arguments), .call = wait_call};
 *
 * A failing call is an answer that its caller can read and act on (isError), never a protocol error.
 */
#ifndef INFRARSI_MCP_TOOL_H
#define INFRARSI_MCP_TOOL_H

#include <jansson.h>

#include "base/base.h"
#include "base/strbuf.h"

enum mcp_type { MCP_STRING, MCP_INTEGER, MCP_NUMBER, MCP_BOOLEAN, MCP_OBJECT, MCP_ARRAY };

struct mcp_argument {
	const char *name;
	enum mcp_type type;
	const char *description;
	bool is_required;
	double least, most; /* of a number or integer; both 0 = any */
	const char *
		more; /* JSON object with further members of its schema ("items"); NULL = none. Not checked */
};

struct mcp_call {
	const json_t *arguments; /* an object that fits the table; borrowed for the call */
	int64_t ticket;          /* for mcp_session_answer(), where the answer comes later */
	bool may_wait;           /* false: it has to be answered now */
};

struct mcp_result {
	struct strbuf text; /* what a model reads; complete by itself */
	json_t *data;       /* the same for programs: an object; NULL = none */
	bool is_error;
	bool is_later; /* nothing yet: mcp_session_answer() will say it */
};
#define MCP_RESULT_INIT                                                                                      \
	{                                                                                                    \
		STRBUF_INIT, NULL, false, false                                                              \
	}
void mcp_result_release(struct mcp_result *result);

struct mcp_tool {
	const char *name, *title, *description;
	const struct mcp_argument *arguments;
	size_t n_arguments;
	bool only_reads; /* a hint to clients */
	enum err_code (*call)(
		void *context, const struct mcp_call *call, struct mcp_result *result, struct err *reterr);
};

/* As an item of tools/list. */
json_t *mcp_tool_to_json(const struct mcp_tool *tool);
/* ERR_INPUT names the argument, and what it should be. arguments NULL = none were given. */
enum err_code mcp_tool_check(
	const struct mcp_tool *tool, const json_t *arguments, struct err *reterr) MUST_CHECK;
/* {content, structuredContent, isError} */
json_t *mcp_result_to_json(const struct mcp_result *result);

#endif

/*
 * The framing of MCP on standard streams: a message a line. Bytes come in as they were read, lines go out
 * whole. A line of more than MCP_LINE_BYTES is thrown away as it comes and told once it ends, so that what
 * follows it is read as ever.
 *
 *     struct mcp_lines lines = MCP_LINES_INIT;
 *     mcp_lines_feed(&lines, bytes, n, on_line, context);
 *     mcp_lines_release(&lines);
 *
 * What the end of the input cut off is no line.
 */
#ifndef INFRARSI_MCP_LINES_H
#define INFRARSI_MCP_LINES_H

#include "base/base.h"
#include "base/strbuf.h"

enum { MCP_LINE_BYTES = 4 << 20 };

struct mcp_lines {
	struct strbuf line; /* what has come of the one that has not ended */
	bool too_long;
};
#define MCP_LINES_INIT                                                                                       \
	{                                                                                                    \
		STRBUF_INIT, false                                                                           \
	}

/* Without its newline; NULL: it was too long. */
typedef void (*mcp_line_fn)(void *context, const char *line, size_t length);

void mcp_lines_feed(
	struct mcp_lines *lines, const char *bytes, size_t length, mcp_line_fn on_line, void *context);
void mcp_lines_release(struct mcp_lines *lines);

#endif

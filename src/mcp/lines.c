#include "base/base.h"

#include <string.h>

#include "mcp/lines.h"

static void add(struct mcp_lines *lines, const char *bytes, size_t length)
{
	if (lines->too_long)
		return;
	if (length > MCP_LINE_BYTES - lines->line.len) {
		lines->too_long = true;
		strbuf_release(&lines->line);
		return;
	}
	strbuf_add(&lines->line, bytes, length);
}

void mcp_lines_feed(
	struct mcp_lines *lines, const char *bytes, size_t length, mcp_line_fn on_line, void *context)
{
	const char *end = bytes + length;
	while (bytes < end) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		add(lines, bytes, (size_t)((newline ? newline : end) - bytes));
		if (!newline)
			return;
		on_line(context, lines->too_long ? NULL : lines->line.buf, lines->line.len);
		strbuf_clear(&lines->line);
		lines->too_long = false;
		bytes = newline + 1;
	}
}

void mcp_lines_release(struct mcp_lines *lines)
{
	strbuf_release(&lines->line);
	lines->too_long = false;
}

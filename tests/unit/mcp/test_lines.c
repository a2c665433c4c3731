/* Lines out of bytes that come in any pieces, and lines that are too long. */
#include "mcp_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mcp/lines.h"

static void note(void *context, const char *line, size_t length)
{
	struct strbuf *all = context;
	if (line)
		strbuf_addf(all, "[%.*s]", (int)length, line);
	else
		strbuf_addstr(all, "[too long]");
}

static void whatever_the_pieces(void **state)
{
	(void)state;
	static const char bytes[] = "one\ntwo\r\n\n{\"a\": 1}\nfour";
	for (size_t piece = 1; piece <= sizeof(bytes) - 1; piece++) {
		struct mcp_lines lines = MCP_LINES_INIT;
		CLEANUP(strbuf_release) struct strbuf all = STRBUF_INIT;
		for (size_t i = 0; i < sizeof(bytes) - 1; i += piece)
			mcp_lines_feed(&lines, bytes + i, MIN_OF(piece, sizeof(bytes) - 1 - i), note, &all);
		assert_string_equal(all.buf, "[one][two\r][][{\"a\": 1}]");
		mcp_lines_feed(&lines, "\n", 1, note, &all);
		assert_string_equal(all.buf, "[one][two\r][][{\"a\": 1}][four]");
		mcp_lines_release(&lines);
	}
}

static void too_long_once(void **state)
{
	(void)state;
	size_t length = (size_t)MCP_LINE_BYTES;
	CLEANUP(free_ptr) char *longest = xmalloc(length);
	memset(longest, 'x', length);
	struct mcp_lines lines = MCP_LINES_INIT;
	CLEANUP(strbuf_release) struct strbuf all = STRBUF_INIT;
	/* Exactly the limit is a line; in any number of pieces one byte more is none. */
	mcp_lines_feed(&lines, longest, length, note, &all);
	mcp_lines_feed(&lines, "\n", 1, note, &all);
	assert_int_equal(all.len, length + 2);
	strbuf_clear(&all);
	for (int i = 0; i < 3; i++)
		mcp_lines_feed(&lines, longest, length, note, &all);
	assert_int_equal(all.len, 0);
	assert_int_equal(lines.line.len, 0);
	mcp_lines_feed(&lines, "x\nnext\n", 7, note, &all);
	assert_string_equal(all.buf, "[too long][next]");
	mcp_lines_release(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_the_pieces),
		cmocka_unit_test(too_long_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

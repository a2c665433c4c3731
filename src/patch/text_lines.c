#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/text_lines.h"

enum { SHOWN_CAP = 100 };

void text_lines_split(struct text_lines *ret_lines, const char *text, size_t length)
{
	struct text_lines lines = {.ends_with_newline = !length || text[length - 1] == '\n'};
	size_t room = 0;
	for (const char *at = text, *end = text + length; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		grow_array(&lines.items, &room, lines.count + 1, sizeof(*lines.items));
		lines.items[lines.count++] = (struct text_line){at, (size_t)(stop - at)};
		at = stop + 1;
	}
	*ret_lines = lines;
}

void text_lines_release(struct text_lines *lines)
{
	free(lines->items);
	*lines = (struct text_lines){0};
}

bool text_line_equal(struct text_line a, struct text_line b)
{
	return a.length == b.length && (!a.length || memcmp(a.text, b.text, a.length) == 0);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct text_line text_line_chop(struct text_line line)
{
	while (line.length && is_blank(line.text[line.length - 1]))
		line.length--;
	return line;
}

struct text_line text_line_trim(struct text_line line)
{
	line = text_line_chop(line);
	while (line.length && is_blank(line.text[0])) {
		line.text++;
		line.length--;
	}
	return line;
}

bool text_line_has_return(struct text_line line)
{
	return line.length && line.text[line.length - 1] == '\r';
}

void text_line_show(struct strbuf *shown, struct text_line line)
{
	CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT;
	size_t length = MIN_OF(line.length, (size_t)SHOWN_CAP);
	for (size_t i = 0; i < length; i++) {
		if (line.text[i] == '\t')
			strbuf_addstr(&plain, "\\t");
		else if (line.text[i] == '\r')
			strbuf_addstr(&plain, "\\r");
		else
			strbuf_addch(&plain, line.text[i]);
	}
	strbuf_addch(shown, '\'');
	strbuf_add_escaped(shown, plain.buf, plain.len);
	strbuf_addstr(shown, length < line.length ? "...'" : "'");
}

/*
 * A text as lines, borrowed from it. A line goes up to the newline, which is not part of it; a carriage
 * return before the newline is.
 *
 *     CLEANUP(text_lines_release) struct text_lines lines;
 *     text_lines_split(&lines, text, length);
 */
#ifndef INFRARSI_PATCH_TEXT_LINES_H
#define INFRARSI_PATCH_TEXT_LINES_H

#include "base/base.h"

struct strbuf;

struct text_line {
	const char *text;
	size_t length;
};

struct text_lines {
	struct text_line *items;
	size_t count;
	bool ends_with_newline; /* the last line does; true of an empty text */
};

void text_lines_split(struct text_lines *ret_lines, const char *text, size_t length);
void text_lines_release(struct text_lines *lines); /* for CLEANUP() */

/* The line without blanks, tabs and carriage returns at its end; without those at its beginning too. */
struct text_line text_line_chop(struct text_line line);
struct text_line text_line_trim(struct text_line line);
bool text_line_equal(struct text_line a, struct text_line b);
bool text_line_has_return(struct text_line line); /* ends with a carriage return */

/* For messages: 'text' with tabs and carriage returns visible, cut, safe to show. */
void text_line_show(struct strbuf *shown, struct text_line line);

#endif

/*
 * Bytes from a pipe -> lines, in bounded memory. A line longer than `cap` is reported once, as its first
 * bytes with `overlong` set; the rest of it up to the newline is skipped. Lines may hold NUL bytes.
 */
#ifndef INFRARSI_RUNNER_LINES_H
#define INFRARSI_RUNNER_LINES_H

#include "base/base.h"
#include "base/strbuf.h"

typedef void (*line_fn)(void *context, const char *line, size_t length, bool overlong);

struct line_splitter {
	size_t cap;
	line_fn emit;
	void *context;
	struct strbuf partial;
	bool skipping; /* inside an overlong line */
};

void line_splitter_init(struct line_splitter *s, size_t cap, line_fn emit, void *context);
void line_splitter_feed(struct line_splitter *s, const char *bytes, size_t length);
/* The last line when no newline ended it. */
void line_splitter_finish(struct line_splitter *s);
void line_splitter_release(struct line_splitter *s);

#endif

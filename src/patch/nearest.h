/*
 * Where in a text some lines nearly stand, for the message when they do not: the closest place, how alike it
 * is, and what differs first.
 *
 * Measured by an alignment of lines: a line against another costs the edit distance of their first 64 bytes
 * without surrounding white space (Myers 1999, bit-parallel), lines too many or too few cost more than half a
 * line. Work is bounded by looking at fewer of the wanted lines, never by time: the message is the same on
 * every machine. It is counted in steps of about a nanosecond.
 */
#ifndef INFRARSI_PATCH_NEAREST_H
#define INFRARSI_PATCH_NEAREST_H

#include "base/base.h"
#include "patch/text_lines.h"

/* Beside 64 steps a byte of text and wanted lines, for what is done once. */
enum { NEAREST_WORK_CAP = 1 << 25 };

struct nearest {
	size_t line;                      /* of the text, 1-based: where the first difference is */
	size_t first;                     /* 1-based: where the closest place begins */
	int percent;                      /* alike; 100 = only white space differs */
	size_t wanted;                    /* 1-based: the wanted line that differs first */
	const char *kind;                 /* what differs: "white space at the end of the line", ... */
	struct text_line expected, found; /* text NULL: a line too many or too few */
	size_t work;                      /* steps that it took */
};

struct wanted {
	const struct text_line *lines;
	size_t count;
	bool first_open, last_open; /* the first may begin, the last may end within a line of the text */
};

/* False when no place is at least half alike; then only `work` means something. */
bool nearest_find(const struct text_lines *text, const struct wanted *wanted, struct nearest *ret_nearest);
/* "the closest place is x.c:12 (97% alike), where line 2 differs in ...: expected '...', found '...'" */
void nearest_describe(const struct nearest *n, const char *path, struct strbuf *text);

#endif

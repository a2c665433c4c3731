/*
 * The commands of a script, a Makefile or a README, line by line: those that a backslash continues joined, of
 * a document only what stands in fences, behind a prompt or indented. `cd` and `export` are followed, not
 * returned.
 *
 *     struct command_lines lines = command_lines_of(arena, path, text);
 *     while (command_lines_next(&lines, &line)) ... lines.number, lines.folder
 */
#ifndef INFRARSI_INIT_COMMAND_LINES_H
#define INFRARSI_INIT_COMMAND_LINES_H

#include "base/base.h"
#include "base/memory.h"
#include "base/strbuf.h"

enum { COMMAND_EXPORTS = 16 };

struct command_lines {
	struct arena *arena;
	const char *at; /* what is not read yet */
	bool is_document, is_fenced;
	int next_number, number; /* of the line that was returned last, where it begins */
	const char *folder;      /* where it is run, from the repository: "" = there, or it cannot be told */
	const char *exports[COMMAND_EXPORTS]; /* NAME=value, by the lines before it */
	size_t n_exports;
};

struct command_lines command_lines_of(struct arena *arena, const char *path, const char *text);
/* Into *ret_line, what it held is gone; false = there is none. */
bool command_lines_next(struct command_lines *lines, struct strbuf *ret_line);

/* The words as a shell would hand them over; NULL = that takes a shell. */
const char **command_words(struct arena *arena, const char *line, size_t *ret_count);

#endif

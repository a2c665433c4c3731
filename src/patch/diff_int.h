/* Between diff.c and diff_header.c: a diff while it is parsed. */
#ifndef INFRARSI_PATCH_DIFF_INT_H
#define INFRARSI_PATCH_DIFF_INT_H

#include "base/base.h"
#include "patch/diff.h"
#include "patch/text_lines.h"

struct placed_hunk {
	struct diff_hunk hunk;
	size_t file; /* index */
};

struct parser {
	const char *name;
	bool is_loose;
	struct arena *arena;
	struct text_line *lines;
	size_t n_lines, at;
	struct err *reterr;

	struct diff_file *files; /* without their hunks until the end */
	size_t n_files, files_room;
	size_t n_headers;
	struct placed_hunk *hunks; /* of all files, in the order of the diff */
	size_t n_hunks, hunks_room;
	struct diff_line *body; /* of the hunk at hand */
	size_t n_body, body_room;
	bool old_ended, new_ended; /* '\\ No newline' ended this side of the hunk at hand */
	bool in_fence;             /* between lines of ``` */
};

bool diff_line_starts(const struct parser *p, size_t index, const char *word);
/* ERR_INPUT at the line with this index. */
enum err_code diff_refuse(const struct parser *p, size_t index, const char *message);

/* git's extended headers: each either harmless (*ret_known) or a reason to refuse. */
enum err_code diff_check_extended_header(struct parser *p, size_t index, bool *ret_known) MUST_CHECK;
/* The lines --- and +++ that begin at `index`: path, created and deleted. */
enum err_code diff_read_paths(struct parser *p, size_t index, struct diff_file *file) MUST_CHECK;
/* @@ -12,3 +12,4 @@ with optional counts. */
bool diff_read_hunk_header(const struct text_line *line, struct diff_hunk *hunk);

#endif

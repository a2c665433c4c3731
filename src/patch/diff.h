/*
 * A unified diff as data. diff_parse() takes what `git diff`, `diff -u` and people write: with or without a/
 * b/ prefixes and `diff --git` lines, text before the first file, fences, wrong counts in @@ lines, context
 * lines whose leading blank was lost. It refuses what is not a change of text: modes, links, submodules,
 * renames, binary patches.
 *
 *     struct diff diff;
 *     TRY(diff_parse(name, text, length, &arena, &diff, reterr));
 *     TRY(diff_apply(&diff.files[0], old_text, old_length, &new_text, reterr));
 *
 * Lines point into an arena copy of the text. Paths are those of the diff, prefixes removed: whether they may
 * be touched is for the caller to decide.
 */
#ifndef INFRARSI_PATCH_DIFF_H
#define INFRARSI_PATCH_DIFF_H

#include "base/base.h"
#include "base/memory.h"

struct strbuf;

enum { DIFF_CAP_BYTES = 1 << 20 };

struct diff_line {
	char kind;        /* ' ', '-' or '+'; '?' = not marked, taken for context (diff_parse_loose()) */
	const char *text; /* without the line end */
	size_t length;
	bool no_newline; /* the file ends after this line, without a newline */
};

struct diff_hunk {
	int place; /* line of the @@ in the diff */
	int old_start, old_count, new_start, new_count;
	bool has_place;             /* the @@ line has numbers */
	int stated_old, stated_new; /* counts as the @@ line has them */
	size_t n_bare_end;          /* empty lines behind the last of `lines` */
	struct diff_line *lines;
	size_t n_lines;
};

struct diff_file {
	int place; /* line of the first header in the diff */
	const char *path;
	bool created, deleted;
	struct diff_hunk *hunks;
	size_t n_hunks;
};

struct diff {
	struct diff_file *files;
	size_t n_files;
	int first_place; /* line of the first file's header */
};

/* `name` is what messages call the diff. Counts in the result are those of the lines, not those of the @@
 * line. */
enum err_code diff_parse(const char *name, const char *text, size_t length, struct arena *arena,
	struct diff *ret_diff, struct err *reterr) MUST_CHECK;

/* The same for what language models write: also hunks with a bare @@ line or none, lines that are not marked
 * (kind '?'), several headers of one file, CRLF everywhere. Line numbers of its hunks mean nothing before
 * loose_diff_apply() (loose_diff.h) has found their places. */
enum err_code diff_parse_loose(const char *name, const char *text, size_t length, struct arena *arena,
	struct diff *ret_diff, struct err *reterr) MUST_CHECK;

/* Strict: every hunk must fit at its line. ERR_INPUT names the first that does not. */
enum err_code diff_apply(const struct diff_file *file, const char *old, size_t old_length,
	struct strbuf *ret_text, struct err *reterr) MUST_CHECK;

/* The diff with right counts, a/ b/ prefixes and `prefix` (which ends with a slash or is empty) before every
 * path: what `git apply` reads. */
void diff_write(const struct diff *diff, const char *prefix, struct strbuf *text);

#endif

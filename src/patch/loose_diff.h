/*
 * Diffs as language models write them, applied. The numbers of an @@ line are often wrong, so a hunk stands
 * where its context and removed lines stand in the file: as written first, then with context lines that may
 * have lost the blank before them, then without white space at line ends. It has to fit in one place only. Of
 * several, the one that the @@ line names is taken where the line's counts are those of the hunk; otherwise
 * the hunk is refused with all of them.
 *
 *     struct diff diff;
 *     TRY(diff_parse_loose(name, text, length, &arena, &diff, reterr));
 *     size_t work_left = LOOSE_WORK_CAP;
 *     TRY(loose_diff_apply(name, &diff.files[0], &old, &work_left, &arena, &new_text, reterr));
 *
 * Where a hunk fits only without white space at line ends, added lines get the line ends (CRLF or not) of
 * their neighbours in the file. A diff that does not show that the file ends without a newline does not add
 * one.
 */
#ifndef INFRARSI_PATCH_LOOSE_DIFF_H
#define INFRARSI_PATCH_LOOSE_DIFF_H

#include "base/base.h"
#include "patch/diff.h"

struct strbuf;

/* Comparisons of lines that one whole diff may cost, long lines counting more: about a second. */
enum { LOOSE_WORK_CAP = 1 << 26 };

struct old_file {
	bool exists;
	const char *text;
	size_t length;
};

/* `name` is what messages call the diff; *work_left begins as LOOSE_WORK_CAP and goes down. A deleted file
 * gives the empty text. ERR_INPUT with the hunk's line in the diff and what stands in the way; ERR_LIMIT
 * where file and hunks are too repetitive to be compared.
 */
enum err_code loose_diff_apply(const char *name, const struct diff_file *file, const struct old_file *old,
	size_t *work_left, struct arena *arena, struct strbuf *ret_text, struct err *reterr) MUST_CHECK;

#endif

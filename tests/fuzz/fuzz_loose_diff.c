/* A text, a NUL byte and any bytes as a diff: read loosely and applied to the text. The text has as many
 * lines as before, less those removed, and those added. The same diff as one of a stack: merged with itself.
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/loose_diff.h"
#include "patch/stack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(const char *text, size_t length)
{
	struct text_lines lines;
	text_lines_split(&lines, text, length);
	size_t count = lines.count;
	text_lines_release(&lines);
	return count;
}

static void check_lines(const struct diff_file *file, const struct old_file *old, const struct strbuf *new)
{
	size_t expected = count_lines(old->text, old->length);
	bool may_be_cut = old->length && old->text[old->length - 1] != '\n';
	for (size_t h = 0; h < file->n_hunks; h++)
		for (size_t i = 0; i < file->hunks[h].n_lines; i++) {
			const struct diff_line *line = &file->hunks[h].lines[i];
			expected += line->kind == '+';
			expected -= line->kind == '-';
			may_be_cut |= line->no_newline;
		}
	size_t found = count_lines(new->buf, new->len);
	/* an empty last line without a newline is no line */
	if (found != expected && !(may_be_cut && found + 1 == expected))
		abort();
}

static void apply_loosely(const char *text, size_t length, const struct old_file *old)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct err e = ERR_INIT;
	struct diff diff;
	size_t work_left = LOOSE_WORK_CAP;
	if (diff_parse_loose("fuzz", text, length, &arena, &diff, &e) != OK)
		return;
	for (size_t i = 0; i < diff.n_files; i++) {
		CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
		if (loose_diff_apply("fuzz", &diff.files[i], old, &work_left, &arena, &new, &e) == OK)
			check_lines(&diff.files[i], old, &new);
	}
}

static void merge_with_itself(const char *text, const struct old_file *old)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	struct err e = ERR_INIT;
	struct stack_patch patch;
	if (stack_patch_parse("fuzz", text, &arena, &patch, &e) != OK ||
		stack_conflict(&patch, &patch, &reason))
		return;
	for (size_t i = 0; i < patch.n_files; i++) {
		CLEANUP(strbuf_release) struct strbuf once = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf twice = STRBUF_INIT;
		const struct stack_file *files[] = {&patch.files[i], &patch.files[i]};
		bool exists;
		if (stack_merge_file(files, 1, old->text, old->length, &once, &exists, &e) != OK)
			continue;
		if (stack_merge_file(files, 2, old->text, old->length, &twice, &exists, &e) != OK ||
			once.len != twice.len || memcmp(once.buf, twice.buf, once.len) != 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	const uint8_t *cut = size ? memchr(data, '\0', size) : NULL;
	size_t length = cut ? (size_t)(cut - data) : 0, rest = cut ? length + 1 : 0;
	const struct old_file old = {cut != NULL, cut ? (const char *)data : "", length};
	strbuf_add(&text, data + rest, size - rest);
	apply_loosely(text.buf, text.len, &old);
	merge_with_itself(text.buf, &old);
	return 0;
}

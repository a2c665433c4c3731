/* The lines of a diff before its hunks' lines: paths, git's extended headers, @@. */
#include "base/base.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "patch/diff_int.h"

/* What git prints in quotes, or would. */
static bool is_quoted(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return true;
	return text[0] == '"';
}

/* The path of a --- or +++ line: up to a tab, which git and diff write behind a name with blanks, or the
 * line's end. What people and models leave behind a name without a tab is no part of it. */
static enum err_code header_path(struct parser *p, size_t index, const char **ret_path)
{
	const struct text_line *line = &p->lines[index];
	const char *text = line->text + 4;
	size_t length = line->length - 4;
	const char *tab = memchr(text, '\t', length);
	if (tab)
		length = (size_t)(tab - text);
	else if (length && text[length - 1] == '\r')
		length--;
	while (p->is_loose && !tab && length && text[length - 1] == ' ')
		length--;
	if (!length || length > 4000)
		return diff_refuse(p, index, "expected a file name after --- or +++");
	if (is_quoted(text, length))
		return diff_refuse(p, index, "file names with quotes or control characters are not accepted");
	while (p->is_loose && length > 2 && memcmp(text, "./", 2) == 0) {
		text += 2;
		length -= 2;
	}
	*ret_path = arena_strndup(p->arena, text, length);
	return OK;
}

static bool has_prefix(const char *path, char letter)
{
	return path[0] == letter && path[1] == '/';
}

/* Takes a/ and b/ off: from both names, or in a loose diff from the one that has it where they are then the
 * same. */
static void strip_prefixes(
	const struct parser *p, const struct diff_file *file, const char **old, const char **new)
{
	bool prefixed = (file->created || has_prefix(*old, 'a')) && (file->deleted || has_prefix(*new, 'b'));
	if (prefixed) {
		*old += file->created ? 0 : 2;
		*new += file->deleted ? 0 : 2;
	} else if (p->is_loose && has_prefix(*old, 'a') && strcmp(*old + 2, *new) == 0) {
		*old += 2;
	} else if (p->is_loose && has_prefix(*new, 'b') && strcmp(*new + 2, *old) == 0) {
		*new += 2;
	}
}

static enum err_code set_paths(
	struct parser *p, size_t index, struct diff_file *file, const char *old, const char *new)
{
	file->created = strcmp(old, "/dev/null") == 0;
	file->deleted = strcmp(new, "/dev/null") == 0;
	if (file->created && file->deleted)
		return diff_refuse(p, index, "a file cannot be both created and deleted");
	strip_prefixes(p, file, &old, &new);
	if (!file->created && !file->deleted && strcmp(old, new) != 0)
		return diff_refuse(
			p, index, "the names after --- and +++ differ: renames and copies are not accepted");
	file->path = file->created ? new : old;
	return OK;
}

enum err_code diff_read_paths(struct parser *p, size_t index, struct diff_file *file)
{
	const char *old, *new;
	TRY(header_path(p, index, &old));
	TRY(header_path(p, index + 1, &new));
	return set_paths(p, index, file, old, new);
}

enum err_code diff_check_extended_header(struct parser *p, size_t index, bool *ret_known)
{
	static const struct {
		const char *start, *reason; /* NULL = harmless */
	} headers[] = {
		{"index ", NULL},
		{"new file mode 100644", NULL},
		{"deleted file mode 100", NULL},
		{"new file mode 120000", "symbolic links are not accepted"},
		{"deleted file mode 120000", "symbolic links are not accepted"},
		{"new file mode 160000", "submodules are not accepted"},
		{"deleted file mode 160000", "submodules are not accepted"},
		{"new file mode ", "only ordinary files (mode 100644) may be created"},
		{"deleted file mode ", "only ordinary files may be deleted"},
		{"old mode ", "mode changes are not accepted"},
		{"new mode ", "mode changes are not accepted"},
		{"similarity index ", "renames and copies are not accepted"},
		{"dissimilarity index ", "renames and copies are not accepted"},
		{"rename ", "renames and copies are not accepted"},
		{"copy ", "renames and copies are not accepted"},
		{"GIT binary patch", "binary patches are not accepted"},
		{"Binary files ", "binary patches are not accepted"},
	};
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		if (!diff_line_starts(p, index, headers[i].start))
			continue;
		if (headers[i].reason)
			return diff_refuse(p, index, headers[i].reason);
		*ret_known = true;
		return OK;
	}
	*ret_known = false;
	return OK;
}

static bool read_number(const char **at, const char *end, int *ret_value)
{
	long value = 0;
	const char *start = *at;
	while (*at < end && **at >= '0' && **at <= '9') {
		value = value * 10 + (**at - '0');
		if (value > INT_MAX / 2)
			return false;
		(*at)++;
	}
	*ret_value = (int)value;
	return *at > start;
}

static void skip_blanks(const char **at, const char *end)
{
	while (*at < end && **at == ' ')
		(*at)++;
}

/* "-12,3" or "-12" */
static bool read_range(const char **at, const char *end, char sign, int *ret_start, int *ret_count)
{
	skip_blanks(at, end);
	if (*at == end || *(*at)++ != sign || !read_number(at, end, ret_start))
		return false;
	if (*at == end || **at != ',')
		return true;
	(*at)++;
	return read_number(at, end, ret_count);
}

bool diff_read_hunk_header(const struct text_line *line, struct diff_hunk *hunk)
{
	const char *at = line->text + 2, *end = line->text + line->length;
	hunk->old_count = hunk->new_count = 1;
	if (!read_range(&at, end, '-', &hunk->old_start, &hunk->old_count) ||
		!read_range(&at, end, '+', &hunk->new_start, &hunk->new_count))
		return false;
	skip_blanks(&at, end);
	return at + 1 < end && at[0] == '@' && at[1] == '@';
}

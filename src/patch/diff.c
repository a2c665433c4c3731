#include "base/base.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/diff.h"
#include "patch/text_lines.h"

struct parser {
	const char *name;
	bool is_loose;
	struct arena *arena;
	struct text_line *lines;
	size_t n_lines, at;
	struct err *reterr;

	struct diff_file *files;
	size_t n_files, files_room;
	struct diff_hunk *hunks; /* of the file at hand */
	size_t n_hunks, hunks_room;
	struct diff_line *body; /* of the hunk at hand */
	size_t n_body, body_room;
};

static void parser_release(struct parser *p)
{
	free(p->files);
	free(p->hunks);
	free(p->body);
}

static bool starts(const struct text_line *line, const char *word)
{
	size_t length = strlen(word);
	return line->length >= length && memcmp(line->text, word, length) == 0;
}

static bool line_starts(const struct parser *p, size_t index, const char *word)
{
	return index < p->n_lines && starts(&p->lines[index], word);
}

static enum err_code refuse(const struct parser *p, size_t index, const char *message)
{
	return err_set_at(p->reterr, ERR_INPUT, p->name, (int)index + 1, 0, "%s", message);
}

/* A file starts at `diff --git` or at a `---` line that is followed by `+++`. */
static bool at_file_header(const struct parser *p, size_t index)
{
	return line_starts(p, index, "diff --git ") ||
	       (line_starts(p, index, "--- ") && line_starts(p, index + 1, "+++ "));
}

/* The path of a --- or +++ line: up to a tab (a time stamp follows) or the line's end. */
static enum err_code header_path(struct parser *p, size_t index, const char **ret_path)
{
	const struct text_line *line = &p->lines[index];
	const char *text = line->text + 4;
	size_t length = line->length - 4;
	const char *tab = memchr(text, '\t', length);
	if (tab)
		length = (size_t)(tab - text);
	while (length && (text[length - 1] == '\r' || text[length - 1] == ' '))
		length--;
	if (!length || length > 4000)
		return refuse(p, index, "expected a file name after --- or +++");
	if (text[0] == '"' || memchr(text, '\0', length))
		return refuse(p, index, "file names with quotes or control characters are not accepted");
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
		return refuse(p, index, "a file cannot be both created and deleted");
	strip_prefixes(p, file, &old, &new);
	if (!file->created && !file->deleted && strcmp(old, new) != 0)
		return refuse(
			p, index, "the names after --- and +++ differ: renames and copies are not accepted");
	file->path = file->created ? new : old;
	return OK;
}

/* git's extended headers: each either harmless or a reason to refuse. */
static enum err_code check_extended_header(struct parser *p, size_t index, bool *ret_known)
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
		if (!line_starts(p, index, headers[i].start))
			continue;
		if (headers[i].reason)
			return refuse(p, index, headers[i].reason);
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

/* @@ -12,3 +12,4 @@ with optional counts. */
static bool read_hunk_header(const struct text_line *line, struct diff_hunk *hunk)
{
	const char *at = line->text + 2, *end = line->text + line->length;
	hunk->old_count = hunk->new_count = 1;
	if (!read_range(&at, end, '-', &hunk->old_start, &hunk->old_count) ||
		!read_range(&at, end, '+', &hunk->new_start, &hunk->new_count))
		return false;
	skip_blanks(&at, end);
	return at + 1 < end && at[0] == '@' && at[1] == '@';
}

static void add_body_line(struct parser *p, char kind, const char *text, size_t length)
{
	grow_array(&p->body, &p->body_room, p->n_body + 1, sizeof(*p->body));
	p->body[p->n_body++] = (struct diff_line){kind, text, length, false};
}

/* Lines of other tools before the header of a file: `diff -u ...`, `Index: ...`. */
static bool at_preamble(const struct parser *p, size_t index)
{
	enum { REACH = 5 };
	if (!p->is_loose || !(line_starts(p, index, "diff ") || line_starts(p, index, "Index: ")))
		return false;
	for (size_t i = index + 1; i <= index + REACH; i++)
		if (at_file_header(p, i))
			return true;
	return false;
}

/* A "--- x" line may be a removed "-- x": within the declared count it is, unless a whole file header
 * follows. */
static bool ends_hunk(const struct parser *p, size_t index, const struct diff_hunk *hunk, int old_seen)
{
	if (line_starts(p, index, "@@") || line_starts(p, index, "diff --git ") ||
		line_starts(p, index, "```") || at_preamble(p, index))
		return true;
	if (!at_file_header(p, index))
		return false;
	return old_seen >= hunk->stated_old || line_starts(p, index + 2, "@@");
}

static enum err_code mark_no_newline(struct parser *p)
{
	if (!p->n_body)
		return refuse(p, p->at, "'\\ No newline' without a line before it");
	p->body[p->n_body - 1].no_newline = true;
	return OK;
}

/* A bare empty line is a context line that lost its blank; in a new file, one that lost its plus. */
static void add_bare_lines(struct parser *p, struct diff_hunk *hunk, size_t count, bool is_created)
{
	char kind = !p->is_loose ? ' ' : is_created ? '+' : '?';
	for (; count; count--) {
		const struct text_line *line = &p->lines[p->at - count];
		add_body_line(p, kind, line->text, line->length);
		hunk->old_count += kind != '+';
		hunk->new_count++;
	}
}

/* One line that is not empty. */
static enum err_code add_marked_line(struct parser *p, struct diff_hunk *hunk)
{
	const struct text_line *line = &p->lines[p->at];
	char kind = line->text[0];
	bool is_marked = kind == ' ' || kind == '-' || kind == '+';
	if (!is_marked && !p->is_loose)
		return refuse(p, p->at, "expected a line that begins with ' ', '+' or '-' in this hunk");
	hunk->old_count += kind != '+';
	hunk->new_count += kind != '-';
	if (is_marked)
		add_body_line(p, kind, line->text + 1, line->length - 1);
	else
		add_body_line(p, '?', line->text, line->length);
	return OK;
}

/* Bare empty lines count when others follow them. */
static enum err_code parse_hunk_body(struct parser *p, struct diff_hunk *hunk, bool is_created)
{
	size_t bare = 0;
	p->n_body = 0;
	for (; p->at < p->n_lines && !ends_hunk(p, p->at, hunk, hunk->old_count); p->at++) {
		const struct text_line *line = &p->lines[p->at];
		if (!line->length || (line->length == 1 && line->text[0] == '\r')) {
			bare++;
			continue;
		}
		if (line->text[0] == '\\') {
			TRY(mark_no_newline(p));
			continue;
		}
		/* git format-patch signs off with "-- " and a version */
		if (starts(line, "-- ") && line->length == 3 && hunk->old_count >= hunk->stated_old)
			break;
		add_bare_lines(p, hunk, bare, is_created);
		bare = 0;
		TRY(add_marked_line(p, hunk));
	}
	hunk->n_bare_end = bare;
	hunk->n_lines = p->n_body;
	hunk->lines = arena_array(p->arena, p->n_body + 1, sizeof(*p->body));
	if (p->n_body)
		memcpy(hunk->lines, p->body, p->n_body * sizeof(*p->body));
	return OK;
}

static enum err_code parse_hunk(struct parser *p, const struct diff_file *file)
{
	struct diff_hunk hunk = {.place = (int)p->at + 1};
	size_t start = p->at;
	if (line_starts(p, p->at, "@@")) {
		hunk.has_place = read_hunk_header(&p->lines[p->at], &hunk);
		if (!hunk.has_place && !p->is_loose)
			return refuse(p, p->at, "expected '@@ -line,count +line,count @@'");
		p->at++;
	}
	if (!hunk.has_place)
		hunk = (struct diff_hunk){.place = hunk.place};
	hunk.stated_old = hunk.old_count;
	hunk.stated_new = hunk.new_count;
	hunk.old_count = hunk.new_count = 0;
	TRY(parse_hunk_body(p, &hunk, file->created));
	if (!hunk.n_lines)
		return refuse(p, start, "this hunk is empty");
	if ((file->created && hunk.old_count) || (file->deleted && hunk.new_count))
		return refuse(p, start, "a created file has only '+' lines, a deleted one only '-' lines");
	grow_array(&p->hunks, &p->hunks_room, p->n_hunks + 1, sizeof(*p->hunks));
	p->hunks[p->n_hunks++] = hunk;
	return OK;
}

/* `diff --git` and what follows it, up to the --- line. */
static enum err_code skip_git_header(struct parser *p)
{
	size_t start = p->at;
	if (!line_starts(p, p->at, "diff --git "))
		return OK;
	for (p->at++; p->at < p->n_lines && !line_starts(p, p->at, "--- "); p->at++) {
		bool known;
		TRY(check_extended_header(p, p->at, &known));
		if (!known)
			return refuse(p, p->at, "expected the lines --- and +++ of this file");
	}
	if (!at_file_header(p, p->at))
		return refuse(p, start, "this file has no changed lines");
	return OK;
}

/* A hunk follows: at its @@ line or, in a loose diff, without one. */
static bool at_hunk(const struct parser *p)
{
	if (line_starts(p, p->at, "@@"))
		return true;
	return p->is_loose && !p->n_hunks && !at_file_header(p, p->at) &&
	       (line_starts(p, p->at, " ") || line_starts(p, p->at, "-") || line_starts(p, p->at, "+"));
}

/* Where a loose diff repeats the header of a file before another of its hunks: that file. */
static struct diff_file *earlier_file(const struct parser *p, const struct diff_file *file)
{
	for (size_t i = 0; p->is_loose && i < p->n_files; i++)
		if (strcmp(p->files[i].path, file->path) == 0 && !file->created && !file->deleted &&
			!p->files[i].created && !p->files[i].deleted)
			return &p->files[i];
	return NULL;
}

static void add_file(struct parser *p, const struct diff_file *file)
{
	struct diff_file *into = earlier_file(p, file);
	if (!into) {
		grow_array(&p->files, &p->files_room, p->n_files + 1, sizeof(*p->files));
		into = &p->files[p->n_files++];
		*into = *file;
	}
	struct diff_hunk *hunks = arena_array(p->arena, into->n_hunks + p->n_hunks, sizeof(*hunks));
	if (into->n_hunks)
		memcpy(hunks, into->hunks, into->n_hunks * sizeof(*hunks));
	memcpy(hunks + into->n_hunks, p->hunks, p->n_hunks * sizeof(*hunks));
	into->hunks = hunks;
	into->n_hunks += p->n_hunks;
}

static enum err_code parse_file(struct parser *p)
{
	struct diff_file file = {.place = (int)p->at + 1};
	const char *old, *new;
	TRY(skip_git_header(p));
	size_t start = p->at;
	TRY(header_path(p, p->at, &old));
	TRY(header_path(p, p->at + 1, &new));
	TRY(set_paths(p, start, &file, old, new));
	p->at += 2;
	p->n_hunks = 0;
	while (at_hunk(p))
		TRY(parse_hunk(p, &file));
	if (!p->n_hunks)
		return refuse(
			p, start, "no hunk ('@@ -line,count +line,count @@') follows this file's header");
	add_file(p, &file);
	return OK;
}

static enum err_code check_distinct(const struct parser *p)
{
	for (size_t i = 0; i < p->n_files; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(p->files[i].path, p->files[j].path) == 0)
				return refuse(p, (size_t)p->files[i].place - 1,
					"this file appears twice in the diff: put its hunks under one "
					"header");
	return OK;
}

static enum err_code parse_all(struct parser *p)
{
	while (p->at < p->n_lines) {
		if (at_file_header(p, p->at)) {
			if (p->n_files == 1000)
				return refuse(p, p->at, "more than 1000 files in one diff");
			TRY(parse_file(p));
			continue;
		}
		if (line_starts(p, p->at, "@@"))
			return refuse(p, p->at, "a hunk without the --- and +++ lines of its file before it");
		if (line_starts(p, p->at, "Binary files "))
			return refuse(p, p->at, "binary patches are not accepted");
		p->at++;
	}
	if (!p->n_files)
		return err_set_at(p->reterr, ERR_INPUT, p->name, 1, 0,
			"no change found: expected a unified diff with --- and +++ lines");
	return check_distinct(p);
}

/* Sent through something that made every line end CRLF: the headers' too. */
static bool is_sent_with_returns(const struct parser *p)
{
	bool any = false;
	for (size_t i = 0; i < p->n_lines; i++) {
		if (!at_file_header(p, i) && !line_starts(p, i, "@@"))
			continue;
		any = true;
		if (!text_line_has_return(p->lines[i]))
			return false;
	}
	return any;
}

static enum err_code parse(const char *name, const char *text, size_t length, bool is_loose,
	struct arena *arena, struct diff *ret_diff, struct err *reterr)
{
	if (length > DIFF_CAP_BYTES)
		return err_set_at(reterr, ERR_LIMIT, name, 0, 0,
			"the diff has %zu bytes, more than the %d allowed", length, DIFF_CAP_BYTES);
	CLEANUP(text_lines_release) struct text_lines lines;
	text_lines_split(&lines, arena_strndup(arena, text, length), length);
	CLEANUP(parser_release)
	struct parser p = {.name = name,
		.is_loose = is_loose,
		.arena = arena,
		.lines = lines.items,
		.n_lines = lines.count,
		.reterr = reterr};
	bool returns = is_loose && is_sent_with_returns(&p);
	for (size_t i = 0; returns && i < p.n_lines; i++)
		p.lines[i].length -= text_line_has_return(p.lines[i]);
	TRY(parse_all(&p));
	ret_diff->files = arena_array(arena, p.n_files, sizeof(*p.files));
	memcpy(ret_diff->files, p.files, p.n_files * sizeof(*p.files));
	ret_diff->n_files = p.n_files;
	ret_diff->first_place = p.files[0].place;
	return OK;
}

enum err_code diff_parse(const char *name, const char *text, size_t length, struct arena *arena,
	struct diff *ret_diff, struct err *reterr)
{
	return parse(name, text, length, false, arena, ret_diff, reterr);
}

enum err_code diff_parse_loose(const char *name, const char *text, size_t length, struct arena *arena,
	struct diff *ret_diff, struct err *reterr)
{
	return parse(name, text, length, true, arena, ret_diff, reterr);
}

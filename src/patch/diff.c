#include "base/base.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/diff.h"

struct text_line {
	const char *text;
	size_t length; /* without the line end */
};

struct parser {
	const char *name;
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
	free(p->lines);
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

static void split_lines(struct parser *p, const char *text, size_t length)
{
	size_t room = 0;
	for (const char *at = text, *end = text + length; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		grow_array(&p->lines, &room, p->n_lines + 1, sizeof(*p->lines));
		p->lines[p->n_lines++] = (struct text_line){at, (size_t)(stop - at)};
		at = stop + 1;
	}
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
	*ret_path = arena_strndup(p->arena, text, length);
	return OK;
}

static bool has_prefix(const char *path, char letter)
{
	return path[0] == letter && path[1] == '/';
}

static enum err_code set_paths(
	struct parser *p, size_t index, struct diff_file *file, const char *old, const char *new)
{
	file->created = strcmp(old, "/dev/null") == 0;
	file->deleted = strcmp(new, "/dev/null") == 0;
	if (file->created && file->deleted)
		return refuse(p, index, "a file cannot be both created and deleted");
	bool prefixed = (file->created || has_prefix(old, 'a')) && (file->deleted || has_prefix(new, 'b'));
	old += prefixed && !file->created ? 2 : 0;
	new += prefixed && !file->deleted ? 2 : 0;
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

/* A "--- x" line may be a removed "-- x": within the declared count it is, unless a whole file header
 * follows. */
static bool ends_hunk(const struct parser *p, size_t index, const struct diff_hunk *declared, int old_seen)
{
	if (line_starts(p, index, "@@") || line_starts(p, index, "diff --git ") ||
		line_starts(p, index, "```"))
		return true;
	if (!at_file_header(p, index))
		return false;
	return old_seen >= declared->old_count || line_starts(p, index + 2, "@@ ");
}

static enum err_code mark_no_newline(struct parser *p)
{
	if (!p->n_body)
		return refuse(p, p->at, "'\\ No newline' without a line before it");
	p->body[p->n_body - 1].no_newline = true;
	return OK;
}

/* The lines of a hunk. A bare empty line is a context line that lost its blank, unless nothing but such lines
 * follows. */
static enum err_code parse_hunk_body(struct parser *p, struct diff_hunk *hunk)
{
	int old_seen = 0, new_seen = 0;
	size_t bare = 0;
	p->n_body = 0;
	for (; p->at < p->n_lines && !ends_hunk(p, p->at, hunk, old_seen); p->at++) {
		const struct text_line *line = &p->lines[p->at];
		if (!line->length || (line->length == 1 && line->text[0] == '\r')) {
			bare++;
			continue;
		}
		char kind = line->text[0];
		if (kind == '\\') {
			TRY(mark_no_newline(p));
			continue;
		}
		/* git format-patch signs off with "-- " and a version */
		if (starts(line, "-- ") && line->length == 3 && old_seen >= hunk->old_count)
			break;
		if (kind != ' ' && kind != '-' && kind != '+')
			return refuse(
				p, p->at, "expected a line that begins with ' ', '+' or '-' in this hunk");
		for (; bare; bare--, old_seen++, new_seen++)
			add_body_line(p, ' ', p->lines[p->at - bare].text, p->lines[p->at - bare].length);
		old_seen += kind != '+';
		new_seen += kind != '-';
		add_body_line(p, kind, line->text + 1, line->length - 1);
	}
	hunk->old_count = old_seen;
	hunk->new_count = new_seen;
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
	if (!read_hunk_header(&p->lines[p->at], &hunk))
		return refuse(p, p->at, "expected '@@ -line,count +line,count @@'");
	p->at++;
	TRY(parse_hunk_body(p, &hunk));
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
	while (line_starts(p, p->at, "@@"))
		TRY(parse_hunk(p, &file));
	if (!p->n_hunks)
		return refuse(
			p, start, "no hunk ('@@ -line,count +line,count @@') follows this file's header");
	file.n_hunks = p->n_hunks;
	file.hunks = arena_array(p->arena, p->n_hunks, sizeof(*p->hunks));
	memcpy(file.hunks, p->hunks, p->n_hunks * sizeof(*p->hunks));
	grow_array(&p->files, &p->files_room, p->n_files + 1, sizeof(*p->files));
	p->files[p->n_files++] = file;
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

enum err_code diff_parse(const char *name, const char *text, size_t length, struct arena *arena,
	struct diff *ret_diff, struct err *reterr)
{
	if (length > DIFF_CAP_BYTES)
		return err_set_at(reterr, ERR_LIMIT, name, 0, 0,
			"the diff has %zu bytes, more than the %d allowed", length, DIFF_CAP_BYTES);
	CLEANUP(parser_release)
	struct parser p = {.name = name, .arena = arena, .reterr = reterr};
	split_lines(&p, arena_strndup(arena, text, length), length);
	TRY(parse_all(&p));
	ret_diff->files = arena_array(arena, p.n_files, sizeof(*p.files));
	memcpy(ret_diff->files, p.files, p.n_files * sizeof(*p.files));
	ret_diff->n_files = p.n_files;
	ret_diff->first_place = p.files[0].place;
	return OK;
}

/* Where an old text is being read while hunks are applied. */
struct cursor {
	const char *at, *end;
	int line; /* 1-based number of the line at `at` */
};

static struct text_line next_line(struct cursor *c, bool *ret_newline)
{
	const char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
	*ret_newline = stop != NULL;
	stop = stop ? stop : c->end;
	struct text_line line = {c->at, (size_t)(stop - c->at)};
	c->at = *ret_newline ? stop + 1 : stop;
	c->line++;
	return line;
}

static void put_line(struct strbuf *text, const char *line, size_t length, bool newline)
{
	strbuf_add(text, line, length);
	if (newline)
		strbuf_addch(text, '\n');
}

static enum err_code apply_hunk(const struct diff_hunk *hunk, struct cursor *c, struct strbuf *text)
{
	bool newline;
	/* with no old lines, the start names the line before the insertion */
	int start = hunk->old_count ? hunk->old_start : hunk->old_start + 1;
	if (start < c->line)
		return ERR_INPUT;
	while (c->line < start && c->at < c->end) {
		struct text_line line = next_line(c, &newline);
		put_line(text, line.text, line.length, newline);
	}
	if (c->line != start)
		return ERR_INPUT;
	for (size_t i = 0; i < hunk->n_lines; i++) {
		const struct diff_line *line = &hunk->lines[i];
		if (line->kind != '+') {
			if (c->at == c->end)
				return ERR_INPUT;
			struct text_line old = next_line(c, &newline);
			if (old.length != line->length || memcmp(old.text, line->text, old.length) != 0)
				return ERR_INPUT;
		}
		if (line->kind != '-')
			put_line(text, line->text, line->length, !line->no_newline);
	}
	return OK;
}

enum err_code diff_apply(const struct diff_file *file, const char *old, size_t old_length,
	struct strbuf *ret_text, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct cursor c = {old, old + old_length, 1};
	for (size_t i = 0; i < file->n_hunks; i++)
		if (apply_hunk(&file->hunks[i], &c, &text) != OK)
			return err_set_at(reterr, ERR_INPUT, file->path, file->hunks[i].old_start, 0,
				"hunk %zu (line %d of the diff) does not fit here", i + 1,
				file->hunks[i].place);
	strbuf_add(&text, c.at, (size_t)(c.end - c.at));
	strbuf_release(ret_text);
	*ret_text = text;
	text = (struct strbuf)STRBUF_INIT;
	return OK;
}

static void write_file_header(const struct diff_file *file, const char *prefix, struct strbuf *text)
{
	strbuf_addf(text, "diff --git a/%s%s b/%s%s\n", prefix, file->path, prefix, file->path);
	if (file->created)
		strbuf_addf(text, "new file mode 100644\n--- /dev/null\n+++ b/%s%s\n", prefix, file->path);
	else if (file->deleted)
		strbuf_addf(text, "--- a/%s%s\n+++ /dev/null\n", prefix, file->path);
	else
		strbuf_addf(text, "--- a/%s%s\n+++ b/%s%s\n", prefix, file->path, prefix, file->path);
}

void diff_write(const struct diff *diff, const char *prefix, struct strbuf *text)
{
	for (size_t f = 0; f < diff->n_files; f++) {
		const struct diff_file *file = &diff->files[f];
		write_file_header(file, prefix, text);
		for (size_t h = 0; h < file->n_hunks; h++) {
			const struct diff_hunk *hunk = &file->hunks[h];
			strbuf_addf(text, "@@ -%d,%d +%d,%d @@\n", hunk->old_start, hunk->old_count,
				hunk->new_start, hunk->new_count);
			for (size_t i = 0; i < hunk->n_lines; i++) {
				const struct diff_line *line = &hunk->lines[i];
				strbuf_addch(text, line->kind);
				put_line(text, line->text, line->length, true);
				if (line->no_newline)
					strbuf_addstr(text, "\\ No newline at end of file\n");
			}
		}
	}
}

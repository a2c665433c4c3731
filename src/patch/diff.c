#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/diff_int.h"

enum { FILES_CAP = 1000, HEADERS_CAP = 10000 };

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

bool diff_line_starts(const struct parser *p, size_t index, const char *word)
{
	return index < p->n_lines && starts(&p->lines[index], word);
}

enum err_code diff_refuse(const struct parser *p, size_t index, const char *message)
{
	return err_set_at(p->reterr, ERR_INPUT, p->name, (int)index + 1, 0, "%s", message);
}

static bool is_bare(const struct text_line *line)
{
	return !line->length || (line->length == 1 && line->text[0] == '\r');
}

/* The first line from `index` on that is not bare; n_lines = none. */
static size_t next_filled(const struct parser *p, size_t index)
{
	while (index < p->n_lines && is_bare(&p->lines[index]))
		index++;
	return MIN_OF(index, p->n_lines);
}

/* A file starts at `diff --git` or at a `---` line that is followed by `+++`. */
static bool at_file_header(const struct parser *p, size_t index)
{
	return diff_line_starts(p, index, "diff --git ") ||
	       (diff_line_starts(p, index, "--- ") && diff_line_starts(p, index + 1, "+++ "));
}

/* git format-patch signs off with "-- " and its version. Anywhere else such a line removes "- ". */
static bool at_signature(const struct parser *p, size_t index)
{
	const struct text_line *line = &p->lines[index];
	if (line->length != 3 || !starts(line, "-- ") || index + 1 >= p->n_lines)
		return false;
	const struct text_line *version = line + 1;
	if (!version->length || version->text[0] < '0' || version->text[0] > '9')
		return false;
	size_t end = next_filled(p, index + 2);
	return end == p->n_lines || diff_line_starts(p, end, "From ") || diff_line_starts(p, end, "```");
}

/* A line of ``` closes the fence that the diff is in. Where there is none it may be a line of the file,
 * unless nothing follows. */
static bool at_closing_fence(const struct parser *p, size_t index)
{
	return diff_line_starts(p, index, "```") && (p->in_fence || next_filled(p, index + 1) == p->n_lines);
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
	if (!p->is_loose || !(diff_line_starts(p, index, "diff ") || diff_line_starts(p, index, "Index: ")))
		return false;
	for (size_t i = index + 1; i <= index + REACH; i++)
		if (at_file_header(p, i))
			return true;
	return false;
}

/* A "--- x" line may be a removed "-- x", and "+++ y" after it an added "++ y": within the declared count
 * they are, unless a whole file header follows. The counts of git's own diffs are right, so there they decide
 * where these two lines are just what the hunk lacks. */
static bool ends_hunk(const struct parser *p, size_t index, const struct diff_hunk *hunk)
{
	if (diff_line_starts(p, index, "@@") || diff_line_starts(p, index, "diff --git ") ||
		at_closing_fence(p, index) || at_preamble(p, index))
		return true;
	if (!at_file_header(p, index))
		return false;
	bool completes = hunk->old_count + 1 == hunk->stated_old && hunk->new_count + 1 == hunk->stated_new;
	if (completes && !p->is_loose)
		return false;
	return hunk->old_count >= hunk->stated_old || diff_line_starts(p, index + 2, "@@");
}

static enum err_code mark_no_newline(struct parser *p)
{
	if (!p->n_body)
		return diff_refuse(p, p->at, "'\\ No newline' without a line before it");
	struct diff_line *last = &p->body[p->n_body - 1];
	last->no_newline = true;
	p->old_ended |= last->kind != '+';
	p->new_ended |= last->kind != '-';
	return OK;
}

static bool at_end_mark(const struct text_line *line)
{
	return starts(line, "\\ ") || starts(line, "\\No newline");
}

static enum err_code check_not_ended(const struct parser *p, size_t index, char kind)
{
	if ((p->old_ended && kind != '+') || (p->new_ended && kind != '-'))
		return diff_refuse(p, index,
			"another line of the file after '\\ No newline at end of file', which says that "
			"it has ended");
	return OK;
}

/* A bare empty line is a context line that lost its blank; in a new file, one that lost its plus. */
static enum err_code add_bare_lines(struct parser *p, struct diff_hunk *hunk, size_t count, bool is_created)
{
	char kind = !p->is_loose ? ' ' : is_created ? '+' : '?';
	for (; count; count--) {
		const struct text_line *line = &p->lines[p->at - count];
		if (kind != '?')
			TRY(check_not_ended(p, p->at - count, kind));
		add_body_line(p, kind, line->text, line->length);
		hunk->old_count += kind != '+';
		hunk->new_count++;
	}
	return OK;
}

/* One line that is not empty. */
static enum err_code add_marked_line(struct parser *p, struct diff_hunk *hunk)
{
	const struct text_line *line = &p->lines[p->at];
	char kind = line->text[0];
	bool is_marked = kind == ' ' || kind == '-' || kind == '+';
	if (!is_marked && !p->is_loose)
		return diff_refuse(p, p->at, "expected a line that begins with ' ', '+' or '-' in this hunk");
	if (is_marked)
		TRY(check_not_ended(p, p->at, kind));
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
	size_t bare = 0; /* lines right before p->at */
	p->n_body = 0;
	p->old_ended = p->new_ended = false;
	for (; p->at < p->n_lines && !ends_hunk(p, p->at, hunk); p->at++) {
		const struct text_line *line = &p->lines[p->at];
		if (is_bare(line)) {
			bare++;
			continue;
		}
		if (at_end_mark(line)) {
			TRY(mark_no_newline(p));
			bare = 0; /* an empty line has a newline, so it is not the one that is meant */
			continue;
		}
		if (at_signature(p, p->at) && hunk->old_count >= hunk->stated_old)
			break;
		TRY(add_bare_lines(p, hunk, bare, is_created));
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

static enum err_code parse_hunk(struct parser *p, const struct diff_file *file, size_t index)
{
	struct diff_hunk hunk = {.place = (int)p->at + 1};
	size_t start = p->at;
	if (diff_line_starts(p, p->at, "@@")) {
		hunk.has_place = diff_read_hunk_header(&p->lines[p->at], &hunk);
		if (!hunk.has_place && !p->is_loose)
			return diff_refuse(p, p->at, "expected '@@ -line,count +line,count @@'");
		p->at++;
	}
	if (!hunk.has_place)
		hunk = (struct diff_hunk){.place = hunk.place};
	hunk.stated_old = hunk.old_count;
	hunk.stated_new = hunk.new_count;
	hunk.old_count = hunk.new_count = 0;
	TRY(parse_hunk_body(p, &hunk, file->created));
	if (!hunk.n_lines)
		return diff_refuse(p, start, "this hunk is empty");
	if ((file->created && hunk.old_count) || (file->deleted && hunk.new_count))
		return diff_refuse(
			p, start, "a created file has only '+' lines, a deleted one only '-' lines");
	grow_array(&p->hunks, &p->hunks_room, p->n_hunks + 1, sizeof(*p->hunks));
	p->hunks[p->n_hunks++] = (struct placed_hunk){hunk, index};
	return OK;
}

/* `diff --git` and what follows it, up to the --- line. */
static enum err_code skip_git_header(struct parser *p)
{
	size_t start = p->at;
	if (!diff_line_starts(p, p->at, "diff --git "))
		return OK;
	for (p->at++; p->at < p->n_lines && !diff_line_starts(p, p->at, "--- "); p->at++) {
		bool known;
		TRY(diff_check_extended_header(p, p->at, &known));
		if (!known)
			return diff_refuse(p, p->at, "expected the lines --- and +++ of this file");
	}
	if (!at_file_header(p, p->at))
		return diff_refuse(p, start, "this file has no changed lines");
	return OK;
}

/* A hunk follows: at its @@ line or, in a loose diff, without one. */
static bool at_hunk(const struct parser *p, bool is_first)
{
	if (diff_line_starts(p, p->at, "@@"))
		return true;
	return p->is_loose && is_first && !at_file_header(p, p->at) &&
	       (diff_line_starts(p, p->at, " ") || diff_line_starts(p, p->at, "-") ||
		       diff_line_starts(p, p->at, "+"));
}

/* The index of the file; where a loose diff repeats the header of one before another of its hunks, that of
 * the one before. */
static size_t add_file(struct parser *p, const struct diff_file *file)
{
	for (size_t i = 0; p->is_loose && i < p->n_files; i++)
		if (strcmp(p->files[i].path, file->path) == 0 && !file->created && !file->deleted &&
			!p->files[i].created && !p->files[i].deleted)
			return i;
	grow_array(&p->files, &p->files_room, p->n_files + 1, sizeof(*p->files));
	p->files[p->n_files] = *file;
	return p->n_files++;
}

static enum err_code parse_file(struct parser *p)
{
	struct diff_file file = {.place = (int)p->at + 1};
	if (p->n_files == FILES_CAP || p->n_headers++ == HEADERS_CAP)
		return err_set_at(p->reterr, ERR_INPUT, p->name, file.place, 0,
			"more than %d files, or %d headers of files, in one diff", FILES_CAP, HEADERS_CAP);
	TRY(skip_git_header(p));
	size_t start = p->at, begun = p->n_hunks;
	TRY(diff_read_paths(p, start, &file));
	size_t index = add_file(p, &file);
	for (p->at += 2; at_hunk(p, p->n_hunks == begun);)
		TRY(parse_hunk(p, &file, index));
	if (p->n_hunks == begun)
		return diff_refuse(
			p, start, "no hunk ('@@ -line,count +line,count @@') follows this file's header");
	return OK;
}

static enum err_code check_distinct(const struct parser *p)
{
	for (size_t i = 0; i < p->n_files; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(p->files[i].path, p->files[j].path) == 0)
				return diff_refuse(p, (size_t)p->files[i].place - 1,
					"this file appears twice in the diff: put its hunks under one "
					"header");
	return OK;
}

/* Between files there is prose. What can only be a part of a change is not skipped. */
static enum err_code skip_prose(struct parser *p)
{
	bool is_fence = diff_line_starts(p, p->at, "```");
	if (diff_line_starts(p, p->at, "@@"))
		return diff_refuse(p, p->at, "a hunk without the --- and +++ lines of its file before it");
	if (diff_line_starts(p, p->at, "+++ "))
		return diff_refuse(p, p->at, "a +++ line without the --- line before it");
	if (diff_line_starts(p, p->at, "Binary files "))
		return diff_refuse(p, p->at, "binary patches are not accepted");
	if (is_fence && p->in_fence && p->n_files && !at_file_header(p, p->at + 1) &&
		(diff_line_starts(p, p->at + 1, "+") || diff_line_starts(p, p->at + 1, "-")))
		return diff_refuse(p, p->at + 1,
			"this line looks like a part of the hunk that the line of ``` before it ended: leave "
			"an "
			"empty line between them if it is none");
	if (is_fence) /* one with a word behind it opens */
		p->in_fence = !p->in_fence || text_line_trim(p->lines[p->at]).length > 3;
	p->at++;
	return OK;
}

static enum err_code parse_all(struct parser *p)
{
	while (p->at < p->n_lines)
		TRY(at_file_header(p, p->at) ? parse_file(p) : skip_prose(p));
	if (!p->n_files)
		return err_set_at(p->reterr, ERR_INPUT, p->name, 1, 0,
			"no change found: expected a unified diff with --- and +++ lines");
	return check_distinct(p);
}

/* The files, each with its hunks. */
static struct diff_file *gather_files(const struct parser *p)
{
	struct diff_file *files = arena_array(p->arena, p->n_files, sizeof(*files));
	memcpy(files, p->files, p->n_files * sizeof(*files));
	for (size_t i = 0; i < p->n_hunks; i++)
		files[p->hunks[i].file].n_hunks++;
	for (size_t i = 0; i < p->n_files; i++) {
		files[i].hunks = arena_array(p->arena, files[i].n_hunks, sizeof(*files->hunks));
		files[i].n_hunks = 0;
	}
	for (size_t i = 0; i < p->n_hunks; i++) {
		struct diff_file *file = &files[p->hunks[i].file];
		file->hunks[file->n_hunks++] = p->hunks[i].hunk;
	}
	return files;
}

/* Sent through something that made every line end CRLF: the headers' too. */
static bool is_sent_with_returns(const struct parser *p)
{
	bool any = false;
	for (size_t i = 0; i < p->n_lines; i++) {
		if (!at_file_header(p, i) && !diff_line_starts(p, i, "@@"))
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
	ret_diff->files = gather_files(&p);
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

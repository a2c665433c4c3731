#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/git_diff.h"
#include "patch/diff.h"

void git_notes_clear(struct git_notes *notes)
{
	free(notes->items);
	*notes = (struct git_notes){0};
}

struct line {
	const char *text; /* terminated */
	int number;       /* 1-based */
};

struct converter {
	const char *name;
	struct arena *arena;
	audit_read_fn read_old;
	void *context;
	struct strbuf *plain;
	struct git_notes *notes;
	struct line *lines; /* of one file, from its `diff --git` line on */
	size_t n_lines, room;
};

/* What the lines before the first hunk say of one file. */
struct header {
	const char *old_path, *new_path; /* without prefixes; NULL = /dev/null */
	const char *old_mode, *new_mode; /* NULL = not given */
	bool created, deleted, renamed, copied, binary;
	size_t hunks; /* index of the first @@ line, or n_lines */
};

static void note(const struct converter *c, const char *path, const char *what)
{
	struct git_notes *notes = c->notes;
	grow_array(&notes->items, &notes->room, notes->count + 1, sizeof(*notes->items));
	notes->items[notes->count++] = (struct git_note){arena_strdup(c->arena, path), what};
}

static const char *after(const char *text, const char *start)
{
	size_t length = strlen(start);
	return strncmp(text, start, length) == 0 ? text + length : NULL;
}

/* git's C-style quotes: "na\303\257ve.py". Text without quotes is returned as it is. */
static const char *unquoted(const struct converter *c, const char *text)
{
	static const char letters[] = "abtnvfr\"\\", bytes[] = "\a\b\t\n\v\f\r\"\\";
	if (*text != '"')
		return text;
	char *out = arena_strdup(c->arena, text), *to = out;
	for (const char *from = text + 1; *from && *from != '"'; from++) {
		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		const char *letter = from[1] ? strchr(letters, from[1]) : NULL;
		if (letter) {
			*to++ = bytes[letter - letters];
			from++;
		} else if (from[1] >= '0' && from[1] <= '3' && isdigit((unsigned char)from[2]) &&
			   isdigit((unsigned char)from[3])) {
			*to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 3;
		}
	}
	*to = '\0';
	return out;
}

/* The path of a ---, +++ or Binary line: a/ b/, or the letters of diff.mnemonicPrefix. */
static const char *side_path(const struct converter *c, const char *text)
{
	char *path = arena_strndup(c->arena, text, strcspn(text, "\t\r"));
	const char *plain = unquoted(c, path);
	if (strcmp(plain, "/dev/null") == 0)
		return NULL;
	return plain[0] && plain[1] == '/' && strchr("abciow12", plain[0]) ? plain + 2 : plain;
}

/* `diff --git a/x b/x`: needed where no --- line follows. Without quotes the two halves are of one length,
 * save for renames, which have lines of their own. */
static void paths_of_git_line(const struct converter *c, struct header *h)
{
	const char *text = after(c->lines[0].text, "diff --git ");
	size_t length = strlen(text);
	if (*text == '"') {
		const char *second = strstr(text + 1, "\" ");
		h->old_path = side_path(c, text);
		h->new_path = second ? side_path(c, second + 2) : h->old_path;
	} else {
		h->old_path = side_path(c, arena_strndup(c->arena, text, length / 2));
		h->new_path = side_path(c, text + (length + 1) / 2);
	}
}

static void read_header_line(const struct converter *c, const char *text, struct header *h)
{
	const char *rest;
	if ((rest = after(text, "--- ")))
		h->old_path = side_path(c, rest);
	else if ((rest = after(text, "+++ ")))
		h->new_path = side_path(c, rest);
	else if ((rest = after(text, "rename from ")) || (rest = after(text, "copy from ")))
		h->old_path = unquoted(c, rest);
	else if ((rest = after(text, "rename to ")) || (rest = after(text, "copy to ")))
		h->new_path = unquoted(c, rest);
	else if ((rest = after(text, "old mode ")) || (rest = after(text, "deleted file mode ")))
		h->old_mode = rest;
	else if ((rest = after(text, "new mode ")) || (rest = after(text, "new file mode ")))
		h->new_mode = rest;
	else if (after(text, "index ") && strchr(text + 6, ' ')) /* index 6bc0e64..189c384 120000 */
		h->old_mode = h->new_mode = strchr(text + 6, ' ') + 1;
	h->renamed |= after(text, "rename from ") != NULL;
	h->copied |= after(text, "copy from ") != NULL;
	h->created |= after(text, "new file mode ") != NULL;
	h->deleted |= after(text, "deleted file mode ") != NULL;
	h->binary |= after(text, "Binary files ") || after(text, "GIT binary patch");
}

static struct header read_header(const struct converter *c)
{
	struct header h = {0};
	paths_of_git_line(c, &h);
	size_t i = 1;
	for (; i < c->n_lines && !after(c->lines[i].text, "@@") && !h.binary; i++)
		read_header_line(c, c->lines[i].text, &h);
	h.hunks = h.binary ? c->n_lines : i;
	return h;
}

static void add_whole(struct strbuf *plain, char sign, const struct strbuf *text)
{
	size_t n = 0;
	for (size_t i = 0; i < text->len; i++)
		n += text->buf[i] == '\n' || i + 1 == text->len;
	strbuf_addf(plain, sign == '-' ? "@@ -1,%zu +0,0 @@\n" : "@@ -0,0 +1,%zu @@\n", n);
	for (const char *at = text->buf, *end = text->buf + text->len; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		strbuf_addch(plain, sign);
		strbuf_add(plain, at, (size_t)((stop ? stop : end) - at));
		strbuf_addstr(plain, stop ? "\n" : "\n\\ No newline at end of file\n");
		at = stop ? stop + 1 : end;
	}
}

static void add_hunks(struct converter *c, const struct header *h, const char *old, const char *new)
{
	strbuf_addf(c->plain, "--- %s%s\n+++ %s%s\n", old ? "a/" : "", old ? old : "/dev/null",
		new ? "b/" : "", new ? new : "/dev/null");
	for (size_t i = h->hunks; i < c->n_lines; i++)
		strbuf_addf(c->plain, "%s\n", c->lines[i].text);
}

/* A rename or copy as an added file and, for a rename, a removed one. */
static enum err_code add_rename(struct converter *c, const struct header *h, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf old = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf hunks = STRBUF_INIT;
	struct converter inner = *c;
	inner.plain = &hunks;
	enum err_code code = c->read_old(c->context, h->old_path, &old, reterr);
	if (code == ERR_NOT_FOUND && c->read_old(c->context, h->new_path, &new, NULL) == OK)
		return err_set_at(reterr, ERR_INPUT, c->name, c->lines[0].number, 0,
			"the tree has %s but no %s: it already has this change; --root must be the tree "
			"before it",
			h->new_path, h->old_path);
	if (code != OK)
		return err_prefix(reterr, code, "%s:%d", c->name, c->lines[0].number);
	if (h->hunks < c->n_lines) {
		struct diff diff;
		add_hunks(&inner, h, h->old_path, h->old_path);
		TRY(diff_parse(c->name, hunks.buf, hunks.len, c->arena, &diff, reterr));
		TRY(diff_apply(&diff.files[0], old.buf, old.len, &new, reterr));
	} else {
		strbuf_add(&new, old.buf, old.len);
	}
	if (h->renamed && old.len) {
		strbuf_addf(c->plain, "--- a/%s\n+++ /dev/null\n", h->old_path);
		add_whole(c->plain, '-', &old);
	}
	if (new.len) {
		strbuf_addf(c->plain, "--- /dev/null\n+++ b/%s\n", h->new_path);
		add_whole(c->plain, '+', &new);
	}
	return OK;
}

static const char *mode_note(const struct header *h)
{
	static const struct {
		const char *mode, *what;
	} kinds[] = {
		{"120000", "a symbolic link is added, changed or removed: look at where it points"},
		{"160000", "a submodule is changed: look at what it brings"},
	};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if ((h->old_mode && strcmp(h->old_mode, kinds[i].mode) == 0) ||
			(h->new_mode && strcmp(h->new_mode, kinds[i].mode) == 0))
			return kinds[i].what;
	if (h->old_mode && h->new_mode && strcmp(h->old_mode, h->new_mode) != 0)
		return "the file's mode is changed";
	bool executable = h->new_mode && strcmp(h->new_mode, "100755") == 0;
	return h->created && executable ? "an executable file is added" : NULL;
}

/* A link (120000) or a submodule (160000): its lines are no text of a file. */
static bool is_special(const char *mode)
{
	return mode && (after(mode, "12") || after(mode, "16"));
}

static void note_header(const struct converter *c, const struct header *h)
{
	const char *path = h->new_path ? h->new_path : h->old_path ? h->old_path : "?";
	const char *mode = mode_note(h);
	bool is_empty =
		h->hunks == c->n_lines && !h->binary && !is_special(h->old_mode) && !is_special(h->new_mode);
	if (mode)
		note(c, path, mode);
	if (h->binary)
		note(c, path, "a binary file is changed: no audit rule reads it");
	if (is_empty && h->created)
		note(c, path, "an empty file is added");
	if (is_empty && h->deleted)
		note(c, path, "an empty file is removed");
}

static enum err_code convert_file(struct converter *c, struct err *reterr)
{
	struct header h = read_header(c);
	note_header(c, &h);
	if (h.binary || is_special(h.old_mode) || is_special(h.new_mode))
		return OK;
	if (h.renamed || h.copied)
		return add_rename(c, &h, reterr);
	if (h.hunks < c->n_lines)
		add_hunks(c, &h, h.created ? NULL : h.old_path, h.deleted ? NULL : h.new_path);
	return OK;
}

static void add_line(struct converter *c, const char *text, size_t length, int number)
{
	grow_array(&c->lines, &c->room, c->n_lines + 1, sizeof(*c->lines));
	c->lines[c->n_lines++] = (struct line){arena_strndup(c->arena, text, length), number};
}

static enum err_code convert_all(struct converter *c, const char *text, size_t length, struct err *reterr)
{
	int number = 0;
	for (const char *at = text, *end = text + length; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop : end) - at);
		number++;
		if (memchr(at, '\0', n))
			return err_set_at(reterr, ERR_INPUT, c->name, number, 0,
				"expected text, found a NUL byte: what stands behind it would not be read");
		if (n > 11 && memcmp(at, "diff --git ", 11) == 0) {
			if (c->n_lines)
				TRY(convert_file(c, reterr));
			c->n_lines = 0;
			add_line(c, at, n, number);
		} else if (c->n_lines) {
			add_line(c, at, n, number);
		}
		at = stop ? stop + 1 : end;
	}
	return c->n_lines ? convert_file(c, reterr) : OK;
}

enum err_code git_diff_plain(const char *name, const char *text, size_t length, audit_read_fn read_old,
	void *context, struct arena *arena, struct strbuf *ret_plain, struct git_notes *ret_notes,
	struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT;
	struct git_notes notes = {0};
	struct converter c = {.name = name,
		.arena = arena,
		.read_old = read_old,
		.context = context,
		.plain = &plain,
		.notes = &notes};
	bool is_git = after(text, "diff --git ") || strstr(text, "\ndiff --git ");
	enum err_code code = OK;
	if (length > DIFF_CAP_BYTES)
		code = err_set_at(reterr, ERR_LIMIT, name, 0, 0,
			"the diff has %zu bytes, more than the %d allowed", length, DIFF_CAP_BYTES);
	else if (is_git)
		code = convert_all(&c, text, length, reterr);
	else
		strbuf_add(&plain, text, length);
	free(c.lines);
	if (code != OK) {
		git_notes_clear(&notes);
		return code;
	}
	strbuf_clear(ret_plain);
	strbuf_add(ret_plain, plain.buf, plain.len);
	*ret_notes = notes;
	return OK;
}

/* Additions for removals and the other way round. */
static struct diff_file reversed(const struct diff_file *file, struct arena *arena)
{
	struct diff_file back = *file;
	back.created = file->deleted;
	back.deleted = file->created;
	back.hunks = arena_array(arena, file->n_hunks + 1, sizeof(*back.hunks));
	for (size_t i = 0; i < file->n_hunks; i++) {
		const struct diff_hunk *h = &file->hunks[i];
		struct diff_hunk *b = &back.hunks[i];
		*b = *h;
		b->old_start = h->new_start;
		b->old_count = h->new_count;
		b->new_start = h->old_start;
		b->new_count = h->old_count;
		b->lines = arena_array(arena, h->n_lines + 1, sizeof(*b->lines));
		for (size_t k = 0; k < h->n_lines; k++) {
			b->lines[k] = h->lines[k];
			b->lines[k].kind = h->lines[k].kind == '+'   ? '-'
					   : h->lines[k].kind == '-' ? '+'
								     : ' ';
		}
	}
	return back;
}

bool diff_is_applied(const char *text, size_t length, audit_read_fn read_now, void *context)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct diff diff;
	if (diff_parse("diff", text, length, &arena, &diff, NULL) != OK)
		return false;
	for (size_t i = 0; i < diff.n_files; i++) {
		CLEANUP(strbuf_release) struct strbuf now = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT;
		struct diff_file back = reversed(&diff.files[i], &arena);
		enum err_code code = read_now(context, back.path, &now, NULL);
		if (diff.files[i].deleted ? code != ERR_NOT_FOUND : code != OK)
			return false;
		if (!diff.files[i].deleted && diff_apply(&back, now.buf, now.len, &before, NULL) != OK)
			return false;
	}
	return true;
}

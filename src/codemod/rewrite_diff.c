/* Edits of byte ranges as a unified diff. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "codemod/rewrite.h"

enum { CONTEXT = 3 };

struct lines {
	const char *text;
	size_t length;
	size_t *start; /* of each line, and the end of the text */
	size_t n;
};

static void split(const char *text, size_t length, struct lines *lines)
{
	size_t capacity = 0;
	*lines = (struct lines){.text = text, .length = length};
	for (size_t at = 0; at < length;) {
		const char *end = memchr(text + at, '\n', length - at);
		grow_array(&lines->start, &capacity, lines->n + 2, sizeof(size_t));
		lines->start[lines->n++] = at;
		at = end ? (size_t)(end - text) + 1 : length;
	}
	grow_array(&lines->start, &capacity, lines->n + 1, sizeof(size_t));
	lines->start[lines->n] = length;
}

static size_t line_of(const struct lines *lines, size_t byte)
{
	size_t line = 0;
	while (line + 1 < lines->n && lines->start[line + 1] <= byte)
		line++;
	return line;
}

static int by_start(const void *va, const void *vb)
{
	const struct edit *a = va, *b = vb;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

static void add_lines(struct strbuf *diff, char sign, const char *text, size_t length)
{
	for (size_t at = 0; at < length;) {
		const char *end = memchr(text + at, '\n', length - at);
		size_t n = end ? (size_t)(end - text) - at : length - at;
		strbuf_addch(diff, sign);
		strbuf_add(diff, text + at, n);
		strbuf_addch(diff, '\n');
		if (!end)
			strbuf_addstr(diff, "\\ No newline at end of file\n");
		at += n + 1;
	}
}

/* Two that want the same bytes: neither is what was meant. */
static bool overlap(const struct rewrite *r)
{
	for (size_t i = 1; i < r->n_edits; i++)
		if (r->edits[i].start < r->edits[i - 1].end)
			return true;
	return false;
}

static size_t count_lines(const char *text, size_t length)
{
	size_t n = 0;
	for (size_t i = 0; i < length; i++)
		n += text[i] == '\n';
	return n + (length && text[length - 1] != '\n');
}

struct change { /* lines [first, last) become `text` */
	size_t first, last;
	struct strbuf text;
};

/* The edits from `*next` on that touch lines which belong together, as one change. */
static struct change take_change(const struct rewrite *r, const struct lines *lines, size_t *next)
{
	struct change c = {.text = STRBUF_INIT};
	c.first = line_of(lines, r->edits[*next].start);
	c.last = c.first;
	size_t at = lines->start[c.first];
	while (*next < r->n_edits) {
		const struct edit *e = &r->edits[*next];
		if (c.last > c.first && line_of(lines, e->start) >= c.last)
			break;
		size_t last_byte = e->end > e->start ? e->end - 1 : e->start;
		c.last = MAX_OF(c.last, line_of(lines, last_byte) + 1);
		strbuf_add(&c.text, r->file->text + at, e->start - at);
		strbuf_addstr(&c.text, e->text);
		at = e->end;
		++*next;
	}
	strbuf_add(&c.text, r->file->text + at, lines->start[c.last] - at);
	return c;
}

/* Length of the first line. */
static size_t line_length(const char *text, size_t length)
{
	const char *end = memchr(text, '\n', length);
	return end ? (size_t)(end - text) + 1 : length;
}

/* Start of the last line. */
static size_t last_line(const char *text, size_t length)
{
	size_t at = length ? length - 1 : 0;
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

/* Lines that stay as they were at either end are no part of the change. */
static void trim(const struct lines *lines, struct change *c)
{
	struct strbuf kept = STRBUF_INIT;
	size_t from = 0, to = c->text.len;
	while (c->first < c->last && from < to) {
		size_t n = line_length(c->text.buf + from, to - from), old = lines->start[c->first];
		if (n != lines->start[c->first + 1] - old ||
			memcmp(c->text.buf + from, lines->text + old, n) != 0)
			break;
		from += n;
		c->first++;
	}
	while (c->first < c->last && from < to) {
		size_t at = from + last_line(c->text.buf + from, to - from), old = lines->start[c->last - 1];
		if (to - at != lines->start[c->last] - old ||
			memcmp(c->text.buf + at, lines->text + old, to - at) != 0)
			break;
		to = at;
		c->last--;
	}
	strbuf_add(&kept, c->text.buf + from, to - from);
	strbuf_release(&c->text);
	c->text = kept;
}

static void add_hunk(
	struct strbuf *diff, const struct lines *lines, const struct change *changes, size_t n, long *shift)
{
	size_t first = changes[0].first > CONTEXT ? changes[0].first - CONTEXT : 0;
	size_t last = MIN_OF(changes[n - 1].last + CONTEXT, lines->n), at = first;
	size_t old_count = last - first, new_count = old_count;
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT;
	for (size_t i = 0; i < n; i++) {
		const struct change *c = &changes[i];
		const char *text = lines->text;
		add_lines(&body, ' ', text + lines->start[at], lines->start[c->first] - lines->start[at]);
		add_lines(&body, '-', text + lines->start[c->first],
			lines->start[c->last] - lines->start[c->first]);
		add_lines(&body, '+', c->text.buf, c->text.len);
		new_count += count_lines(c->text.buf, c->text.len) - (c->last - c->first);
		at = c->last;
	}
	add_lines(&body, ' ', lines->text + lines->start[at], lines->start[last] - lines->start[at]);
	strbuf_addf(diff, "@@ -%zu,%zu +%ld,%zu @@\n%s", first + 1, old_count, (long)first + 1 + *shift,
		new_count, body.buf);
	*shift += (long)new_count - (long)old_count;
}

const char *rewrite_diff(struct rewrite *r)
{
	struct lines lines;
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	if (!r->n_edits)
		return NULL;
	qsort(r->edits, r->n_edits, sizeof(*r->edits), by_start);
	if (overlap(r))
		return NULL;
	split(r->file->text, r->file->length, &lines);
	strbuf_addf(&diff, "--- a/%s\n+++ b/%s\n", r->file->path, r->file->path);
	CLEANUP(free_ptr) struct change *changes = xcalloc(r->n_edits, sizeof(*changes));
	size_t n = 0, begun = 0;
	long shift = 0;
	for (size_t next = 0; next < r->n_edits; n++) {
		changes[n] = take_change(r, &lines, &next);
		trim(&lines, &changes[n]);
	}
	for (size_t i = 1; i <= n; i++) {
		/* Hunks whose contexts would meet are one. */
		if (i < n && changes[i].first <= changes[i - 1].last + 2 * CONTEXT)
			continue;
		add_hunk(&diff, &lines, changes + begun, i - begun, &shift);
		begun = i;
	}
	for (size_t i = 0; i < n; i++)
		strbuf_release(&changes[i].text);
	free(lines.start);
	return arena_strdup(r->arena, diff.buf);
}

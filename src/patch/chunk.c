#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/chunk.h"
#include "patch/diff.h"

void chunk_list_release(struct chunk_list *list)
{
	free(list->items);
	*list = (struct chunk_list){0};
}

static void add(struct chunk_list *list, const struct chunk *chunk)
{
	grow_array(&list->items, &list->room, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = *chunk;
}

void chunk_list_add_hunk(
	struct chunk_list *list, const struct diff_hunk *hunk, size_t start, int number, struct arena *arena)
{
	struct text_line *lines = arena_array(arena, hunk->n_lines + 1, sizeof(*lines));
	struct chunk chunk = {.at = start, .new_lines = lines, .hunk = number};
	for (size_t i = 0; i < hunk->n_lines; i++) {
		const struct diff_line *line = &hunk->lines[i];
		if (line->kind == '+') {
			*lines++ = (struct text_line){line->text, line->length};
			chunk.n_new++;
			chunk.new_unfinished = line->no_newline;
		} else if (line->kind == '-') {
			chunk.n_old++;
			chunk.old_unfinished |= line->no_newline;
		} else {
			if (chunk.n_old || chunk.n_new)
				add(list, &chunk);
			chunk = (struct chunk){.at = chunk.at + chunk.n_old + 1,
				.new_lines = lines,
				.hunk = number,
				.old_unfinished = line->no_newline};
		}
	}
	if (chunk.n_old || chunk.n_new)
		add(list, &chunk);
}

static int compare(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	/* an insertion stands before what replaces the line there */
	if ((x->n_old != 0) != (y->n_old != 0))
		return x->n_old ? 1 : -1;
	return x->hunk < y->hunk ? -1 : x->hunk > y->hunk;
}

void chunk_list_sort(struct chunk_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare);
}

bool chunks_equal(const struct chunk *a, const struct chunk *b)
{
	if (a->at != b->at || a->n_old != b->n_old || a->n_new != b->n_new ||
		a->new_unfinished != b->new_unfinished)
		return false;
	for (size_t i = 0; i < a->n_new; i++)
		if (!text_line_equal(a->new_lines[i], b->new_lines[i]))
			return false;
	return true;
}

bool chunks_clash(const struct chunk *a, const struct chunk *b)
{
	return a->at <= b->at + b->n_old && b->at <= a->at + a->n_old && !chunks_equal(a, b);
}

bool chunk_list_fits(const struct chunk_list *list, size_t n_lines)
{
	size_t at = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct chunk *c = &list->items[i];
		if (c->at < at || c->at > n_lines || c->n_old > n_lines - c->at)
			return false;
		at = c->at + c->n_old;
	}
	return true;
}

/* Whether the text ends with a newline when its last line is the last of this chunk. */
static bool finishes(const struct chunk *c, const struct text_lines *old)
{
	if (c->new_unfinished)
		return false;
	bool reaches_end = c->at + c->n_old == old->count;
	/* A diff that does not know that the file ends without a newline does not mean to add one. */
	return !reaches_end || old->ends_with_newline || c->old_unfinished;
}

static void add_line(struct strbuf *text, struct text_line line)
{
	strbuf_add(text, line.text, line.length);
	strbuf_addch(text, '\n');
}

void chunk_list_apply(const struct chunk_list *list, const struct text_lines *old, struct strbuf *text)
{
	size_t at = 0;
	bool finished = true;
	strbuf_clear(text);
	for (size_t i = 0; i < list->count; i++) {
		const struct chunk *c = &list->items[i];
		for (; at < c->at; at++)
			add_line(text, old->items[at]);
		for (size_t k = 0; k < c->n_new; k++)
			add_line(text, c->new_lines[k]);
		at = c->at + c->n_old;
		finished = !c->n_new || finishes(c, old);
	}
	if (at < old->count)
		finished = old->ends_with_newline;
	for (; at < old->count; at++)
		add_line(text, old->items[at]);
	if (!finished && text->len)
		text->buf[--text->len] = '\0';
}

void chunk_describe(const struct chunk *c, struct strbuf *text)
{
	if (c->n_old > 1)
		strbuf_addf(text, "lines %zu-%zu", c->at + 1, c->at + c->n_old);
	else if (c->n_old)
		strbuf_addf(text, "line %zu", c->at + 1);
	else
		strbuf_addf(text, "after line %zu", c->at);
}

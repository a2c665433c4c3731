/*
 * The change of one file as chunks: runs of lines that other lines take the place of, by their place in the
 * old text. What is not in a chunk stays as it is, so chunks of several origins can be put together wherever
 * they do not meet: that is the three-way merge of a stack (stack.h).
 */
#ifndef INFRARSI_PATCH_CHUNK_H
#define INFRARSI_PATCH_CHUNK_H

#include "base/base.h"
#include "patch/text_lines.h"

struct strbuf;
struct arena;
struct diff_hunk;

struct chunk {
	size_t at;    /* 0-based line of the old text where it begins */
	size_t n_old; /* old lines that go; 0 = an insertion before line `at` */
	const struct text_line *new_lines;
	size_t n_new;
	int hunk;            /* 1-based number of the hunk that it comes from */
	bool new_unfinished; /* its last line ends the file without a newline */
	bool old_unfinished; /* says itself that the old file ends without a newline */
};

struct chunk_list {
	struct chunk *items;
	size_t count, room;
};
void chunk_list_release(struct chunk_list *list); /* for CLEANUP() */

/* Adds the chunks of a hunk whose first line stands at `start` of the old text. New lines live in `arena`. */
void chunk_list_add_hunk(
	struct chunk_list *list, const struct diff_hunk *hunk, size_t start, int number, struct arena *arena);
/* By place; equal places stay in the order in which they were added. */
void chunk_list_sort(struct chunk_list *list);

/* What git's merge calls a conflict: they overlap or touch, and are not the same change. */
bool chunks_clash(const struct chunk *a, const struct chunk *b);
bool chunks_equal(const struct chunk *a, const struct chunk *b);

/* True when a sorted list's chunks do not overlap and end within a text of `n_lines` lines. */
bool chunk_list_fits(const struct chunk_list *list, size_t n_lines);
/* The new text. The list is sorted and fits. */
void chunk_list_apply(const struct chunk_list *list, const struct text_lines *old, struct strbuf *text);

/* "line 3", "lines 3-5", "after line 2": where it changes the old text, 1-based. */
void chunk_describe(const struct chunk *c, struct strbuf *text);

#endif

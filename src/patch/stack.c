#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/diff.h"
#include "patch/stack.h"

enum { CONFLICTS_SHOWN = 3 };

static void read_file(const struct diff_file *from, struct arena *arena, struct stack_file *file)
{
	CLEANUP(chunk_list_release) struct chunk_list list = {0};
	for (size_t h = 0; h < from->n_hunks; h++) {
		const struct diff_hunk *hunk = &from->hunks[h];
		/* with no old lines, the start names the line before the insertion */
		int start = hunk->old_count ? hunk->old_start - 1 : hunk->old_start;
		chunk_list_add_hunk(&list, hunk, (size_t)MAX_OF(start, 0), (int)h + 1, arena);
	}
	chunk_list_sort(&list);
	*file = (struct stack_file){.path = from->path,
		.created = from->created,
		.deleted = from->deleted,
		.n_chunks = list.count,
		.chunks = arena_array(arena, list.count + 1, sizeof(*list.items))};
	if (list.count)
		memcpy(file->chunks, list.items, list.count * sizeof(*list.items));
}

enum err_code stack_patch_parse(const char *name, const char *diff, struct arena *arena,
	struct stack_patch *ret_patch, struct err *reterr)
{
	struct stack_patch patch = {.name = name};
	struct diff parsed;
	TRY(diff_parse(name, diff, strlen(diff), arena, &parsed, reterr));
	patch.files = arena_array(arena, parsed.n_files, sizeof(*patch.files));
	patch.n_files = parsed.n_files;
	for (size_t i = 0; i < parsed.n_files; i++)
		read_file(&parsed.files[i], arena, &patch.files[i]);
	*ret_patch = patch;
	return OK;
}

/* ---- conflicts ---- */

static void name_hunk(const struct stack_patch *patch, const struct chunk *c, struct strbuf *text)
{
	strbuf_addf(text, "hunk %d of ", c->hunk);
	strbuf_add_escaped(text, patch->name, MIN_OF(strlen(patch->name), (size_t)200));
	strbuf_addstr(text, " (");
	chunk_describe(c, text);
	strbuf_addch(text, ')');
}

struct pair {
	const struct stack_patch *a, *b;
	const struct stack_file *of_a, *of_b;
};

static void add_conflict(const struct pair *p, size_t number, const struct chunk *x, const struct chunk *y,
	struct strbuf *text)
{
	if (number > CONFLICTS_SHOWN)
		return;
	strbuf_addstr(text, number == 1 ? ": " : "; ");
	if (number == CONFLICTS_SHOWN) {
		strbuf_addstr(text, "...");
		return;
	}
	name_hunk(p->a, x, text);
	strbuf_addstr(text, " and ");
	name_hunk(p->b, y, text);
	bool meet = x->at < y->at + y->n_old && y->at < x->at + x->n_old;
	strbuf_addstr(text, meet ? " change the same lines" : " change neighbouring lines");
}

/* Both lists are sorted: what ends before the other's next chunk begins cannot meet any later one. */
static size_t compare_chunks(const struct pair *p, struct strbuf *text)
{
	size_t n = 0, i = 0, j = 0;
	while (i < p->of_a->n_chunks && j < p->of_b->n_chunks) {
		const struct chunk *x = &p->of_a->chunks[i], *y = &p->of_b->chunks[j];
		if (chunks_clash(x, y))
			add_conflict(p, ++n, x, y, text);
		if (x->at + x->n_old <= y->at + y->n_old)
			i++;
		else
			j++;
	}
	return n;
}

static void add_path(struct strbuf *text, const char *path)
{
	strbuf_add_escaped(text, path, MIN_OF(strlen(path), (size_t)300));
}

static bool same_file_conflict(const struct pair *p, struct strbuf *reason)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	const struct stack_file *x = p->of_a, *y = p->of_b;
	add_path(&text, x->path);
	if (x->deleted != y->deleted) {
		strbuf_addf(&text, ": ");
		add_path(&text, (x->deleted ? p->a : p->b)->name);
		strbuf_addstr(&text, " deletes the file, which ");
		add_path(&text, (x->deleted ? p->b : p->a)->name);
		strbuf_addstr(&text, " changes");
	} else if (x->created && y->created) {
		if (x->n_chunks == 1 && y->n_chunks == 1 && chunks_equal(x->chunks, y->chunks))
			return false;
		strbuf_addstr(&text, ": both make this file, with other lines");
	} else if (!compare_chunks(p, &text)) {
		return false;
	}
	strbuf_add(reason, text.buf, text.len);
	return true;
}

/* A new file of one in the place of a folder of the other. */
static bool in_the_way(const struct stack_patch *a, const struct stack_file *x, const struct stack_patch *b,
	const struct stack_file *y, struct strbuf *reason)
{
	size_t length = strlen(x->path);
	if (!x->created || y->deleted || strncmp(x->path, y->path, length) != 0 || y->path[length] != '/')
		return false;
	add_path(reason, x->path);
	strbuf_addstr(reason, ": a file in ");
	add_path(reason, a->name);
	strbuf_addstr(reason, ", a folder in ");
	add_path(reason, b->name);
	return true;
}

bool stack_conflict(const struct stack_patch *a, const struct stack_patch *b, struct strbuf *reason)
{
	for (size_t i = 0; i < a->n_files; i++)
		for (size_t j = 0; j < b->n_files; j++) {
			const struct pair pair = {a, b, &a->files[i], &b->files[j]};
			if (strcmp(pair.of_a->path, pair.of_b->path) == 0) {
				if (same_file_conflict(&pair, reason))
					return true;
			} else if (in_the_way(a, pair.of_a, b, pair.of_b, reason) ||
				   in_the_way(b, pair.of_b, a, pair.of_a, reason)) {
				return true;
			}
		}
	return false;
}

/* Both lists are sorted. */
static bool file_contains(const struct stack_file *whole, const struct stack_file *part)
{
	size_t i = 0, j = 0;
	while (i < whole->n_chunks && j < part->n_chunks) {
		if (chunks_equal(&whole->chunks[i], &part->chunks[j]))
			j++;
		i++;
	}
	return j == part->n_chunks && whole->created == part->created && whole->deleted == part->deleted;
}

bool stack_contains(const struct stack_patch *whole, const struct stack_patch *part)
{
	for (size_t j = 0; j < part->n_files; j++) {
		bool found = false;
		for (size_t i = 0; i < whole->n_files && !found; i++)
			found = strcmp(whole->files[i].path, part->files[j].path) == 0 &&
				file_contains(&whole->files[i], &part->files[j]);
		if (!found)
			return false;
	}
	return true;
}

/* ---- merged ---- */

/* The same change of several patches is made once. The list is sorted: equal chunks have one place. */
static void drop_repeated(struct chunk_list *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->count; i++) {
		size_t k = n;
		while (k > 0 && list->items[k - 1].at == list->items[i].at &&
			!chunks_equal(&list->items[k - 1], &list->items[i]))
			k--;
		bool is_repeated = k > 0 && list->items[k - 1].at == list->items[i].at;
		if (!is_repeated)
			list->items[n++] = list->items[i];
	}
	list->count = n;
}

enum err_code stack_merge_file(const struct stack_file *const *files, size_t n_files, const char *old,
	size_t length, struct strbuf *ret_text, bool *ret_exists, struct err *reterr)
{
	CLEANUP(chunk_list_release) struct chunk_list list = {0};
	CLEANUP(text_lines_release) struct text_lines lines;
	bool exists = true;
	for (size_t f = 0; f < n_files; f++) {
		exists &= !files[f]->deleted;
		for (size_t i = 0; i < files[f]->n_chunks; i++) {
			grow_array(&list.items, &list.room, list.count + 1, sizeof(*list.items));
			list.items[list.count++] = files[f]->chunks[i];
		}
	}
	chunk_list_sort(&list);
	drop_repeated(&list);
	text_lines_split(&lines, old, length);
	if (!chunk_list_fits(&list, lines.count))
		return err_set_at(reterr, ERR_INPUT, n_files ? files[0]->path : "", 0, 0,
			"the diff was not made for this file: its lines are not where it says");
	chunk_list_apply(&list, &lines, ret_text);
	*ret_exists = exists;
	return OK;
}

static enum err_code check_pairs(const struct stack_patch *patches, size_t n, struct err *reterr)
{
	for (size_t later = 1; later < n; later++)
		for (size_t earlier = 0; earlier < later; earlier++) {
			CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
			if (stack_conflict(&patches[earlier], &patches[later], &reason))
				return err_set(
					reterr, ERR_INPUT, "the patches do not go together: %s", reason.buf);
		}
	return OK;
}

/* What the patches do to one path; the path is that of file `first_file` of patch `first`, and no patch
 * before it has it. */
static size_t gather(const struct stack_patch *patches, size_t n, size_t first, const char *path,
	const struct stack_file **ret_files)
{
	size_t count = 0;
	for (size_t p = first; p < n; p++)
		for (size_t i = 0; i < patches[p].n_files; i++)
			if (strcmp(patches[p].files[i].path, path) == 0)
				ret_files[count++] = &patches[p].files[i];
	return count;
}

static bool is_earlier(const struct stack_patch *patches, size_t patch, const char *path)
{
	for (size_t p = 0; p < patch; p++)
		for (size_t i = 0; i < patches[p].n_files; i++)
			if (strcmp(patches[p].files[i].path, path) == 0)
				return true;
	return false;
}

static enum err_code merge_one(const struct scratch *s, const char *tree,
	const struct stack_file *const *files, size_t n_files, struct arena *arena,
	struct scratch_file *ret_file, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf old = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
	const char *path = files[0]->path;
	bool exists = true;
	if (!files[0]->created)
		TRY(scratch_read(s, tree, path, &old, reterr));
	TRY(stack_merge_file(files, n_files, old.buf, old.len, &new, &exists, reterr));
	*ret_file =
		(struct scratch_file){path, exists ? arena_strndup(arena, new.buf, new.len) : NULL, new.len};
	return OK;
}

enum err_code stack_tree(const struct scratch *s, const char *tree, const struct stack_patch *patches,
	size_t n_patches, char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	size_t most = 0, n = 0;
	TRY(check_pairs(patches, n_patches, reterr));
	for (size_t p = 0; p < n_patches; p++)
		most += patches[p].n_files;
	struct scratch_file *merged = arena_array(&arena, most + 1, sizeof(*merged));
	const struct stack_file **files = arena_array(&arena, most + 1, sizeof(*files));
	for (size_t p = 0; p < n_patches; p++)
		for (size_t i = 0; i < patches[p].n_files; i++) {
			const char *path = patches[p].files[i].path;
			if (is_earlier(patches, p, path))
				continue;
			size_t n_files = gather(patches, n_patches, p, path, files);
			TRY(merge_one(s, tree, files, n_files, &arena, &merged[n++], reterr));
		}
	return scratch_write(s, tree, merged, n, ret_tree, reterr);
}

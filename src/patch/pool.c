#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/diff.h"
#include "patch/patch.h"
#include "patch/patch_int.h"
#include "patch/scratch.h"
#include "patch/stack.h"
#include "spec/task.h"

enum { POOL_CAP = 1000 };

struct reading_pool {
	const struct task *task;
	const char *commit;
	const struct scratch *scratch;
	struct patch_pool *pool;
	size_t room;                 /* of the arrays below, of pool->patches and pool->refused */
	char (*trees)[TREE_ID_SIZE]; /* snapshot with patch i applied */
	struct branch *branches;     /* that patch i comes from, name and tip; name NULL = a file */
	size_t source_begins;        /* the first patch of the source at hand */
};

/* ---- a folder ---- */

static const struct {
	const char *end;
	enum patch_format format;
} kinds[] = {
	{".diff", PATCH_DIFF},
	{".patch", PATCH_DIFF},
	{".edits.json", PATCH_EDITS},
};

/* The length of the stem; 0 = not a patch by its name. */
static size_t stem_length(const char *name, enum patch_format *ret_format)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t end = strlen(kinds[i].end);
		if (length <= end || strcmp(name + length - end, kinds[i].end) != 0)
			continue;
		*ret_format = kinds[i].format;
		return length - end;
	}
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum err_code list_patches(const char *dir, char ***ret_names, size_t *ret_count, struct err *reterr)
{
	DIR *stream = opendir(dir);
	char **names = NULL;
	size_t n = 0, room = 0;
	struct dirent *entry;
	enum patch_format format;
	if (!stream && (errno == ENOENT || errno == ENOTDIR))
		return err_set(reterr, ERR_NOT_FOUND, "no folder of patches at %s", dir);
	if (!stream)
		return err_errno(reterr, "cannot list %s", dir);
	while ((entry = readdir(stream))) {
		if (!stem_length(entry->d_name, &format))
			continue;
		grow_array(&names, &room, n + 1, sizeof(*names));
		names[n++] = xstrdup(entry->d_name);
	}
	closedir(stream);
	if (n > POOL_CAP) {
		free_strings(names, n);
		return err_set(
			reterr, ERR_LIMIT, "%s has %zu patches, more than the %d allowed", dir, n, POOL_CAP);
	}
	if (n)
		qsort(names, n, sizeof(*names), compare_names);
	*ret_names = names;
	*ret_count = n;
	return OK;
}

/* ---- what becomes of one ---- */

static void add_refusal(struct patch_pool *pool, const char *name, const struct err *why)
{
	char text[2200];
	err_format(why, text, sizeof(text));
	pool->refused[pool->n_refused].name = name;
	pool->refused[pool->n_refused++].reason = arena_strdup(&pool->arena, text);
}

static size_t twin_of(const struct patch_pool *pool, const struct patch *patch)
{
	size_t i = 0;
	while (i < pool->n_patches && strcmp(pool->patches[i].digest, patch->digest) != 0)
		i++;
	return i;
}

/* A patch that is not usable is a refusal, not an error; the machine's troubles are errors. */
static enum err_code settle(struct reading_pool *r, const char *name, enum err_code code, struct patch *patch,
	const struct err *why, struct err *reterr)
{
	struct patch_pool *pool = r->pool;
	if (code == ERR_INPUT || code == ERR_LIMIT || code == ERR_NOT_FOUND) {
		add_refusal(pool, name, why);
		return OK;
	}
	if (code != OK) {
		if (reterr)
			*reterr = *why;
		return code;
	}
	size_t twin = twin_of(pool, patch);
	if (twin < r->source_begins)
		return OK; /* another source has it, under whatever name */
	if (twin < pool->n_patches) {
		struct err same = ERR_INIT;
		err_set_at(&same, ERR_INPUT, patch->source, 0, 0, "the same change as %s",
			pool->patches[twin].name);
		add_refusal(pool, name, &same);
		return OK;
	}
	patch->name = name;
	patch_copy(patch, &pool->arena, &pool->patches[pool->n_patches++]);
	return OK;
}

/* ---- bases ---- */

static enum err_code find_patch(const struct patch_pool *pool, const char *draft, const char *name,
	size_t *ret_index, struct err *reterr)
{
	for (size_t i = pool->n_patches; i-- > 0;)
		if (strcmp(pool->patches[i].name, name) == 0) {
			*ret_index = i;
			return OK;
		}
	return err_set_at(reterr, ERR_INPUT, draft, 0, 0,
		"base: there is no usable patch '%s' before this one (patches are read in the order of their "
		"names)",
		name);
}

/* The tree that a draft is written for. */
static enum err_code parent_tree(const struct reading_pool *r, const struct patch_draft *draft,
	char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	const struct patch_header *header = &draft->header;
	size_t n = header->n_bases;
	struct stack_patch *stack = arena_array(&arena, n + 1, sizeof(*stack));
	memcpy(ret_tree, r->scratch->base_tree, TREE_ID_SIZE);
	for (size_t i = 0; i < n; i++) {
		size_t index = 0;
		TRY(find_patch(r->pool, draft->name, header->bases[i], &index, reterr));
		const struct patch *patch = &r->pool->patches[index];
		TRY(stack_patch_parse(patch->name, patch->diff, &arena, &stack[i], reterr));
	}
	if (!n)
		return OK;
	enum err_code code = stack_tree(r->scratch, r->scratch->base_tree, stack, n, ret_tree, reterr);
	return code == OK ? OK : err_prefix(reterr, code, "%s: base", draft->name);
}

static enum err_code read_text(struct reading_pool *r, const struct patch_text *text, struct arena *work,
	struct patch *ret_patch, struct err *reterr)
{
	struct patch_draft draft;
	char parent[TREE_ID_SIZE];
	TRY(patch_draft_parse(text, work, &draft, reterr));
	TRY(parent_tree(r, &draft, parent, reterr));
	const struct patch_site site = {r->task, r->scratch, parent};
	return patch_from_draft(&site, &draft, work, ret_patch, r->trees[r->pool->n_patches], reterr);
}

static enum err_code read_file(
	struct reading_pool *r, const char *dir, const char *file_name, struct err *reterr)
{
	struct arena *arena = &r->pool->arena;
	enum patch_format format = PATCH_DIFF;
	const char *stem = arena_strndup(arena, file_name, stem_length(file_name, &format));
	CLEANUP(arena_release) struct arena work = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, file_name);
	struct patch patch = {0};
	struct err why = ERR_INIT;
	if (file_read(path, DIFF_CAP_BYTES, &text, &why) != OK) {
		add_refusal(r->pool, stem, &why); /* trouble of this file alone */
		return OK;
	}
	const struct patch_text whole = {path, format, text.buf, text.len};
	enum err_code code = read_text(r, &whole, &work, &patch, &why);
	return settle(r, stem, code, &patch, &why, reterr);
}

/* ---- branches ---- */

/* A branch that goes on from another of the list builds on it: the last such. */
static enum err_code branch_parent(
	struct reading_pool *r, const struct branch *branch, const char **ret_tree, struct err *reterr)
{
	*ret_tree = r->scratch->base_tree;
	for (size_t i = 0; i < r->pool->n_patches; i++) {
		bool contains;
		if (!r->branches[i].name)
			continue;
		TRY(branch_contains(r->scratch, branch, &r->branches[i], &contains, reterr));
		if (contains)
			*ret_tree = r->trees[i];
	}
	return OK;
}

static enum err_code read_branch(struct reading_pool *r, const char *name, struct err *reterr)
{
	struct patch_pool *pool = r->pool;
	CLEANUP(arena_release) struct arena work = ARENA_INIT;
	struct branch branch = {0};
	struct patch patch = {0};
	struct err why = ERR_INIT;
	const char *parent;
	size_t index = pool->n_patches;
	enum err_code code = branch_find(r->scratch, r->commit, name, &work, &branch, &why);
	if (code == OK)
		code = branch_parent(r, &branch, &parent, &why);
	if (code == OK) {
		const struct patch_site site = {r->task, r->scratch, parent};
		code = patch_from_branch(&site, &branch, &work, &patch, r->trees[index], &why);
	}
	TRY(settle(r, arena_strdup(&pool->arena, name), code, &patch, &why, reterr));
	if (pool->n_patches > index) {
		r->branches[index].name = pool->patches[index].name;
		memcpy(r->branches[index].tip, branch.tip, TREE_ID_SIZE);
	}
	return OK;
}

/* ---- the pool ---- */

static void *moved(struct arena *arena, const void *old, size_t used, size_t room, size_t size)
{
	void *new = arena_array(arena, room, size);
	if (used)
		memcpy(new, old, used * size);
	return new;
}

static void make_room(struct reading_pool *r, size_t more)
{
	struct patch_pool *pool = r->pool;
	struct arena *arena = &pool->arena;
	r->room += more;
	pool->patches = moved(arena, pool->patches, pool->n_patches, r->room + 1, sizeof(*pool->patches));
	pool->refused = moved(arena, pool->refused, pool->n_refused, r->room + 1, sizeof(*pool->refused));
	r->trees = moved(arena, r->trees, pool->n_patches, r->room + 1, sizeof(*r->trees));
	r->branches = moved(arena, r->branches, pool->n_patches, r->room + 1, sizeof(*r->branches));
}

static enum err_code read_folder(struct reading_pool *r, const char *dir, struct err *reterr)
{
	char **names = NULL;
	size_t count = 0;
	enum err_code code = list_patches(dir, &names, &count, reterr);
	if (code == OK)
		make_room(r, count);
	for (size_t i = 0; i < count && code == OK; i++)
		code = read_file(r, dir, names[i], reterr);
	free_strings(names, count);
	return code;
}

static enum err_code read_source(
	struct reading_pool *r, const struct patch_source *source, struct err *reterr)
{
	r->source_begins = r->pool->n_patches;
	if (source->dir)
		TRY(read_folder(r, source->dir, reterr));
	make_room(r, source->n_branches);
	for (size_t i = 0; i < source->n_branches; i++)
		TRY(read_branch(r, source->branches[i], reterr));
	return OK;
}

static enum err_code find_conflicts(struct patch_pool *pool, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	size_t n = pool->n_patches;
	struct stack_patch *patches = arena_array(&arena, n + 1, sizeof(*patches));
	pool->conflicts = arena_array(&pool->arena, n * n + 1, sizeof(*pool->conflicts));
	for (size_t i = 0; i < n; i++)
		TRY(stack_patch_parse(
			pool->patches[i].name, pool->patches[i].diff, &arena, &patches[i], reterr));
	for (size_t later = 1; later < n; later++)
		for (size_t earlier = 0; earlier < later; earlier++) {
			CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
			if (!stack_conflict(&patches[earlier], &patches[later], &reason))
				continue;
			const char *text = arena_strndup(&pool->arena, reason.buf, reason.len);
			pool->conflicts[earlier * n + later] = pool->conflicts[later * n + earlier] = text;
		}
	return OK;
}

enum err_code patch_pool_read(const struct task *task, const char *commit, const char *prefix,
	const struct patch_source *sources, size_t n_sources, struct patch_pool *ret_pool, struct err *reterr)
{
	CLEANUP(scratch_close) struct scratch scratch = {0};
	struct patch_pool pool = {.arena = ARENA_INIT};
	struct reading_pool r = {.task = task, .commit = commit, .scratch = &scratch, .pool = &pool};
	enum err_code code = scratch_open(task->root, commit, prefix, &scratch, reterr);
	make_room(&r, 0);
	for (size_t i = 0; i < n_sources && code == OK; i++)
		code = read_source(&r, &sources[i], reterr);
	if (code == OK)
		code = find_conflicts(&pool, reterr);
	if (code != OK) {
		arena_release(&pool.arena);
		return code;
	}
	*ret_pool = pool;
	return OK;
}

void patch_pool_release(struct patch_pool *pool)
{
	if (!pool)
		return;
	arena_release(&pool->arena);
	*pool = (struct patch_pool){0};
}

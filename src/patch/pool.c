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
#include "spec/task.h"

enum { POOL_CAP = 1000 };

struct reading_pool {
	const struct task *task;
	const struct scratch *scratch;
	struct patch_pool *pool;
	char (*trees)[TREE_ID_SIZE]; /* snapshot with patch i applied */
};

static bool is_diff_name(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot && dot != name && (strcmp(dot, ".diff") == 0 || strcmp(dot, ".patch") == 0);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum err_code list_diffs(const char *dir, char ***ret_names, size_t *ret_count, struct err *reterr)
{
	DIR *stream = opendir(dir);
	char **names = NULL;
	size_t n = 0, room = 0;
	struct dirent *entry;
	if (!stream && (errno == ENOENT || errno == ENOTDIR))
		return err_set(reterr, ERR_NOT_FOUND, "no folder of patches at %s", dir);
	if (!stream)
		return err_errno(reterr, "cannot list %s", dir);
	while ((entry = readdir(stream))) {
		if (!is_diff_name(entry->d_name))
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

static void add_refusal(struct patch_pool *pool, const char *stem, const struct err *why)
{
	char text[2200];
	err_format(why, text, sizeof(text));
	pool->refused[pool->n_refused].name = stem;
	pool->refused[pool->n_refused++].reason = arena_strdup(&pool->arena, text);
}

static const char *twin_of(const struct patch_pool *pool, const struct patch *patch)
{
	for (size_t i = 0; i < pool->n_patches; i++)
		if (strcmp(pool->patches[i].digest, patch->digest) == 0)
			return pool->patches[i].name;
	return NULL;
}

/* A patch that is not usable is a refusal, not an error; the machine's troubles are errors. */
static enum err_code read_one(
	struct reading_pool *r, const char *dir, const char *file_name, struct err *reterr)
{
	struct patch_pool *pool = r->pool;
	const char *stem =
		arena_strndup(&pool->arena, file_name, (size_t)(strrchr(file_name, '.') - file_name));
	const char *path = arena_printf(&pool->arena, "%s/%s", dir, file_name);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct patch patch;
	struct err why = ERR_INIT;
	enum err_code code = file_read(path, DIFF_CAP_BYTES, &text, &why);
	if (code == OK)
		code = patch_read(r->task, r->scratch, path, text.buf, text.len, &pool->arena, &patch,
			r->trees[pool->n_patches], &why);
	if (code == ERR_INPUT || code == ERR_LIMIT || code == ERR_NOT_FOUND) {
		add_refusal(pool, stem, &why);
		return OK;
	}
	if (code != OK) {
		if (reterr)
			*reterr = why;
		return code;
	}
	patch.name = stem;
	const char *twin = twin_of(pool, &patch);
	if (twin) {
		err_set_at(&why, ERR_INPUT, path, 0, 0, "the same change as %s", twin);
		add_refusal(pool, stem, &why);
		return OK;
	}
	pool->patches[pool->n_patches++] = patch;
	return OK;
}

static bool share_a_file(const struct patch *a, const struct patch *b)
{
	for (size_t i = 0; i < a->n_files; i++)
		for (size_t j = 0; j < b->n_files; j++)
			if (strcmp(a->files[i], b->files[j]) == 0)
				return true;
	return false;
}

/* The canonical diff again with paths from the repository's root. */
static enum err_code rooted_diff(
	const struct reading_pool *r, const struct patch *patch, struct strbuf *ret_text, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(free_ptr) char *prefix = xasprintf("%s%s", r->scratch->prefix, scratch_slash(r->scratch));
	struct diff diff;
	TRY(diff_parse(patch->name, patch->diff, strlen(patch->diff), &arena, &diff, reterr));
	diff_write(&diff, prefix, ret_text);
	return OK;
}

/* Stacks are applied in the pool's order, so that is the order tried. Patches on different files cannot
 * conflict. */
static enum err_code find_conflicts(const struct reading_pool *r, struct err *reterr)
{
	struct patch_pool *pool = r->pool;
	size_t n = pool->n_patches;
	pool->conflicts = arena_array(&pool->arena, n * n + 1, sizeof(*pool->conflicts));
	for (size_t later = 1; later < n; later++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		TRY(rooted_diff(r, &pool->patches[later], &text, reterr));
		for (size_t earlier = 0; earlier < later; earlier++) {
			char tree[TREE_ID_SIZE];
			struct err why = ERR_INIT;
			if (!share_a_file(&pool->patches[earlier], &pool->patches[later]))
				continue;
			enum err_code code = scratch_apply(
				r->scratch, r->trees[earlier], text.buf, text.len, false, tree, &why);
			if (code != OK && code != ERR_FAILED) {
				if (reterr)
					*reterr = why;
				return code;
			}
			pool->conflicts[earlier * n + later] = pool->conflicts[later * n + earlier] =
				code != OK;
		}
	}
	return OK;
}

static enum err_code read_all(
	struct reading_pool *r, const char *dir, char **names, size_t count, struct err *reterr)
{
	struct patch_pool *pool = r->pool;
	pool->patches = arena_array(&pool->arena, count + 1, sizeof(*pool->patches));
	pool->refused = arena_array(&pool->arena, count + 1, sizeof(*pool->refused));
	r->trees = arena_array(&pool->arena, count + 1, sizeof(*r->trees));
	for (size_t i = 0; i < count; i++)
		TRY(read_one(r, dir, names[i], reterr));
	return find_conflicts(r, reterr);
}

enum err_code patch_pool_read(const struct task *task, const char *commit, const char *prefix,
	const char *dir, struct patch_pool *ret_pool, struct err *reterr)
{
	CLEANUP(scratch_close) struct scratch scratch = {0};
	struct patch_pool pool = {.arena = ARENA_INIT};
	struct reading_pool r = {task, &scratch, &pool, NULL};
	char **names = NULL;
	size_t count = 0;
	TRY(list_diffs(dir, &names, &count, reterr));
	enum err_code code = scratch_open(task->root, commit, prefix, &scratch, reterr);
	if (code == OK)
		code = read_all(&r, dir, names, count, reterr);
	free_strings(names, count);
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

/* A stack as diffs that apply one after another, for those who apply diffs: builds and `apply`. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/diff.h"
#include "patch/patch.h"
#include "patch/scratch.h"
#include "patch/stack.h"

enum err_code patch_conflict(const char *a_name, const char *a_diff, const char *b_name, const char *b_diff,
	bool *ret_conflict, struct strbuf *reason, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct stack_patch a, b;
	TRY(stack_patch_parse(a_name, a_diff, &arena, &a, reterr));
	TRY(stack_patch_parse(b_name, b_diff, &arena, &b, reterr));
	*ret_conflict = stack_conflict(&a, &b, reason);
	return OK;
}

static bool share_a_file(const struct stack_patch *a, const struct stack_patch *b)
{
	for (size_t i = 0; i < a->n_files; i++)
		for (size_t j = 0; j < b->n_files; j++)
			if (strcmp(a->files[i].path, b->files[j].path) == 0)
				return true;
	return false;
}

/* The index behind the last patch that changes a file which one before it changes; 0 = none does. */
static size_t last_to_change(const struct stack_patch *patches, size_t count)
{
	for (size_t later = count; later-- > 1;)
		for (size_t earlier = 0; earlier < later; earlier++)
			if (share_a_file(&patches[earlier], &patches[later]))
				return later + 1;
	return 0;
}

static enum err_code rebase_all(const struct scratch *s, const struct stack_patch *patches, size_t count,
	struct arena *arena, const char **diffs, struct err *reterr)
{
	char before[TREE_ID_SIZE], after[TREE_ID_SIZE];
	memcpy(before, s->base_tree, TREE_ID_SIZE);
	for (size_t i = 0; i < count; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		TRY(stack_tree(s, s->base_tree, patches, i + 1, after, reterr));
		TRY(scratch_diff(s, before, after, &text, reterr));
		if (strcmp(text.buf, diffs[i]) != 0)
			diffs[i] = arena_strndup(arena, text.buf, text.len);
		memcpy(before, after, TREE_ID_SIZE);
	}
	return OK;
}

enum err_code patch_stack_diffs(const char *root, const char *commit, const char *prefix,
	const char *const *names, const char *const *diffs, size_t count, struct arena *arena,
	const char **ret_diffs, struct err *reterr)
{
	CLEANUP(arena_release) struct arena work = ARENA_INIT;
	CLEANUP(scratch_close) struct scratch scratch = {0};
	struct stack_patch *patches = arena_array(&work, count + 1, sizeof(*patches));
	const char **result = arena_array(&work, count + 1, sizeof(*result));
	for (size_t i = 0; i < count; i++) {
		result[i] = diffs[i];
		TRY(stack_patch_parse(names[i], diffs[i], &work, &patches[i], reterr));
	}
	size_t n = last_to_change(patches, count);
	if (n) {
		TRY(scratch_open(root, commit, prefix, &scratch, reterr));
		TRY(rebase_all(&scratch, patches, n, arena, result, reterr));
	}
	memcpy(ret_diffs, result, count * sizeof(*result));
	return OK;
}

/* By its digest, so that what is there already is the same. */
static enum err_code keep_diff(
	const char *beside, const char *diff, struct arena *arena, const char **ret_path, struct err *reterr)
{
	char digest[SHA256_HEX_SIZE];
	sha256_hex(diff, strlen(diff), digest);
	const char *slash = strrchr(beside, '/');
	*ret_path = arena_printf(arena, "%.*s%s.diff", slash ? (int)(slash - beside + 1) : 0, beside, digest);
	return file_write_atomic(*ret_path, diff, strlen(diff), 0644, reterr);
}

enum err_code patch_stack_files(const char *root, const char *commit, const char *prefix,
	const char *const *names, const char *const *paths, size_t count, struct arena *arena,
	const char **ret_paths, struct err *reterr)
{
	CLEANUP(arena_release) struct arena work = ARENA_INIT;
	const char **diffs = arena_array(&work, count + 1, sizeof(*diffs));
	const char **merged = arena_array(&work, count + 1, sizeof(*merged));
	const char **result = arena_array(&work, count + 1, sizeof(*result));
	for (size_t i = 0; i < count; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		TRY(file_read(paths[i], DIFF_CAP_BYTES, &text, reterr));
		diffs[i] = arena_strndup(&work, text.buf, text.len);
	}
	TRY(patch_stack_diffs(root, commit, prefix, names, diffs, count, &work, merged, reterr));
	for (size_t i = 0; i < count; i++) {
		result[i] = merged[i] == diffs[i] ? paths[i] : NULL;
		if (!result[i] && *merged[i])
			TRY(keep_diff(paths[i], merged[i], arena, &result[i], reterr));
	}
	if (count)
		memcpy(ret_paths, result, count * sizeof(*result));
	return OK;
}

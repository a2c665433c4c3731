/*
 * Stacks: patches that were each made for the same tree, put together. The three-way merge of git: a patch is
 * the chunks that it replaces, and two patches conflict where chunks of one overlap or touch chunks of the
 * other and are not the same change. So whether a stack fits is decided pair by pair, and never depends on
 * the order.
 *
 *     struct stack_patch a, b;
 *     TRY(stack_patch_parse("01-tile", diff, &arena, &a, reterr));
 *     if (stack_conflict(&a, &b, &reason))
 *         ...
 */
#ifndef INFRARSI_PATCH_STACK_H
#define INFRARSI_PATCH_STACK_H

#include "base/base.h"
#include "patch/chunk.h"
#include "patch/scratch.h"

struct stack_file {
	const char *path;
	bool created, deleted;
	struct chunk *chunks; /* sorted */
	size_t n_chunks;
};

struct stack_patch {
	const char *name;
	struct stack_file *files;
	size_t n_files;
};

/* A canonical diff (patch.h) as chunks; everything lives in the arena, the name is borrowed. */
enum err_code stack_patch_parse(const char *name, const char *diff, struct arena *arena,
	struct stack_patch *ret_patch, struct err *reterr) MUST_CHECK;

/* True when they do not go together; the reason names the file, and of each the hunk and the lines of the
 * unpatched file that it changes: all of the first file that conflicts. */
bool stack_conflict(const struct stack_patch *a, const struct stack_patch *b, struct strbuf *reason);

/* True when `whole` makes every change of `part`, hunk for hunk, whatever it makes beside them. */
bool stack_contains(const struct stack_patch *whole, const struct stack_patch *part);

/* The new text of one file. `files` holds what the patches of the stack do to it; they do not conflict.
 * *ret_exists false: it is deleted. ERR_INPUT when they were not made for this text, as far as its length
 * tells. */
enum err_code stack_merge_file(const struct stack_file *const *files, size_t n_files, const char *old,
	size_t length, struct strbuf *ret_text, bool *ret_exists, struct err *reterr) MUST_CHECK;

/* The tree with all of them applied; ERR_INPUT with the reason when two conflict. */
enum err_code stack_tree(const struct scratch *s, const char *tree, const struct stack_patch *patches,
	size_t n_patches, char ret_tree[TREE_ID_SIZE], struct err *reterr) MUST_CHECK;

#endif

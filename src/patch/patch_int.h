/* Between patch.c and pool.c: one patch read over a scratch index that is already open. */
#ifndef INFRARSI_PATCH_PATCH_INT_H
#define INFRARSI_PATCH_PATCH_INT_H

#include "patch/patch.h"
#include "patch/scratch.h"

/* patch_parse() with the tree that the patch leads to. */
enum err_code patch_read(const struct task *task, const struct scratch *scratch, const char *name,
	const char *text, size_t length, struct arena *arena, struct patch *ret_patch,
	char ret_tree[TREE_ID_SIZE], struct err *reterr) MUST_CHECK;

#endif

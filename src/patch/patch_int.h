/* Between patch.c and pool.c: patches read over a scratch index that is already open. */
#ifndef INFRARSI_PATCH_PATCH_INT_H
#define INFRARSI_PATCH_PATCH_INT_H

#include "patch/branch.h"
#include "patch/diff.h"
#include "patch/edits.h"
#include "patch/patch.h"
#include "patch/scratch.h"

/* A text that is well-formed; nothing of it has been looked at in the tree. */
struct patch_draft {
	const char *name;
	enum patch_format format;
	struct diff diff;
	struct edit_list edits;
	struct patch_header header;
};
enum err_code patch_draft_parse(const struct patch_text *text, struct arena *arena,
	struct patch_draft *ret_draft, struct err *reterr) MUST_CHECK;

/* Where patches are made. */
struct patch_site {
	const struct task *task;
	const struct scratch *scratch;
	const char
		*parent; /* tree that the patch is written for: the snapshot, or that with its base stack */
};
/* The patch, and the tree that it leads to. The arena holds also what is needed only on the way: patch_copy()
 * what stays. */
enum err_code patch_from_draft(const struct patch_site *site, const struct patch_draft *draft,
	struct arena *arena, struct patch *ret_patch, char ret_tree[TREE_ID_SIZE],
	struct err *reterr) MUST_CHECK;
enum err_code patch_from_branch(const struct patch_site *site, const struct branch *branch,
	struct arena *arena, struct patch *ret_patch, char ret_tree[TREE_ID_SIZE],
	struct err *reterr) MUST_CHECK;
void patch_copy(const struct patch *from, struct arena *arena, struct patch *ret_patch);

#endif

/*
 * Git branches as patches: what a branch changed since it left the history of the task's commit, merged three
 * ways into the tree that is to be patched. Everything that it changed has to be a text file that patches may
 * touch; anything else refuses the branch by that file's name.
 */
#ifndef INFRARSI_PATCH_BRANCH_H
#define INFRARSI_PATCH_BRANCH_H

#include "base/base.h"
#include "patch/change.h"
#include "patch/header.h"

struct branch {
	const char *name;
	char tip[TREE_ID_SIZE];     /* its commit */
	char base[TREE_ID_SIZE];    /* the merge base with the task's commit */
	struct patch_header header; /* the tip's subject as title, and its trailers */
};

/* A local branch, or a remote-tracking one by `remote/name`. ERR_INPUT when there is none, or it has no
 * history in common with `commit`. Strings live in `arena`. */
enum err_code branch_find(const struct scratch *s, const char *commit, const char *name, struct arena *arena,
	struct branch *ret_branch, struct err *reterr) MUST_CHECK;
/* True when `later` contains the tip of `earlier`. */
enum err_code branch_contains(const struct scratch *s, const struct branch *later,
	const struct branch *earlier, bool *ret_contains, struct err *reterr) MUST_CHECK;

/* Fills the change. ERR_INPUT where the branch touches what no patch may, or does not merge. */
enum err_code branch_read(const struct branch *branch, struct change *change, struct err *reterr) MUST_CHECK;

#endif

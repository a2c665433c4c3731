/* Which files a patch may touch: a question of names (the contract), and of what stands in the tree there. */
#ifndef INFRARSI_PATCH_GUARD_H
#define INFRARSI_PATCH_GUARD_H

#include "base/base.h"
#include "patch/scratch.h"

struct contract;

/* NULL, or why no patch may touch this path: it has a name that not everybody reads alike (blanks at its
 * ends, control characters), leaves the task's folder, belongs to git or the harness, is frozen, or is not
 * editable. */
const char *guard_path(const struct contract *contract, const char *path);
/* NULL, or why what stands there cannot be patched. */
const char *guard_kind(enum scratch_kind kind);

#endif

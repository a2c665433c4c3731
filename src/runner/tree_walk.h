/* Modes and times of a whole tree. Symbolic links are never followed. */
#ifndef INFRARSI_RUNNER_TREE_WALK_H
#define INFRARSI_RUNNER_TREE_WALK_H

#include "base/base.h"

/* Gives the owner write permission on every file and folder, or takes it from everybody. */
enum err_code tree_set_writable(const char *root, bool writable, struct err *reterr) MUST_CHECK;
/* Modification times of `from` onto the same paths below `to`, a copy of it: make must not take a product for
 * older than its source because it was copied first. */
enum err_code tree_copy_times(const char *from, const char *to, struct err *reterr) MUST_CHECK;

#endif

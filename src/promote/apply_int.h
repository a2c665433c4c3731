/* Shared by the files of apply: what is to be written (apply.c), as commits (apply_branch.c), in the tree
 * (apply_tree.c). */
#ifndef INFRARSI_PROMOTE_APPLY_INT_H
#define INFRARSI_PROMOTE_APPLY_INT_H

#include "promote/apply.h"
#include "runner/repository.h"

#define LAUNCH_FILE "run-fast.sh"

struct change { /* one patch of the winner */
	const char *name, *title, *mechanism;
	const char *diff_path; /* absolute */
};

struct application { /* everything in the result's arena */
	const struct state *s;
	const char *dir; /* of .infrarsi */
	struct repository repo;
	const struct change *changes;
	size_t n_changes;
	const char *script;  /* content of the launch file */
	const char *summary; /* "3.34x (95% interval 3.29 to 3.39)" */
};

enum err_code apply_to_branch(const struct application *a, const char *branch, struct apply_result *result,
	struct err *reterr) MUST_CHECK;
/* ERR_STATE when the working tree holds an application that was not undone. */
enum err_code apply_check_not_applied(const char *dir, struct err *reterr) MUST_CHECK;
enum err_code apply_to_tree(
	const struct application *a, struct apply_result *result, struct err *reterr) MUST_CHECK;

#endif

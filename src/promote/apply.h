/*
 * `apply`: writes the delivered winner back. Patches go into the source, settings into a launch script
 * (`run-fast.sh`: exports, build, command), either in the working tree or as commits on a new branch (one per
 * change), which leaves the working tree alone. Refuses when any file changed since the search. Every
 * application can be undone.
 */
#ifndef INFRARSI_PROMOTE_APPLY_H
#define INFRARSI_PROMOTE_APPLY_H

#include "base/base.h"
#include "base/memory.h"
#include "state/state.h"

struct apply_options {
	const char *dir;    /* absolute path of .infrarsi */
	const char *branch; /* NULL = working tree */
	int trial;          /* 0 = the delivered one; another valid trial only with `force` */
	bool force;
};

struct apply_result {
	struct arena arena;
	const char *branch;
	int n_patches, n_commits;
	const char **files; /* written or changed, relative to the task's folder */
	size_t n_files;
	const char *undo; /* the command that undoes it */
};

enum err_code apply_run(const struct state *s, const struct apply_options *options,
	struct apply_result *ret_result, struct err *reterr) MUST_CHECK;
/* Undoes the last application to the working tree; refuses when the files were edited since. */
enum err_code apply_undo(const struct state *s, const char *dir, struct apply_result *ret_result,
	struct err *reterr) MUST_CHECK;
void apply_result_release(struct apply_result *r);

#endif

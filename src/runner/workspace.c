/* Trials: a fresh writable copy of a build for each execution. Files are copied (or cloned where the file
 * system can), never hard-linked: what a trial writes must not reach the build. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "runner/tree_walk.h"
#include "runner/workspace.h"

static enum err_code check_name(const char *name, struct err *reterr)
{
	if (path_is_contained(name) && !strchr(name, '/'))
		return OK;
	return err_set(reterr, ERR_INPUT, "'%s' is not a folder name for a trial", name);
}

static enum err_code copy_build(const char *tree, const char *folder, struct err *reterr)
{
	TRY(copy_tree(tree, folder, reterr));
	TRY(tree_set_writable(folder, true, reterr));
	return tree_copy_times(tree, folder, reterr);
}

enum err_code workspace_trial(const struct build_result *build, const char *work_dir, const char *name,
	char ret_dir[4096], struct err *reterr)
{
	TRY(check_name(name, reterr));
	if (!build->ok)
		return err_set(reterr, ERR_STATE, "the build failed: see %s", build->log);
	CLEANUP(free_ptr) char *trials = xasprintf("%s/trials", work_dir);
	CLEANUP(free_ptr) char *folder = xasprintf("%s/%s", trials, name);
	/* The log lies beside the tree: builds/<key>/build.log, builds/<key>/tree/<prefix>. */
	const char *slash = strrchr(build->log, '/');
	CLEANUP(free_ptr)
	char *tree = xasprintf("%.*s/tree", slash ? (int)(slash - build->log) : 0, build->log);
	if (strncmp(build->dir, tree, strlen(tree)) != 0)
		return err_set(reterr, ERR_STATE, "%s is not a folder of a build", build->dir);
	const char *prefix = build->dir + strlen(tree);
	if (strlen(folder) + strlen(prefix) >= 4096)
		return err_set(reterr, ERR_LIMIT, "the path %s is too long", folder);
	if (path_exists(folder))
		return err_set(reterr, ERR_STATE, "%s exists already", folder);
	TRY(make_dirs(trials, 0755, reterr));
	enum err_code code = copy_build(tree, folder, reterr);
	if (code != OK) {
		(void)!remove_tree(folder, NULL);
		return code;
	}
	snprintf(ret_dir, 4096, "%s%s", folder, prefix);
	return OK;
}

enum err_code workspace_trial_remove(const char *work_dir, const char *name, struct err *reterr)
{
	TRY(check_name(name, reterr));
	CLEANUP(free_ptr) char *folder = xasprintf("%s/trials/%s", work_dir, name);
	return remove_tree(folder, reterr);
}

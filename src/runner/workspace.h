/*
 * Workspaces: where the reference snapshot, builds and trials live.
 *
 *   .infrarsi/work/builds/<key>/tree/      a built tree, read-only once built; <key> = SHA-256 over snapshot
 *                                          tree, patch digests, resolved build command and environment,
 *                                          sandbox mode, toolchain version
 *   .infrarsi/work/builds/<key>/build.log  and outcome.json, which says that the build is complete
 *   .infrarsi/work/trials/<name>/          a fresh writable copy of a build for one execution
 *
 * The snapshot is a commit object of the user's working tree, uncommitted and untracked (not ignored) files
 * included, made with a temporary index: the user's index, branches and files are not touched. It is kept
 * alive by the ref refs/infrarsi/<campaign>. Untracked ignored inputs that the contract's frozen_files name
 * are linked in read-only.
 */
#ifndef INFRARSI_RUNNER_WORKSPACE_H
#define INFRARSI_RUNNER_WORKSPACE_H

#include "base/base.h"
#include "runner/runner.h"

struct snapshot {
	char commit[65], tree[65];
	char prefix[1024];   /* the task's folder inside the repository ("" = its root) */
	size_t n_submodules; /* submodules and nested repositories: their folders are empty in every build */
};
/* root: the task's folder, inside a git repository. ERR_INPUT with the next step when it is not in one.
 * campaign NULL: nothing keeps the snapshot alive; it is there to be compared with. */
enum err_code snapshot_take(
	const char *root, const char *campaign, struct snapshot *ret_snapshot, struct err *reterr) MUST_CHECK;
/* The snapshot that a campaign already has; ERR_NOT_FOUND when none. */
enum err_code snapshot_load(
	const char *root, const char *campaign, struct snapshot *ret_snapshot, struct err *reterr) MUST_CHECK;

struct build_request {
	const char *root; /* the task's folder */
	const struct snapshot *snapshot;
	const char *work_dir;          /* <root>/.infrarsi/work */
	const char *const *diff_paths; /* stack of canonical diffs, applied in this order; NULL-terminated */
	const char *const *diff_digests;
	const char *const *argv; /* build command or NULL */
	const char *const *env;  /* complete environment */
	const char *build_key;   /* resolved_build_key() */
	double timeout_s;
	const char *cpus; /* as in struct run_request; no part of the cache's key */
	enum sandbox_mode sandbox;
	const char *const *link_in;               /* ignored inputs, relative to root; NULL-terminated */
	const char *const *hidden, *const *shown; /* as in struct run_request */
	const char *
		hook_dir; /* of the harness: a hook that patches or the build put before it fails the build */
};
struct build_result {
	char dir[4096]; /* the built tree's task folder, read-only */
	char log[4096];
	bool cached, ok;   /* ok false: the build command failed: an outcome, with the log */
	bool patch_failed; /* ok false because a diff of the stack does not apply */
	bool host_fault;   /* ok false, and the log says that the machine failed: not cached */
	char fault[300];   /* that line */
	int status;
	double seconds;
};
/*
 * Concurrent and interrupted builds of one key are safe: a build holds a lock on its key, and counts only
 * once its outcome.json has been renamed into place; what an interrupted one left is removed first. The tree
 * is built where it stays (not aside and renamed), because absolute paths of the build folder end up in what
 * is built: run paths, CMake caches, editable Python installs. A failed build is cached with its log like a
 * good one; one that ran into its time-out, or met a fault of the machine (host_fault.h), is not.
 * ERR_INTERRUPTED when progress said stop.
 */
enum err_code workspace_build(struct runner *runner, const struct build_request *request,
	run_progress_fn progress, void *context, struct build_result *ret_result,
	struct err *reterr) MUST_CHECK;
/* A fresh writable copy of a build; the folder must not exist. */
enum err_code workspace_trial(const struct build_result *build, const char *work_dir, const char *name,
	char ret_dir[4096], struct err *reterr) MUST_CHECK;
/* Removes what workspace_trial() made under this name, all of it; absent is fine. */
enum err_code workspace_trial_remove(const char *work_dir, const char *name, struct err *reterr) MUST_CHECK;
/* First lines of `cc --version`, `make --version`, ...: the toolchain part of the key. */
void toolchain_text(struct strbuf *text);

#endif

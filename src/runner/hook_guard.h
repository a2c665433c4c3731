/*
 * Files that would be taken for the harness's hook. Which header a job's compiler finds first, and which
 * module its interpreter, is decided by the job's own build and folder, so a file of the hook's name in it
 * stands before ours. One that the user's own tree has is the user's affair (README: "copy the header into
 * your repository"); one that a patch or the build of a candidate made or changed is not let through.
 *
 *     struct hook_files before, after;
 *     hook_files_collect(tree, &before);
 *     ... patches, build ...
 *     hook_files_collect(tree, &after);
 *     path = hook_files_foreign(&before, &after, hook_dir);
 *
 * Names: infrarsi_hook with any extension, and the modules that Python runs before a job's first line
 * (sitecustomize, usercustomize), each also as a package.
 */
#ifndef INFRARSI_RUNNER_HOOK_GUARD_H
#define INFRARSI_RUNNER_HOOK_GUARD_H

#include "base/base.h"
#include "base/hash.h"
#include "base/memory.h"

struct hook_file {
	const char *path;             /* relative to the root that was searched */
	char digest[SHA256_HEX_SIZE]; /* "" = not a readable file */
};
struct hook_files {
	struct arena arena;
	struct hook_file *files; /* malloc */
	size_t count, capacity;
};

bool is_hook_path(const char *path);
/* Folders that cannot be listed are passed over; .git is not looked into. */
void hook_files_collect(const char *root, struct hook_files *ret_files);
void hook_files_release(struct hook_files *files);
/* The first file of `after` that `before` does not have with the same content and that is not the harness's
 * own, byte for byte; NULL = none. hook_dir NULL: there is no harness's own. */
const char *hook_files_foreign(
	const struct hook_files *before, const struct hook_files *after, const char *hook_dir);
/* SHA-256 over the names and contents of the hooks in hook_dir, in order of their names. */
enum err_code hook_dir_digest(
	const char *hook_dir, char ret_digest[SHA256_HEX_SIZE], struct err *reterr) MUST_CHECK;

#endif

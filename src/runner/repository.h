/*
 * The user's git repository, looked at from outside its own configuration: GIT_* variables of the caller are
 * dropped (the harness may run inside a hook), and with them any other index, folder or identity.
 */
#ifndef INFRARSI_RUNNER_REPOSITORY_H
#define INFRARSI_RUNNER_REPOSITORY_H

#include "base/base.h"
#include "base/memory.h"

struct strbuf;

struct repository {
	struct arena arena;
	const char *top;    /* of the working tree, absolute */
	const char *prefix; /* the folder it was opened at, below top, without a final slash; "" = top */
};

/* ERR_INPUT with the next step when `dir` is in no working tree. */
enum err_code repository_open(const char *dir, struct repository *ret_repo, struct err *reterr) MUST_CHECK;
void repository_release(struct repository *repo);
/* Runs git at the top of the working tree. index: path of the index to use, NULL = the user's. words:
 * NULL-terminated, from the verb on. ret_output may be NULL; a final newline is cut. */
enum err_code repository_git(const struct repository *repo, const char *index, const char *const *words,
	struct strbuf *ret_output, struct err *reterr) MUST_CHECK;
#define GIT_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* The same in any folder, which is taken for no repository at all (git apply on plain files). */
enum err_code git_outside_repository(
	const char *dir, const char *const *words, struct strbuf *ret_output, struct err *reterr) MUST_CHECK;
/* A new private folder for temporary files; remove_tree() it. */
enum err_code make_temporary_dir(char ret_path[4096], struct err *reterr) MUST_CHECK;

#endif

/* A repository made for a test program, with the task in its subfolder `job`. */
#ifndef INFRARSI_TESTS_PATCH_FIXTURE_H
#define INFRARSI_TESTS_PATCH_FIXTURE_H

#include "base/base.h"
#include "spec/task.h"

struct fixture {
	char repo[64], root[96], commit[65];
	struct task task;
};

void must(enum err_code code, const struct err *e);
/* An empty repository with an identity. */
void fixture_begin(struct fixture *f);
/* A file by its path in the repository. */
void fixture_put(const struct fixture *f, const char *path, const char *text);
/* Commits everything, on the branch that is checked out; fills `commit`. */
void fixture_commit(struct fixture *f, const char *message);
/* git in the repository; the words end with NULL. */
void fixture_git(const struct fixture *f, const char *first, ...);
int fixture_end(struct fixture *f);

#endif

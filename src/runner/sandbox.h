/*
 * The bubblewrap command line that stands before a job: everything read-only, writable only the job's folder
 * and its event FIFO, a private /tmp and /dev/shm, no network unless asked for, a PID namespace of its own.
 */
#ifndef INFRARSI_RUNNER_SANDBOX_H
#define INFRARSI_RUNNER_SANDBOX_H

#include "base/base.h"
#include "base/memory.h"
#include "runner/runner.h"

struct sandbox {
	bool probed, works;
	bool user_namespace; /* works only with --unshare-user: root without CAP_SYS_ADMIN, in a container */
	char bwrap[4096];
	char reason[512]; /* why it does not work */
};

/* Tries bwrap once with all that a job needs. Not finding a usable one is not an error. */
void sandbox_probe(struct sandbox *sandbox);
/* NULL-terminated, ending with "--"; lives in `arena`. Paths that do not exist are left out. */
enum err_code sandbox_argv(const struct sandbox *sandbox, const struct run_request *request,
	struct arena *arena, const char ***ret_argv, struct err *reterr) MUST_CHECK;

#endif

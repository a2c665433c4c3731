/*
 * Starts the job's first process under the supervisor, in one of three ways, and reports what became of it.
 *
 *   JOB_SANDBOX    supervisor -> bwrap -> init (PID 1 of bwrap's namespace, this binary) -> job
 *   JOB_NAMESPACE  supervisor -> init (PID 1 of a new PID namespace with its own /proc) -> job
 *   JOB_SUBREAPER  supervisor -> job; orphans come back to the supervisor
 *
 * Reports are packets on a socket pair. The init treats the closing of its end's peer as the supervisor's
 * death and dies, and the kernel then kills everything in its namespace.
 */
#ifndef INFRARSI_RUNNER_JOB_START_H
#define INFRARSI_RUNNER_JOB_START_H

#include <sys/types.h>

#include "base/base.h"
#include "runner/run_spec.h"

enum job_mode { JOB_SUBREAPER, JOB_NAMESPACE, JOB_SANDBOX };

enum job_report_kind {
	JOB_SETUP_FAILED, /* value = errno; no instruction of the job ran */
	JOB_STARTED,      /* about to execute the job's program */
	JOB_EXEC_FAILED,  /* value = errno; an exit with 126 or 127 follows, as from a shell */
	JOB_EXITED,       /* value = wait status of the job's first process */
};
struct job_report {
	int32_t kind, value;
	double stamp_s; /* CLOCK_MONOTONIC */
};

struct job {
	enum job_mode mode;
	pid_t child;           /* the supervisor's own child: bwrap, the init or the job */
	int report_fd, log_fd; /* non-blocking; log_fd carries stdout and stderr */
};

/* Processes down to this depth below the supervisor are ours, not the job's. */
int job_plumbing_depth(enum job_mode mode);
/* spec_fd: the encoded spec, for the init inside a sandbox. ERR_STATE when JOB_NAMESPACE is not allowed here.
 */
enum err_code job_start(const struct run_spec *spec, int spec_fd, enum job_mode mode, struct job *ret_job,
	struct err *reterr) MUST_CHECK;
void job_close(struct job *job);
/* The main function of the init inside a sandbox. */
NORETURN void job_init_main(void);

#endif

/*
 * Runs jobs. A runner is an ops table: the process runner here; Slurm and the simulator follow the same
 * table. It never decides anything: request in, outcome out. A job that crashes is an outcome, not an error;
 * an error means that the harness itself could not do its work (disk full, no workspace, ...), i.e. the trial
 * is transient.
 *
 * Process runner: a supervising process per execution (this binary as `infrarsi __supervise FILE`) owns the
 * job. States NEW, SPAWNED, RUNNING, STOPPING, KILLED, REAPED. When the harness dies (its end of the control
 * pipe closes) the supervisor kills the job; when the supervisor dies, the kernel kills the job's PID
 * namespace or, where there is none, the job's first process (PDEATHSIG).
 */
#ifndef INFRARSI_RUNNER_RUNNER_H
#define INFRARSI_RUNNER_RUNNER_H

#include "base/base.h"
#include "base/memory.h"

struct strbuf;

enum sandbox_mode { SANDBOX_AUTO, SANDBOX_REQUIRED, SANDBOX_OFF };

struct run_limits {
	double wall_s;          /* whole execution */
	double startup_s;       /* before the first update event */
	double stall_s;         /* between update events once warm; 0 = no limit */
	int stall_after_update; /* the stall limit counts from this update on (after warm-up) */
	double memory_bytes;    /* host memory of the whole tree; 0 = no limit */
	double log_cap_bytes;   /* 0 = 64 MiB: first and last halves kept, a marker line between */
	double grace_s;         /* between TERM and KILL; 0 = 5 */
	int expected_updates;
};

struct run_request {
	const char *dir;         /* absolute, fresh, writable: the job's working directory */
	const char *const *argv; /* NULL-terminated */
	const char *const *env;  /* complete environment, NULL-terminated "NAME=value" */
	const char *control_dir; /* absolute, existing: event FIFO, journal and outcome go here, outside
				    `dir` */
	const char *log_path;    /* absolute */
	const char *
		log_format; /* the job has no hook: what it prints is read as events in this format
			       (adapter/log_events.h), and nothing else is taken for one; NULL = it has one */
	const char *cpus;   /* the processors that it begins on (cpu_list.h); NULL = those of the harness */
	bool network;
	enum sandbox_mode sandbox;
	const char *const
		*read_only; /* paths below `dir` to mount read-only (frozen files), NULL-terminated */
	const char *const
		*hidden; /* absolute paths to hide from the job (main .git, key folder), NULL-terminated */
	const char *const *shown; /* absolute paths inside hidden ones that it may read, NULL-terminated */
	struct run_limits limits;
};

enum run_end {
	RUN_EXITED,
	RUN_SIGNALLED,
	RUN_TIMEOUT,
	RUN_STALLED,
	RUN_STARTUP_TIMEOUT,
	RUN_MEMORY_LIMIT,
	RUN_STOPPED,
	RUN_DISK_FULL, /* the file system of the job's folder ran out of space while it ran */
	N_RUN_ENDS
};
extern const char *const run_end_names[N_RUN_ENDS];

struct run_line {         /* an event line and when it arrived */
	double arrived_s; /* CLOCK_MONOTONIC */
	const char *text;
	size_t length;
};

struct run_outcome {
	struct arena arena;
	enum run_end end;
	int exit_status;       /* -1 = none */
	int exit_signal;       /* 0 = none */
	double spawn_s, end_s; /* CLOCK_MONOTONIC */
	struct run_line *lines;
	size_t n_lines;
	double peak_tree_bytes;                    /* cgroup where possible, else sum of RSS; 0 = unknown */
	double supervisor_cpu_s, launch_latency_s; /* what the harness cost (bench/overhead) */
	bool sandboxed, pid_namespace;
	double log_dropped_bytes;
	double event_lines_dropped; /* beyond the cap on all event lines together */
	/* RUN_DISK_FULL: how much free space went while the job ran, and how much came back with its end. */
	double disk_lost_bytes, disk_regained_bytes;
};
void run_outcome_release(struct run_outcome *o);

/* Called for every event line as it arrives, and about once a second with line NULL; returning false stops
 * the job (RUN_STOPPED). Must not block. */
typedef bool (*run_progress_fn)(void *context, const struct run_line *line);

struct runner {
	const struct runner_ops *ops;
	void *state;
};
struct runner_ops {
	const char *name;
	int version;
	enum err_code (*run)(void *state, const struct run_request *request, run_progress_fn progress,
		void *context, struct run_outcome *ret_outcome, struct err *reterr);
	void (*release)(void *state);
	/* Why a job run in this mode has no sandbox, and so no /tmp of its own; NULL = it has one. */
	const char *(*sandbox_fault)(void *state, enum sandbox_mode mode);
	bool concurrent; /* run() may be under way in several threads */
};
enum err_code runner_run(struct runner *r, const struct run_request *request, run_progress_fn progress,
	void *context, struct run_outcome *ret_outcome, struct err *reterr) MUST_CHECK;
/* The same; "" for runners that start no process here. */
const char *runner_sandbox_fault(struct runner *r, enum sandbox_mode mode);
void runner_release(struct runner *r);

/* self_path: this binary, for the supervisor. stop_fd: readable when the user pressed Ctrl-C (-1 = none): the
 * job is stopped orderly and the outcome is RUN_STOPPED. */
enum err_code process_runner_init(
	struct runner *ret_runner, const char *self_path, int stop_fd, struct err *reterr) MUST_CHECK;
/* The supervisor's main function (`infrarsi __supervise SPEC`); returns the exit code. */
int supervisor_main(const char *spec_path);

#endif

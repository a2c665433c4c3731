/* How a job was ended from outside, and what launchers, shells and schedulers report of its processes. */
#include "base/base.h"

#include <signal.h>

#include "adapter/signatures_int.h"

static const struct signature rows[] = {
	/* Slurm: "*** JOB 1 ON n CANCELLED AT ... DUE TO TIME LIMIT ***" */
	{"cancelled at*due to time limit", FAILURE_TIMEOUT, STRENGTH_CAUSE, SIG_FINAL, "time_limit", ACT_NONE,
		0, 0},
	{"cancelled at*due to node fail", FAILURE_KILLED, STRENGTH_CAUSE, SIG_FINAL, "node_fail", ACT_NONE, 0,
		0},
	{"cancelled at*due to preemption", FAILURE_KILLED, STRENGTH_CAUSE, SIG_FINAL, "preempted", ACT_NONE,
		SIGTERM, 0},
	{"cancelled at*due to job requeue", FAILURE_KILLED, STRENGTH_CAUSE, SIG_FINAL, "preempted", ACT_NONE,
		SIGTERM, 0},
	{"cancelled at", FAILURE_KILLED, STRENGTH_CAUSE, SIG_ERROR_ONLY | SIG_FINAL, NULL, ACT_NONE, SIGTERM,
		0},
	{"srun: error: node failure on", FAILURE_KILLED, STRENGTH_CAUSE, SIG_FINAL, "node_fail", ACT_NONE, 0,
		0},
	/* Lightning: trainer/connectors/signal_connector.py; the scheduler's SIGUSR1 before the limit */
	{"handling auto-requeue signal", FAILURE_KILLED, STRENGTH_CAUSE, SIG_ANY_LEVEL | SIG_FINAL,
		"preempted", ACT_NONE, SIGUSR1, 0},
	{"srun: error: ", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL, ACT_SRUN, 0, 0},
	{"srun: job step aborted", FAILURE_CRASH, STRENGTH_WEAK, 0, NULL, ACT_NONE, 0, 0},
	/* LSF, PBS, coreutils' timeout -v */
	{"term_runlimit", FAILURE_TIMEOUT, STRENGTH_CAUSE, 0, "time_limit", ACT_NONE, 0, 0},
	{"term_owner: job killed", FAILURE_KILLED, STRENGTH_CAUSE, 0, NULL, ACT_NONE, SIGKILL, 0},
	{"term_preempt", FAILURE_KILLED, STRENGTH_CAUSE, 0, "preempted", ACT_NONE, 0, 0},
	{"pbs: job killed: walltime", FAILURE_TIMEOUT, STRENGTH_CAUSE, 0, "time_limit", ACT_NONE, 0, 0},
	{"timeout: sending signal", FAILURE_TIMEOUT, STRENGTH_CAUSE, 0, "time_limit", ACT_NONE, 0, 0},
	/* Megatron: checkpoint_and_decide_exit(); Lightning: callbacks/timer.py */
	{"[exiting program after*minutes", FAILURE_TIMEOUT, STRENGTH_CAUSE, SIG_CLEAN | SIG_ANY_LEVEL,
		"exit_duration", ACT_NONE, 0, 1u << LOG_SHORT_RUN},
	{"exiting program after receiving sigterm", FAILURE_KILLED, STRENGTH_CAUSE, SIG_CLEAN | SIG_ANY_LEVEL,
		NULL, ACT_NONE, SIGTERM, 0},
	{"time limit reached. elapsed time is", FAILURE_TIMEOUT, STRENGTH_CAUSE, SIG_CLEAN | SIG_ANY_LEVEL,
		"exit_duration", ACT_NONE, 0, 1u << LOG_SHORT_RUN},

	/* torch elastic: agent/server/api.py, multiprocessing/api.py, multiprocessing/errors/__init__.py */
	{"received signals.sigterm death signal", FAILURE_KILLED, STRENGTH_CAUSE, SIG_ANY_LEVEL, NULL,
		ACT_NONE, SIGTERM, 0},
	{"received signals.sigint death signal", FAILURE_KILLED, STRENGTH_CAUSE, SIG_ANY_LEVEL, NULL,
		ACT_NONE, SIGINT, 0},
	{"received signals.sighup death signal", FAILURE_KILLED, STRENGTH_CAUSE, SIG_ANY_LEVEL, NULL,
		ACT_NONE, SIGHUP, 0},
	{"received 15 death signal", FAILURE_KILLED, STRENGTH_CAUSE, SIG_ANY_LEVEL, NULL, ACT_NONE, SIGTERM,
		0},
	{"received 2 death signal", FAILURE_KILLED, STRENGTH_CAUSE, SIG_ANY_LEVEL, NULL, ACT_NONE, SIGINT, 0},
	{"signalexception: process*got signal: 15", FAILURE_KILLED, STRENGTH_LAUNCHER, 0, NULL, ACT_NONE,
		SIGTERM, 0},
	{"signalexception: process*got signal: 2", FAILURE_KILLED, STRENGTH_LAUNCHER, 0, NULL, ACT_NONE,
		SIGINT, 0},
	{"signalexception: process*got signal: 1", FAILURE_KILLED, STRENGTH_LAUNCHER, SIG_END, NULL, ACT_NONE,
		SIGHUP, 0},
	{"received sigterm: 15", FAILURE_KILLED, STRENGTH_LAUNCHER, SIG_ANY_LEVEL, NULL, ACT_NONE, SIGTERM,
		0}, /* Lightning */
	{"failed (exitcode:", FAILURE_CRASH, STRENGTH_LAUNCHER, SIG_ANY_LEVEL, NULL, ACT_ELASTIC_EXIT, 0, 0},
	{"childfailederror", FAILURE_CRASH, STRENGTH_WEAK, 0, NULL, ACT_NONE, 0, 0},
	{"root cause (first observed failure)", FAILURE_NONE, STRENGTH_NOTHING, 0, NULL, ACT_ELASTIC_BLOCK, 0,
		0},
	{"root cause:", FAILURE_NONE, STRENGTH_NOTHING, SIG_START, NULL, ACT_ELASTIC_BLOCK, 0, 0},
	/* DeepSpeed: launcher/launch.py */
	{"exits with return code = ", FAILURE_CRASH, STRENGTH_LAUNCHER, SIG_ANY_LEVEL, NULL, ACT_RETURN_CODE,
		0, 0},
	/* torch.multiprocessing.spawn */
	{"terminated with signal sig", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL, ACT_SPAWN, 0, 0},
	{"terminated with exit code ", FAILURE_CRASH, STRENGTH_LAUNCHER, SIG_RAISED, NULL, ACT_SPAWN, 0, 0},
	/* accelerate launch, torch.distributed.launch: CalledProcessError of the training script */
	{"died with <signals.sig", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL, ACT_SPAWN, 0, 0},
	/* Open MPI, MPICH, Intel MPI, Cray PALS */
	{"noticed that process rank", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL, ACT_MPI_SIGNAL, 0, 0},
	{"bad termination of one of your application", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL,
		ACT_MPI_BLOCK, 0, 0},
	{"application terminated with the exit string:", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL,
		ACT_MPI_SIGNAL, 0, 0},
	{"detected that one or more processes exited with non-zero", FAILURE_CRASH, STRENGTH_LAUNCHER, 0,
		NULL, ACT_MPI_BLOCK, 0, 0},
	{"primary job*terminated normally, but", FAILURE_CRASH, STRENGTH_WEAK, 0, NULL, ACT_NONE, 0, 0},
	{"mpi_abort was invoked on rank", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL, ACT_MPI_BLOCK, 0, 0},
	{"application called mpi_abort(", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL, ACT_MPI_SIGNAL, 0, 0},
	/* Horovod, Ray */
	{"exit with status code ", FAILURE_CRASH, STRENGTH_LAUNCHER, SIG_PROSE, NULL, ACT_RETURN_CODE, 0, 0},
	{"worker died or was killed while executing a task", FAILURE_CRASH, STRENGTH_LAUNCHER, SIG_ANY_LEVEL,
		NULL, ACT_NONE, 0, 0},
	{"actor died unexpectedly before finishing", FAILURE_CRASH, STRENGTH_LAUNCHER, 0, NULL, ACT_NONE, 0,
		0},
	{"command terminated with exit code 137", FAILURE_KILLED, STRENGTH_LAUNCHER, 0, NULL, ACT_NONE,
		SIGKILL, 0},

	/* shells */
	{"killed", FAILURE_KILLED, STRENGTH_LAUNCHER, SIG_WORD, NULL, ACT_SHELL_KILLED, SIGKILL, 0},
	{"terminated", FAILURE_KILLED, STRENGTH_LAUNCHER, SIG_WORD, NULL, ACT_SHELL_KILLED, SIGTERM, 0},
	{"hangup", FAILURE_KILLED, STRENGTH_LAUNCHER, SIG_WORD, NULL, ACT_SHELL_KILLED, SIGHUP, 0},
	{"echo $?", FAILURE_NONE, STRENGTH_NOTHING, 0, NULL, ACT_SHELL_STATUS, 0, 0},
	{"keyboardinterrupt", FAILURE_KILLED, STRENGTH_CAUSE, SIG_RAISED, NULL, ACT_NONE, SIGINT, 0},
};

const struct signature_table signatures_launcher = {rows, ARRAY_LEN(rows)};

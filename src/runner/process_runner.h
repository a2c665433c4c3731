/* Inside of the process runner, for its own files and tests. */
#ifndef INFRARSI_RUNNER_PROCESS_RUNNER_H
#define INFRARSI_RUNNER_PROCESS_RUNNER_H

#include <pthread.h>

#include "base/base.h"
#include "runner/sandbox.h"

struct process_runner { /* runner.state */
	char self_path[4096];
	int stop_fd;
	bool force_subreaper; /* as in struct run_spec */
	struct sandbox sandbox;
	pthread_mutex_t lock; /* of the two below; what is above is settled before a second run begins */
	int n_running, was_subreaper;
};

#endif

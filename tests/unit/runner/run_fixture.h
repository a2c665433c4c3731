/* A folder, an environment and a runner for tests that run real processes through fakejob. */
#ifndef INFRARSI_TEST_RUN_FIXTURE_H
#define INFRARSI_TEST_RUN_FIXTURE_H

#include "base/base.h"
#include "base/strbuf.h"
#include "runner/process_runner.h"
#include "runner/runner.h"

struct run_fixture {
	char root[256], dir[512], control[512], log[512];
	char marker[64];      /* NAME=value that is in the environment of the job and of nothing else */
	char event_path[600]; /* INFRARSI_EVENT_PATH=... */
	const char *env[4];
	struct runner runner;
	struct run_request request;
	struct run_outcome outcome;
	struct err error;
};

void fixture_set_up(struct run_fixture *f);
void fixture_tear_down(struct run_fixture *f); /* also asserts that nothing of the job is left */
/* Steps of fakejob, separated by spaces. */
enum err_code fixture_run(struct run_fixture *f, const char *steps);
enum err_code fixture_run_with(
	struct run_fixture *f, const char *steps, run_progress_fn progress, void *context);
/* Processes, zombies not counted, with the marker in their environment. */
size_t fixture_survivors(const struct run_fixture *f);
void fixture_read_log(const struct run_fixture *f, struct strbuf *text);
bool fixture_log_has(const struct run_fixture *f, const char *text);
bool fixture_sandbox_works(struct run_fixture *f);
/* True when the program was started as a supervisor: then *ret_status is its exit code. */
bool fixture_is_supervisor(int argc, char **argv, int *ret_status);

#endif

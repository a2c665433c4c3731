#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "overhead.h"
#include "runner/runner.h"

static double own_cpu_s(void)
{
	struct rusage own;
	getrusage(RUSAGE_SELF, &own);
	return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
	       1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
}

static enum err_code run_once(const struct shape *shape, struct runner *runner, int repeat,
	struct runner_cost *cost, struct err *reterr)
{
	CLEANUP(free_ptr) char *dir = xasprintf("%s/dir-%d", shape->scratch, repeat);
	CLEANUP(free_ptr) char *control = xasprintf("%s/control-%d", shape->scratch, repeat);
	CLEANUP(free_ptr) char *log = xasprintf("%s/log-%d", shape->scratch, repeat);
	CLEANUP(free_ptr) char *updates = xasprintf("%d", shape->updates);
	CLEANUP(free_ptr) char *update_s = xasprintf("%.6f", shape->update_s);
	CLEANUP(free_ptr) char *events = xasprintf("INFRARSI_EVENT_PATH=%s/events", control);
	const char *argv[] = {shape->self, "--job", updates, update_s, NULL};
	const char *env[] = {"PATH=/usr/bin:/bin", events, "INFRARSI_NONCE=bench", NULL};
	struct run_request request = {.dir = dir,
		.argv = argv,
		.env = env,
		.control_dir = control,
		.log_path = log,
		.limits = {.wall_s = 600, .startup_s = 60, .expected_updates = shape->updates}};
	struct run_outcome outcome = {0};
	TRY(make_dirs(dir, 0755, reterr));
	TRY(make_dirs(control, 0700, reterr));
	double cpu_s = own_cpu_s();
	TRY(runner_run(runner, &request, NULL, NULL, &outcome, reterr));
	double returned_s = clock_now_s();
	cost->harness_cpu_s[repeat] = own_cpu_s() - cpu_s;
	cost->supervisor_cpu_s[repeat] = outcome.supervisor_cpu_s;
	cost->launch_s[repeat] = outcome.launch_latency_s;
	cost->wrap_up_s[repeat] = returned_s - outcome.end_s;
	cost->wall_s[repeat] = outcome.end_s - outcome.spawn_s;
	bool ok = outcome.end == RUN_EXITED && outcome.exit_status == 0;
	run_outcome_release(&outcome);
	return ok ? OK : err_set(reterr, ERR_FAILED, "the job failed; see %s", log);
}

enum err_code measure_runner(const struct shape *shape, struct runner_cost *ret_cost, struct err *reterr)
{
	struct runner runner;
	TRY(process_runner_init(&runner, shape->program, -1, reterr));
	enum err_code code = OK;
	for (int i = 0; i < shape->repeats && code == OK; i++)
		code = run_once(shape, &runner, i, ret_cost, reterr);
	runner_release(&runner);
	return code;
}

#include "base/base.h"

#include "runner/runner.h"

const char *const run_end_names[N_RUN_ENDS] = {
	[RUN_EXITED] = "exited",
	[RUN_SIGNALLED] = "signalled",
	[RUN_TIMEOUT] = "timeout",
	[RUN_STALLED] = "stalled",
	[RUN_STARTUP_TIMEOUT] = "startup_timeout",
	[RUN_MEMORY_LIMIT] = "memory_limit",
	[RUN_STOPPED] = "stopped",
	[RUN_DISK_FULL] = "disk_full",
};

enum err_code runner_run(struct runner *r, const struct run_request *request, run_progress_fn progress,
	void *context, struct run_outcome *ret_outcome, struct err *reterr)
{
	return r->ops->run(r->state, request, progress, context, ret_outcome, reterr);
}

const char *runner_sandbox_fault(struct runner *r, enum sandbox_mode mode)
{
	return r->ops->sandbox_fault ? r->ops->sandbox_fault(r->state, mode) : "";
}

void runner_release(struct runner *r)
{
	if (r->ops)
		r->ops->release(r->state);
	*r = (struct runner){NULL, NULL};
}

void run_outcome_release(struct run_outcome *o)
{
	arena_release(&o->arena);
	*o = (struct run_outcome){.arena = ARENA_INIT};
}

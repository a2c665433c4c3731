/* What an execution does between its entries in the ledger: build, run, checks. It may be in a thread of its
 * own: of the campaign it reads what does not change while that is open, and nothing of the state. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "campaign/checks.h"
#include "campaign/frozen.h"
#include "campaign/host.h"
#include "campaign/trial_int.h"

static const double build_timeout_s = 1800; /* the task does not state one */

bool trial_is_told_to_stop(const struct trial_job *job)
{
	const struct trial_monitor *monitor = job->p.request->monitor;
	return (monitor && atomic_load(&monitor->abandon)) || campaign_stop_wanted(job->c);
}

static void report_progress(struct trial_job *job)
{
	struct trial_monitor *monitor = job->p.request->monitor;
	if (monitor) {
		atomic_store(&monitor->update, job->update);
		return;
	}
	struct progress p = {.kind = PROGRESS_UPDATE,
		.text = job->p.request->label,
		.update = job->update,
		.updates = job->p.task.contract.updates,
		.elapsed_s = clock_now_s() - job->started_s,
		.best_ln = NAN,
		.eta_s = NAN};
	campaign_report_progress(job->c, &p);
}

static bool on_progress(void *context, const struct run_line *line)
{
	struct trial_job *job = context;
	struct event event;
	bool is_slow = false;
	if (line && event_parse(line->text, line->length, &event, NULL) == OK) {
		if (event.kind != EVENT_UPDATE || event.rank != 0)
			return !trial_is_told_to_stop(job);
		job->update = event.update;
		/* What still arrives from a job that was told to stop decides nothing. */
		is_slow = job->is_watched && !trial_is_told_to_stop(job) &&
			  early_stop_update(&job->watch, event.update, line->arrived_s);
	}
	report_progress(job);
	return !is_slow && !trial_is_told_to_stop(job);
}

static enum err_code build(struct trial_job *job, const struct preparation *p, struct build_result *ret_build,
	struct err *reterr)
{
	struct campaign *c = job->c;
	CLEANUP(free_ptr) char *work = xasprintf("%s/work", c->dir);
	struct build_request request = {
		.root = c->task.root,
		.snapshot = &c->snapshot,
		.work_dir = work,
		.diff_paths = p->diff_paths,
		.diff_digests = p->diff_digests,
		.argv = p->resolved.build_argv,
		.env = p->build_env,
		.build_key = p->build_key,
		.timeout_s = build_timeout_s,
		.cpus = p->cpus,
		.sandbox = c->options.sandbox,
		.link_in = p->inputs,
		.hidden = p->hidden,
		.shown = p->shown,
		.hook_dir = c->options.hook_dir,
	};
	if (p->scratch)
		TRY(make_dirs(p->scratch, 0700, reterr));
	return workspace_build(&c->runner, &request, on_progress, job, ret_build, reterr);
}

static enum err_code launch(
	struct trial_job *job, const char *trial_dir, struct run_outcome *ret_outcome, struct err *reterr)
{
	struct campaign *c = job->c;
	const struct preparation *p = &job->p;
	const struct contract *contract = &p->task.contract;
	struct run_request request = {
		.dir = trial_dir,
		.argv = p->resolved.argv,
		.env = p->job_env,
		.control_dir = p->control_dir,
		.log_path = p->log_path,
		.log_format = campaign_log_format(c),
		.cpus = p->cpus,
		.network = c->task.launch.network,
		.sandbox = c->options.sandbox,
		.read_only = p->frozen,
		.hidden = p->hidden,
		.shown = p->shown,
		.limits = {.wall_s = p->task.launch.timeout_s,
			.startup_s = c->task.launch.startup_timeout_s,
			.stall_s = job->stall_limit_s,
			.stall_after_update = contract->warmup,
			.expected_updates = contract->updates},
	};
	TRY(make_dirs(p->scratch ? p->scratch : p->control_dir, 0700, reterr));
	return runner_run(&c->runner, &request, on_progress, job, ret_outcome, reterr);
}

/* A fresh copy of the unpatched reference, in which the evaluation judges the run's checkpoint: the
 * candidate's own code has no say in it. */
static enum err_code reference_workspace(
	struct trial_job *job, const char *work, const char *name, char ret_dir[4096], struct err *reterr)
{
	struct build_result built = {0};
	TRY(build(job, &job->reference, &built, reterr));
	if (!built.ok)
		return err_set(reterr, ERR_FAILED,
			"the reference, which built before, does not build now: %s", built.log);
	return workspace_trial(&built, work, name, ret_dir, reterr);
}

static bool goes_on(void *context, const struct run_line *line)
{
	(void)line;
	return !trial_is_told_to_stop(context);
}

/* The conditional checks, after a run that ended well; after any other they stay unchecked. */
static enum err_code run_checks(
	struct trial_job *job, const char *work, const char *trial_dir, struct err *reterr)
{
	struct receipt *r = &job->receipt;
	struct checks_request request = {.run_dir = trial_dir,
		.reference_eval = job->reference_eval,
		.work_dir = job->p.control_dir,
		.progress = goes_on,
		.context = job};
	char reference_dir[4096];
	CLEANUP(free_ptr) char *name = xasprintf("%04lld-eval", (long long)job->p.seq);
	if (r->exit_status != 0 || r->timed_out || r->failure == FAILURE_STOPPED_SLOW)
		return OK;
	if (job->has_reference) {
		TRY(reference_workspace(job, work, name, reference_dir, reterr));
		request.reference_dir = reference_dir;
	}
	enum err_code code = checks_run(job->c, &job->p, &request, r, &job->row.eval_value,
		&job->row.checks_s, &job->stopped, reterr);
	enum err_code removed =
		request.reference_dir ? workspace_trial_remove(work, name, code == OK ? reterr : NULL) : OK;
	job->device_s += job->row.checks_s;
	return code != OK ? code : removed;
}

/* What the run left, into the receipt; ERR_IO where the host failed under it. */
static enum err_code take_outcome(struct trial_job *job, const struct build_result *built,
	const char *trial_dir, struct run_outcome *outcome, struct frozen_watch *frozen, struct err *reterr)
{
	/* Stopped before it was started, it has cost nothing. */
	job->device_s =
		outcome->spawn_s > 0 ? (outcome->end_s - outcome->spawn_s) * job->receipt.device_count : 0;
	/* What a job still says when it is told to stop is no update. */
	while (job->watch.stopped && outcome->n_lines &&
		outcome->lines[outcome->n_lines - 1].arrived_s > job->watch.stopped_s)
		outcome->n_lines--;
	job->stopped = outcome->end == RUN_STOPPED && !job->watch.stopped;
	if (job->stopped)
		return OK;
	if (outcome->end == RUN_DISK_FULL && !job_filled_disk(outcome, built->dir, trial_dir))
		return err_set(reterr, ERR_IO,
			"the disk ran full while the job ran, and not with the job's own files");
	TRY(receipt_fill_after(&job->p, outcome, &job->receipt, reterr));
	if (outcome->end == RUN_STOPPED)
		early_stop_fill(&job->watch, &job->receipt);
	frozen_watch_end(frozen, trial_dir, &job->receipt);
	if (!job->reference_is_touched)
		snprintf(job->row.review, sizeof(job->row.review), "%s", frozen->touched);
	job->receipt.observed_is_device = device_is_host(&job->refs, &job->receipt);
	return OK;
}

static enum err_code run_built(struct trial_job *job, const struct build_result *built, struct err *reterr)
{
	struct campaign *c = job->c;
	CLEANUP(free_ptr) char *work = xasprintf("%s/work", c->dir);
	CLEANUP(free_ptr) char *name = xasprintf("%04lld", (long long)job->p.seq);
	char trial_dir[4096];
	struct run_outcome outcome = {0};
	struct frozen_watch frozen;
	TRY(workspace_trial(built, work, name, trial_dir, reterr));
	frozen_watch_begin(&frozen, &c->lock, trial_dir);
	double begun_s = clock_now_s();
	job->is_watched = true;
	enum err_code code = launch(job, trial_dir, &outcome, reterr);
	job->is_watched = false;
	job->device_s = (clock_now_s() - begun_s) * job->receipt.device_count;
	if (code == OK)
		code = take_outcome(job, built, trial_dir, &outcome, &frozen, reterr);
	if (code == OK && !job->stopped)
		code = run_checks(job, work, trial_dir, reterr);
	run_outcome_release(&outcome);
	frozen_watch_release(&frozen);
	/* The folder has served: nothing in it may reach another trial. */
	enum err_code removed = workspace_trial_remove(work, name, code == OK ? reterr : NULL);
	return code != OK ? code : removed;
}

/* A candidate whose builds meet faults of the machine again and again, while others build, is to blame
 * itself. */
enum { BUILD_RETRIES = 2 };

static enum err_code take_build_failure(
	struct trial_job *job, const struct build_result *built, struct err *reterr)
{
	struct frozen_watch frozen;
	if (built->host_fault && (job->p.request->role != ROLE_SEARCH || job->transients < BUILD_RETRIES))
		return err_set(reterr, ERR_IO, "the machine failed under the build: %s", built->fault);
	frozen_watch_begin(&frozen, &job->c->lock, built->dir);
	frozen_watch_end(&frozen, built->dir, &job->receipt);
	frozen_watch_release(&frozen);
	return receipt_fill_build_failure(&job->p, built, &job->receipt, reterr);
}

static enum err_code work(struct trial_job *job, struct err *reterr)
{
	struct build_result built = {0};
	double begun_s = clock_now_s();
	enum err_code code = build(job, &job->p, &built, reterr);
	job->row.build_s = code != OK ? clock_now_s() - begun_s : built.cached ? 0 : built.seconds;
	TRY(code);
	if (trial_is_told_to_stop(job)) {
		job->stopped = true;
		return OK;
	}
	return built.ok ? run_built(job, &built, reterr) : take_build_failure(job, &built, reterr);
}

void trial_work(struct trial_job *job)
{
	job->code = work(job, &job->fault);
}

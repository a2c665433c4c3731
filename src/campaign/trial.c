#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/checks.h"
#include "campaign/frozen.h"
#include "campaign/host.h"
#include "campaign/row_journal.h"
#include "campaign/trial_int.h"

/* Limits that the task does not state. */
static const double build_timeout_s = 1800;
static const double stall_floor_s = 60, stall_factor = 10;

struct running { /* what the progress callback needs */
	struct campaign *c;
	const char *label;
	double started_s;
	int update;
};

static bool on_progress(void *context, const struct run_line *line)
{
	struct running *run = context;
	struct event event;
	if (line && event_parse(line->text, line->length, &event, NULL) == OK) {
		if (event.kind != EVENT_UPDATE || event.rank != 0)
			return !campaign_stop_wanted(run->c);
		run->update = event.update;
	}
	struct progress p = {.kind = PROGRESS_UPDATE,
		.text = run->label,
		.update = run->update,
		.updates = run->c->task.contract.updates,
		.elapsed_s = clock_now_s() - run->started_s,
		.best_ln = NAN,
		.eta_s = NAN};
	campaign_report_progress(run->c, &p);
	return !campaign_stop_wanted(run->c);
}

static json_t *started_json(const struct preparation *p)
{
	const struct execute_request *q = p->request;
	json_t *body = json_object();
	json_object_set_new(body, "role", json_string(receipt_role_names[q->role]));
	json_object_set_new(body, "seq", json_integer(p->seq));
	json_object_set_new(body, "nonce", json_string(p->nonce));
	json_object_set_new(body, "finalist", json_integer(q->finalist));
	json_object_set_new(body, "pair", json_integer(q->pair));
	json_object_set_new(body, "side", json_string(q->is_candidate_side ? "candidate" : "reference"));
	return body;
}

static enum err_code append_released(struct campaign *c, enum entry_kind kind, int trial,
	const char *signature, const json_t *started, double device_s, double build_s, const char *reason,
	struct err *reterr)
{
	json_t *body = json_deep_copy(started);
	json_object_set_new(body, "device_s", json_real(device_s));
	json_object_set_new(body, "build_s", json_real(build_s));
	json_object_set_new(body, "reason", json_from_text(reason));
	return campaign_append(c, kind, trial, signature, json_dump_take(body), NULL, reterr);
}

/* A hang is a gap that no checkpoint or evaluation of the reference ever came near (DESIGN section 14). */
static double stall_limit_s(const struct campaign *c)
{
	double longest = 0;
	for (size_t i = 0; i < c->state.n_references; i++)
		for (size_t k = 0; k < c->state.references[i].n_steps; k++)
			longest = MAX_OF(longest, c->state.references[i].step_s[k]);
	return MAX_OF(stall_floor_s, stall_factor * longest);
}

static enum err_code build(struct campaign *c, const struct preparation *p, struct running *running,
	struct build_result *ret_build, struct err *reterr)
{
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
		.sandbox = c->options.sandbox,
		.link_in = p->inputs,
		.hidden = p->hidden,
		.shown = p->shown,
		.hook_dir = c->options.hook_dir,
	};
	if (p->scratch)
		TRY(make_dirs(p->scratch, 0700, reterr));
	return workspace_build(&c->runner, &request, on_progress, running, ret_build, reterr);
}

static enum err_code launch(struct campaign *c, const struct preparation *p, const char *trial_dir,
	struct running *running, struct run_outcome *ret_outcome, struct err *reterr)
{
	const struct contract *contract = &c->task.contract;
	struct run_request request = {
		.dir = trial_dir,
		.argv = p->resolved.argv,
		.env = p->job_env,
		.control_dir = p->control_dir,
		.log_path = p->log_path,
		.log_format = campaign_log_format(c),
		.network = c->task.launch.network,
		.sandbox = c->options.sandbox,
		.read_only = p->frozen,
		.hidden = p->hidden,
		.shown = p->shown,
		.limits = {.wall_s = c->task.launch.timeout_s,
			.startup_s = c->task.launch.startup_timeout_s,
			.stall_s = stall_limit_s(c),
			.stall_after_update = contract->warmup,
			.expected_updates = contract->updates},
	};
	TRY(make_dirs(p->scratch ? p->scratch : p->control_dir, 0700, reterr));
	return runner_run(&c->runner, &request, on_progress, running, ret_outcome, reterr);
}

struct attempt {
	struct campaign *c;
	struct preparation *p;
	struct reference_set *refs;
	struct receipt *receipt;
	struct running *running;
	bool stopped;
	bool sealed;            /* the receipt exists: from here on the execution counts */
	struct row_journal row; /* what the ledger row needs beside the receipt */
	double device_s;        /* spent, for an attempt that leaves no receipt */
};

/* Judges the receipt and writes it down: receipt first, then the ledger row. */
static enum err_code conclude(struct attempt *a, struct err *reterr)
{
	struct campaign *c = a->c;
	const struct preparation *p = a->p;
	const struct reference_set *refs = a->refs;
	struct receipt *r = a->receipt;
	const struct receipt *self = r;
	const struct receipt *const *against = refs->n ? refs->valid : &self;
	struct verdict verdict;
	struct window_stats stats;
	TRY(verify_receipt(r, against, refs->n ? refs->n : 1, p->request->duel, &verdict, reterr));
	verdict_add_review(&verdict, a->row.review);
	TRY(row_journal_write(p->control_dir, p->seq, p->nonce, &a->row, reterr));
	TRY(receipt_seal(r, &c->keys, p->receipt_path, reterr));
	a->sealed = true;
	receipt_window(r, &stats);
	struct execution_record record = {.receipt = r,
		.verdict = &verdict,
		.receipt_path = p->receipt_relative,
		.log_path = p->log_relative,
		.stats = &stats,
		.build_s = a->row.build_s,
		.checks_s = a->row.checks_s,
		.eval_value = a->row.eval_value,
		.finalist = p->request->finalist,
		.pair = p->request->pair,
		.is_candidate_side = p->request->is_candidate_side};
	TRY(campaign_append(c, ENTRY_FINISHED, p->request->trial, r->signature, state_finished_body(&record),
		NULL, reterr));
	row_journal_remove(p->control_dir);
	return campaign_refresh(c, reterr);
}

/* A fresh copy of the unpatched reference, in which the evaluation judges the run's checkpoint: the
 * candidate's own code has no say in it. */
static enum err_code reference_workspace(
	struct attempt *a, const char *work, const char *name, char ret_dir[4096], struct err *reterr)
{
	struct candidate reference = CANDIDATE_INIT;
	struct preparation p;
	struct build_result built = {0};
	candidate_reference(&reference, &a->c->state.space);
	struct execute_request request = {.role = a->p->request->role, .candidate = &reference, .label = ""};
	enum err_code code = preparation_init(a->c, &request, &p, reterr);
	if (code == OK) {
		code = build(a->c, &p, a->running, &built, reterr);
		preparation_release(&p);
	}
	candidate_release(&reference);
	TRY(code);
	if (!built.ok)
		return err_set(reterr, ERR_FAILED,
			"the reference, which built before, does not build now: %s", built.log);
	return workspace_trial(&built, work, name, ret_dir, reterr);
}

/* The conditional checks, after a run that ended well; after any other they stay unchecked. */
static enum err_code run_checks(
	struct attempt *a, const char *work, const char *trial_dir, struct err *reterr)
{
	struct receipt *r = a->receipt;
	struct checks_request request = {.run_dir = trial_dir, .work_dir = a->p->control_dir};
	char reference_dir[4096];
	CLEANUP(free_ptr) char *name = xasprintf("%04lld-eval", (long long)a->p->seq);
	if (r->exit_status != 0 || r->timed_out)
		return OK;
	if (checks_want_reference(a->c)) {
		TRY(reference_workspace(a, work, name, reference_dir, reterr));
		request.reference_dir = reference_dir;
	}
	enum err_code code = checks_run(
		a->c, a->p, &request, r, &a->row.eval_value, &a->row.checks_s, &a->stopped, reterr);
	enum err_code removed =
		request.reference_dir ? workspace_trial_remove(work, name, code == OK ? reterr : NULL) : OK;
	a->device_s += a->row.checks_s;
	return code != OK ? code : removed;
}

/* What the run left, into the receipt; ERR_IO where the host failed under it. */
static enum err_code take_outcome(struct attempt *a, const struct build_result *built, const char *trial_dir,
	struct run_outcome *outcome, struct frozen_watch *frozen, struct err *reterr)
{
	a->device_s = (outcome->end_s - outcome->spawn_s) * a->receipt->device_count;
	a->stopped = outcome->end == RUN_STOPPED;
	if (a->stopped)
		return OK;
	if (outcome->end == RUN_DISK_FULL && !job_filled_disk(outcome, built->dir, trial_dir))
		return err_set(reterr, ERR_IO,
			"the disk ran full while the job ran, and not with the job's own files");
	TRY(receipt_fill_after(a->p, outcome, a->receipt, reterr));
	frozen_watch_end(frozen, trial_dir, a->receipt);
	if (!reference_is_touched(&a->c->state))
		snprintf(a->row.review, sizeof(a->row.review), "%s", frozen->touched);
	a->receipt->observed_is_device = device_is_host(a->refs, a->receipt);
	return OK;
}

static enum err_code run_built(struct attempt *a, const struct build_result *built, struct err *reterr)
{
	struct campaign *c = a->c;
	CLEANUP(free_ptr) char *work = xasprintf("%s/work", c->dir);
	CLEANUP(free_ptr) char *name = xasprintf("%04lld", (long long)a->p->seq);
	char trial_dir[4096];
	struct run_outcome outcome = {0};
	struct frozen_watch frozen;
	TRY(workspace_trial(built, work, name, trial_dir, reterr));
	frozen_watch_begin(&frozen, &c->lock, trial_dir);
	double begun_s = clock_now_s();
	enum err_code code = launch(c, a->p, trial_dir, a->running, &outcome, reterr);
	a->device_s = (clock_now_s() - begun_s) * a->receipt->device_count;
	if (code == OK)
		code = take_outcome(a, built, trial_dir, &outcome, &frozen, reterr);
	if (code == OK && !a->stopped)
		code = run_checks(a, work, trial_dir, reterr);
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
	struct attempt *a, const struct build_result *built, struct err *reterr)
{
	const struct execute_request *q = a->p->request;
	struct frozen_watch frozen;
	if (built->host_fault &&
		(q->role != ROLE_SEARCH || state_count_transients(&a->c->state, q->trial) < BUILD_RETRIES))
		return err_set(reterr, ERR_IO, "the machine failed under the build: %s", built->fault);
	frozen_watch_begin(&frozen, &a->c->lock, built->dir);
	frozen_watch_end(&frozen, built->dir, a->receipt);
	frozen_watch_release(&frozen);
	return receipt_fill_build_failure(a->p, built, a->receipt, reterr);
}

static enum err_code attempt_run(struct attempt *a, struct err *reterr)
{
	struct campaign *c = a->c;
	struct build_result built = {0};
	TRY(receipt_fill_before(c, a->p, a->refs, a->receipt, reterr));
	double begun_s = clock_now_s();
	enum err_code code = build(c, a->p, a->running, &built, reterr);
	a->row.build_s = code != OK ? clock_now_s() - begun_s : built.cached ? 0 : built.seconds;
	TRY(code);
	if (campaign_stop_wanted(c)) {
		a->stopped = true;
		return OK;
	}
	if (built.ok)
		TRY(run_built(a, &built, reterr));
	else
		TRY(take_build_failure(a, &built, reterr));
	if (a->stopped)
		return OK;
	return conclude(a, reterr);
}

static enum err_code release_attempt(struct attempt *a, enum entry_kind kind, const json_t *started,
	const char *reason, struct err *reterr)
{
	char signature[65];
	candidate_signature(a->p->request->candidate, &a->c->state.space, signature);
	TRY(append_released(a->c, kind, a->p->request->trial, signature, started, a->device_s, a->row.build_s,
		reason, reterr));
	return campaign_refresh(a->c, reterr);
}

static enum err_code attempt_all(struct attempt *a, enum execute_end *ret_end, struct err *reterr)
{
	struct campaign *c = a->c;
	const struct execute_request *request = a->p->request;
	CLEANUP(json_decref_ptr) json_t *started = started_json(a->p);
	TRY(campaign_append(
		c, ENTRY_STARTED, request->trial, NULL, json_dump_take(json_incref(started)), NULL, reterr));
	struct err fault = ERR_INIT;
	enum err_code code = attempt_run(a, &fault);
	if (code == OK && !a->stopped) {
		*ret_end = EXECUTE_FINISHED;
		return OK;
	}
	if (a->sealed) {
		/* The ledger failed behind the receipt. Opening the campaign again adds the entry. */
		if (reterr)
			*reterr = fault;
		return code;
	}
	if (code == OK || code == ERR_INTERRUPTED) {
		*ret_end = EXECUTE_INTERRUPTED;
		return release_attempt(a, ENTRY_INTERRUPTED, started, "stopped by the user", reterr);
	}
	/* The harness failed, not the job: the candidate keeps its standing. */
	char reason[2048];
	err_format(&fault, reason, sizeof(reason));
	*ret_end = EXECUTE_TRANSIENT;
	struct progress p = {.kind = PROGRESS_NOTE, .text = reason};
	campaign_report_progress(c, &p);
	return release_attempt(a, ENTRY_TRANSIENT, started, reason, reterr);
}

enum err_code trial_execute(struct campaign *c, const struct execute_request *request,
	enum execute_end *ret_end, struct err *reterr)
{
	struct preparation p;
	struct reference_set refs = {0};
	struct receipt receipt;
	struct running running = {.c = c, .label = request->label, .started_s = clock_now_s()};
	TRY(preparation_init(c, request, &p, reterr));
	receipt_init(&receipt);
	enum err_code code = reference_set_load(c, &refs, reterr);
	struct attempt attempt = {.c = c,
		.p = &p,
		.refs = &refs,
		.receipt = &receipt,
		.running = &running,
		.row = {.eval_value = NAN}};
	if (code == OK)
		code = attempt_all(&attempt, ret_end, reterr);
	if (p.scratch)
		(void)!remove_tree(p.scratch, NULL);
	reference_set_release(&refs);
	receipt_release(&receipt);
	preparation_release(&p);
	return code;
}

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "campaign/checks.h"
#include "campaign/host.h"
#include "campaign/trial_int.h"

static const double stall_floor_s = 60, stall_factor = 10; /* the task does not state them */

/* ------------------------------------------------------------- beginning */

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
	if (*p->slot)
		json_object_set_new(body, "slot", json_from_text(p->slot));
	if (q->at_once > 1)
		json_object_set_new(body, "at_once", json_integer(q->at_once));
	return body;
}

static double longest_step_s(const struct execution *runs, size_t n_runs)
{
	double longest = 0;
	for (size_t i = 0; i < n_runs; i++)
		for (size_t k = 0; k < runs[i].n_steps; k++)
			longest = MAX_OF(longest, runs[i].step_s[k]);
	return longest;
}

/* A hang is a gap that no checkpoint or evaluation of the reference ever came near (DESIGN section 14). What
 * comes behind the contract's updates nobody has seen before the first longer reference: it has the wall
 * limit alone. */
static double stall_limit_s(const struct state *s, enum receipt_role role)
{
	const struct duel *winner = state_winner(s);
	if (role == ROLE_LONGER_REFERENCE)
		return 0;
	double longest = role == ROLE_CONFIRMATION && winner
				 ? longest_step_s(winner->open.references, winner->open.n_references)
				 : longest_step_s(s->references, s->n_references);
	return MAX_OF(stall_floor_s, stall_factor * longest);
}

static void job_free(struct trial_job *job)
{
	early_stop_end(&job->watch);
	if (job->p.scratch)
		(void)!remove_tree(job->p.scratch, NULL);
	if (job->has_reference)
		preparation_release(&job->reference);
	candidate_release(&job->reference_candidate);
	reference_set_release(&job->refs);
	receipt_release(&job->receipt);
	preparation_release(&job->p);
	json_decref(job->started);
	free(job);
}

/* The evaluation runs in the reference's own workspace, on the same slot. */
static enum err_code prepare_reference(struct trial_job *job, struct err *reterr)
{
	struct campaign *c = job->c;
	const struct execute_request *q = job->p.request;
	if (!checks_want_reference(c))
		return OK;
	candidate_reference(&job->reference_candidate, &c->state.space);
	job->reference_request = (struct execute_request){
		.role = q->role, .candidate = &job->reference_candidate, .label = "", .slot = q->slot};
	TRY(preparation_init(c, &job->reference_request, &job->reference, reterr));
	job->has_reference = true;
	return OK;
}

static enum err_code fill(struct trial_job *job, struct err *reterr)
{
	struct campaign *c = job->c;
	const struct state *s = &c->state;
	const struct execute_request *q = job->p.request;
	TRY(reference_set_load(c, q->role, &job->refs, reterr));
	TRY(early_stop_begin(c, q, &job->watch, reterr));
	TRY(prepare_reference(job, reterr));
	job->stall_limit_s = stall_limit_s(s, q->role);
	job->reference_eval = checks_reference_eval(s, q->role);
	job->reference_is_touched = reference_is_touched(s);
	job->transients = q->trial ? state_count_transients(s, q->trial) : 0;
	job->started = started_json(&job->p);
	TRY(campaign_append(
		c, ENTRY_STARTED, q->trial, NULL, json_dump_take(json_incref(job->started)), NULL, reterr));
	return receipt_fill_before(c, &job->p, &job->refs, &job->receipt, reterr);
}

enum err_code trial_begin(struct campaign *c, const struct execute_request *request,
	struct trial_job **ret_job, struct err *reterr)
{
	struct trial_job *job = xcalloc(1, sizeof(*job));
	*job = (struct trial_job){.c = c, .started_s = clock_now_s(), .row = {.eval_value = NAN}};
	enum err_code code = preparation_init(c, request, &job->p, reterr);
	if (code != OK) {
		free(job);
		return code;
	}
	receipt_init(&job->receipt);
	code = fill(job, reterr);
	if (code != OK)
		job_free(job);
	else
		*ret_job = job;
	return code;
}

/* ------------------------------------------------------------- end */

static enum err_code append_finished(
	struct trial_job *job, const char *receipt_path, const struct verdict *verdict, struct err *reterr)
{
	const struct preparation *p = &job->p;
	const struct execute_request *q = p->request;
	struct window_stats stats;
	receipt_window(&job->receipt, &stats);
	struct execution_record record = {.receipt = &job->receipt,
		.verdict = verdict,
		.receipt_path = receipt_path,
		.log_path = p->log_relative,
		.stats = &stats,
		.build_s = job->row.build_s,
		.checks_s = job->row.checks_s,
		.eval_value = job->row.eval_value,
		.finalist = q->finalist,
		.pair = q->pair,
		.is_candidate_side = q->is_candidate_side,
		.execution = p->seq,
		.slow_s = job->watch.is_far ? job->watch.far.slow_s : NAN,
		.slot = p->slot,
		.at_once = q->at_once};
	return campaign_append(job->c, ENTRY_FINISHED, q->trial, job->receipt.signature,
		state_finished_body(&record), NULL, reterr);
}

/* Judges the receipt and writes it down: receipt first, then the ledger row. */
static enum err_code conclude(struct trial_job *job, struct err *reterr)
{
	struct campaign *c = job->c;
	const struct preparation *p = &job->p;
	struct receipt *r = &job->receipt;
	const struct receipt *self = r;
	const struct receipt *const *against = job->refs.n ? job->refs.valid : &self;
	struct verdict verdict;
	TRY(verify_receipt(r, against, job->refs.n ? job->refs.n : 1, p->request->duel, &verdict, reterr));
	verdict_add_review(&verdict, job->row.review);
	receipt_take_place(c, p, r);
	job->row.receipt_seq = r->seq;
	CLEANUP(free_ptr) char *relative = xasprintf("receipts/%04lld.json", (long long)r->seq);
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, relative);
	TRY(row_journal_write(p->control_dir, p->seq, p->nonce, &job->row, reterr));
	TRY(receipt_seal(r, &c->keys, path, reterr));
	job->sealed = true;
	TRY(append_finished(job, relative, &verdict, reterr));
	row_journal_remove(p->control_dir);
	return campaign_refresh(c, reterr);
}

/* The cost is kept, the signature released. */
static enum err_code append_released(
	struct trial_job *job, enum entry_kind kind, const char *reason, struct err *reterr)
{
	struct campaign *c = job->c;
	const struct execute_request *q = job->p.request;
	char signature[65];
	json_t *body = json_deep_copy(job->started);
	json_object_set_new(body, "device_s", json_real(job->device_s));
	json_object_set_new(body, "build_s", json_real(job->row.build_s));
	json_object_set_new(body, "reason", json_from_text(reason));
	candidate_signature(q->candidate, &c->state.space, signature);
	TRY(campaign_append(c, kind, q->trial, signature, json_dump_take(body), NULL, reterr));
	return campaign_refresh(c, reterr);
}

static enum err_code end(struct trial_job *job, enum execute_end *ret_end, struct err *reterr)
{
	if (job->code == OK && !job->stopped)
		job->code = conclude(job, &job->fault);
	if (job->code == OK && !job->stopped) {
		*ret_end = EXECUTE_FINISHED;
		return OK;
	}
	if (job->sealed) {
		/* The ledger failed behind the receipt. Opening the campaign again adds the entry. */
		if (reterr)
			*reterr = job->fault;
		return job->code;
	}
	if (job->code == OK || job->code == ERR_INTERRUPTED) {
		bool by_user = campaign_stop_wanted(job->c) || !job->p.request->monitor;
		*ret_end = EXECUTE_INTERRUPTED;
		return append_released(job, ENTRY_INTERRUPTED,
			by_user ? "stopped by the user" : "stopped, for the search could not go on", reterr);
	}
	/* The harness failed, not the job: the candidate keeps its standing. */
	char reason[2048];
	err_format(&job->fault, reason, sizeof(reason));
	*ret_end = EXECUTE_TRANSIENT;
	struct progress p = {.kind = PROGRESS_NOTE, .text = reason};
	campaign_report_progress(job->c, &p);
	return append_released(job, ENTRY_TRANSIENT, reason, reterr);
}

enum err_code trial_end_take(struct trial_job *job, enum execute_end *ret_end, struct err *reterr)
{
	enum err_code code = end(job, ret_end, reterr);
	job_free(job);
	return code;
}

void trial_forget(struct trial_job *job)
{
	if (job)
		job_free(job);
}

enum err_code trial_execute(struct campaign *c, const struct execute_request *request,
	enum execute_end *ret_end, struct err *reterr)
{
	struct trial_job *job;
	TRY(trial_begin(c, request, &job, reterr));
	trial_work(job);
	return trial_end_take(job, ret_end, reterr);
}

#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/promote.h"
#include "campaign/trial_int.h"
#include "promote/promotion.h"

static const struct trial *trial_of(const struct state *s, int number)
{
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].number == number)
			return &s->trials[i];
	return NULL;
}

static enum err_code open_duel(struct campaign *c, const struct promotion_step *step, struct err *reterr)
{
	json_t *body = json_object();
	json_object_set_new(body, "what", json_string("finalist"));
	json_object_set_new(body, "finalist", json_integer(step->finalist));
	json_object_set_new(body, "trial", json_integer(step->trial));
	json_object_set_new(body, "pairs", json_integer(step->pairs));
	json_object_set_new(body, "claimed_ln", json_from_number(step->claimed_ln));
	return campaign_append(c, ENTRY_ACCEPT, step->trial, NULL, json_dump_take(body), NULL, reterr);
}

/* One execution, which the state knows when it is over. */
static enum err_code execute(
	struct campaign *c, const struct execute_request *request, struct progress *stage, struct err *reterr)
{
	enum execute_end end;
	campaign_report_progress(c, stage);
	TRY(trial_execute(c, request, &end, reterr));
	if (end == EXECUTE_INTERRUPTED)
		return err_set(reterr, ERR_INTERRUPTED, "stopped during promotion; go on with  infrarsi run");
	if (end == EXECUTE_TRANSIENT)
		return err_set(
			reterr, ERR_FAILED, "promotion could not be carried out; go on with  infrarsi run");
	return OK;
}

static enum err_code execute_side(struct campaign *c, const struct promotion_step *step, struct err *reterr)
{
	struct candidate candidate = CANDIDATE_INIT;
	CLEANUP(strbuf_release) struct strbuf label = STRBUF_INIT;
	const struct duel *duel = &c->state.duels[step->finalist - 1];
	strbuf_addf(&label, "duel %d (trial %d): pair %d of %zu, %s", step->finalist, step->trial,
		step->pair + 1, duel->n_pairs, step->is_candidate_side ? "candidate" : "reference");
	if (step->is_candidate_side)
		candidate_copy(&candidate, &trial_of(&c->state, step->trial)->candidate);
	else
		candidate_reference(&candidate, &c->state.space);
	struct progress stage = {.kind = PROGRESS_STAGE, .text = label.buf, .duel = duel};
	struct execute_request request = {.role = ROLE_PROMOTION,
		.candidate = &candidate,
		.label = label.buf,
		.finalist = step->finalist,
		.pair = step->pair,
		.is_candidate_side = step->is_candidate_side};
	enum err_code code = execute(c, &request, &stage, reterr);
	candidate_release(&candidate);
	TRY(code);
	duel = &c->state.duels[step->finalist - 1];
	const struct execution *run = step->is_candidate_side ? &duel->candidate_runs[step->pair]
							      : &duel->reference_runs[step->pair];
	/* A reference run without a usable time is no side of the pair: it is run again. */
	struct progress p = {.kind = run->receipt_path ? PROGRESS_DUEL : PROGRESS_NOTE,
		.text = "this reference run gave no usable time",
		.duel = duel,
		.execution = run};
	campaign_report_progress(c, &p);
	return OK;
}

/* The candidate's last receipt judged once more, now that the duel has decided speed_reproduces. */
static enum err_code final_verdict(struct campaign *c, const struct promotion_step *step,
	struct verdict *ret_verdict, struct err *reterr)
{
	const struct duel *duel = &c->state.duels[step->finalist - 1];
	const struct execution *last = NULL;
	for (size_t p = 0; p < duel->n_pairs; p++)
		if (duel->candidate_runs[p].receipt_path)
			last = &duel->candidate_runs[p];
	if (!last) {
		*ret_verdict = trial_of(&c->state, step->trial)->run.verdict;
		return OK;
	}
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, last->receipt_path);
	struct receipt receipt;
	enum seal_state seal;
	struct reference_set refs = {0};
	TRY(receipt_read(path, &c->keys, &receipt, &seal, reterr));
	enum err_code code = reference_set_load(c, ROLE_PROMOTION, &refs, reterr);
	if (code == OK)
		code = verify_receipt(&receipt, refs.valid, refs.n, step->valid ? &step->result : NULL,
			ret_verdict, reterr);
	reference_set_release(&refs);
	receipt_release(&receipt);
	return code;
}

/* An improbable result of any re-run holds the finalist back until a person has looked at it. */
static bool is_held(const struct state *s, const struct promotion_step *step, const struct verdict *last)
{
	const struct duel *duel = &s->duels[step->finalist - 1];
	const struct trial *t = trial_of(s, step->trial);
	bool held = trial_is_held(t, last);
	for (size_t p = 0; p < duel->n_pairs; p++)
		if (duel->candidate_runs[p].receipt_path)
			held = held || trial_is_held(t, &duel->candidate_runs[p].verdict);
	return held;
}

static enum err_code record_judgement(
	struct campaign *c, const struct promotion_step *step, struct err *reterr)
{
	struct verdict verdict;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	TRY(final_verdict(c, step, &verdict, reterr));
	verdict_to_json(&verdict, &text);
	json_t *body = json_object();
	json_object_set_new(body, "what", json_string("duel"));
	json_object_set_new(body, "finalist", json_integer(step->finalist));
	json_object_set_new(body, "trial", json_integer(step->trial));
	json_object_set_new(body, "pairs", json_integer(step->result.pairs));
	json_object_set_new(body, "valid", json_boolean(step->valid));
	json_object_set_new(body, "gain_ln", json_from_number(step->result.gain_ln));
	json_object_set_new(body, "low_ln", json_from_number(step->result.low_ln));
	json_object_set_new(body, "high_ln", json_from_number(step->result.high_ln));
	json_object_set_new(body, "sigma", json_from_number(step->result.sigma));
	json_object_set_new(body, "nu", json_from_number(step->result.nu));
	json_object_set_new(body, "threshold_ln", json_from_number(step->result.threshold_ln));
	json_object_set_new(body, "delivered",
		json_boolean(step->valid && step->result.delivered && verdict.valid &&
			     !is_held(&c->state, step, &verdict)));
	json_object_set_new(body, "verdict", json_loads(text.buf, 0, NULL));
	return campaign_append(c, ENTRY_ACCEPT, step->trial, NULL, json_dump_take(body), NULL, reterr);
}

static enum err_code open_confirmation(
	struct campaign *c, const struct promotion_step *step, struct err *reterr)
{
	json_t *body = json_object();
	json_object_set_new(body, "what", json_string("confirm"));
	json_object_set_new(body, "trial", json_integer(step->trial));
	json_object_set_new(body, "updates", json_integer(step->updates));
	return campaign_append(c, ENTRY_ACCEPT, step->trial, NULL, json_dump_take(body), NULL, reterr);
}

static enum err_code lengthen(struct campaign *c, const struct promotion_step *step, struct err *reterr)
{
	struct candidate candidate = CANDIDATE_INIT;
	CLEANUP(strbuf_release) struct strbuf label = STRBUF_INIT;
	const char *side = step->is_candidate_side ? "winner" : "reference";
	strbuf_addf(&label, "confirmation of trial %d over %d updates: %s", step->trial, step->updates, side);
	if (!step->is_candidate_side)
		strbuf_addf(&label, " %d of %d", step->pair + 1, LONGER_REFERENCES);
	if (step->is_candidate_side)
		candidate_copy(&candidate, &trial_of(&c->state, step->trial)->candidate);
	else
		candidate_reference(&candidate, &c->state.space);
	struct execute_request request = {
		.role = step->is_candidate_side ? ROLE_CONFIRMATION : ROLE_LONGER_REFERENCE,
		.candidate = &candidate,
		.label = label.buf,
		.is_candidate_side = step->is_candidate_side,
		.updates = step->updates};
	struct progress stage = {.kind = PROGRESS_STAGE,
		.text = label.buf,
		.updates = step->updates,
		.duel = state_winner(&c->state)};
	enum err_code code = execute(c, &request, &stage, reterr);
	candidate_release(&candidate);
	TRY(code);
	const struct confirmation *now = &state_winner(&c->state)->open;
	bool usable = step->is_candidate_side || (int)now->n_references > step->pair;
	struct progress p = {.kind = usable ? PROGRESS_CONFIRMATION : PROGRESS_NOTE,
		.text = usable ? side
			       : "this longer run of the reference is not usable; see its log in "
				 ".infrarsi/logs",
		.updates = step->updates,
		.execution = step->is_candidate_side ? &now->candidate
			     : usable                ? &now->references[step->pair]
						     : NULL};
	campaign_report_progress(c, &p);
	return OK;
}

static enum err_code close_confirmation(
	struct campaign *c, const struct promotion_step *step, struct err *reterr)
{
	const struct confirmation *confirmation = &step->confirmation;
	json_t *body = json_object();
	json_object_set_new(body, "what", json_string("confirmed"));
	json_object_set_new(body, "trial", json_integer(step->trial));
	json_object_set_new(body, "updates", json_integer(step->updates));
	json_object_set_new(body, "outcome", json_string(confirmation_names[confirmation->outcome]));
	json_object_set_new(body, "gain_ln", json_from_number(confirmation->gain_ln));
	json_object_set_new(body, "low_ln", json_from_number(confirmation->low_ln));
	json_object_set_new(body, "high_ln", json_from_number(confirmation->high_ln));
	json_object_set_new(body, "reason", json_from_text(confirmation->reason));
	return campaign_append(c, ENTRY_ACCEPT, step->trial, NULL, json_dump_take(body), NULL, reterr);
}

static enum err_code conclude(struct campaign *c, const struct promotion_step *step, struct err *reterr)
{
	json_t *body = json_object();
	json_object_set_new(body, "what", json_string("promotion_over"));
	json_object_set_new(body, "delivered_finalist", json_integer(step->delivered_finalist));
	if (c->state.has_standing && !step->delivered_finalist)
		json_object_set_new(body, "standing_trial", json_integer(c->state.standing.trial));
	return campaign_append(c, ENTRY_ACCEPT, 0, NULL, json_dump_take(body), NULL, reterr);
}

static enum err_code carry_out(struct campaign *c, const struct promotion_step *step, struct err *reterr)
{
	switch (step->kind) {
	case PROMOTION_OPEN:
		return open_duel(c, step, reterr);
	case PROMOTION_EXECUTE:
		return execute_side(c, step, reterr);
	case PROMOTION_JUDGE:
		return record_judgement(c, step, reterr);
	case PROMOTION_CONFIRM:
		return open_confirmation(c, step, reterr);
	case PROMOTION_LENGTHEN:
		return lengthen(c, step, reterr);
	case PROMOTION_CONFIRMED:
		return close_confirmation(c, step, reterr);
	case PROMOTION_CONCLUDE:
		return conclude(c, step, reterr);
	case PROMOTION_OVER:
		break;
	}
	return OK;
}

enum err_code promote_run(struct campaign *c, struct err *reterr)
{
	for (;;) {
		struct promotion_step step;
		TRY(promotion_next(&c->state, c->confirm_updates, &step, reterr));
		if (step.kind == PROMOTION_OVER)
			return OK;
		if (campaign_stop_wanted(c))
			return err_set(reterr, ERR_INTERRUPTED,
				"stopped during promotion; go on with  infrarsi run");
		TRY(carry_out(c, &step, reterr));
		TRY(campaign_refresh(c, reterr));
	}
}

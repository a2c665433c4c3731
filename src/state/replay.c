/* What each kind of ledger entry changes. Bodies may come from a file that anybody could have edited: every
 * one is checked before it is used. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "state/state_int.h"

enum { PAIRS_MAX = 100 };

static enum err_code read_count(const json_t *body, const char *key, int *ret_count, struct err *reterr)
{
	if (count_of(body, key, ret_count))
		return OK;
	return err_set(reterr, ERR_INPUT, "%s: expected an integer in 0 .. %d", key, COUNT_MAX);
}

enum err_code candidate_from_body(
	struct state *s, const json_t *body, struct candidate *ret_candidate, struct err *reterr)
{
	json_t *json = json_object_get(body, "candidate");
	if (!json_is_object(json))
		return err_set(reterr, ERR_INPUT, "candidate: expected an object");
	CLEANUP(free_ptr) char *text = json_dump_take(json_incref(json));
	struct candidate parsed = CANDIDATE_INIT;
	TRY(candidate_from_json(text, &s->space, &parsed, reterr));
	ret_candidate->n_levers = parsed.n_levers;
	ret_candidate->setting = arena_array(&s->arena, parsed.n_levers, sizeof(int));
	memcpy(ret_candidate->setting, parsed.setting, parsed.n_levers * sizeof(int));
	candidate_release(&parsed);
	return OK;
}

static char *text_in_arena(struct replay *r, const json_t *body, const char *key)
{
	return arena_strdup(&r->s->arena, json_text_of(body, key));
}

static struct trial *trial_by_number(struct replay *r, int number)
{
	return number >= 1 && (size_t)number <= r->s->n_trials ? &r->trials[number - 1] : NULL;
}

/* Ids and object names end up in file names, refs and a shell script. */
static bool is_plain_name(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(text);
	return length > 0 && length <= 64 && *text != '.' && *text != '-' && strspn(text, allowed) == length;
}

static enum err_code replay_campaign(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	const json_t *snapshot = json_object_get(body, "snapshot");
	s->has_campaign = true;
	s->campaign_id = text_in_arena(r, body, "id");
	s->task_digest = text_in_arena(r, body, "task_digest");
	s->contract_digest = text_in_arena(r, body, "contract_digest");
	s->commit = text_in_arena(r, snapshot, "commit");
	s->tree = text_in_arena(r, snapshot, "tree");
	s->prefix = text_in_arena(r, snapshot, "prefix");
	s->environment_json = text_in_arena(r, body, "environment");
	s->hooks_digest = text_in_arena(r, body, "hooks");
	s->seed = (uint64_t)json_integer_of(body, "seed");
	s->first_utc = arena_strdup(&s->arena, e->utc);
	if (!is_plain_name(s->campaign_id))
		return err_set(reterr, ERR_INPUT, "id: expected 1 to 64 letters, digits, '.', '_' or '-'");
	if (!is_plain_name(s->commit) || !is_plain_name(s->tree))
		return err_set(reterr, ERR_INPUT, "snapshot: expected the ids of a commit and of a tree");
	if (*s->prefix && !path_is_contained(s->prefix))
		return err_set(reterr, ERR_INPUT, "snapshot.prefix: expected a path inside the repository");
	return OK;
}

static enum err_code replay_decision(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)reterr;
	grow_array(&r->decisions, &r->decisions_capacity, r->n_decisions + 1, sizeof(json_t *));
	grow_array(&r->decision_ids, &r->decision_ids_capacity, r->n_decisions + 1, sizeof(int64_t));
	r->decisions[r->n_decisions] = json_deep_copy(body);
	r->decision_ids[r->n_decisions++] = e->id;
	r->last_decision_registered = false;
	return OK;
}

static const json_t *decision_body(const struct replay *r, int64_t id)
{
	for (size_t i = r->n_decisions; i-- > 0;)
		if (r->decision_ids[i] == id)
			return r->decisions[i];
	return NULL;
}

static enum err_code replay_registered(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	int64_t id = json_integer_of(body, "decision_id");
	const json_t *decision = decision_body(r, id);
	if (e->trial < 1 || (size_t)e->trial != s->n_trials + 1)
		return err_set(reterr, ERR_INPUT, "trial %d: expected trial %zu", e->trial, s->n_trials + 1);
	if (!decision)
		return err_set(
			reterr, ERR_INPUT, "decision_id: there is no decision %lld before it", (long long)id);
	struct trial t = {.number = e->trial,
		.status = TRIAL_REGISTERED,
		.run = execution_unknown(),
		.reason_text = "",
		.signature = arena_strdup(&s->arena, e->signature),
		.strategy = text_in_arena(r, decision, "strategy"),
		.operators = text_in_arena(r, decision, "operators"),
		.reason = text_in_arena(r, decision, "reason"),
		.predicted_ln = json_number_of(decision, "mean_ln"),
		.predicted_sd_ln = json_number_of(decision, "sd_ln"),
		.score = json_number_of(decision, "score"),
		.p_fits = json_number_of(decision, "p_fits"),
		.p_ok = json_number_of(decision, "p_ok"),
		.predicted_peak_bytes = json_number_of(decision, "predicted_peak_bytes"),
		.incumbent_ln = json_number_of(decision, "incumbent_ln")};
	TRY(read_count(decision, "base_trial", &t.base_trial, reterr));
	TRY(candidate_from_body(s, body, &t.candidate, reterr));
	duels_reopen(r); /* what goes on after promotion began will promote anew */
	s->search_over = (struct search_over){0};
	r->last_decision_registered |= r->decision_ids[r->n_decisions - 1] == id;
	grow_array(&r->trials, &r->trials_capacity, s->n_trials + 1, sizeof(struct trial));
	r->trials[s->n_trials++] = t;
	return OK;
}

/* The next receipt's number is beyond every one that was ever begun. */
static enum err_code count_seq(struct replay *r, const json_t *body, int *ret_seq, struct err *reterr)
{
	int seq;
	TRY(read_count(body, "seq", &seq, reterr));
	r->s->next_seq = MAX_OF(r->s->next_seq, (int64_t)seq + 1);
	*ret_seq = seq;
	return OK;
}

static enum err_code replay_started(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	int ignored;
	struct trial *t = trial_by_number(r, e->trial);
	TRY(count_seq(r, body, &ignored, reterr));
	if (t && t->status == TRIAL_REGISTERED)
		t->started = true;
	return OK;
}

static enum err_code open_trial(struct replay *r, int number, struct trial **ret_trial, struct err *reterr)
{
	struct trial *t = trial_by_number(r, number);
	if (!t || t->status != TRIAL_REGISTERED)
		return err_set(
			reterr, ERR_INPUT, "trial %d ends without being registered, or ends twice", number);
	*ret_trial = t;
	return OK;
}

static enum err_code finish_trial(
	struct replay *r, int number, const struct execution *run, struct err *reterr)
{
	struct trial *t = NULL;
	TRY(open_trial(r, number, &t, reterr));
	t->run = *run;
	t->status = execution_status(run);
	t->device_s = run->device_s;
	r->s->cost.search_s += run->device_s;
	t->finished_as = ++r->s->n_counted;
	return OK;
}

static enum err_code replay_finished(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	struct execution run;
	int seq = 0;
	TRY(execution_from_body(&s->arena, body, &run, reterr));
	TRY(count_seq(r, body, &seq, reterr));
	if (seq > s->last_receipt_seq) {
		s->last_receipt_seq = seq;
		s->last_receipt_digest = run.receipt_digest;
	}
	if (isfinite(run.capacity_bytes))
		s->capacity_bytes = run.capacity_bytes;
	s->cost.build_s += run.build_s;
	switch (run.role) {
	case ROLE_REFERENCE:
		s->cost.reference_s += run.device_s;
		if (run.at_once > 1) {
			grow_array(&s->slot_runs, &r->slot_runs_capacity, s->n_slot_runs + 1, sizeof(run));
			s->slot_runs[s->n_slot_runs++] = run;
			return OK;
		}
		grow_array(&s->references, &r->references_capacity, s->n_references + 1, sizeof(run));
		s->references[s->n_references++] = run;
		return OK;
	case ROLE_PROFILE:
		s->has_profile = true;
		s->profile = run;
		s->cost.profile_s += run.device_s;
		return OK;
	case ROLE_PROMOTION:
		grow_array(&r->duel_runs, &r->duel_runs_capacity, r->n_duel_runs + 1, sizeof(run));
		r->duel_runs[r->n_duel_runs++] = run;
		s->cost.promotion_s += run.device_s;
		return OK;
	case ROLE_LONGER_REFERENCE:
	case ROLE_CONFIRMATION:
		confirmation_take_run(s, &run);
		s->cost.promotion_s += run.device_s;
		return OK;
	case ROLE_SEARCH:
		return finish_trial(r, e->trial, &run, reterr);
	case N_RECEIPT_ROLES:
		break;
	}
	return OK;
}

/* NULL: no such role. */
static double *cost_of_role(struct cost *cost, const char *role)
{
	if (strcmp(role, "reference") == 0)
		return &cost->reference_s;
	if (strcmp(role, "profile") == 0)
		return &cost->profile_s;
	if (strcmp(role, "promotion") == 0 || strcmp(role, receipt_role_names[ROLE_CONFIRMATION]) == 0 ||
		strcmp(role, receipt_role_names[ROLE_LONGER_REFERENCE]) == 0)
		return &cost->promotion_s;
	return strcmp(role, "search") == 0 ? &cost->search_s : NULL;
}

/* Interrupted and transient executions keep their cost and release their signature. */
static enum err_code replay_released(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	double device_s = amount_of(body, "device_s");
	int ignored;
	TRY(count_seq(r, body, &ignored, reterr));
	double *cost = cost_of_role(&r->s->cost, json_text_of(body, "role"));
	if (!cost)
		return err_set(reterr, ERR_INPUT,
			"role: expected reference, profile, search, promotion, longer_reference or "
			"confirmation");
	*cost += device_s;
	r->s->cost.build_s += amount_of(body, "build_s");
	if (e->trial == 0)
		return OK;
	struct trial *t = NULL;
	TRY(open_trial(r, e->trial, &t, reterr));
	t->status = e->kind == ENTRY_INTERRUPTED ? TRIAL_INTERRUPTED : TRIAL_TRANSIENT;
	t->reason_text = text_in_arena(r, body, "reason");
	t->device_s = device_s;
	t->run.build_s += amount_of(body, "build_s");
	return OK;
}

static enum err_code replay_rejected(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)e;
	(void)reterr;
	struct state *s = r->s;
	grow_array(&s->refusals, &r->refusals_capacity, s->n_refusals + 1, sizeof(*s->refusals));
	s->refusals[s->n_refusals++] = (struct refusal){
		.name = text_in_arena(r, body, "name"),
		.by = text_in_arena(r, body, "by"),
		.reason = text_in_arena(r, body, "reason"),
	};
	return OK;
}

/* ---- promotion ---- */

static enum err_code accept_finalist(struct replay *r, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	int finalist = 0, trial = 0, pairs = 0;
	TRY(read_count(body, "finalist", &finalist, reterr));
	TRY(read_count(body, "trial", &trial, reterr));
	TRY(read_count(body, "pairs", &pairs, reterr));
	const struct trial *t = trial_by_number(r, trial);
	if ((size_t)finalist != s->n_duels + 1)
		return err_set(
			reterr, ERR_INPUT, "finalist %d: expected finalist %zu", finalist, s->n_duels + 1);
	if (s->finished || s->confirming || (s->n_duels && !s->duels[s->n_duels - 1].finished))
		return err_set(reterr, ERR_INPUT,
			"finalist %d: the one before it is not judged, or promotion is over", finalist);
	if (!t || t->status != TRIAL_VALID)
		return err_set(reterr, ERR_INPUT, "trial %d: expected a valid trial", trial);
	if (pairs < 1 || pairs > PAIRS_MAX)
		return err_set(reterr, ERR_INPUT, "pairs: expected 1 to %d", PAIRS_MAX);
	grow_array(&s->duels, &r->duels_capacity, s->n_duels + 1, sizeof(*s->duels));
	s->duels[s->n_duels++] = (struct duel){.finalist = finalist,
		.trial = trial,
		.claimed_ln = json_number_of(body, "claimed_ln"),
		.n_pairs = (size_t)pairs};
	return OK;
}

static enum err_code accept_duel(struct replay *r, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	int finalist = 0, pairs = 0;
	TRY(read_count(body, "finalist", &finalist, reterr));
	TRY(read_count(body, "pairs", &pairs, reterr));
	TRY(body_require(body, "valid", VALUE_BOOL, reterr));
	TRY(body_require(body, "delivered", VALUE_BOOL, reterr));
	TRY(body_require(body, "verdict", VALUE_OBJECT, reterr));
	if (finalist < 1 || (size_t)finalist != s->n_duels || s->duels[finalist - 1].finished)
		return err_set(reterr, ERR_INPUT, "a duel's result without its finalist (%d)", finalist);
	struct duel *d = &s->duels[finalist - 1];
	CLEANUP(free_ptr) char *verdict = json_dump_take(json_incref(json_object_get(body, "verdict")));
	TRY(verdict_from_json(verdict, &d->verdict, reterr));
	d->valid = json_bool_of(body, "valid");
	d->result = (struct duel_result){
		.pairs = pairs,
		.gain_ln = json_number_of(body, "gain_ln"),
		.low_ln = json_number_of(body, "low_ln"),
		.high_ln = json_number_of(body, "high_ln"),
		.sigma = json_number_of(body, "sigma"),
		.nu = json_number_of(body, "nu"),
		.threshold_ln = json_number_of(body, "threshold_ln"),
		.delivered = json_bool_of(body, "delivered"),
	};
	if (d->result.delivered && !(d->valid && d->result.gain_ln > 0))
		return err_set(
			reterr, ERR_INPUT, "delivered: expected false without a valid duel and a gain");
	d->finished = true;
	return OK;
}

static enum err_code accept_promotion_over(struct replay *r, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	int delivered = 0;
	TRY(read_count(body, "delivered_finalist", &delivered, reterr));
	if (s->confirming)
		return err_set(reterr, ERR_INPUT, "promotion_over: a winner is still being confirmed");
	if (delivered && ((size_t)delivered > s->n_duels || !s->duels[delivered - 1].result.delivered))
		return err_set(reterr, ERR_INPUT, "delivered_finalist: finalist %d won no duel", delivered);
	s->finished = true;
	s->delivered_finalist = delivered;
	s->has_standing = s->has_standing && !delivered;
	return OK;
}

/* A reviewed patch may be promoted from here on: promotion that went without it is carried out anew. */
static enum err_code accept_audit(struct replay *r, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	const char *digest = json_text_of(body, "patch");
	for (size_t i = 0; i < s->space.n_patches; i++)
		if (strcmp(s->space.patches[i].digest, digest) == 0) {
			s->patch_accepted[i] = true;
			duels_reopen(r);
			return OK;
		}
	return err_set(reterr, ERR_INPUT, "patch: no patch of this campaign has the digest '%s'", digest);
}

static enum err_code accept_trial(struct replay *r, const json_t *body, struct err *reterr)
{
	int number = 0;
	TRY(read_count(body, "trial", &number, reterr));
	struct trial *t = trial_by_number(r, number);
	if (!t)
		return err_set(reterr, ERR_INPUT, "trial: there is no trial %d before it", number);
	/* One whose start-up is known to be long is held by everything else as before. */
	bool is_known_start = *json_text_of(body, "by") != '\0';
	t->accepted_reviews |= is_known_start ? 1u << REVIEW_WALL_TIME : ~0u;
	t->lost_duel &= is_known_start;
	duels_reopen(r);
	return OK;
}

static enum err_code accept_search_over(struct replay *r, const json_t *body, struct err *reterr)
{
	const char *why = json_text_of(body, "why");
	for (int i = SEARCH_OVER_NOT_WORTH; i < N_SEARCH_OVER_WHYS; i++)
		if (strcmp(search_over_names[i], why) == 0) {
			r->s->search_over =
				(struct search_over){(enum search_over_why)i, text_in_arena(r, body, "text")};
			return OK;
		}
	return err_set(reterr, ERR_INPUT, "why: expected a reason that this version knows");
}

static enum err_code replay_accept(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)e;
	static const struct {
		const char *what;
		enum err_code (*accept)(struct replay *r, const json_t *body, struct err *reterr);
	} accepts[] = {
		{"finalist", accept_finalist},
		{"duel", accept_duel},
		{"promotion_over", accept_promotion_over},
		{"confirm_wanted", confirmation_wish},
		{"confirm", confirmation_open},
		{"confirmed", confirmation_close},
		{"audit", accept_audit},
		{"trial", accept_trial},
		{"search_over", accept_search_over},
	};
	const char *what = json_text_of(body, "what");
	for (size_t i = 0; i < ARRAY_LEN(accepts); i++)
		if (strcmp(what, accepts[i].what) == 0)
			return accepts[i].accept(r, body, reterr);
	return OK; /* other acceptances do not touch promotion */
}

static enum err_code replay_spend(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)e;
	(void)reterr;
	r->s->cost.tokens += amount_of(body, "tokens");
	r->s->cost.usd += amount_of(body, "usd");
	r->s->cost.build_s += amount_of(body, "build_s");
	return OK;
}

/* Levers were read before; a search that was over has something to try again. */
static enum err_code replay_proposal(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)e;
	if (proposal_is_answer(body))
		return proposals_replay(r, body, reterr);
	r->s->search_over = (struct search_over){0};
	return OK;
}

static enum err_code replay_nothing(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)r;
	(void)e;
	(void)body;
	(void)reterr;
	return OK; /* priors come with the experience bank */
}

typedef enum err_code (*replay_fn)(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr);
static const replay_fn replay_table[N_ENTRY_KINDS] = {
	[ENTRY_CAMPAIGN] = replay_campaign,
	[ENTRY_REGISTERED] = replay_registered,
	[ENTRY_STARTED] = replay_started,
	[ENTRY_FINISHED] = replay_finished,
	[ENTRY_INTERRUPTED] = replay_released,
	[ENTRY_TRANSIENT] = replay_released,
	[ENTRY_REJECTED] = replay_rejected,
	[ENTRY_PROPOSAL] = replay_proposal,
	[ENTRY_PRIOR] = replay_nothing,
	[ENTRY_DECISION] = replay_decision,
	[ENTRY_ACCEPT] = replay_accept,
	[ENTRY_SPEND] = replay_spend,
};

enum err_code replay_entry(struct replay *r, const struct ledger_entry *e, struct err *reterr)
{
	CLEANUP(json_decref_ptr) json_t *body = NULL;
	TRY(entry_body(e, &body, reterr));
	if (!r->s->has_campaign && e->kind != ENTRY_CAMPAIGN)
		return err_in_entry(e,
			err_set(reterr, ERR_INPUT, "expected the entry that begins a campaign before it"),
			reterr);
	TRY(err_in_entry(e, replay_table[e->kind](r, e, body, reterr), reterr));
	r->s->last_utc = e->utc;
	return OK;
}

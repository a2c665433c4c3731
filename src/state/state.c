#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "spec/task.h"
#include "state/state_int.h"

const char *const trial_status_names[N_TRIAL_STATUSES] = {
	"running",
	"valid",
	"oom",
	"crashed",
	"hung",
	"invalid",
	"interrupted",
	"transient",
};

struct replay {
	struct state *s;
	const struct ledger_entry *entries;
	size_t n_entries;
	/* Growing arrays; moved into the arena at the end. */
	struct trial *trials;
	size_t trials_capacity;
	struct execution *duel_runs;
	size_t n_duel_runs, duel_runs_capacity;
	size_t references_capacity, refusals_capacity, duels_capacity;
	json_t **decisions; /* bodies by order; owned */
	int64_t *decision_ids;
	size_t n_decisions, decisions_capacity, decision_ids_capacity;
	bool last_decision_registered;
	bool moved; /* state's arrays are in the arena */
};

static struct arena *arena_of(struct replay *r)
{
	return &r->s->arena;
}

static struct trial *trial_by_number(struct replay *r, int number)
{
	for (size_t i = r->s->n_trials; i-- > 0;)
		if (r->trials[i].number == number)
			return &r->trials[i];
	return NULL;
}

static enum err_code candidate_of(
	struct replay *r, const json_t *body, struct candidate *ret_candidate, struct err *reterr)
{
	json_t *json = json_object_get(body, "candidate");
	if (!json_is_object(json))
		return err_set(reterr, ERR_INPUT, "a candidate is missing");
	CLEANUP(free_ptr) char *text = json_dump_take(json_incref(json));
	struct candidate parsed = CANDIDATE_INIT;
	TRY(candidate_from_json(text, &r->s->space, &parsed, reterr));
	ret_candidate->n_levers = parsed.n_levers;
	ret_candidate->setting = arena_array(arena_of(r), parsed.n_levers, sizeof(int));
	memcpy(ret_candidate->setting, parsed.setting, parsed.n_levers * sizeof(int));
	candidate_release(&parsed);
	return OK;
}

static enum err_code replay_campaign(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)reterr;
	struct state *s = r->s;
	const json_t *snapshot = json_object_get(body, "snapshot");
	s->has_campaign = true;
	s->campaign_id = arena_strdup(arena_of(r), json_text_of(body, "id"));
	s->task_digest = arena_strdup(arena_of(r), json_text_of(body, "task_digest"));
	s->contract_digest = arena_strdup(arena_of(r), json_text_of(body, "contract_digest"));
	s->commit = arena_strdup(arena_of(r), json_text_of(snapshot, "commit"));
	s->tree = arena_strdup(arena_of(r), json_text_of(snapshot, "tree"));
	s->prefix = arena_strdup(arena_of(r), json_text_of(snapshot, "prefix"));
	s->environment_json = arena_strdup(arena_of(r), json_text_of(body, "environment"));
	s->seed = (uint64_t)json_integer_of(body, "seed");
	s->first_utc = arena_strdup(arena_of(r), e->utc);
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

/* A search that goes on after its promotion will promote anew: the old duels are history, their cost stays.
 */
static void reopen_promotion(struct replay *r)
{
	if (!r->s->finished)
		return;
	r->s->finished = false;
	r->s->delivered_finalist = 0;
	r->s->n_duels = 0;
	r->n_duel_runs = 0;
}

static enum err_code replay_registered(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	if (e->trial < 1 || trial_by_number(r, e->trial))
		return err_set(reterr, ERR_INPUT, "trial %d is registered twice or has no number", e->trial);
	reopen_promotion(r);
	grow_array(&r->trials, &r->trials_capacity, s->n_trials + 1, sizeof(struct trial));
	struct trial *t = &r->trials[s->n_trials];
	*t = (struct trial){.number = e->trial, .status = TRIAL_REGISTERED, .reason_text = ""};
	TRY(candidate_of(r, body, &t->candidate, reterr));
	int64_t id = json_integer_of(body, "decision_id");
	const json_t *decision = decision_body(r, id);
	if (r->n_decisions && r->decision_ids[r->n_decisions - 1] == id)
		r->last_decision_registered = true;
	t->signature = arena_strdup(arena_of(r), e->signature);
	t->operators = arena_strdup(arena_of(r), json_text_of(decision, "operators"));
	t->reason = arena_strdup(arena_of(r), json_text_of(decision, "reason"));
	t->predicted_ln = json_number_of(decision, "mean_ln");
	t->predicted_sd_ln = json_number_of(decision, "sd_ln");
	t->score = json_number_of(decision, "score");
	t->p_fits = json_number_of(decision, "p_fits");
	t->p_ok = json_number_of(decision, "p_ok");
	t->base_trial = (int)json_integer_of(decision, "base_trial");
	s->n_trials++;
	return OK;
}

static void count_receipt(struct replay *r, const json_t *body, const struct execution *run)
{
	int64_t seq = json_integer_of(body, "seq");
	if (seq >= r->s->next_seq) {
		r->s->next_seq = seq + 1;
		r->s->last_receipt_digest = run->receipt_digest;
	}
	if (isfinite(run->capacity_bytes))
		r->s->capacity_bytes = run->capacity_bytes;
	r->s->cost.build_s += run->build_s;
}

static enum err_code finish_trial(
	struct replay *r, int number, const struct execution *run, struct err *reterr)
{
	struct trial *t = trial_by_number(r, number);
	if (!t || t->status != TRIAL_REGISTERED)
		return err_set(
			reterr, ERR_INPUT, "trial %d ends without being registered, or ends twice", number);
	t->run = *run;
	t->status = execution_status(run);
	t->device_s = run->device_s;
	r->s->cost.search_s += run->device_s;
	r->s->n_counted++;
	return OK;
}

static enum err_code replay_finished(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	struct execution run;
	TRY(execution_from_body(arena_of(r), body, &run, reterr));
	count_receipt(r, body, &run);
	switch (run.role) {
	case ROLE_REFERENCE:
		grow_array(&s->references, &r->references_capacity, s->n_references + 1, sizeof(run));
		s->references[s->n_references++] = run;
		s->cost.reference_s += run.device_s;
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
	case ROLE_SEARCH:
		return finish_trial(r, e->trial, &run, reterr);
	}
	return OK;
}

static double *cost_of_role(struct cost *cost, const char *role)
{
	if (strcmp(role, "reference") == 0)
		return &cost->reference_s;
	if (strcmp(role, "profile") == 0)
		return &cost->profile_s;
	if (strcmp(role, "promotion") == 0)
		return &cost->promotion_s;
	return &cost->search_s;
}

/* Interrupted and transient executions keep their cost and release their signature. */
static enum err_code replay_released(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	double device_s = json_number_of(body, "device_s");
	device_s = isfinite(device_s) && device_s > 0 ? device_s : 0;
	*cost_of_role(&r->s->cost, json_text_of(body, "role")) += device_s;
	int64_t seq = json_integer_of(body, "seq");
	if (seq >= r->s->next_seq)
		r->s->next_seq = seq + 1;
	if (e->trial == 0)
		return OK;
	struct trial *t = trial_by_number(r, e->trial);
	if (!t || t->status != TRIAL_REGISTERED)
		return err_set(
			reterr, ERR_INPUT, "trial %d ends without being registered, or ends twice", e->trial);
	t->status = e->kind == ENTRY_INTERRUPTED ? TRIAL_INTERRUPTED : TRIAL_TRANSIENT;
	t->reason_text = arena_strdup(arena_of(r), json_text_of(body, "reason"));
	t->device_s = device_s;
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
		.name = arena_strdup(arena_of(r), json_text_of(body, "name")),
		.by = arena_strdup(arena_of(r), json_text_of(body, "by")),
		.reason = arena_strdup(arena_of(r), json_text_of(body, "reason")),
	};
	return OK;
}

static enum err_code replay_accept(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)e;
	struct state *s = r->s;
	const char *what = json_text_of(body, "what");
	if (strcmp(what, "promotion_over") == 0) {
		s->finished = true;
		s->delivered_finalist = (int)json_integer_of(body, "delivered_finalist");
		return OK;
	}
	int finalist = (int)json_integer_of(body, "finalist");
	if (strcmp(what, "finalist") == 0) {
		grow_array(&s->duels, &r->duels_capacity, s->n_duels + 1, sizeof(*s->duels));
		s->duels[s->n_duels++] = (struct duel){
			.finalist = finalist,
			.trial = (int)json_integer_of(body, "trial"),
			.claimed_ln = json_number_of(body, "claimed_ln"),
			.n_pairs = (size_t)MAX_OF(json_integer_of(body, "pairs"), 0),
		};
		return OK;
	}
	if (strcmp(what, "duel") != 0)
		return OK;
	if (finalist < 1 || (size_t)finalist > s->n_duels)
		return err_set(reterr, ERR_INPUT, "a duel's result without its finalist (%d)", finalist);
	struct duel *d = &s->duels[finalist - 1];
	CLEANUP(free_ptr) char *verdict = json_dump_take(json_deep_copy(json_object_get(body, "verdict")));
	TRY(verdict_from_json(verdict, &d->verdict, reterr));
	d->finished = true;
	d->valid = json_bool_of(body, "valid");
	d->result = (struct duel_result){
		.pairs = (int)json_integer_of(body, "pairs"),
		.gain_ln = json_number_of(body, "gain_ln"),
		.low_ln = json_number_of(body, "low_ln"),
		.high_ln = json_number_of(body, "high_ln"),
		.sigma = json_number_of(body, "sigma"),
		.nu = json_number_of(body, "nu"),
		.threshold_ln = json_number_of(body, "threshold_ln"),
		.delivered = json_bool_of(body, "delivered"),
	};
	return OK;
}

static enum err_code replay_spend(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)e;
	(void)reterr;
	double tokens = json_number_of(body, "tokens"), usd = json_number_of(body, "usd");
	double build_s = json_number_of(body, "build_s");
	r->s->cost.tokens += isfinite(tokens) ? tokens : 0;
	r->s->cost.usd += isfinite(usd) ? usd : 0;
	r->s->cost.build_s += isfinite(build_s) ? build_s : 0;
	return OK;
}

static enum err_code replay_nothing(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr)
{
	(void)r;
	(void)e;
	(void)body;
	(void)reterr;
	return OK; /* `started` only marks; proposals were read before; priors come with the experience bank
		    */
}

typedef enum err_code (*replay_fn)(
	struct replay *r, const struct ledger_entry *e, const json_t *body, struct err *reterr);
static const replay_fn replay_table[N_ENTRY_KINDS] = {
	[ENTRY_CAMPAIGN] = replay_campaign,
	[ENTRY_REGISTERED] = replay_registered,
	[ENTRY_STARTED] = replay_nothing,
	[ENTRY_FINISHED] = replay_finished,
	[ENTRY_INTERRUPTED] = replay_released,
	[ENTRY_TRANSIENT] = replay_released,
	[ENTRY_REJECTED] = replay_rejected,
	[ENTRY_PROPOSAL] = replay_nothing,
	[ENTRY_PRIOR] = replay_nothing,
	[ENTRY_DECISION] = replay_decision,
	[ENTRY_ACCEPT] = replay_accept,
	[ENTRY_SPEND] = replay_spend,
};

static void patch_from_body(struct arena *arena, const json_t *patch, struct patch_lever *lever)
{
	const json_t *phases = json_object_get(patch, "phases");
	lever->digest = arena_strdup(arena, json_text_of(patch, "digest"));
	lever->name = arena_strdup(arena, json_text_of(patch, "name"));
	lever->title = arena_strdup(arena, json_text_of(patch, "title"));
	lever->mechanism = arena_strdup(arena, json_text_of(patch, "mechanism"));
	lever->predicted_gain_ln = json_number_of(patch, "predicted_gain_ln");
	lever->has_predicted_gain = isfinite(lever->predicted_gain_ln);
	lever->n_phases = json_array_size(phases);
	lever->phases = arena_array(arena, lever->n_phases, sizeof(char *));
	for (size_t i = 0; i < lever->n_phases; i++) {
		const char *name = json_string_value(json_array_get(phases, i));
		lever->phases[i] = arena_strdup(arena, name ? name : "");
	}
}

/* Marks the pairs of patches that a proposal names as not applying together. */
static void mark_conflicts(
	const json_t *body, const struct patch_lever *levers, size_t count, size_t self, bool *conflicts)
{
	size_t index;
	json_t *value;
	json_array_foreach(json_object_get(body, "conflicts"), index, value)
	{
		const char *digest = json_string_value(value);
		for (size_t other = 0; digest && other < count; other++)
			if (strcmp(levers[other].digest, digest) == 0)
				conflicts[self * count + other] = conflicts[other * count + self] = true;
	}
}

/* Patches are read first, since every candidate names its levers by the whole space. */
static enum err_code build_space(struct replay *r, struct err *reterr)
{
	struct state *s = r->s;
	struct patch_lever *levers = arena_array(arena_of(r), r->n_entries, sizeof(*levers));
	json_t **bodies = xcalloc(r->n_entries, sizeof(json_t *));
	size_t n = 0;
	s->patch_paths = arena_array(arena_of(r), r->n_entries, sizeof(char *));
	enum err_code code = OK;
	for (size_t i = 0; i < r->n_entries && code == OK; i++) {
		if (r->entries[i].kind != ENTRY_PROPOSAL)
			continue;
		code = json_object_parse(r->entries[i].body, "ledger", &bodies[n], reterr);
		if (code != OK)
			break;
		patch_from_body(arena_of(r), json_object_get(bodies[n], "patch"), &levers[n]);
		s->patch_paths[n] = arena_strdup(arena_of(r), json_text_of(bodies[n], "diff_path"));
		n++;
	}
	CLEANUP(free_ptr) bool *conflicts = xcalloc(n * n, sizeof(bool));
	for (size_t i = 0; i < n && code == OK; i++)
		mark_conflicts(bodies[i], levers, n, i, conflicts);
	if (code == OK)
		code = space_init(&s->space, s->task, levers, n, conflicts, reterr);
	for (size_t i = 0; i < r->n_entries; i++)
		json_decref(bodies[i]);
	free(bodies);
	return code;
}

static enum err_code replay_entries(struct replay *r, struct err *reterr)
{
	for (size_t i = 0; i < r->n_entries; i++) {
		const struct ledger_entry *e = &r->entries[i];
		CLEANUP(json_decref_ptr) json_t *body = NULL;
		TRY(json_object_parse(e->body, "ledger", &body, reterr));
		enum err_code code = replay_table[e->kind](r, e, body, reterr);
		if (code != OK)
			return err_prefix(reterr, code, "ledger entry %lld (%s)", (long long)e->id,
				entry_kind_names[e->kind]);
		r->s->last_utc = e->utc;
	}
	return OK;
}

/* Noise and baseline from the valid reference runs with a full window. */
static enum err_code calibrate(struct state *s, struct err *reterr)
{
	CLEANUP(free_ptr) struct run_times *times = xcalloc(s->n_references, sizeof(*times));
	size_t n = 0;
	double peak = NAN;
	for (size_t i = 0; i < s->n_references; i++) {
		const struct execution *run = &s->references[i];
		if (!run->verdict.valid || !run->has_time)
			continue;
		times[n].step_s = run->step_s;
		times[n++].n = run->n_steps;
		peak = fmax(peak, run->peak_bytes);
	}
	s->reference_peak_bytes = peak;
	if (n < 2)
		return OK;
	TRY(noise_estimate(times, n, &s->noise, reterr));
	s->has_noise = true;
	return OK;
}

static void set_gains(struct state *s, struct replay *r)
{
	if (!s->has_noise)
		return;
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].run.has_time)
			s->trials[i].run.gain_ln = log(s->noise.mean_s / s->trials[i].run.time_s);
	for (size_t i = 0; i < r->n_duel_runs; i++)
		if (r->duel_runs[i].has_time)
			r->duel_runs[i].gain_ln = log(s->noise.mean_s / r->duel_runs[i].time_s);
}

static void assign_duel_run(struct duel *duel, const struct execution *run)
{
	if (run->finalist != duel->finalist || run->pair < 0 || (size_t)run->pair >= duel->n_pairs)
		return;
	if (run->is_candidate_side)
		duel->candidate_runs[run->pair] = *run;
	else if (run->has_time && run->verdict.valid)
		duel->reference_runs[run->pair] = *run;
	else
		duel->reference_failures++;
}

static void assign_duel_runs(struct state *s, const struct replay *r)
{
	for (size_t d = 0; d < s->n_duels; d++) {
		struct duel *duel = &s->duels[d];
		duel->reference_runs = arena_array(&s->arena, duel->n_pairs, sizeof(struct execution));
		duel->candidate_runs = arena_array(&s->arena, duel->n_pairs, sizeof(struct execution));
		for (size_t i = 0; i < r->n_duel_runs; i++)
			assign_duel_run(duel, &r->duel_runs[i]);
	}
}

static enum err_code set_pending(struct state *s, struct replay *r, struct err *reterr)
{
	s->n_decisions = (int)r->n_decisions;
	if (!r->n_decisions || r->last_decision_registered)
		return OK;
	const json_t *body = r->decisions[r->n_decisions - 1];
	struct candidate candidate = CANDIDATE_INIT;
	TRY(candidate_of(r, body, &candidate, reterr));
	s->has_pending_decision = true;
	s->pending_id = r->decision_ids[r->n_decisions - 1];
	s->pending.found = true;
	s->pending.setting = candidate.setting;
	return OK;
}

static void *into_arena(struct state *s, void *array, size_t count, size_t size)
{
	void *copy = arena_array(&s->arena, count, size);
	if (count)
		memcpy(copy, array, count * size);
	free(array);
	return copy;
}

static enum err_code replay_all(struct state *s, struct replay *r, struct err *reterr)
{
	TRY(build_space(r, reterr));
	TRY(replay_entries(r, reterr));
	r->moved = true;
	s->trials = into_arena(s, take_ptr(r->trials), s->n_trials, sizeof(struct trial));
	s->references = into_arena(s, s->references, s->n_references, sizeof(struct execution));
	s->refusals = into_arena(s, s->refusals, s->n_refusals, sizeof(struct refusal));
	s->duels = into_arena(s, s->duels, s->n_duels, sizeof(struct duel));
	TRY(calibrate(s, reterr));
	set_gains(s, r);
	assign_duel_runs(s, r);
	TRY(set_pending(s, r, reterr));
	return state_build_search_input(s, reterr);
}

static void keep_last_campaign(struct replay *r)
{
	for (size_t i = r->n_entries; i-- > 0;)
		if (r->entries[i].kind == ENTRY_CAMPAIGN) {
			r->entries += i;
			r->n_entries -= i;
			return;
		}
}

enum err_code state_load(
	const struct task *task, struct ledger *ledger, struct state *ret_state, struct err *reterr)
{
	struct state s = {.task = task,
		.capacity_bytes = NAN,
		.next_seq = 1,
		.last_receipt_digest = "",
		.campaign_id = "",
		.task_digest = "",
		.contract_digest = "",
		.commit = "",
		.tree = "",
		.prefix = "",
		.environment_json = "",
		.first_utc = "",
		.last_utc = ""};
	struct replay r = {.s = &s};
	struct ledger_entry *entries = NULL;
	enum err_code code = ledger_read_all(ledger, &s.arena, &entries, &r.n_entries, reterr);
	if (code == OK) {
		r.entries = entries;
		keep_last_campaign(&r);
		code = replay_all(&s, &r, reterr);
	}
	for (size_t i = 0; i < r.n_decisions; i++)
		json_decref(r.decisions[i]);
	free(r.decisions);
	free(r.decision_ids);
	free(r.duel_runs);
	free(r.trials);
	if (code != OK && !r.moved) {
		free(s.references);
		free(s.refusals);
		free(s.duels);
	}
	if (code != OK) {
		state_release(&s);
		return code;
	}
	*ret_state = s;
	/* The space moved with the struct; the callback must see where it is now. */
	ret_state->search.legal_context = &ret_state->space;
	return OK;
}

void state_release(struct state *s)
{
	space_release(&s->space);
	arena_release(&s->arena);
	*s = (struct state){0};
}

enum err_code state_incumbent(const struct state *s, int *ret_trial, double *ret_mean_ln, struct err *reterr)
{
	int observation;
	TRY(search_incumbent(&s->search, &observation, ret_mean_ln, reterr));
	*ret_trial = observation < 0 ? -1 : s->observation_trial[observation];
	return OK;
}

bool state_phase_shares(const struct state *s, double ret_shares[N_PHASES], double *ret_other)
{
	const struct execution *run = &s->profile;
	if (!s->has_profile || !run->has_time)
		return false;
	double sum = 0;
	bool any = false;
	for (int p = 0; p < N_PHASES; p++) {
		bool known = isfinite(run->phase_s[p]);
		ret_shares[p] = known ? MAX_OF(run->phase_s[p] / run->time_s, 0.0) : 0;
		sum += ret_shares[p];
		any |= known;
	}
	/* Phases that add up to more than the update (overlap, or a short window) are scaled to it. */
	for (int p = 0; p < N_PHASES && sum > 1; p++)
		ret_shares[p] /= sum;
	*ret_other = MAX_OF(1 - sum, 0.0);
	return any;
}

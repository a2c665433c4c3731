#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/task.h"
#include "state/state_int.h"

const char *const trial_status_names[N_TRIAL_STATUSES] = {
	"running",
	"valid",
	"oom",
	"crashed",
	"hung",
	"invalid",
	"slower",
	"interrupted",
	"transient",
};

const char *const search_over_names[N_SEARCH_OVER_WHYS] = {
	[SEARCH_OVER_NONE] = "none",
	[SEARCH_OVER_NOT_WORTH] = "not_worth",
	[SEARCH_OVER_DEVICE_HOURS] = "device_hours",
	[SEARCH_OVER_WALL] = "wall",
	[SEARCH_OVER_EXHAUSTED] = "exhausted",
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

struct clashes { /* of `count` patches */
	size_t count;
	bool *marked; /* pairs */
	struct patch_clash *items;
	size_t n_items, room;
};

static void mark_pair(struct state *s, struct clashes *c, size_t self, size_t other, const char *reason)
{
	if (self != other && !c->marked[self * c->count + other]) {
		grow_array(&c->items, &c->room, c->n_items + 1, sizeof(*c->items));
		c->items[c->n_items++] = (struct patch_clash){
			MIN_OF(self, other), MAX_OF(self, other), arena_strdup(&s->arena, reason)};
	}
	c->marked[self * c->count + other] = c->marked[other * c->count + self] = true;
}

/* Marks the pairs of patches that a proposal names as not applying together. */
static void mark_conflicts(
	struct state *s, const json_t *body, const struct patch_lever *levers, size_t self, struct clashes *c)
{
	const json_t *reasons = json_object_get(body, "conflict_reasons");
	size_t index;
	json_t *value;
	json_array_foreach(json_object_get(body, "conflicts"), index, value)
	{
		const char *digest = json_string_value(value);
		for (size_t other = 0; digest && other < c->count; other++)
			if (strcmp(levers[other].digest, digest) == 0)
				mark_pair(s, c, self, other, json_text_of(reasons, digest));
	}
}

/* The audit's findings of a patch that it let through for a person to look at, as one line. */
static const char *review_text(struct arena *arena, const json_t *body)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	size_t index;
	json_t *value;
	if (strcmp(json_text_of(body, "audit"), "review") != 0)
		return "";
	json_array_foreach(json_object_get(body, "findings"), index, value)
	{
		const char *finding = json_string_value(value);
		strbuf_addf(&text, "%s%s", index ? "; " : "", finding ? finding : "");
	}
	return text.len ? arena_strdup(arena, text.buf) : "the audit says so";
}

/* Patches are read first, since every candidate names its levers by the whole space. */
static enum err_code read_proposal(struct replay *r, const struct ledger_entry *e, const json_t *body,
	size_t index, struct patch_lever *lever, struct err *reterr)
{
	struct state *s = r->s;
	TRY(err_in_entry(e, body_require(body, "patch", VALUE_OBJECT, reterr), reterr));
	TRY(err_in_entry(e, body_require(body, "diff_path", VALUE_TEXT, reterr), reterr));
	const json_t *patch = json_object_get(body, "patch");
	const char *path = json_text_of(body, "diff_path");
	if (!*json_text_of(patch, "digest") || !path_is_contained(path))
		return err_set(reterr, ERR_INPUT,
			"ledger entry %lld (proposal): expected a patch with its digest, and a diff_path "
			"inside .infrarsi",
			(long long)e->id);
	patch_from_body(&s->arena, patch, lever);
	s->patch_sources[index] = proposals_source(r, json_text_of(body, "proposer"));
	s->patch_paths[index] = arena_strdup(&s->arena, path);
	s->patch_reviews[index] = review_text(&s->arena, body);
	return OK;
}

static enum err_code build_space(
	struct replay *r, const struct ledger_entry *entries, size_t n_entries, struct err *reterr)
{
	struct state *s = r->s;
	size_t n = 0, room = 0;
	for (size_t i = 0; i < n_entries; i++)
		room += entries[i].kind == ENTRY_PROPOSAL;
	struct patch_lever *levers = arena_array(&s->arena, room, sizeof(*levers));
	CLEANUP(free_ptr) json_t **bodies = xcalloc(room, sizeof(json_t *));
	CLEANUP(free_ptr) bool *conflicts = xcalloc(room * room, sizeof(bool));
	struct clashes clashes = {.marked = conflicts};
	s->patch_paths = arena_array(&s->arena, room, sizeof(char *));
	s->patch_reviews = arena_array(&s->arena, room, sizeof(char *));
	s->patch_sources = arena_array(&s->arena, room, sizeof(int));
	s->patch_accepted = arena_array(&s->arena, room, sizeof(bool));
	enum err_code code = OK;
	for (size_t i = 0; i < n_entries && code == OK; i++) {
		if (entries[i].kind != ENTRY_PROPOSAL)
			continue;
		code = entry_body(&entries[i], &bodies[n], reterr);
		if (code == OK && proposal_is_answer(bodies[n])) {
			proposals_source(r, json_text_of(bodies[n], "proposer"));
			json_decref(take_ptr(bodies[n]));
			continue;
		}
		if (code == OK)
			code = read_proposal(r, &entries[i], bodies[n], n, &levers[n], reterr);
		n++;
	}
	clashes.count = n;
	for (size_t i = 0; i < n && code == OK; i++)
		mark_conflicts(s, bodies[i], levers, i, &clashes);
	s->n_clashes = clashes.n_items;
	s->clashes = arena_array(&s->arena, clashes.n_items, sizeof(*clashes.items));
	if (clashes.n_items)
		memcpy(s->clashes, clashes.items, clashes.n_items * sizeof(*clashes.items));
	free(clashes.items);
	if (code == OK)
		code = space_init(&s->space, s->task, levers, n, conflicts, reterr);
	for (size_t i = 0; i < n; i++)
		json_decref(bodies[i]);
	return code;
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
	for (size_t i = 0; i < s->n_trials; i++) {
		struct execution *run = &s->trials[i].run;
		if (run->has_time)
			run->gain_ln = log(state_reference_s(s, run) / run->time_s);
	}
	for (size_t i = 0; i < r->n_duel_runs; i++)
		if (r->duel_runs[i].has_time)
			r->duel_runs[i].gain_ln = log(s->noise.mean_s / r->duel_runs[i].time_s);
}

static void assign_duel_runs(struct state *s, const struct replay *r)
{
	for (size_t d = 0; d < s->n_duels; d++)
		duel_take_runs(&s->arena, &s->duels[d], r->duel_runs, r->n_duel_runs);
	if (s->has_standing && s->has_noise)
		duel_set_gains(&s->standing, s->noise.mean_s);
}

static enum err_code set_pending(struct state *s, struct replay *r, struct err *reterr)
{
	s->n_decisions = (int)r->n_decisions;
	if (!r->n_decisions || r->last_decision_registered)
		return OK;
	struct candidate candidate = CANDIDATE_INIT;
	int64_t id = r->decision_ids[r->n_decisions - 1];
	enum err_code code = candidate_from_body(s, r->decisions[r->n_decisions - 1], &candidate, reterr);
	if (code != OK)
		return err_prefix(reterr, code, "ledger entry %lld (decision)", (long long)id);
	s->has_pending_decision = true;
	s->pending_id = id;
	s->pending.found = true;
	s->pending.setting = candidate.setting;
	return OK;
}

/* Frees a grown array and gives its copy in the arena. */
static void *into_arena(struct state *s, void *array, size_t count, size_t size)
{
	void *copy = arena_array(&s->arena, count, size);
	if (count)
		memcpy(copy, array, count * size);
	free(array);
	return copy;
}

/* Also after a failure: then nothing of the replay is left on the heap. */
static void move_into_arena(struct state *s, struct replay *r)
{
	s->trials = into_arena(s, r->trials, s->n_trials, sizeof(struct trial));
	s->references = into_arena(s, s->references, s->n_references, sizeof(struct execution));
	s->slot_runs = into_arena(s, s->slot_runs, s->n_slot_runs, sizeof(struct execution));
	s->refusals = into_arena(s, s->refusals, s->n_refusals, sizeof(struct refusal));
	s->duels = into_arena(s, s->duels, s->n_duels, sizeof(struct duel));
	s->proposers = into_arena(s, s->proposers, s->n_proposers, sizeof(*s->proposers));
	s->suggestions = into_arena(s, s->suggestions, s->n_suggestions, sizeof(*s->suggestions));
	s->priors = into_arena(s, s->priors, s->n_priors, sizeof(*s->priors));
	s->conflicts = into_arena(s, s->conflicts, s->n_conflicts, sizeof(*s->conflicts));
	s->opinions = into_arena(s, s->opinions, s->n_opinions, sizeof(*s->opinions));
}

static enum err_code replay_all(struct state *s, struct replay *r, const struct ledger_entry *entries,
	size_t n_entries, struct err *reterr)
{
	enum err_code code = build_space(r, entries, n_entries, reterr);
	for (size_t i = 0; i < n_entries && code == OK; i++)
		code = replay_entry(r, &entries[i], reterr);
	move_into_arena(s, r);
	TRY(code);
	TRY(calibrate(s, reterr));
	TRY(slots_calibrate(s, reterr));
	set_gains(s, r);
	assign_duel_runs(s, r);
	TRY(set_pending(s, r, reterr));
	return state_build_search_input(s, reterr);
}

static size_t begin_of_last_campaign(const struct ledger_entry *entries, size_t n_entries)
{
	for (size_t i = n_entries; i-- > 0;)
		if (entries[i].kind == ENTRY_CAMPAIGN)
			return i;
	return 0;
}

static enum err_code load(struct state *s, struct ledger *ledger, struct err *reterr)
{
	struct replay r = {.s = s};
	struct ledger_entry *entries = NULL;
	size_t n_entries = 0;
	if (ledger)
		TRY(ledger_read_all(ledger, &s->arena, &entries, &n_entries, reterr));
	size_t begin = begin_of_last_campaign(entries, n_entries);
	/* No ledger, no entries: nothing may be added to a null pointer, not even nothing. */
	const struct ledger_entry *last = begin ? entries + begin : entries;
	enum err_code code = replay_all(s, &r, last, n_entries - begin, reterr);
	for (size_t i = 0; i < r.n_decisions; i++)
		json_decref(r.decisions[i]);
	free(r.decisions);
	free(r.decision_ids);
	free(r.duel_runs);
	return code;
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
		.hooks_digest = "",
		.first_utc = "",
		.last_utc = ""};
	enum err_code code = load(&s, ledger, reterr);
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

enum err_code state_check_diff(const struct state *s, size_t patch, const char *dir, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, s->patch_paths[patch]);
	char found[SHA256_HEX_SIZE];
	TRY(sha256_file_hex(path, found, reterr));
	if (strcmp(found, s->space.patches[patch].digest) == 0)
		return OK;
	return err_set(reterr, ERR_CONTRACT,
		"%s is not the patch that was audited: it was edited since; next: infrarsi doctor --new",
		path);
}

bool trial_is_held(const struct trial *t, const struct verdict *v)
{
	for (int i = 0; i < v->n_reviews; i++) {
		unsigned kind = review_kind_of(v->reviews[i]);
		/* A text of no kind, as an evaluation's frozen files leave it, is accepted with all the
		 * others. */
		if (kind < N_REVIEW_KINDS ? !(t->accepted_reviews & 1u << kind) : t->accepted_reviews != ~0u)
			return true;
	}
	return false;
}

bool state_waits_for_review(const struct state *s, const struct trial *t)
{
	if (trial_is_held(t, &t->run.verdict))
		return true;
	for (size_t i = 0; i < s->space.n_patches; i++)
		if (t->candidate.setting[s->task->n_knobs + i] && *s->patch_reviews[i] &&
			!s->patch_accepted[i])
			return true;
	return false;
}

int state_count_transients(const struct state *s, int trial)
{
	const char *signature = NULL;
	int n = 0;
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].number == trial)
			signature = s->trials[i].signature;
	for (size_t i = 0; signature && i < s->n_trials; i++)
		n += s->trials[i].status == TRIAL_TRANSIENT && strcmp(s->trials[i].signature, signature) == 0;
	return n;
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

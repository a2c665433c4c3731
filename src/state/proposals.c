/* Who suggested what: answers of proposers, as they were recorded. What cannot be read any more, because the
 * task has no such knob or setting now, was a suggestion only and is passed over. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "spec/task.h"
#include "state/state_int.h"

int state_find_proposer(const struct state *s, const char *name)
{
	for (size_t i = 0; i < s->n_proposers; i++)
		if (strcmp(s->proposers[i].name, name) == 0)
			return (int)i;
	return -1;
}

const char *state_source_name(const struct state *s, int source)
{
	return source > 0 && (size_t)source <= s->n_proposers ? s->proposers[source - 1].name : "the task";
}

int proposals_source(struct replay *r, const char *name)
{
	struct state *s = r->s;
	if (!*name)
		return 0;
	int found = state_find_proposer(s, name);
	if (found >= 0)
		return found + 1;
	grow_array(&s->proposers, &r->proposers_capacity, s->n_proposers + 1, sizeof(*s->proposers));
	s->proposers[s->n_proposers++] =
		(struct proposer_record){.name = arena_strdup(&s->arena, name), .failure = ""};
	return (int)s->n_proposers;
}

bool proposal_is_answer(const json_t *body)
{
	return strcmp(json_text_of(body, "kind"), "answer") == 0;
}

static const char *reason_of(struct replay *r, const json_t *item)
{
	return arena_strdup(&r->s->arena, json_text_of(item, "reason"));
}

/* {"knob": name or "patch": digest, "setting": text}; false where the space has none such. */
static bool find_setting(const struct state *s, const json_t *item, int *ret_lever, int *ret_setting)
{
	const char *knob = json_text_of(item, "knob"), *patch = json_text_of(item, "patch");
	const char *text = json_text_of(item, "setting");
	for (size_t k = 0; k < s->task->n_knobs && *knob; k++) {
		const struct knob *known = &s->task->knobs[k];
		for (size_t i = 0; i < known->n_settings && strcmp(known->name, knob) == 0; i++)
			if (strcmp(known->settings[i].text, text) == 0) {
				*ret_lever = (int)k;
				*ret_setting = (int)i;
				return true;
			}
	}
	for (size_t p = 0; p < s->space.n_patches && *patch; p++)
		if (strcmp(s->space.patches[p].digest, patch) == 0) {
			*ret_lever = (int)(s->task->n_knobs + p);
			*ret_setting = 1;
			return true;
		}
	return false;
}

static void take_configuration(struct replay *r, int source, int after, const json_t *item)
{
	struct state *s = r->s;
	struct suggestion x = {.source = source,
		.after = after,
		.measure = json_bool_of(item, "measure"),
		.predicted_ln = json_number_of(item, "predicted_ln"),
		.predicted_bytes = json_number_of(item, "predicted_bytes"),
		.reason = reason_of(r, item)};
	struct err ignored = ERR_INIT;
	if (candidate_from_body(s, item, &x.candidate, &ignored) != OK)
		return;
	grow_array(&s->suggestions, &r->suggestions_capacity, s->n_suggestions + 1, sizeof(x));
	s->suggestions[s->n_suggestions++] = x;
}

static void take_prior(struct replay *r, int source, int after, const json_t *item)
{
	struct state *s = r->s;
	struct issued_prior x = {.source = source,
		.after = after,
		.gain_ln = json_number_of(item, "gain_ln"),
		.gain_sd_ln = json_number_of(item, "gain_sd_ln"),
		.memory_bytes = json_number_of(item, "memory_bytes"),
		.memory_sd_bytes = json_number_of(item, "memory_sd_bytes"),
		.reason = reason_of(r, item)};
	if (!find_setting(s, item, &x.lever, &x.setting) || x.setting == (int)s->space.reference[x.lever])
		return;
	grow_array(&s->priors, &r->priors_capacity, s->n_priors + 1, sizeof(x));
	s->priors[s->n_priors++] = x;
}

static void take_conflict(struct replay *r, const json_t *item)
{
	struct state *s = r->s;
	struct lever_pair x;
	if (!find_setting(s, json_object_get(item, "first"), &x.lever_a, &x.setting_a) ||
		!find_setting(s, json_object_get(item, "second"), &x.lever_b, &x.setting_b))
		return;
	grow_array(&s->conflicts, &r->conflicts_capacity, s->n_conflicts + 1, sizeof(x));
	s->conflicts[s->n_conflicts++] = x;
}

static void take_review(struct replay *r, int source, const json_t *item)
{
	struct state *s = r->s;
	struct opinion x = {.source = source,
		.accept = json_bool_of(item, "accept"),
		.was_shown = json_bool_of(item, "shown"),
		.reason = reason_of(r, item)};
	const char *digest = json_text_of(item, "patch");
	while (x.patch < s->space.n_patches && strcmp(s->space.patches[x.patch].digest, digest) != 0)
		x.patch++;
	if (x.patch == s->space.n_patches)
		return;
	grow_array(&s->opinions, &r->opinions_capacity, s->n_opinions + 1, sizeof(x));
	s->opinions[s->n_opinions++] = x;
}

static void count_question(struct replay *r, int source, int after, const json_t *body)
{
	struct proposer_record *p = &r->s->proposers[source - 1];
	p->answers += json_bool_of(body, "ok");
	p->is_outsider |= json_bool_of(body, "unasked");
	const json_t *cost = json_object_get(body, "cost");
	if (!cost)
		return; /* it came unasked */
	p->questions++;
	p->asked_after = after;
	p->failed = !json_bool_of(body, "ok");
	p->unanswered += p->failed;
	p->failure = arena_strdup(&r->s->arena, json_text_of(body, "error"));
	p->tokens += amount_of(cost, "tokens");
	p->usd += amount_of(cost, "usd");
	p->seconds += amount_of(cost, "seconds");
	r->s->cost.tokens += amount_of(cost, "tokens");
	r->s->cost.usd += amount_of(cost, "usd");
}

enum err_code proposals_replay(struct replay *r, const json_t *body, struct err *reterr)
{
	int after = 0;
	size_t i;
	json_t *item;
	TRY(body_require(body, "proposer", VALUE_TEXT, reterr));
	TRY(body_require(body, "ok", VALUE_BOOL, reterr));
	if (!count_of(body, "after", &after))
		return err_set(reterr, ERR_INPUT, "after: expected an integer in 0 .. %d", COUNT_MAX);
	int source = proposals_source(r, json_text_of(body, "proposer"));
	if (!source)
		return err_set(reterr, ERR_INPUT, "proposer: expected a name");
	count_question(r, source, after, body);
	json_array_foreach(json_object_get(body, "configurations"), i, item)
		take_configuration(r, source, after, item);
	json_array_foreach(json_object_get(body, "priors"), i, item) take_prior(r, source, after, item);
	json_array_foreach(json_object_get(body, "conflicts"), i, item) take_conflict(r, item);
	json_array_foreach(json_object_get(body, "reviews"), i, item) take_review(r, source, item);
	/* A search that was over has something to try again, or other beliefs. */
	if (json_bool_of(body, "ok"))
		r->s->search_over = (struct search_over){0};
	return OK;
}

/* ---- for the search ---- */

enum { LARGEST_MEMORY = 10 }; /* times that of the device, or of the reference */

static void find_trials(struct state *s)
{
	for (size_t i = 0; i < s->n_suggestions; i++)
		for (size_t t = 0; t < s->n_trials && !s->suggestions[i].trial; t++)
			if (candidate_equal(&s->trials[t].candidate, &s->suggestions[i].candidate))
				s->suggestions[i].trial = s->trials[t].number;
}

/* What restates a measurement foretells nothing, and would earn its author trust. */
static bool was_timed_before(const struct state *s, const struct issued_prior *x)
{
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		if (t->finished_as && t->finished_as <= x->after && t->run.has_time &&
			(size_t)x->lever < t->candidate.n_levers &&
			t->candidate.setting[x->lever] == x->setting)
			return true;
	}
	return false;
}

/* One for each setting; a lever's own declarations are replaced by what was said later. */
static void apply_priors(struct state *s)
{
	/* Beyond these nothing is said, and matrices would be of no use. */
	static const double largest_sd_ln = 3;
	const struct model_input *m = &s->search.model;
	double memory = isfinite(m->capacity_bytes) ? m->capacity_bytes : m->reference_peak_bytes;
	const struct lever *levers = s->search.model.levers;
	for (size_t i = 0; i < s->n_priors; i++) {
		const struct issued_prior *x = &s->priors[i];
		struct lever_prior *p = &levers[x->lever].prior[x->setting];
		if (isfinite(x->gain_ln) && !was_timed_before(s, x)) {
			p->predicted_gain_ln = x->gain_ln;
			p->predicted_sd_ln =
				isfinite(x->gain_sd_ln) ? fmin(fmax(x->gain_sd_ln, 0), largest_sd_ln) : 0;
			p->source = x->source;
		}
		if (isfinite(x->memory_bytes) && memory > 0) {
			p->declared_bytes = fmin(fmax(x->memory_bytes, -memory), LARGEST_MEMORY * memory);
			p->memory_sd_bytes = isfinite(x->memory_sd_bytes) ? fmin(fmax(x->memory_sd_bytes, 0),
										    LARGEST_MEMORY * memory)
									  : 0;
		}
	}
	for (size_t i = 0; i < s->space.n_patches && s->patch_sources; i++) {
		struct lever_prior *on = &levers[s->task->n_knobs + i].prior[1];
		on->source = on->source ? on->source : s->patch_sources[i];
	}
}

static int *padded_setting(struct state *s, const struct candidate *c)
{
	int *setting = arena_array(&s->arena, s->space.n_levers, sizeof(int));
	for (size_t l = 0; l < s->space.n_levers; l++)
		setting[l] = l < c->n_levers ? c->setting[l] : (int)s->space.reference[l];
	return setting;
}

/* What a person's agent wants measured runs like a start that the user named, behind the task's. */
static void list_suggestions(struct state *s)
{
	size_t n_starts = s->search.n_user_starts, n = 0;
	const int **starts = arena_array(&s->arena, n_starts + s->n_suggestions, sizeof(*starts));
	const int **proposed = arena_array(&s->arena, s->n_suggestions, sizeof(*proposed));
	if (n_starts)
		memcpy(starts, s->search.user_starts, n_starts * sizeof(*starts));
	for (size_t i = 0; i < s->n_suggestions; i++)
		if (s->suggestions[i].measure)
			starts[n_starts++] = padded_setting(s, &s->suggestions[i].candidate);
	/* The latest answer first, each as it was ordered. */
	for (size_t end = s->n_suggestions; end > 0;) {
		size_t begin = end - 1;
		while (begin > 0 && s->suggestions[begin - 1].source == s->suggestions[end - 1].source &&
			s->suggestions[begin - 1].after == s->suggestions[end - 1].after)
			begin--;
		for (size_t i = begin; i < end; i++)
			proposed[n++] = padded_setting(s, &s->suggestions[i].candidate);
		end = begin;
	}
	s->search.user_starts = starts;
	s->search.n_user_starts = n_starts;
	s->search.proposed = proposed;
	s->search.n_proposed = n;
}

void proposals_inform_search(struct state *s)
{
	find_trials(s);
	apply_priors(s);
	list_suggestions(s);
	s->search.model.known_conflicts = s->conflicts;
	s->search.model.n_known_conflicts = s->n_conflicts;
}

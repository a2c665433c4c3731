#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/score.h"
#include "search/score_terms.h"

enum { COMPLETION_BUDGET = 8000 };

int *settings_copy(struct arena *arena, const int *setting, int n_levers)
{
	int *copy = arena_array(arena, (size_t)n_levers + 1, sizeof(*copy));
	if (n_levers)
		memcpy(copy, setting, (size_t)n_levers * sizeof(*copy));
	return copy;
}

double round_score(double score)
{
	int exponent;
	double mantissa = frexp(score, &exponent);
	/* 30 bits: 0.9e-9 of a mantissa in [1/2, 1). */
	return ldexp(nearbyint(mantissa * 0x1p30), exponent - 30);
}

/* ------------------------------------------------------------- table of candidates */

static size_t slot_of(const struct scores *s, const int *setting)
{
	size_t i = settings_hash(setting, s->n_levers) & (s->n_slots - 1);
	while (s->slot[i] && !same_settings(s->slot[i]->setting, setting, s->n_levers))
		i = (i + 1) & (s->n_slots - 1);
	return i;
}

static void grow_table(struct scores *s)
{
	struct candidate **old = s->slot;
	size_t n_old = s->n_slots;
	s->n_slots = MAX_OF(2 * n_old, (size_t)1024);
	s->slot = xcalloc(s->n_slots, sizeof(struct candidate *));
	for (size_t i = 0; i < n_old; i++)
		if (old[i])
			s->slot[slot_of(s, old[i]->setting)] = old[i];
	free(old);
}

struct candidate *scores_look_up(struct scores *s, const int *setting)
{
	if (2 * (s->n_candidates + 1) > s->n_slots)
		grow_table(s);
	size_t i = slot_of(s, setting);
	if (!s->slot[i]) {
		s->slot[i] = arena_alloc(&s->arena, sizeof(struct candidate));
		s->slot[i]->setting = settings_copy(&s->arena, setting, s->n_levers);
		s->n_candidates++;
	}
	return s->slot[i];
}

/* ------------------------------------------------------------- one candidate */

bool candidate_is_legal(struct scores *s, struct candidate *c)
{
	if (!c->legality_known) {
		c->legal = !s->in->is_legal || s->in->is_legal(s->in->legal_context, c->setting);
		c->legality_known = true;
	}
	return c->legal;
}

bool candidate_may_run(struct scores *s, struct candidate *c)
{
	return !c->visited && candidate_is_legal(s, c);
}

/* Everything but P(runs), which can only lower a score, and is the dearest. */
static void predict_all_but_p_ok(struct scores *s, struct candidate *c)
{
	double peak_sd;
	if (c->is_predicted)
		return;
	memory_model_predict(s->memory, c->setting, &c->predicted_peak_bytes, &peak_sd, &c->p_fits);
	time_model_predict(s->time, c->setting, c->predicted_peak_bytes, &c->mean_ln, &c->sd_ln);
	c->is_predicted = true;
}

static double score_of(const struct scores *s, const struct candidate *c, double p_ok)
{
	struct score_terms terms = {.mean_ln = c->mean_ln,
		.sd_ln = c->sd_ln,
		.incumbent_ln = s->incumbent_ln,
		.p_fits = c->p_fits,
		.p_ok = p_ok,
		.caution = s->caution,
		.nothing_fits_yet = s->nothing_fits_yet};
	return round_score(score_formula(&terms));
}

void candidate_predict(struct scores *s, struct candidate *c)
{
	if (c->scored)
		return;
	predict_all_but_p_ok(s, c);
	c->p_ok = blame_model_p_ok(s->blame, c->setting);
	c->score = score_of(s, c, c->p_ok);
	c->scored = true;
}

double candidate_score(struct scores *s, struct candidate *c)
{
	candidate_predict(s, c);
	return c->score;
}

bool candidate_beats(struct scores *s, struct candidate *c, double score)
{
	if (!c->scored) {
		predict_all_but_p_ok(s, c);
		if (score_of(s, c, 1) <= score)
			return false;
	}
	return candidate_score(s, c) > score;
}

void scores_consider(struct scores *s, struct candidate *c, const struct origin *origin)
{
	c->operators |= origin->operator_bit;
	if (!c->origin)
		c->origin = origin;
	if (s->best && !candidate_beats(s, c, s->best->score))
		return;
	candidate_predict(s, c);
	s->best = c;
}

/* ------------------------------------------------------------- decision */

double observation_mean_ln(const struct scores *s, int observation)
{
	const struct observation *o = &s->in->model.observations[observation];
	double peak = o->peak_bytes, mean, sd;
	/* As the time model has this run among its own: with no reading, nearness to the capacity has cost it
	 * nothing, whatever the memory model makes of it; where the run thrashed, what 95% of the capacity
	 * costs. */
	if (isnan(peak) && o->thrash)
		peak = 0.95 * s->in->model.capacity_bytes;
	time_model_predict(s->time, o->setting, peak, &mean, &sd);
	return mean;
}

static void find_incumbent(struct scores *s)
{
	const struct model_input *in = &s->in->model;
	bool reference_fits = in->reference_runs > 0;
	s->incumbent = -1;
	s->incumbent_ln = 0;
	s->incumbent_setting = s->reference;
	for (size_t i = 0; i < in->n_observations; i++) {
		const struct observation *o = &in->observations[i];
		if (!o->incumbent_allowed || !o->has_gain)
			continue;
		double mean = round_score(observation_mean_ln(s, (int)i));
		bool better = s->incumbent < 0 ? !reference_fits || mean > 0 : mean > s->incumbent_ln;
		if (!better)
			continue;
		s->incumbent = (int)i;
		s->incumbent_ln = mean;
		s->incumbent_setting = o->setting;
	}
	s->nothing_fits_yet = !reference_fits && s->incumbent < 0;
}

void scores_open(struct scores *s, const struct search_input *in)
{
	const struct model_input *model = &in->model;
	*s = (struct scores){.in = in,
		.n_levers = model->n_levers,
		.incumbent = -1,
		.completions_left = COMPLETION_BUDGET};
	size_t n = (size_t)s->n_levers;
	int *reference = arena_array(&s->arena, n + 1, sizeof(*reference));
	for (size_t l = 0; l < n; l++)
		reference[l] = model->levers[l].reference;
	s->reference = s->incumbent_setting = reference;
	s->coupled = xcalloc(n * n + 1, sizeof(*s->coupled));
	scores_look_up(s, reference)->visited = true;
	for (size_t i = 0; i < in->n_visited; i++)
		scores_look_up(s, in->visited[i])->visited = true;
}

/* The input as the models are to see it. */
static const struct search_input *switch_rules(struct scores *s, const struct search_input *in)
{
	if (search_operator_is_on(&in->switches, OPERATOR_PRIOR_REVISION))
		return in;
	struct search_input *own = arena_alloc(&s->arena, sizeof(*own));
	*own = *in;
	own->model.keep_predictions = true;
	return own;
}

enum err_code scores_init(struct scores *s, const struct search_input *in, struct err *reterr)
{
	enum err_code code;
	scores_open(s, in);
	s->in = switch_rules(s, in);
	const struct model_input *model = &s->in->model;
	TRY_GOTO(time_model_fit(model, &s->time, reterr), fail);
	TRY_GOTO(memory_model_fit(model, &s->memory, reterr), fail);
	TRY_GOTO(blame_model_fit(model, &s->blame, reterr), fail);
	s->caution = score_caution(model);
	find_incumbent(s);
	return OK;
fail:
	scores_release(s);
	return code;
}

void scores_release(struct scores *s)
{
	time_model_free(s->time);
	memory_model_free(s->memory);
	blame_model_free(s->blame);
	free(s->coupled);
	free(s->slot);
	arena_release(&s->arena);
	*s = (struct scores){0};
}

#include "base/base.h"

#include <math.h>

#include "search/beliefs.h"
#include "search/score.h"
#include "search/seeds.h"

/* Weaker ones are not looked at when a candidate is scored (model/blame_model.c). */
static const double weakest_suspicion = 0.004;

/* ------------------------------------------------------------- settings */

static double predicted_ln(const struct lever_prior *prior)
{
	return prior->experienced ? prior->mean_ln : prior->predicted_gain_ln;
}

static void count_runs(const struct scores *s, int lever, struct setting_belief *b)
{
	const struct model_input *in = &s->in->model;
	for (size_t i = 0; i < in->n_observations; i++) {
		const struct observation *o = &in->observations[i];
		if (o->setting[lever] != b->setting || blame_model_is_transient(s->blame, i))
			continue;
		if (o->status == OBSERVED_OK)
			b->n_ok++;
		else
			b->n_failed++;
	}
}

static void believe_setting(struct scores *s, int lever, int setting, struct setting_belief *b)
{
	const struct lever_prior *prior = &s->in->model.levers[lever].prior[setting];
	*b = (struct setting_belief){.setting = setting,
		.in_incumbent = s->incumbent_setting[lever] == setting,
		.predicted_ln = predicted_ln(prior)};
	time_model_effect(s->time, lever, setting, &b->gain);
	b->moved_sd = b->gain.prior_sd > 0 ? (b->gain.mean - b->gain.prior_mean) / b->gain.prior_sd : 0;
	b->is_big = setting_is_big(s, lever, setting);
	memory_model_setting(s->memory, lever, setting, &b->memory_mean_bytes, &b->memory_sd_bytes);
	count_runs(s, lever, b);
}

static void believe_lever(struct scores *s, int lever, struct arena *arena, struct lever_belief *b)
{
	const struct lever *l = &s->in->model.levers[lever];
	*b = (struct lever_belief){.lever = lever};
	b->settings = arena_array(arena, (size_t)l->n_settings, sizeof(*b->settings));
	for (int setting = 0; setting < l->n_settings; setting++) {
		if (setting == l->reference)
			continue;
		struct setting_belief *now = &b->settings[b->n_settings++];
		believe_setting(s, lever, setting, now);
		b->is_big |= now->is_big;
	}
}

static bool is_declared(const struct lever *l, int setting)
{
	const struct lever_prior *prior = &l->prior[setting];
	return setting != l->reference && !prior->experienced && prior->predicted_gain_ln != 0;
}

static bool anything_is_declared(const struct model_input *in, int source, bool of_patches)
{
	for (int l = 0; l < in->n_levers; l++)
		for (int i = 0; i < in->levers[l].n_settings; i++)
			if (in->levers[l].is_patch == of_patches && is_declared(&in->levers[l], i) &&
				in->levers[l].prior[i].source == source)
				return true;
	return false;
}

static struct belief_change share_of_declared(struct scores *s, int source, bool of_patches)
{
	struct belief_change share = {0};
	if (anything_is_declared(&s->in->model, source, of_patches))
		time_model_declared_share(s->time, source, of_patches, &share);
	return share;
}

/* The least source above this one that predicts something; 0 = none. */
static int next_source(const struct model_input *in, int before)
{
	int next = 0;
	for (int l = 0; l < in->n_levers; l++)
		for (int i = 0; i < in->levers[l].n_settings; i++) {
			int source = in->levers[l].prior[i].source;
			if (is_declared(&in->levers[l], i) && source > before && (!next || source < next))
				next = source;
		}
	return next;
}

static void believe_declared(struct scores *s, struct arena *arena, struct beliefs *b)
{
	const struct model_input *in = &s->in->model;
	b->knob_share = share_of_declared(s, 0, false);
	b->patch_share = share_of_declared(s, 0, true);
	for (int source = next_source(in, 0); source; source = next_source(in, source))
		b->n_proposers++;
	b->proposers = arena_array(arena, b->n_proposers, sizeof(*b->proposers));
	for (size_t i = 0; i < b->n_proposers; i++) {
		int source = next_source(in, i ? b->proposers[i - 1].source : 0);
		b->proposers[i] = (struct proposer_belief){
			source, share_of_declared(s, source, false), share_of_declared(s, source, true)};
	}
}

/* ------------------------------------------------------------- failures */

static void list_explained(
	const struct scores *s, struct arena *arena, const struct suspicion *h, struct suspicion_belief *b)
{
	size_t n = s->in->model.n_observations;
	*b = (struct suspicion_belief){.suspicion = *h};
	b->observations = arena_array(arena, n, sizeof(int));
	for (size_t i = 0; i < n; i++)
		if (blame_model_explains(s->blame, h, i))
			b->observations[b->n_observations++] = (int)i;
}

static void believe_failures(const struct scores *s, struct arena *arena, struct beliefs *b)
{
	size_t n, n_observations = s->in->model.n_observations;
	const struct suspicion *list = blame_model_suspicions(s->blame, &n);
	while (b->n_suspicions < n && list[b->n_suspicions].q >= weakest_suspicion)
		b->n_suspicions++;
	b->suspicions = arena_array(arena, b->n_suspicions, sizeof(*b->suspicions));
	for (size_t i = 0; i < b->n_suspicions; i++)
		list_explained(s, arena, &list[i], &b->suspicions[i]);
	b->transients = arena_array(arena, n_observations, sizeof(int));
	for (size_t i = 0; i < n_observations; i++)
		if (blame_model_is_transient(s->blame, i))
			b->transients[b->n_transients++] = (int)i;
}

/* ------------------------------------------------------------- all */

static void believe_incumbent(struct scores *s, struct beliefs *b)
{
	double ignored_mean;
	b->incumbent = s->incumbent;
	b->incumbent_ln = s->incumbent_ln;
	if (s->incumbent < 0)
		return; /* y = 0 by definition */
	double peak = s->in->model.observations[s->incumbent].peak_bytes;
	time_model_predict(s->time, s->incumbent_setting, peak, &ignored_mean, &b->incumbent_sd_ln);
}

enum err_code beliefs_form(
	const struct search_input *in, struct arena *arena, struct beliefs *ret_beliefs, struct err *reterr)
{
	CLEANUP(scores_release) struct scores s = {0};
	struct beliefs b = {.n_levers = (size_t)in->model.n_levers};
	TRY(scores_init(&s, in, reterr));
	b.caution = s.caution;
	believe_incumbent(&s, &b);
	b.levers = arena_array(arena, b.n_levers, sizeof(*b.levers));
	for (int l = 0; l < in->model.n_levers; l++)
		believe_lever(&s, l, arena, &b.levers[l]);
	believe_declared(&s, arena, &b);
	believe_failures(&s, arena, &b);
	*ret_beliefs = b;
	return OK;
}

#include "base/base.h"

#include <math.h>

#include "search/seeds.h"

/* On by default is what earned its place when it was measured, or costs nothing: docs/search.md. */
static const struct seed_operator table[N_OPERATORS] = {
	[OPERATOR_EXPLOIT] = {"one or two changes to the incumbent", true, true, seed_incumbent, NULL},
	[OPERATOR_BACKTRACK] = {"one or two changes to the reference", true, false, seed_reference, NULL},
	[OPERATOR_BUNDLE] = {"what a promising failed configuration lacked", true, false, seed_failed, NULL},
	[OPERATOR_ESCAPE] = {"several changes at once, drawn from the posterior", true, true, seed_jump,
		NULL},
	[OPERATOR_WARM_RESTART] = {"one or two changes to a good configuration far from the incumbent", true,
		true, seed_restart, NULL},
	[OPERATOR_CONTRARIAN] = {"settings that were predicted to gain nothing and have not run", false, true,
		seed_contrarian, NULL},
	[OPERATOR_BIG_KNOB] = {"after two trials without a gain, up to three big settings at once", false,
		true, seed_big_knob, NULL},
	[OPERATOR_EXTRAPOLATE] = {"the next settings of an ordered knob that improved so far", false, true,
		seed_extrapolate, NULL},
	[OPERATOR_STACK] = {"all patches that passed, together", false, true, seed_stack, NULL},
	[OPERATOR_PATCH] = {"the best patch that has not run", false, true, seed_patch, NULL},
	[OPERATOR_CONFLICT] = {"a failed configuration without what is suspected most", false, false,
		seed_conflict, NULL},
	[OPERATOR_PROPOSED] = {"a configuration that somebody suggested, or one or two changes to it", true,
		false, seed_proposed, NULL},
	[OPERATOR_SURVEY] = {"every configuration where there are few", true, false, NULL, survey},
	[OPERATOR_PRIOR_REVISION] = {"trials rescale all remaining predictions", true, false, NULL, NULL},
};

const struct seed_operator *seed_operator(enum search_operator which)
{
	return &table[which];
}

struct search_part search_operator_part(enum search_operator which)
{
	return (struct search_part){operator_names[which], table[which].summary, table[which].on_by_default};
}

bool search_operator_is_on(const struct search_switches *w, enum search_operator which)
{
	if (w->operators_off >> which & 1)
		return false;
	return table[which].on_by_default || (w->operators_on >> which & 1);
}

void seed_add(struct seed_list *list, struct seed seed)
{
	if (list->n < MAX_SEEDS)
		list->seed[list->n++] = seed;
}

struct seed seed_on_incumbent(const struct scores *s, const int *setting)
{
	return (struct seed){.setting = setting,
		.observation = s->incumbent,
		.origin_name = s->incumbent < 0 ? "reference" : "incumbent",
		.origin_setting = s->incumbent_setting};
}

void seed_add_to_incumbent(const struct scores *s, struct seed_list *list, const int *setting)
{
	struct seed seed = seed_on_incumbent(s, setting);
	seed.competes = true;
	if (setting)
		seed_add(list, seed);
}

bool setting_was_timed(const struct search_input *in, int lever, int setting)
{
	const struct model_input *m = &in->model;
	if (setting == m->levers[lever].reference && m->reference_runs > 0)
		return true;
	for (size_t i = 0; i < m->n_observations; i++)
		if (m->observations[i].has_gain && m->observations[i].setting[lever] == setting)
			return true;
	return false;
}

bool setting_is_big(const struct scores *s, int lever, int setting)
{
	const struct lever *l = &s->in->model.levers[lever];
	double learnt, sd;
	if (l->is_patch || setting == l->reference)
		return false;
	time_model_setting(s->time, lever, setting, &learnt, &sd);
	return round_score(fmax(fabs(learnt), fabs(l->prior[setting].predicted_gain_ln))) >=
	       round_score(s->in->gate_ln);
}

bool knob_is_big(const struct scores *s, int lever)
{
	for (int to = 0; to < s->in->model.levers[lever].n_settings; to++)
		if (setting_is_big(s, lever, to))
			return true;
	return false;
}

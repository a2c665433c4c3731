/*
 * A reconstruction of Optico from its description, not its code: knobs only, one change at a time in the
 * order of the predictions. A change is kept when it gains more than the noise gate; a setting that was
 * measured and lost is taken up last; a configuration that ran out of memory is repaired once, by the knob
 * that is declared to save most.
 */
#include "base/base.h"

#include <math.h>

#include "search/strategies.h"
#include "search/strategy_rival.h"

/* Larger than any prediction, so that what has lost comes behind all else. */
static const double demotion_ln = 100;

static double *learnt_worth(struct rival *r, double incumbent_ln)
{
	const struct model_input *m = &r->s.in->model;
	double *worth = arena_array(&r->s.arena, (size_t)rival_ids(r) + 1, sizeof(*worth));
	int id = 0;
	for (int l = 0; l < m->n_levers; l++)
		for (int to = 0; to < m->levers[l].n_settings; to++)
			worth[id++] = rival_worth(&m->levers[l], to);
	for (size_t i = 0; i < m->n_observations; i++) {
		const struct observation *o = &m->observations[i];
		if (rival_is_good(o) && o->gain_ln >= incumbent_ln - r->s.in->gate_ln)
			continue;
		for (int l = 0; l < m->n_levers; l++)
			if (o->setting[l] != r->origin.setting[l])
				worth[rival_id(r, l, o->setting[l])] -= demotion_ln;
	}
	return worth;
}

/* The last trial ran out of memory: the same with the knob that is declared to save most. */
static struct candidate *repair(struct rival *r)
{
	const struct model_input *m = &r->s.in->model;
	int last = (int)m->n_observations - 1;
	if (last < 0 || m->observations[last].status != OBSERVED_OOM)
		return NULL;
	int *setting = settings_copy(&r->s.arena, m->observations[last].setting, m->n_levers);
	struct candidate *best = NULL;
	double most_bytes = 0;
	for (int l = 0; l < m->n_levers; l++) {
		const struct lever *lever = &m->levers[l];
		for (int to = 0; to < lever->n_settings && !lever->is_patch; to++) {
			double saved =
				lever->prior[setting[l]].declared_bytes - lever->prior[to].declared_bytes;
			if (to == setting[l] || !(saved > most_bytes))
				continue;
			struct candidate *c = rival_change(r, setting, l, to);
			if (!c)
				continue;
			best = c;
			most_bytes = saved;
		}
	}
	if (best) {
		r->label = "repair";
		rival_build_on(r, last, "what ran out of memory");
	}
	return best;
}

static struct candidate *propose(struct rival *r)
{
	struct candidate *c = repair(r);
	if (c)
		return c;
	int incumbent = rival_incumbent(r->s.in, 0, 1, r->s.in->gate_ln);
	const int *base = rival_build_on(r, incumbent, "incumbent");
	double incumbent_ln = incumbent < 0 ? 0 : r->s.in->model.observations[incumbent].gain_ln;
	return rival_best_change(r, base, learnt_worth(r, incumbent_ln), true);
}

enum err_code optico_next(const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	return rival_next(in, "optico", propose, ret_decision, reterr);
}

/*
 * One factor at a time: the settings of one lever are tried with everything else as it is, the best of them
 * stays, the next lever follows. Levers in the order of their largest prediction; two rounds.
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "search/strategies.h"
#include "search/strategy_rival.h"

enum { ROUNDS = 2 };

static double largest_worth(const struct lever *lever)
{
	double largest = -INFINITY;
	for (int to = 0; to < lever->n_settings; to++)
		if (to != lever->reference)
			largest = fmax(largest, rival_worth(lever, to));
	return largest;
}

/* By insertion, so that equals keep their order. */
static int *lever_order(struct rival *r)
{
	const struct lever *levers = r->s.in->model.levers;
	int *order = arena_array(&r->s.arena, (size_t)r->s.n_levers + 1, sizeof(*order));
	for (int l = 0; l < r->s.n_levers; l++) {
		int at = l;
		for (; at > 0 && largest_worth(&levers[order[at - 1]]) < largest_worth(&levers[l]); at--)
			order[at] = order[at - 1];
		order[at] = l;
	}
	return order;
}

/* A setting of this lever that has not been tried on `base`; NULL = the best of them is now in base. */
static struct candidate *vary(struct rival *r, int *base, double *base_ln, int lever)
{
	const int *best = NULL;
	for (int to = 0; to < r->s.in->model.levers[lever].n_settings; to++) {
		if (to == base[lever])
			continue;
		struct candidate *c = rival_legal_change(r, base, lever, to);
		if (!c)
			continue;
		if (candidate_may_run(&r->s, c) && rival_find(r, c->setting) < 0)
			return c;
		double gain = rival_gain_ln(r, c->setting);
		if (gain > *base_ln) {
			*base_ln = gain;
			best = c->setting;
		}
	}
	if (best)
		memcpy(base, best, (size_t)r->s.n_levers * sizeof(*base));
	return NULL;
}

static struct candidate *propose(struct rival *r)
{
	const int *order = lever_order(r);
	int *base = settings_copy(&r->s.arena, r->s.reference, r->s.n_levers);
	double base_ln = r->s.in->model.reference_runs > 0 ? 0 : -INFINITY;
	for (int i = 0; i < ROUNDS * r->s.n_levers; i++) {
		struct candidate *c = vary(r, base, &base_ln, order[i % r->s.n_levers]);
		if (!c)
			continue;
		r->origin = (struct origin){base, rival_find(r, base), "the best so far", 0};
		return c;
	}
	return NULL;
}

enum err_code one_factor_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	return rival_next(in, "one-factor", propose, ret_decision, reterr);
}

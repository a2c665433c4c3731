/*
 * AIDE's tree search (Jiang et al. 2025) over configurations: five drafts, each with several changes that are
 * believed in; then, with probability one half, a failed leaf is debugged (at most three deep); else the best
 * so far is improved by one change. The reference is the solution that is there already. Which configuration
 * another came from is read from the distance between them: a child differs in one lever.
 */
#include "base/base.h"

#include <string.h>

#include "search/strategies.h"
#include "search/strategy_rival.h"

enum { DRAFTS = 5, DRAFT_CHANGES = 3, DEBUG_DEPTH = 3 };
static const double debug_probability = 0.5;

/* Several changes at once; predictions are jittered, so that drafts differ. */
static struct candidate *draft(struct rival *r)
{
	const struct model_input *m = &r->s.in->model;
	double *worth = arena_array(&r->s.arena, (size_t)rival_ids(r) + 1, sizeof(*worth));
	double largest = 0;
	int id = 0, changes = 0;
	size_t n;
	for (int l = 0; l < m->n_levers; l++)
		for (int to = 0; to < m->levers[l].n_settings; to++)
			largest = MAX_OF(largest, rival_worth(&m->levers[l], to));
	for (int l = 0; l < m->n_levers; l++)
		for (int to = 0; to < m->levers[l].n_settings; to++)
			worth[id++] =
				rival_worth(&m->levers[l], to) + largest / 2 * random_normal(&r->random);
	const struct rival_change *list = rival_rank_changes(r, r->s.reference, worth, false, &n);
	int *setting = settings_copy(&r->s.arena, r->s.reference, m->n_levers);
	struct candidate *last = NULL;
	for (size_t i = 0; i < n && changes < DRAFT_CHANGES; i++) {
		if (setting[list[i].lever] != r->s.reference[list[i].lever])
			continue;
		struct candidate *c = rival_legal_change(r, setting, list[i].lever, list[i].to);
		if (!c)
			continue;
		memcpy(setting, c->setting, (size_t)m->n_levers * sizeof(int));
		last = c;
		changes++;
	}
	r->label = "draft";
	return last && candidate_may_run(&r->s, last) ? last : NULL;
}

static bool is_leaf(const struct model_input *m, size_t node)
{
	for (size_t i = node + 1; i < m->n_observations; i++)
		if (settings_apart(m->observations[i].setting, m->observations[node].setting, m->n_levers) ==
			1)
			return false;
	return true;
}

static int debug_depth(const struct model_input *m, size_t node)
{
	int depth = 0;
	for (size_t i = node; i-- > 0;)
		if (!rival_is_good(&m->observations[i]) &&
			settings_apart(m->observations[i].setting, m->observations[node].setting,
				m->n_levers) == 1) {
			depth++;
			node = i;
		}
	return depth;
}

/* A failed leaf, each as likely as the other; -1 = none. */
static int failed_leaf(struct rival *r)
{
	const struct model_input *m = &r->s.in->model;
	int chosen = -1;
	uint64_t n = 0;
	for (size_t i = 0; i < m->n_observations; i++)
		if (!rival_is_good(&m->observations[i]) && is_leaf(m, i) &&
			debug_depth(m, i) <= DEBUG_DEPTH && random_below(&r->random, ++n) == 0)
			chosen = (int)i;
	return chosen;
}

/* What ran out of memory gets the change that is declared to save most; anything else loses one of its
 * changes. */
static struct candidate *debug(struct rival *r, int node)
{
	const struct model_input *m = &r->s.in->model;
	const struct observation *o = &m->observations[node];
	double *worth = arena_array(&r->s.arena, (size_t)rival_ids(r) + 1, sizeof(*worth));
	for (int l = 0; l < m->n_levers; l++) {
		const struct lever *lever = &m->levers[l];
		for (int to = 0; to < lever->n_settings; to++) {
			double saved = -lever->prior[to].declared_bytes;
			double reverts = o->setting[l] != lever->reference && to == lever->reference;
			worth[rival_id(r, l, to)] = o->status == OBSERVED_OOM && saved > 0 ? saved : reverts;
		}
	}
	r->label = "debug";
	return rival_best_change(r, rival_build_on(r, node, "failed configuration"), worth, false);
}

static struct candidate *propose(struct rival *r)
{
	const struct search_input *in = r->s.in;
	if (in->model.n_observations < DRAFTS)
		return draft(r);
	if (random_uniform(&r->random) < debug_probability) {
		int node = failed_leaf(r);
		struct candidate *c = node < 0 ? NULL : debug(r, node);
		if (c)
			return c;
	}
	int incumbent = rival_incumbent(in, 0, 1, 0);
	if (incumbent < 0 && in->model.reference_runs == 0)
		return draft(r);
	r->label = "improve";
	const int *base = rival_build_on(r, incumbent, "incumbent");
	return rival_best_change(r, base, rival_untried_worth(r, base, 0, 1), false);
}

enum err_code aide_next(const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	return rival_next(in, "aide", propose, ret_decision, reterr);
}

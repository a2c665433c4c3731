#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/anywhere.h"
#include "search/explain.h"
#include "search/strategy_rival.h"

/* Larger than any prediction. */
static const double demotion_ln = 100;

static struct candidate *user_start(struct rival *r)
{
	const struct search_input *in = r->s.in;
	for (size_t i = 0; i < in->n_user_starts; i++) {
		struct candidate *c = scores_look_up(&r->s, in->user_starts[i]);
		if (candidate_may_run(&r->s, c)) {
			r->label = "start";
			r->origin = (struct origin){r->s.reference, -1, "user start", 0};
			return c;
		}
	}
	return NULL;
}

static struct candidate *leftover(struct rival *r)
{
	r->label = "random";
	r->origin = (struct origin){r->s.reference, -1, "nothing else is left; anywhere", 0};
	return anywhere(&r->s, &r->random, r->s.reference, 1);
}

enum err_code rival_next(const struct search_input *in, const char *name, rival_rule rule,
	struct decision *ret_decision, struct err *reterr)
{
	(void)reterr;
	struct rival r = {.label = name};
	struct random order;
	scores_open(&r.s, in);
	random_init(&r.random, in->seed, name, in->decision);
	random_init(&order, in->seed, "completion", 0);
	r.order = random_u64(&order);
	r.origin = (struct origin){r.s.reference, -1, "reference", 0};
	struct candidate *c = user_start(&r);
	if (!c)
		c = rule(&r);
	if (!c)
		c = leftover(&r);
	if (c) {
		c->origin = &r.origin;
		decision_fill(&r.s, c, r.label, NULL, ret_decision);
	} else {
		*ret_decision = (struct decision){.base_observation = -1};
	}
	scores_release(&r.s);
	return OK;
}

double rival_worth(const struct lever *lever, int setting)
{
	const struct lever_prior *p = &lever->prior[setting];
	if (setting == lever->reference)
		return 0;
	return p->experienced ? p->mean_ln : p->predicted_gain_ln;
}

bool rival_is_good(const struct observation *o)
{
	return o->status == OBSERVED_OK && o->incumbent_allowed && o->has_gain;
}

int rival_find(const struct rival *r, const int *setting)
{
	const struct model_input *m = &r->s.in->model;
	for (size_t i = m->n_observations; i-- > 0;)
		if (same_settings(m->observations[i].setting, setting, m->n_levers))
			return (int)i;
	return -1;
}

double rival_gain_ln(const struct rival *r, const int *setting)
{
	const struct model_input *m = &r->s.in->model;
	int seen = rival_find(r, setting);
	if (seen >= 0 && rival_is_good(&m->observations[seen]))
		return m->observations[seen].gain_ln;
	bool is_reference = same_settings(setting, r->s.reference, r->s.n_levers);
	return is_reference && m->reference_runs > 0 ? 0 : NAN;
}

int rival_incumbent(const struct search_input *in, size_t first, size_t step, double margin_ln)
{
	int best = -1;
	double best_ln = in->model.reference_runs > 0 ? 0 : -INFINITY;
	for (size_t i = first; i < in->model.n_observations; i += step) {
		const struct observation *o = &in->model.observations[i];
		if (!rival_is_good(o) || !(o->gain_ln > best_ln + margin_ln))
			continue;
		best = (int)i;
		best_ln = o->gain_ln;
	}
	return best;
}

const int *rival_build_on(struct rival *r, int observation, const char *name)
{
	const int *setting =
		observation < 0 ? r->s.reference : r->s.in->model.observations[observation].setting;
	r->origin = (struct origin){setting, observation, observation < 0 ? "reference" : name, 0};
	return setting;
}

/* The first other change that makes `setting` legal, and runnable where that is asked; levers in the
 * campaign's order. */
static struct candidate *complete(struct rival *r, int *setting, int lever, bool must_run)
{
	int n = r->s.n_levers;
	struct candidate *found = NULL;
	for (int i = 0; i < n && !found; i++) {
		int other = (int)((r->order + (uint64_t)i) % (uint64_t)n), from = setting[other];
		int size = r->s.in->model.levers[other].n_settings;
		for (int k = 1; k < size && other != lever && !found && r->s.completions_left; k++) {
			setting[other] = (from + k) % size;
			r->s.completions_left--;
			struct candidate *c = scores_look_up(&r->s, setting);
			if (must_run ? candidate_may_run(&r->s, c) : candidate_is_legal(&r->s, c))
				found = c;
		}
		setting[other] = from;
	}
	return found;
}

static struct candidate *change(struct rival *r, int *setting, int lever, int to, bool must_run)
{
	int from = setting[lever];
	setting[lever] = to;
	struct candidate *c = scores_look_up(&r->s, setting);
	if (!candidate_is_legal(&r->s, c))
		c = complete(r, setting, lever, must_run);
	setting[lever] = from;
	return c && (!must_run || candidate_may_run(&r->s, c)) ? c : NULL;
}

struct candidate *rival_change(struct rival *r, int *setting, int lever, int to)
{
	return change(r, setting, lever, to, true);
}

struct candidate *rival_legal_change(struct rival *r, int *setting, int lever, int to)
{
	return change(r, setting, lever, to, false);
}

int rival_id(const struct rival *r, int lever, int setting)
{
	int id = setting;
	for (int l = 0; l < lever; l++)
		id += r->s.in->model.levers[l].n_settings;
	return id;
}

int rival_ids(const struct rival *r)
{
	return rival_id(r, r->s.n_levers, 0);
}

static int most_worth_first(const void *va, const void *vb)
{
	const struct rival_change *a = va, *b = vb;
	if (a->worth != b->worth)
		return a->worth > b->worth ? -1 : 1;
	if (a->tie != b->tie)
		return a->tie < b->tie ? -1 : 1;
	return 0;
}

struct rival_change *rival_rank_changes(
	struct rival *r, const int *base, const double *worth, bool knobs_only, size_t *ret_count)
{
	struct rival_change *list = arena_array(&r->s.arena, (size_t)rival_ids(r) + 1, sizeof(*list));
	size_t n = 0;
	int id = 0;
	for (int l = 0; l < r->s.n_levers; l++) {
		const struct lever *lever = &r->s.in->model.levers[l];
		double own = worth ? worth[id + base[l]] : rival_worth(lever, base[l]);
		for (int to = 0; to < lever->n_settings; to++) {
			double gain = (worth ? worth[id + to] : rival_worth(lever, to)) - own;
			if (to != base[l] && !(knobs_only && lever->is_patch))
				list[n++] = (struct rival_change){
					l, to, round_score(gain), random_u64(&r->random)};
		}
		id += lever->n_settings;
	}
	qsort(list, n, sizeof(*list), most_worth_first);
	*ret_count = n;
	return list;
}

double *rival_untried_worth(struct rival *r, const int *base, size_t first, size_t step)
{
	const struct model_input *m = &r->s.in->model;
	double *worth = arena_array(&r->s.arena, (size_t)rival_ids(r) + 1, sizeof(*worth));
	bool *tried = arena_array(&r->s.arena, (size_t)rival_ids(r) + 1, sizeof(*tried));
	for (int l = 0, id = 0; l < m->n_levers; id += m->levers[l++].n_settings)
		tried[id + m->levers[l].reference] = true;
	for (size_t i = first; i < m->n_observations; i += step)
		for (int l = 0, id = 0; l < m->n_levers; id += m->levers[l++].n_settings)
			tried[id + m->observations[i].setting[l]] = true;
	for (int l = 0, id = 0; l < m->n_levers; id += m->levers[l++].n_settings)
		for (int to = 0; to < m->levers[l].n_settings; to++)
			worth[id + to] = rival_worth(&m->levers[l], to) -
					 (tried[id + to] && to != base[l] ? demotion_ln : 0);
	return worth;
}

struct candidate *rival_best_change(struct rival *r, const int *base, const double *worth, bool knobs_only)
{
	size_t n;
	const struct rival_change *list = rival_rank_changes(r, base, worth, knobs_only, &n);
	int *setting = settings_copy(&r->s.arena, base, r->s.n_levers);
	for (size_t i = 0; i < n; i++) {
		struct candidate *c = rival_change(r, setting, list[i].lever, list[i].to);
		if (c)
			return c;
	}
	return NULL;
}

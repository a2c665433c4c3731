/*
 * Conflict backtracking: from a failed configuration, the fewest settings go back to the reference that clear
 * what is suspected most: those at least half as strong as the strongest, the eight strongest where there are
 * more. The rest of it, which was worth a trial once, stays.
 */
#include "base/base.h"

#include "search/seeds.h"

enum { FAILURES = 3, SUSPICIONS = 8, REVERTED = 3, LEVERS = 3 * SUSPICIONS };
static const double strong_part = 0.5; /* of the strongest suspicion */

/* What is suspected of one failure, and the levers that can clear it. */
struct suspects {
	const struct suspicion *suspicion[SUSPICIONS];
	int n;
	int lever[LEVERS], n_levers;
};

static bool is_contained(const struct suspicion *h, const int *setting)
{
	for (int i = 0; i < h->n; i++)
		if (setting[h->lever[i]] != h->setting[i])
			return false;
	return true;
}

static void add_levers(const struct scores *s, const struct suspicion *h, struct suspects *x)
{
	for (int i = 0; i < h->n; i++) {
		bool known = h->setting[i] == s->reference[h->lever[i]]; /* it is where it would go back to */
		for (int k = 0; k < x->n_levers; k++)
			known |= x->lever[k] == h->lever[i];
		if (!known)
			x->lever[x->n_levers++] = h->lever[i];
	}
}

static void find_suspects(const struct scores *s, const int *setting, struct suspects *x)
{
	size_t n;
	const struct suspicion *all = blame_model_suspicions(s->blame, &n);
	*x = (struct suspects){.n = 0};
	for (size_t i = 0; i < n && x->n < SUSPICIONS; i++) {
		if (!is_contained(&all[i], setting))
			continue;
		if (x->n > 0 && round_score(all[i].q) < round_score(strong_part * x->suspicion[0]->q))
			break;
		x->suspicion[x->n++] = &all[i];
		add_levers(s, &all[i], x);
	}
}

static double promise(struct scores *s, const int *setting)
{
	struct candidate *c = scores_look_up(s, setting);
	candidate_predict(s, c);
	return round_score(c->mean_ln + c->sd_ln);
}

struct way_back {
	int *setting; /* scratch */
	const int *best;
	double best_promise;
};

/* Reverts `left` more of the levers from `first` on; keeps the most promising result that clears all. */
static void try_reverting(struct scores *s, const struct suspects *x, int first, int left, struct way_back *w)
{
	if (left == 0) {
		for (int i = 0; i < x->n; i++)
			if (is_contained(x->suspicion[i], w->setting))
				return;
		if (!candidate_may_run(s, scores_look_up(s, w->setting)))
			return;
		double here = promise(s, w->setting);
		if (w->best && here <= w->best_promise)
			return;
		w->best = settings_copy(&s->arena, w->setting, s->n_levers);
		w->best_promise = here;
		return;
	}
	for (int k = first; k < x->n_levers; k++) {
		int lever = x->lever[k], failed = w->setting[lever];
		w->setting[lever] = s->reference[lever];
		try_reverting(s, x, k + 1, left - 1, w);
		w->setting[lever] = failed;
	}
}

static const int *way_back_from(struct scores *s, const int *failed)
{
	struct suspects x;
	find_suspects(s, failed, &x);
	struct way_back w = {.setting = settings_copy(&s->arena, failed, s->n_levers)};
	for (int size = 1; x.n > 0 && size <= REVERTED && !w.best; size++)
		try_reverting(s, &x, 0, size, &w);
	return w.best;
}

static bool is_blamed_failure(const struct observation *o)
{
	return o->status != OBSERVED_OK && o->status != OBSERVED_OOM;
}

void seed_conflict(struct scores *s, struct seed_list *list)
{
	const struct model_input *in = &s->in->model;
	CLEANUP(free_ptr) bool *taken = xcalloc(in->n_observations + 1, sizeof(*taken));
	for (int k = 0; k < FAILURES; k++) {
		int chosen = -1;
		double most = 0;
		for (size_t i = 0; i < in->n_observations; i++) {
			const struct observation *o = &in->observations[i];
			if (taken[i] || !is_blamed_failure(o))
				continue;
			double here = promise(s, o->setting);
			if (chosen >= 0 && here <= most)
				continue;
			chosen = (int)i;
			most = here;
		}
		if (chosen < 0)
			return;
		taken[chosen] = true;
		const int *failed = in->observations[chosen].setting, *setting = way_back_from(s, failed);
		if (setting)
			seed_add(list, (struct seed){.setting = setting,
					       .observation = chosen,
					       .origin_name = "failed configuration",
					       .origin_setting = failed,
					       .competes = true});
	}
}

/*
 * Optuna's TPE (Bergstra et al. 2011; TPESampler's defaults: multivariate off, 24 candidates, prior weight 1)
 * with every knob categorical. Ten random trials come first; `tpe-sparse` starts with four neighbours of the
 * reference instead. Failed trials are worse than all others, and the reference is a trial that is there
 * already. A configuration that may not run is drawn again, as a pruned trial would be.
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/anywhere.h"
#include "search/strategies.h"
#include "search/strategy_rival.h"
#include "search/strategy_tpe.h"

enum { CANDIDATES = 24, GOOD_MAX = 25, FULL_WEIGHTS = 25 };
enum { RANDOM_TRIALS = 10, SPARSE_TRIALS = 4 };
enum { REDRAWS = 100, DRAWS = 2000 };
static const double prior_weight = 1;

size_t tpe_good(size_t n)
{
	return MIN_OF((n + 9) / 10, (size_t)GOOD_MAX);
}

static double kernel_weight(size_t i, size_t n)
{
	if (n < FULL_WEIGHTS || i >= n - FULL_WEIGHTS)
		return 1;
	size_t ramp = n - FULL_WEIGHTS;
	double first = 1.0 / (double)n;
	return ramp == 1 ? first : first + (1 - first) * (double)i / (double)(ramp - 1);
}

void tpe_parzen(const int *seen, size_t n, int n_settings, double *ret_p)
{
	double elsewhere = prior_weight / (double)(n + 1);
	double row = 1 + n_settings * elsewhere, total = n ? prior_weight : 1;
	for (int k = 0; k < n_settings; k++)
		ret_p[k] = total / n_settings;
	for (size_t i = 0; i < n; i++) {
		double weight = kernel_weight(i, n);
		for (int k = 0; k < n_settings; k++)
			ret_p[k] += weight * ((k == seen[i]) + elsewhere) / row;
		total += weight;
	}
	for (int k = 0; k < n_settings; k++)
		ret_p[k] /= total;
}

/* ---- the two densities ---- */

struct history { /* trials, best first; failed ones last, in their order */
	const int **setting;
	double *gain_ln;
	size_t *age; /* 0 = oldest */
	size_t n;
};

static void add_trial(struct history *h, const int *setting, double gain_ln)
{
	size_t at = h->n, age = h->n;
	for (; at > 0 && h->gain_ln[at - 1] < gain_ln; at--) {
		h->setting[at] = h->setting[at - 1];
		h->gain_ln[at] = h->gain_ln[at - 1];
		h->age[at] = h->age[at - 1];
	}
	h->setting[at] = setting;
	h->gain_ln[at] = gain_ln;
	h->age[at] = age;
	h->n++;
}

static struct history read_history(struct rival *r)
{
	const struct model_input *m = &r->s.in->model;
	size_t room = m->n_observations + 1;
	struct history h = {arena_array(&r->s.arena, room, sizeof(int *)),
		arena_array(&r->s.arena, room, sizeof(double)),
		arena_array(&r->s.arena, room, sizeof(size_t)), 0};
	if (m->reference_runs > 0)
		add_trial(&h, r->s.reference, 0);
	for (size_t i = 0; i < m->n_observations; i++) {
		const struct observation *o = &m->observations[i];
		add_trial(&h, o->setting, rival_is_good(o) ? o->gain_ln : -INFINITY);
	}
	return h;
}

/* One lever's density over the trials best_first[from .. to), taken oldest first. */
static void density(
	struct rival *r, const struct history *h, size_t from, size_t to, int lever, double *ret_p)
{
	int *seen = arena_array(&r->s.arena, h->n + 1, sizeof(*seen));
	size_t n = 0;
	for (size_t age = 0; age < h->n; age++)
		for (size_t i = from; i < to; i++)
			if (h->age[i] == age)
				seen[n++] = h->setting[i][lever];
	tpe_parzen(seen, n, r->s.in->model.levers[lever].n_settings, ret_p);
}

struct densities { /* by lever */
	double **good, **bad;
};

static struct densities fit(struct rival *r)
{
	struct history h = read_history(r);
	size_t n = (size_t)r->s.n_levers, good = tpe_good(h.n);
	struct densities d = {arena_array(&r->s.arena, n + 1, sizeof(double *)),
		arena_array(&r->s.arena, n + 1, sizeof(double *))};
	for (int l = 0; l < r->s.n_levers; l++) {
		size_t settings = (size_t)r->s.in->model.levers[l].n_settings;
		d.good[l] = arena_array(&r->s.arena, settings, sizeof(double));
		d.bad[l] = arena_array(&r->s.arena, settings, sizeof(double));
		density(r, &h, 0, good, l, d.good[l]);
		density(r, &h, good, h.n, l, d.bad[l]);
	}
	return d;
}

/* ---- proposing ---- */

static int draw_setting(struct rival *r, const double *p, int n)
{
	double u = random_uniform(&r->random);
	for (int k = 0; k < n - 1; k++) {
		u -= p[k];
		if (u < 0)
			return k;
	}
	return n - 1;
}

static double log_ratio(const struct densities *d, int lever, int setting)
{
	return round_score(log(d->good[lever][setting]) - log(d->bad[lever][setting]));
}

/* The best of 24 draws from the good trials' density: each lever for itself. */
static int best_of_draws(struct rival *r, const struct densities *d, int lever)
{
	int n = r->s.in->model.levers[lever].n_settings, best = -1;
	for (int i = 0; i < CANDIDATES; i++) {
		int drawn = draw_setting(r, d->good[lever], n);
		if (best < 0 || log_ratio(d, lever, drawn) > log_ratio(d, lever, best))
			best = drawn;
	}
	return best;
}

/* Where the best of draws may not run, however often they are drawn: the best of those that may. */
static struct candidate *best_that_may_run(struct rival *r, const struct densities *d, int *setting)
{
	struct candidate *best = NULL;
	double best_ratio = 0;
	int found = 0;
	for (int i = 0; i < DRAWS && found < CANDIDATES; i++) {
		double ratio = 0;
		for (int l = 0; l < r->s.n_levers; l++) {
			setting[l] = draw_setting(r, d->good[l], r->s.in->model.levers[l].n_settings);
			ratio += log_ratio(d, l, setting[l]);
		}
		struct candidate *c = scores_look_up(&r->s, setting);
		if (!candidate_may_run(&r->s, c))
			continue;
		found++;
		if (!best || ratio > best_ratio) {
			best = c;
			best_ratio = ratio;
		}
	}
	return best;
}

static struct candidate *propose_by_density(struct rival *r)
{
	struct densities d = fit(r);
	int *setting = settings_copy(&r->s.arena, r->s.reference, r->s.n_levers);
	for (int i = 0; i < REDRAWS; i++) {
		for (int l = 0; l < r->s.n_levers; l++)
			setting[l] = best_of_draws(r, &d, l);
		struct candidate *c = scores_look_up(&r->s, setting);
		if (candidate_may_run(&r->s, c))
			return c;
	}
	return best_that_may_run(r, &d, setting);
}

static struct candidate *propose(struct rival *r)
{
	if (r->s.in->model.n_observations >= RANDOM_TRIALS)
		return propose_by_density(r);
	r->label = "start-up";
	return anywhere(&r->s, &r->random, r->s.reference, 1);
}

/* Nothing is worth more than anything else: one change to the reference, each as likely as the other. */
static struct candidate *any_neighbour(struct rival *r)
{
	const double *equal = arena_array(&r->s.arena, (size_t)rival_ids(r) + 1, sizeof(double));
	r->label = "start-up";
	return rival_best_change(r, r->s.reference, equal, false);
}

static struct candidate *propose_sparse(struct rival *r)
{
	bool starting = r->s.in->model.n_observations < SPARSE_TRIALS;
	return starting ? any_neighbour(r) : propose_by_density(r);
}

enum err_code tpe_next(const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	return rival_next(in, "tpe", propose, ret_decision, reterr);
}

enum err_code tpe_sparse_next(
	const struct search_input *in, struct decision *ret_decision, struct err *reterr)
{
	return rival_next(in, "tpe-sparse", propose_sparse, ret_decision, reterr);
}

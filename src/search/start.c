#include "base/base.h"

#include <math.h>
#include <string.h>

#include "search/start.h"

enum { REPAIRS = 3 };
static const double p_fits_wanted = 0.5, memory_weight = 0.3, smallest_probability = 1e-300;

static struct candidate *user_start(struct scores *s)
{
	for (size_t i = 0; i < s->in->n_user_starts; i++) {
		struct candidate *c = scores_look_up(s, s->in->user_starts[i]);
		if (candidate_may_run(s, c))
			return c;
	}
	return NULL;
}

/* True until something else than the reference and the user's starts has been registered. */
static bool search_has_not_begun(const struct scores *s)
{
	for (size_t i = 0; i < s->in->n_visited; i++) {
		bool known = same_settings(s->in->visited[i], s->reference, s->n_levers);
		for (size_t k = 0; k < s->in->n_user_starts; k++)
			known |= same_settings(s->in->visited[i], s->in->user_starts[k], s->n_levers);
		if (!known)
			return false;
	}
	return true;
}

/* Each lever at the experienced setting with the largest positive effect. NULL without experience. */
static int *best_experienced(struct scores *s)
{
	int *setting = settings_copy(&s->arena, s->reference, s->n_levers);
	bool any = false;
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		double best = 0;
		for (int to = 0; to < l->n_settings; to++) {
			const struct lever_prior *p = &l->prior[to];
			if (to == l->reference || !p->experienced || p->mean_ln <= best)
				continue;
			best = p->mean_ln;
			setting[lever] = to;
			any = true;
		}
	}
	return any ? setting : NULL;
}

static double repair_value(struct scores *s, struct candidate *c)
{
	candidate_predict(s, c);
	return round_score(c->mean_ln + memory_weight * log(fmax(c->p_fits, smallest_probability)));
}

/* The legal one-change neighbour with the largest mean + 0.3 ln P(fits). */
static struct candidate *best_repair(struct scores *s, int *setting)
{
	struct candidate *best = NULL;
	for (int lever = 0; lever < s->n_levers; lever++) {
		int from = setting[lever];
		for (int to = 0; to < s->in->model.levers[lever].n_settings; to++) {
			if (to == from)
				continue;
			setting[lever] = to;
			struct candidate *c = scores_look_up(s, setting);
			if (candidate_is_legal(s, c) && (!best || repair_value(s, c) > repair_value(s, best)))
				best = c;
		}
		setting[lever] = from;
	}
	return best;
}

static struct candidate *experienced_start(struct scores *s)
{
	int *setting = s->in->experienced_start
			       ? settings_copy(&s->arena, s->in->experienced_start, s->n_levers)
			       : best_experienced(s);
	if (!setting)
		return NULL;
	struct candidate *c = scores_look_up(s, setting);
	for (int k = 0; k < REPAIRS; k++) {
		candidate_predict(s, c);
		if (candidate_is_legal(s, c) && c->p_fits >= p_fits_wanted)
			break;
		struct candidate *repaired = best_repair(s, setting);
		if (!repaired)
			break;
		c = repaired;
		memcpy(setting, c->setting, (size_t)s->n_levers * sizeof(*setting));
	}
	return candidate_may_run(s, c) ? c : NULL;
}

struct candidate *next_start(struct scores *s, const char **ret_name)
{
	struct candidate *c = user_start(s);
	*ret_name = "user start";
	if (!c && search_has_not_begun(s)) {
		c = experienced_start(s);
		*ret_name = "experienced start";
	}
	return c;
}

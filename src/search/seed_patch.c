#include "base/base.h"

#include "search/seeds.h"

static bool has_run(const struct search_input *in, int lever)
{
	const struct model_input *m = &in->model;
	for (size_t i = 0; i < m->n_observations; i++)
		if (m->observations[i].setting[lever] != m->levers[lever].reference)
			return true;
	return false;
}

/* The patch that promises most on the incumbent among those that no run has had on. */
void seed_patch(struct scores *s, struct seed_list *list)
{
	int *setting = settings_copy(&s->arena, s->incumbent_setting, s->n_levers);
	struct candidate *best = NULL;
	double most = 0;
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		if (!l->is_patch || has_run(s->in, lever))
			continue;
		setting[lever] = 1 - l->reference;
		struct candidate *c = scores_look_up(s, setting);
		setting[lever] = l->reference;
		if (!candidate_may_run(s, c))
			continue;
		candidate_predict(s, c);
		double bound = round_score(c->mean_ln + 2 * c->sd_ln);
		if (best && bound <= most)
			continue;
		best = c;
		most = bound;
	}
	if (best)
		seed_add_to_incumbent(s, list, best->setting);
}

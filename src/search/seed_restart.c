#include "base/base.h"

#include "search/seeds.h"

enum { FAR = 3 }; /* levers in which it differs from the incumbent */

void seed_restart(struct scores *s, struct seed_list *list)
{
	const struct model_input *in = &s->in->model;
	int chosen = -1;
	double best = 0;
	for (size_t i = 0; i < in->n_observations; i++) {
		const struct observation *o = &in->observations[i];
		if (!o->incumbent_allowed || !o->has_gain ||
			settings_apart(o->setting, s->incumbent_setting, s->n_levers) < FAR)
			continue;
		double mean = round_score(observation_mean_ln(s, (int)i));
		if (chosen >= 0 && mean <= best)
			continue;
		chosen = (int)i;
		best = mean;
	}
	if (chosen >= 0)
		seed_add(list, (struct seed){.setting = in->observations[chosen].setting,
				       .observation = chosen,
				       .origin_name = "earlier configuration",
				       .origin_setting = in->observations[chosen].setting});
}

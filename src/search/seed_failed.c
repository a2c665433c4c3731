#include "base/base.h"

#include "search/seeds.h"

/* Bundle completion: from the two failed configurations that promise most, a saver raises P(fits) and taking
 * back a conflicting setting raises P(runs). */
void seed_failed(struct scores *s, struct seed_list *list)
{
	const struct model_input *in = &s->in->model;
	int chosen[2] = {-1, -1};
	double promise[2] = {0, 0};
	for (size_t i = 0; i < in->n_observations; i++) {
		const struct observation *o = &in->observations[i];
		if (o->status == OBSERVED_OK)
			continue;
		struct candidate *c = scores_look_up(s, o->setting);
		candidate_predict(s, c);
		double bound = round_score(c->mean_ln + c->sd_ln);
		if (chosen[0] < 0 || bound > promise[0]) {
			chosen[1] = chosen[0];
			promise[1] = promise[0];
			chosen[0] = (int)i;
			promise[0] = bound;
		} else if (chosen[1] < 0 || bound > promise[1]) {
			chosen[1] = (int)i;
			promise[1] = bound;
		}
	}
	for (int k = 0; k < 2; k++)
		if (chosen[k] >= 0)
			seed_add(list, (struct seed){.setting = in->observations[chosen[k]].setting,
					       .observation = chosen[k],
					       .origin_name = "failed configuration",
					       .origin_setting = in->observations[chosen[k]].setting});
}

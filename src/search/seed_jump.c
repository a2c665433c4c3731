/*
 * Escape: the best four changes of one draw from the posterior of the settings' coefficients, applied to the
 * incumbent at once.
 */
#include "base/base.h"

#include <math.h>

#include "base/random.h"
#include "search/changes.h"
#include "search/seeds.h"

enum { JUMPS = 4, CHANGES = 4 };

/* The best change of each lever that the draw likes, best first. Settings are drawn in a fixed order. */
static int draw_changes(struct scores *s, struct random *random, struct change *ret_change)
{
	int n = 0;
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		struct change best = {lever, -1, -INFINITY};
		double current = 0;
		for (int to = 0; to < l->n_settings; to++) {
			double drawn = 0;
			if (to != l->reference) {
				double mean, sd;
				time_model_setting(s->time, lever, to, &mean, &sd);
				drawn = fmin(mean + sd * random_normal(random), l->prior[to].amdahl_cap_ln);
			}
			if (to == s->incumbent_setting[lever])
				current = drawn;
			else if (round_score(drawn) > round_score(best.gain_ln))
				best = (struct change){lever, to, drawn};
		}
		best.gain_ln = round_score(best.gain_ln - current);
		if (best.to >= 0 && best.gain_ln > 0)
			ret_change[n++] = best;
	}
	changes_sort(ret_change, n);
	return n;
}

void seed_jump(struct scores *s, struct seed_list *list)
{
	CLEANUP(free_ptr) struct change *change = xcalloc((size_t)s->n_levers + 1, sizeof(*change));
	for (uint64_t k = 0; k < JUMPS; k++) {
		struct random random;
		random_init(&random, s->in->seed, "jump", s->in->decision * JUMPS + k);
		int n = MIN_OF(draw_changes(s, &random, change), (int)CHANGES);
		seed_add_to_incumbent(s, list, changes_apply(s, s->incumbent_setting, change, n));
	}
}

/*
 * Big-knob escape: when two trials in a row gained nothing, one to three of the settings with large effects,
 * predicted or learnt, go onto the incumbent at once.
 */
#include "base/base.h"

#include <math.h>

#include "search/changes.h"
#include "search/seeds.h"

enum { PATIENCE = 2, MOST = 3 };

/* Trials at the end of the campaign that did not beat everything before them by more than the gate. */
static int trials_without_gain(const struct search_input *in)
{
	double best = in->model.reference_runs > 0 ? 0 : -INFINITY;
	int since = 0;
	for (size_t i = 0; i < in->model.n_observations; i++) {
		const struct observation *o = &in->model.observations[i];
		bool is_good = o->incumbent_allowed && o->has_gain;
		since = is_good && round_score(o->gain_ln - best) > round_score(in->gate_ln) ? 0 : since + 1;
		if (is_good)
			best = fmax(best, o->gain_ln);
	}
	return since;
}

/* The best big setting of each knob that may gain on the incumbent's own, best first. */
static int list_big(struct scores *s, struct change *ret_change)
{
	int n = 0;
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		struct change best = {lever, -1, 0};
		double current, mean, sd;
		if (l->is_patch)
			continue;
		time_model_setting(s->time, lever, s->incumbent_setting[lever], &current, &sd);
		for (int to = 0; to < l->n_settings; to++) {
			if (to == l->reference || to == s->incumbent_setting[lever])
				continue;
			time_model_setting(s->time, lever, to, &mean, &sd);
			double gain = round_score(fmin(mean + 2 * sd, l->prior[to].amdahl_cap_ln) - current);
			if (setting_is_big(s, lever, to) && gain > best.gain_ln)
				best = (struct change){lever, to, gain};
		}
		if (best.to >= 0)
			ret_change[n++] = best;
	}
	changes_sort(ret_change, n);
	return n;
}

void seed_big_knob(struct scores *s, struct seed_list *list)
{
	if (trials_without_gain(s->in) < PATIENCE)
		return;
	CLEANUP(free_ptr) struct change *change = xcalloc((size_t)s->n_levers + 1, sizeof(*change));
	int n = MIN_OF(list_big(s, change), (int)MOST);
	for (int k = 1; k <= n; k++)
		seed_add_to_incumbent(s, list, changes_apply(s, s->incumbent_setting, change, k));
}

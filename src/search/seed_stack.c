/*
 * Stacking: all patches that a valid run had on, outside the incumbent, together on it, where what they add
 * up to is above what the noise hides. As a group test: one trial says whether they go together.
 */
#include "base/base.h"

#include "search/changes.h"
#include "search/seeds.h"

static bool has_passed(const struct search_input *in, int lever)
{
	const struct model_input *m = &in->model;
	for (size_t i = 0; i < m->n_observations; i++)
		if (m->observations[i].incumbent_allowed &&
			m->observations[i].setting[lever] != m->levers[lever].reference)
			return true;
	return false;
}

void seed_stack(struct scores *s, struct seed_list *list)
{
	CLEANUP(free_ptr) struct change *change = xcalloc((size_t)s->n_levers + 1, sizeof(*change));
	double sum = 0;
	int n = 0;
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		int on = 1 - l->reference;
		double mean, sd;
		if (!l->is_patch || s->incumbent_setting[lever] == on || !has_passed(s->in, lever))
			continue;
		time_model_setting(s->time, lever, on, &mean, &sd);
		if (round_score(mean) <= 0)
			continue;
		sum += mean;
		change[n++] = (struct change){lever, on, round_score(mean)};
	}
	if (n < 2 || round_score(sum) <= round_score(s->in->gate_ln))
		return;
	changes_sort(change, n);
	seed_add_to_incumbent(s, list, changes_apply(s, s->incumbent_setting, change, n));
}

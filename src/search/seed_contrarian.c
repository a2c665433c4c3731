/*
 * Contrarian probing: what was predicted to gain nothing, has not run, and may still gain more than the noise
 * hides, on the incumbent. Predictions that nobody tests are never found wrong.
 */
#include "base/base.h"

#include <math.h>

#include "search/changes.h"
#include "search/repair.h"
#include "search/seeds.h"

enum { PROBES = 3 };
static const double unpromising_ln = 0.02;

static int list_probes(struct scores *s, struct change *ret_change)
{
	int n = 0;
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		for (int to = 0; to < l->n_settings; to++) {
			double mean, sd;
			if (to == l->reference || to == s->incumbent_setting[lever] ||
				l->prior[to].predicted_gain_ln > unpromising_ln ||
				setting_was_timed(s->in, lever, to))
				continue;
			time_model_setting(s->time, lever, to, &mean, &sd);
			double bound = round_score(fmin(mean + 2 * sd, l->prior[to].amdahl_cap_ln));
			if (bound > round_score(s->in->gate_ln))
				ret_change[n++] = (struct change){lever, to, bound};
		}
	}
	changes_sort(ret_change, n);
	return n;
}

void seed_contrarian(struct scores *s, struct seed_list *list)
{
	size_t room = 1;
	for (int l = 0; l < s->n_levers; l++)
		room += (size_t)s->in->model.levers[l].n_settings;
	CLEANUP(free_ptr) struct change *change = xcalloc(room, sizeof(*change));
	int n = MIN_OF(list_probes(s, change), (int)PROBES);
	for (int i = 0; i < n; i++) {
		const int *setting = changes_apply(s, s->incumbent_setting, &change[i], 1);
		if (setting)
			seed_add_to_incumbent(s, list, repair(s, setting, change[i].lever)->setting);
	}
}

#include "base/base.h"

#include "search/repair.h"
#include "search/start.h"

/* Each lever at the experienced setting with the largest positive effect; true: of any lever. */
static bool best_experienced(const struct scores *s, int *setting)
{
	bool any = false;
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		double best = 0;
		setting[lever] = l->reference;
		for (int to = 0; to < l->n_settings; to++) {
			const struct lever_prior *p = &l->prior[to];
			if (to == l->reference || !p->experienced || p->mean_ln <= best)
				continue;
			best = p->mean_ln;
			setting[lever] = to;
			any = true;
		}
	}
	return any;
}

bool experience_is_known(const struct scores *s)
{
	CLEANUP(free_ptr) int *setting = xcalloc((size_t)s->n_levers + 1, sizeof(*setting));
	return s->in->experienced_start || best_experienced(s, setting);
}

struct candidate *experience_start(struct scores *s)
{
	const int *start = s->in->experienced_start;
	if (!start) {
		int *setting = settings_copy(&s->arena, s->reference, s->n_levers);
		(void)best_experienced(s, setting);
		start = setting;
	}
	struct candidate *c = repair(s, start, -1);
	return candidate_may_run(s, c) ? c : NULL;
}

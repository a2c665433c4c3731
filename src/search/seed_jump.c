/*
 * Escape: the best four changes of one draw from the posterior of the settings' coefficients, applied to the
 * incumbent at once.
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "search/seeds.h"

enum { JUMPS = 4, CHANGES = 4 };

struct change {
	int lever, to;
	double gain_ln;
};

static int larger_gain_first(const void *va, const void *vb)
{
	const struct change *a = va, *b = vb;
	if (a->gain_ln != b->gain_ln)
		return a->gain_ln > b->gain_ln ? -1 : 1;
	if (a->lever != b->lever)
		return a->lever < b->lever ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

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
			else if (drawn > best.gain_ln)
				best = (struct change){lever, to, drawn};
		}
		best.gain_ln = round_score(best.gain_ln - current);
		if (best.to >= 0 && best.gain_ln > 0)
			ret_change[n++] = best;
	}
	qsort(ret_change, (size_t)n, sizeof(*ret_change), larger_gain_first);
	return n;
}

static bool is_legal(struct scores *s, const int *setting)
{
	return candidate_is_legal(s, scores_look_up(s, setting));
}

/* One change; where it breaks an invariant, with the first other setting that restores it. */
static bool apply_legally(struct scores *s, int *setting, const struct change *change)
{
	int before = setting[change->lever];
	setting[change->lever] = change->to;
	if (is_legal(s, setting))
		return true;
	for (int other = 0; other < s->n_levers; other++) {
		int from = setting[other];
		for (int to = 0; other != change->lever && to < s->in->model.levers[other].n_settings; to++) {
			if (to == from)
				continue;
			setting[other] = to;
			if (is_legal(s, setting))
				return true;
		}
		setting[other] = from;
	}
	setting[change->lever] = before;
	return false;
}

static const int *jump(struct scores *s, struct random *random)
{
	CLEANUP(free_ptr) struct change *change = xcalloc((size_t)s->n_levers + 1, sizeof(*change));
	int n = MIN_OF(draw_changes(s, random, change), (int)CHANGES);
	if (n == 0)
		return NULL;
	int *setting = settings_copy(&s->arena, s->incumbent_setting, s->n_levers);
	for (int i = 0; i < n; i++)
		setting[change[i].lever] = change[i].to;
	if (is_legal(s, setting))
		return setting;
	for (int l = 0; l < s->n_levers; l++)
		setting[l] = s->incumbent_setting[l];
	int applied = 0;
	for (int i = 0; i < n; i++)
		applied += apply_legally(s, setting, &change[i]);
	return applied ? setting : NULL;
}

void seed_jump(struct scores *s, struct seed_list *list)
{
	for (uint64_t k = 0; k < JUMPS; k++) {
		struct random random;
		random_init(&random, s->in->seed, "jump", s->in->decision * JUMPS + k);
		const int *setting = jump(s, &random);
		if (setting)
			seed_add(list, (struct seed){.setting = setting,
					       .observation = s->incumbent,
					       .origin_name = s->incumbent < 0 ? "reference" : "incumbent",
					       .origin_setting = s->incumbent_setting,
					       .competes = true});
	}
}

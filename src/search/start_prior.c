/*
 * The configuration that the predictions favour: every knob at its best positively predicted setting. Two
 * starts that agree on every big knob would say the same twice, so it differs in one from whatever has run.
 */
#include "base/base.h"

#include "search/repair.h"
#include "search/start.h"

static double predicted(const struct lever *l, int setting)
{
	return setting == l->reference ? 0 : l->prior[setting].predicted_gain_ln;
}

/* The knob's best setting; with `without` >= 0 the best of the others. The first of equals. */
static int best_setting(const struct lever *l, int without)
{
	int best = without == l->reference ? -1 : l->reference;
	for (int to = 0; to < l->n_settings; to++)
		if (to != without && (best < 0 || predicted(l, to) > predicted(l, best)))
			best = to;
	return best;
}

/* A knob with a setting whose predicted effect is above what the noise hides. */
static bool is_big(const struct scores *s, int lever)
{
	const struct lever *l = &s->in->model.levers[lever];
	for (int to = 0; to < l->n_settings && !l->is_patch; to++)
		if (predicted(l, to) >= s->in->gate_ln || predicted(l, to) <= -s->in->gate_ln)
			return true;
	return false;
}

bool prior_is_known(const struct scores *s)
{
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		if (!l->is_patch && predicted(l, best_setting(l, -1)) >= s->in->gate_ln)
			return true;
	}
	return false;
}

static bool has_run_alike(const struct scores *s, const int *setting)
{
	for (size_t i = 0; i < s->in->n_visited; i++) {
		bool alike = true;
		for (int l = 0; l < s->n_levers; l++)
			alike &= s->in->visited[i][l] == setting[l] || !is_big(s, l);
		if (alike)
			return true;
	}
	return false;
}

/* The big knob whose second best setting costs least takes it. */
static void step_aside(const struct scores *s, int *setting)
{
	int cheapest = -1;
	double least = 0;
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		if (!is_big(s, lever))
			continue;
		double cost = predicted(l, setting[lever]) - predicted(l, best_setting(l, setting[lever]));
		if (cheapest < 0 || cost < least) {
			cheapest = lever;
			least = cost;
		}
	}
	if (cheapest >= 0)
		setting[cheapest] = best_setting(&s->in->model.levers[cheapest], setting[cheapest]);
}

struct candidate *prior_start(struct scores *s)
{
	int *setting = settings_copy(&s->arena, s->reference, s->n_levers);
	for (int lever = 0; lever < s->n_levers; lever++)
		if (!s->in->model.levers[lever].is_patch)
			setting[lever] = best_setting(&s->in->model.levers[lever], -1);
	if (has_run_alike(s, setting))
		step_aside(s, setting);
	struct candidate *c = repair(s, setting, -1);
	return candidate_may_run(s, c) ? c : NULL;
}

/*
 * The configuration that the predictions favour: every knob at its best positively predicted setting,
 * repaired to fit. Two starts that agree on every big knob would say the same twice: where it agrees with
 * something that has run, one big knob takes its second best setting, the one that loses least of those that
 * then do differ. Where none does, the trial is the search's.
 */
#include "base/base.h"

#include "search/changes.h"
#include "search/repair.h"
#include "search/seeds.h"
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

bool prior_is_known(const struct scores *s)
{
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		if (!l->is_patch && predicted(l, best_setting(l, -1)) >= s->in->gate_ln)
			return true;
	}
	return false;
}

static bool is_alike(const struct scores *s, const int *a, const int *b)
{
	for (int l = 0; l < s->n_levers; l++)
		if (a[l] != b[l] && knob_is_big(s, l))
			return false;
	return true;
}

/* It agrees on every big knob with something that has run or runs. */
static bool has_run_alike(const struct scores *s, const int *setting)
{
	bool alike = is_alike(s, setting, s->reference);
	for (size_t i = 0; i < s->in->n_visited && !alike; i++)
		alike = is_alike(s, setting, s->in->visited[i]);
	return alike;
}

/* What a big knob loses, as predicted, by its second best setting; cheapest first. */
static int list_steps_aside(const struct scores *s, const int *setting, struct change *ret_change)
{
	int n = 0;
	for (int lever = 0; lever < s->n_levers; lever++) {
		const struct lever *l = &s->in->model.levers[lever];
		if (!knob_is_big(s, lever))
			continue;
		int second = best_setting(l, setting[lever]);
		ret_change[n++] = (struct change){
			lever, second, round_score(predicted(l, second) - predicted(l, setting[lever]))};
	}
	changes_sort(ret_change, n);
	return n;
}

/* NULL: repaired, it may not run or says what something has said already. */
static struct candidate *repaired(struct scores *s, const int *setting)
{
	struct candidate *c = repair(s, setting, -1);
	return candidate_may_run(s, c) && !has_run_alike(s, c->setting) ? c : NULL;
}

struct candidate *prior_start(struct scores *s)
{
	int *setting = settings_copy(&s->arena, s->reference, s->n_levers);
	for (int lever = 0; lever < s->n_levers; lever++)
		if (!s->in->model.levers[lever].is_patch)
			setting[lever] = best_setting(&s->in->model.levers[lever], -1);
	CLEANUP(free_ptr) struct change *aside = xcalloc((size_t)s->n_levers + 1, sizeof(*aside));
	int n = list_steps_aside(s, setting, aside);
	struct candidate *c = repaired(s, setting);
	for (int i = 0; i < n && !c; i++) {
		int best = setting[aside[i].lever];
		setting[aside[i].lever] = aside[i].to;
		c = repaired(s, setting);
		setting[aside[i].lever] = best;
	}
	return c;
}

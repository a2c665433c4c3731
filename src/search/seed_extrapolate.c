/*
 * Extrapolation: where the incumbent's setting of an ordered knob is better than its neighbour on one side,
 * and both have run, the next one and the one after it on the other side; and all such knobs a step further
 * at once.
 */
#include "base/base.h"

#include <stdlib.h>

#include "model/axes.h"
#include "search/changes.h"
#include "search/seeds.h"

enum { KNOBS = 3 };

struct rung {
	double u;
	int setting;
};

static int ascending(const void *va, const void *vb)
{
	const struct rung *a = va, *b = vb;
	if (a->u != b->u)
		return a->u < b->u ? -1 : 1;
	return (a->setting > b->setting) - (a->setting < b->setting);
}

/* The settings along the axis. */
static void sort_settings(const struct axis *axis, struct rung *ret_rung)
{
	for (int i = 0; i < axis->n_settings; i++)
		ret_rung[i] = (struct rung){axis->kind == AXIS_NUMBER ? axis->u[i] : i, i};
	qsort(ret_rung, (size_t)axis->n_settings, sizeof(*ret_rung), ascending);
}

static double mean_with(struct scores *s, int lever, int setting)
{
	int *changed = settings_copy(&s->arena, s->incumbent_setting, s->n_levers);
	changed[lever] = setting;
	struct candidate *c = scores_look_up(s, changed);
	candidate_predict(s, c);
	return c->mean_ln;
}

/* What one step along the axis up to the incumbent's setting brought; not above 0: no trend that both have
 * shown. */
static double last_step_ln(struct scores *s, int lever, int before, int here)
{
	if (!setting_was_timed(s->in, lever, here) || !setting_was_timed(s->in, lever, before))
		return 0;
	return round_score(mean_with(s, lever, here) - mean_with(s, lever, before));
}

/* The next setting in the direction that improved more, and the one after it (-1 = none). */
static bool find_trend(
	struct scores *s, int lever, const struct axis *axis, struct change *ret_next, int *ret_after)
{
	int n = axis->n_settings, at = 0;
	CLEANUP(free_ptr) struct rung *rung = xcalloc((size_t)n, sizeof(*rung));
	sort_settings(axis, rung);
	while (rung[at].setting != s->incumbent_setting[lever])
		at++;
	*ret_next = (struct change){lever, -1, 0};
	for (int step = -1; step <= 1; step += 2) {
		int behind = at - step, next = at + step, after = next + step;
		if (behind < 0 || behind >= n || next < 0 || next >= n)
			continue;
		double gain = last_step_ln(s, lever, rung[behind].setting, rung[at].setting);
		if (gain <= ret_next->gain_ln)
			continue;
		*ret_next = (struct change){lever, rung[next].setting, gain};
		*ret_after = after >= 0 && after < n ? rung[after].setting : -1;
	}
	return ret_next->to >= 0;
}

static void add_seeds(
	struct scores *s, const struct change *next, int n, const int *after, struct seed_list *list)
{
	if (n > 1)
		seed_add_to_incumbent(s, list, changes_apply(s, s->incumbent_setting, next, n));
	for (int i = 0; i < n; i++) {
		struct change further = next[i];
		seed_add_to_incumbent(s, list, changes_apply(s, s->incumbent_setting, &next[i], 1));
		further.to = after[further.lever];
		if (further.to >= 0)
			seed_add_to_incumbent(s, list, changes_apply(s, s->incumbent_setting, &further, 1));
	}
}

void seed_extrapolate(struct scores *s, struct seed_list *list)
{
	struct axes axes;
	int n = 0;
	axes_init(&axes, s->in->model.levers, s->n_levers);
	CLEANUP(free_ptr) struct change *next = xcalloc((size_t)s->n_levers + 1, sizeof(*next));
	CLEANUP(free_ptr) int *after = xcalloc((size_t)s->n_levers + 1, sizeof(*after));
	for (int lever = 0; lever < s->n_levers; lever++)
		if (axes.axis[lever].kind != AXIS_NONE)
			n += find_trend(s, lever, &axes.axis[lever], &next[n], &after[lever]);
	changes_sort(next, n);
	add_seeds(s, next, MIN_OF(n, (int)KNOBS), after, list);
	axes_release(&axes);
}

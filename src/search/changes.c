#include "base/base.h"

#include <stdlib.h>

#include "search/changes.h"

static int larger_gain_first(const void *va, const void *vb)
{
	const struct change *a = va, *b = vb;
	if (a->gain_ln != b->gain_ln)
		return a->gain_ln > b->gain_ln ? -1 : 1;
	if (a->lever != b->lever)
		return a->lever < b->lever ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

void changes_sort(struct change *change, int n)
{
	qsort(change, (size_t)n, sizeof(*change), larger_gain_first);
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

const int *changes_apply(struct scores *s, const int *base, const struct change *change, int n)
{
	int *setting = settings_copy(&s->arena, base, s->n_levers);
	for (int i = 0; i < n; i++)
		setting[change[i].lever] = change[i].to;
	if (n > 0 && is_legal(s, setting))
		return setting;
	for (int l = 0; l < s->n_levers; l++)
		setting[l] = base[l];
	int applied = 0;
	for (int i = 0; i < n; i++)
		applied += apply_legally(s, setting, &change[i]);
	return applied ? setting : NULL;
}

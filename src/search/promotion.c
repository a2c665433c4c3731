/* Rule R9, the part before the duels: who is worth one. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "search/score.h"
#include "search/search.h"

enum err_code search_incumbent(
	const struct search_input *in, int *ret_observation, double *ret_mean_ln, struct err *reterr)
{
	CLEANUP(scores_release) struct scores s = {0};
	TRY(scores_init(&s, in, reterr));
	*ret_observation = s.incumbent;
	*ret_mean_ln = s.incumbent_ln;
	return OK;
}

struct finalist {
	int observation;
	double mean_ln;
};

static int better_first(const void *va, const void *vb)
{
	const struct finalist *a = va, *b = vb;
	if (a->mean_ln != b->mean_ln)
		return a->mean_ln > b->mean_ln ? -1 : 1;
	return a->observation < b->observation ? -1 : 1;
}

static bool is_repeated(
	const struct model_input *in, const struct finalist *list, size_t n, const int *setting)
{
	for (size_t i = 0; i < n; i++)
		if (same_settings(in->observations[list[i].observation].setting, setting, in->n_levers))
			return true;
	return false;
}

enum err_code search_finalists(
	const struct search_input *in, size_t room, int *ret_order, size_t *ret_count, struct err *reterr)
{
	const struct model_input *model = &in->model;
	CLEANUP(scores_release) struct scores s = {0};
	TRY(scores_init(&s, in, reterr));
	CLEANUP(free_ptr) struct finalist *list = xcalloc(model->n_observations + 1, sizeof(*list));
	size_t n = 0;
	for (size_t i = 0; i < model->n_observations; i++) {
		const struct observation *o = &model->observations[i];
		if (!o->incumbent_allowed || !o->has_gain)
			continue;
		double mean = round_score(observation_mean_ln(&s, (int)i));
		/* Without a reference that fits, whatever runs is an improvement. */
		bool expected_to_win = mean > 0 || model->reference_runs == 0;
		if (expected_to_win && !is_repeated(model, list, n, o->setting))
			list[n++] = (struct finalist){(int)i, mean};
	}
	qsort(list, n, sizeof(*list), better_first);
	*ret_count = MIN_OF(n, room);
	for (size_t i = 0; i < *ret_count; i++)
		ret_order[i] = list[i].observation;
	return OK;
}

#include "base/base.h"

#include "search/anywhere.h"

enum { DRAWS = 1000, SMALL_SPACE = 65536 };

static bool space_is_small(const struct scores *s)
{
	long size = 1;
	for (int l = 0; l < s->n_levers; l++) {
		size *= s->in->model.levers[l].n_settings;
		if (size > SMALL_SPACE)
			return false;
	}
	return true;
}

/* The next setting vector in counting order; false after the last. */
static bool count_up(const struct scores *s, int *setting)
{
	for (int l = 0; l < s->n_levers; l++) {
		if (++setting[l] < s->in->model.levers[l].n_settings)
			return true;
		setting[l] = 0;
	}
	return false;
}

/* Evenly among those that may run: the k-th of them replaces the choice with probability 1/k. */
static struct candidate *walk(struct scores *s, struct random *random)
{
	int *setting = arena_array(&s->arena, (size_t)s->n_levers + 1, sizeof(*setting));
	struct candidate *chosen = NULL;
	uint64_t n = 0;
	do {
		struct candidate *c = scores_look_up(s, setting);
		if (candidate_may_run(s, c) && random_below(random, ++n) == 0)
			chosen = c;
	} while (count_up(s, setting));
	return chosen;
}

struct candidate *anywhere(struct scores *s, struct random *random, const int *from, double p)
{
	int *setting = settings_copy(&s->arena, from, s->n_levers);
	for (int draw = 0; draw < DRAWS; draw++) {
		for (int l = 0; l < s->n_levers; l++) {
			setting[l] = from[l];
			if (random_uniform(random) < p)
				setting[l] = (int)random_below(
					random, (uint64_t)s->in->model.levers[l].n_settings);
		}
		struct candidate *c = scores_look_up(s, setting);
		if (candidate_may_run(s, c))
			return c;
	}
	return space_is_small(s) ? walk(s, random) : NULL;
}

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "search/climb.h"

/* The best candidate with one lever more changed. The first scans try every lever; when the decision's share
 * of legality checks is spent, only levers that have helped before. */
static struct candidate *complete(struct scores *s, int *setting, int lever)
{
	struct candidate *best = NULL;
	bool *coupled = s->coupled + (size_t)lever * (size_t)s->n_levers;
	for (int other = 0; other < s->n_levers; other++) {
		const struct lever *l = &s->in->model.levers[other];
		int from = setting[other];
		if (other == lever)
			continue;
		for (int to = 0; to < l->n_settings; to++) {
			if (to == from || (!s->completions_left && !coupled[other]))
				continue;
			s->completions_left -= s->completions_left > 0;
			setting[other] = to;
			struct candidate *c = scores_look_up(s, setting);
			coupled[other] |= candidate_is_legal(s, c);
			if (candidate_may_run(s, c) &&
				(!best || candidate_beats(s, c, candidate_score(s, best))))
				best = c;
		}
		setting[other] = from;
	}
	return best;
}

struct candidate *move(struct scores *s, int *setting, int lever, int to)
{
	int from = setting[lever];
	setting[lever] = to;
	struct candidate *c = scores_look_up(s, setting);
	if (!candidate_is_legal(s, c))
		c = complete(s, setting, lever);
	setting[lever] = from;
	return c && candidate_may_run(s, c) ? c : NULL;
}

void climb(struct scores *s, const int *setting, const struct origin *origin, int steps)
{
	int *current = settings_copy(&s->arena, setting, s->n_levers);
	for (int step = 0; step < steps; step++) {
		struct candidate *best = NULL;
		for (int lever = 0; lever < s->n_levers; lever++) {
			for (int to = 0; to < s->in->model.levers[lever].n_settings; to++) {
				if (to == current[lever])
					continue;
				struct candidate *c = move(s, current, lever, to);
				if (!c)
					continue;
				scores_consider(s, c, origin);
				if (!best || candidate_beats(s, c, candidate_score(s, best)))
					best = c;
			}
		}
		if (!best)
			return;
		memcpy(current, best->setting, (size_t)s->n_levers * sizeof(*current));
	}
}

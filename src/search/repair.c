#include "base/base.h"

#include <math.h>
#include <string.h>

#include "search/repair.h"

enum { REPAIRS = 3 };
static const double p_fits_wanted = 0.5, memory_weight = 0.3, smallest_probability = 1e-300;

static double repair_value(struct scores *s, struct candidate *c)
{
	candidate_predict(s, c);
	return round_score(c->mean_ln + memory_weight * log(fmax(c->p_fits, smallest_probability)));
}

static struct candidate *best_repair(struct scores *s, int *setting, int kept)
{
	struct candidate *best = NULL;
	for (int lever = 0; lever < s->n_levers; lever++) {
		int from = setting[lever];
		for (int to = 0; lever != kept && to < s->in->model.levers[lever].n_settings; to++) {
			if (to == from)
				continue;
			setting[lever] = to;
			struct candidate *c = scores_look_up(s, setting);
			if (candidate_is_legal(s, c) && (!best || repair_value(s, c) > repair_value(s, best)))
				best = c;
		}
		setting[lever] = from;
	}
	return best;
}

struct candidate *repair(struct scores *s, const int *from, int kept)
{
	int *setting = settings_copy(&s->arena, from, s->n_levers);
	struct candidate *c = scores_look_up(s, setting);
	for (int k = 0; k < REPAIRS; k++) {
		candidate_predict(s, c);
		if (candidate_is_legal(s, c) && round_score(c->p_fits) >= p_fits_wanted)
			break;
		struct candidate *repaired = best_repair(s, setting, kept);
		if (!repaired)
			break;
		c = repaired;
		memcpy(setting, c->setting, (size_t)s->n_levers * sizeof(*setting));
	}
	return c;
}

/*
 * Survey: where a task has few configurations every one of them is scored, so that no hill hides behind
 * configurations that are not legal.
 */
#include "base/base.h"

#include "search/seeds.h"

enum { FEW = 4096 };

/* 0 = more than FEW. */
static int count_configurations(const struct scores *s)
{
	int n = 1;
	for (int l = 0; l < s->n_levers; l++) {
		n *= s->in->model.levers[l].n_settings;
		if (n > FEW)
			return 0;
	}
	return n;
}

static void consider(struct scores *s, const int *setting, const struct origin *origin)
{
	struct candidate *c = scores_look_up(s, setting);
	/* What another operator reached is its own. */
	if (!c->operators && candidate_may_run(s, c))
		scores_consider(s, c, origin);
}

void survey(struct scores *s, const struct origin *origin)
{
	int n = count_configurations(s);
	int *setting = settings_copy(&s->arena, s->reference, s->n_levers);
	for (int i = 0; i < n; i++) {
		for (int l = 0, rest = i; l < s->n_levers; l++) {
			setting[l] = rest % s->in->model.levers[l].n_settings;
			rest /= s->in->model.levers[l].n_settings;
		}
		consider(s, setting, origin);
	}
}

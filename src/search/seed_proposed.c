/*
 * Proposed: configurations that language models, programs or people suggested, each as it is and, the best of
 * them, with one or two changes: to climb from all 32 makes a decision three times as dear. They get no
 * bonus; one runs where its score is the highest of all.
 */
#include "base/base.h"

#include "search/seeds.h"

enum { LISTED = 512, LOOKED_AT = 32, CLIMBED = 4 };

/* How many of them are better; of equals, the earlier. */
static int rank_of(struct scores *s, struct candidate *const *list, int n, int index)
{
	double here = candidate_score(s, list[index]);
	int before = 0;
	for (int i = 0; i < n; i++) {
		double score = candidate_score(s, list[i]);
		before += score > here || (score == here && i < index);
	}
	return before;
}

void seed_proposed(struct scores *s, struct seed_list *list)
{
	struct candidate *candidate[LOOKED_AT];
	int n = 0;
	/* What has run or was listed before takes no room: nobody hides others by repeating himself. */
	for (size_t i = 0; i < MIN_OF(s->in->n_proposed, (size_t)LISTED) && n < LOOKED_AT; i++) {
		struct candidate *c = scores_look_up(s, s->in->proposed[i]);
		bool is_known = c->operators >> OPERATOR_PROPOSED & 1;
		if (is_known || !candidate_may_run(s, c))
			continue;
		/* Also where another operator offers it and it is no seed again. */
		c->operators |= 1u << OPERATOR_PROPOSED;
		candidate[n++] = c;
	}
	for (int i = 0; i < n; i++) {
		struct seed seed = seed_on_incumbent(s, candidate[i]->setting);
		seed.competes = true;
		seed.stays = rank_of(s, candidate, n, i) >= CLIMBED;
		seed_add(list, seed);
	}
}

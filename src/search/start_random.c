#include "base/base.h"

#include "base/random.h"
#include "search/anywhere.h"
#include "search/start.h"

enum { DRAWS = 200 };
static const double p_fits_wanted = 0.5;

/* Evenly over what is legal and more likely to fit than not, by rejection. */
struct candidate *random_start(struct scores *s)
{
	struct random random;
	random_init(&random, s->in->seed, "random start", s->in->decision);
	for (int draw = 0; draw < DRAWS; draw++) {
		struct candidate *c = anywhere(s, &random, s->reference, 1);
		if (!c)
			return NULL;
		candidate_predict(s, c);
		if (round_score(c->p_fits) > p_fits_wanted)
			return c;
	}
	return NULL;
}

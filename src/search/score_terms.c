#include "base/base.h"

#include <math.h>

#include "search/score_terms.h"

/* Where the reference does not fit, what fits and runs counts; a predicted loss of time counts by half. */
static const double loss_weight = 0.5, smallest_probability = 1e-300, smallest_gain = 1e-6;

double score_formula(const struct score_terms *t)
{
	if (t->nothing_fits_yet)
		return log(fmax(t->p_fits, smallest_probability)) + log(fmax(t->p_ok, smallest_probability)) +
		       loss_weight * fmin(t->mean_ln, 0);
	return fmax(t->mean_ln + 2 * t->sd_ln - t->incumbent_ln, smallest_gain) * pow(t->p_fits, t->caution) *
	       t->p_ok;
}

int score_caution(const struct model_input *in)
{
	int caution = 1;
	for (size_t i = in->n_observations; i-- > 0 && in->observations[i].status == OBSERVED_OOM;)
		caution++;
	return caution;
}

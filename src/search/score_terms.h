/* Rule R5: the score of a candidate from what is predicted, or was recorded, of it. */
#ifndef INFRARSI_SEARCH_SCORE_TERMS_H
#define INFRARSI_SEARCH_SCORE_TERMS_H

#include "base/base.h"
#include "model/models.h"

struct score_terms {
	double mean_ln, sd_ln, incumbent_ln, p_fits, p_ok;
	int caution;           /* power of P(fits) */
	bool nothing_fits_yet; /* neither the reference nor any run: look for what fits */
};

double score_formula(const struct score_terms *t); /* not rounded */
/* 1, and 1 more for each of the latest trials that ended out of memory, back to the first that ended in
 * another way, a crash included: far extrapolations, whose P(fits) a lower bound hardly moves, do not eat the
 * budget one after the other. A long row of them turns the score into P(fits) itself. */
int score_caution(const struct model_input *in);

#endif

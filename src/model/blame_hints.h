/*
 * Hints: who else says what made a run fail. The failure's own text (evidence.h), pairs that somebody names,
 * and known conflicts. How much a source is believed is learnt from how often it was right: a hint was wrong
 * where passing runs have cleared all it names, right where nothing but what it names is left.
 */
#ifndef INFRARSI_MODEL_BLAME_HINTS_H
#define INFRARSI_MODEL_BLAME_HINTS_H

#include "base/base.h"
#include "model/models.h"

enum hint_source { HINT_TEXT, HINT_PAIR, HINT_CONFLICT, N_HINT_SOURCES };

struct hint {
	enum hint_source source;
	const bool *named; /* n_levers; of HINT_TEXT */
	int n_named;
	struct lever_pair pair; /* of the others; twice the same setting names that setting */
};

struct hint_record {
	double right[N_HINT_SOURCES], wrong[N_HINT_SOURCES];
};

/* Mean of a Beta posterior; 1/2 before anything is known. */
double hint_trust(const struct hint_record *r, enum hint_source source);
/*
 * How well a hypothesis goes with what the hint names. Whoever names two settings means the two: that one of
 * them is to blame alone is thought of only where the two have run together.
 */
enum hint_rank {
	RANK_NOT_NAMED,
	RANK_ALL,  /* all of what is named, nothing else */
	RANK_SOME, /* part of what is named, nothing else */
	RANK_HALF, /* a pair, of which one half is named */
	N_HINT_RANKS
};
enum hint_rank hint_rank_of(const struct hint *hint, const struct suspicion *h);
/* Counts a hint against the hypotheses that are left for its failure. */
void hint_judge(struct hint_record *r, const struct hint *hint, const struct suspicion *left, size_t n_left);
/* Raises q of what goes best with the hint, so that one of them is true with the source's trust. */
void hint_apply(const struct hint_record *r, const struct hint *hint, struct suspicion *left, size_t n_left);

#endif

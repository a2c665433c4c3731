/*
 * What one decision knows: the fitted models, the incumbent, and every candidate looked at so far with its
 * score (rule R5). A candidate is checked and scored once in a decision, whichever operators reach it.
 *
 *     struct scores scores;
 *     TRY(scores_init(&scores, in, reterr));
 *     struct candidate *c = scores_look_up(&scores, setting);
 *     if (candidate_may_run(&scores, c))
 *             use candidate_score(&scores, c)
 *     scores_release(&scores);
 */
#ifndef INFRARSI_SEARCH_SCORE_H
#define INFRARSI_SEARCH_SCORE_H

#include "base/base.h"
#include "base/memory.h"
#include "model/columns.h"
#include "search/search.h"

/* Where a candidate comes from. */
struct origin {
	const int *setting;
	int observation;  /* -1 = the reference or none */
	const char *name; /* for a person: "incumbent" */
	unsigned operator_bit;
};

struct candidate {
	const int *setting; /* in the decision's arena */
	bool visited, legality_known, legal, is_predicted, scored;
	double score; /* rounded to 1e-9 relative, so that ties are ties on every machine */
	double mean_ln, sd_ln, p_fits, p_ok, predicted_peak_bytes;
	unsigned operators;          /* bits of the operators that reached it */
	const struct origin *origin; /* the first of them; NULL = none yet */
};

struct scores {
	const struct search_input *in;
	int n_levers;
	struct time_model *time; /* the models: NULL after scores_open() */
	struct memory_model *memory;
	struct blame_model *blame;
	int caution; /* power of P(fits) in a score: score_caution() */
	const int *reference;
	int incumbent; /* observation; -1 = the reference */
	double incumbent_ln;
	const int *incumbent_setting;
	bool nothing_fits_yet;   /* neither the reference nor any run: no time scale, look for what fits */
	size_t completions_left; /* legality checks that may still be spent on joint moves */
	bool *coupled; /* n_levers x n_levers: changing the second restored what changing the first broke */
	struct candidate *best; /* highest score so far; the first of equals */
	struct arena arena;
	struct candidate **slot;
	size_t n_slots, n_candidates;
};

/* What has run and what may run, without any model: nothing can be predicted or scored. */
void scores_open(struct scores *s, const struct search_input *in);
enum err_code scores_init(struct scores *s, const struct search_input *in, struct err *reterr) MUST_CHECK;
void scores_release(struct scores *s);
struct candidate *scores_look_up(struct scores *s, const int *setting);
bool candidate_is_legal(struct scores *s, struct candidate *c);
/* Legal, not registered before, and not the reference. */
bool candidate_may_run(struct scores *s, struct candidate *c);
double candidate_score(struct scores *s, struct candidate *c);
/* The score is above this one. Cheaper than the score where it is not. */
bool candidate_beats(struct scores *s, struct candidate *c, double score);
void candidate_predict(struct scores *s, struct candidate *c);
/* Notes that `origin` reached c, and keeps the best. */
void scores_consider(struct scores *s, struct candidate *c, const struct origin *origin);
int *settings_copy(struct arena *arena, const int *setting, int n_levers);
/* Posterior mean of what an observation ran, with the peak that it measured. */
double observation_mean_ln(const struct scores *s, int observation);
double round_score(double score);

#endif

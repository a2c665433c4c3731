/*
 * What the comparison strategies share: everything but the rule. User starts run first, only what is legal
 * and has not run is proposed, an invariant that a change breaks is restored by one other change, and where a
 * rule has nothing left to say, any configuration is drawn. No model is fitted: what a rule knows is the
 * levers' predictions and what was measured.
 *
 * A rule returns its candidate and says in the rival what it changed; NULL = nothing to say:
 *
 *     static struct candidate *propose(struct rival *r) { ... }
 *     enum err_code greedy_next(in, ret_decision, reterr) { return rival_next(in, "greedy", propose, ...); }
 */
#ifndef INFRARSI_SEARCH_STRATEGY_RIVAL_H
#define INFRARSI_SEARCH_STRATEGY_RIVAL_H

#include "base/base.h"
#include "base/random.h"
#include "search/score.h"

struct rival {
	struct scores s;      /* without models */
	struct random random; /* of this decision */
	uint64_t order;    /* which lever an invariant is restored with first: the same in all of a campaign's
			      decisions */
	const char *label; /* what the decision is called; rival_next() begins with the strategy's name */
	struct origin origin; /* what was changed; rival_next() begins with the reference */
};

typedef struct candidate *(*rival_rule)(struct rival *r);
enum err_code rival_next(const struct search_input *in, const char *name, rival_rule rule,
	struct decision *ret_decision, struct err *reterr) MUST_CHECK;

/* What is known of a setting's gain before it ran: experience, else the prediction; 0 at the reference. */
double rival_worth(const struct lever *lever, int setting);
/* Measured and valid: the only kind that a rival ever builds on. */
bool rival_is_good(const struct observation *o);
/* The last observation of a configuration; -1 = none. */
int rival_find(const struct rival *r, const int *setting);
/* The measured gain of a configuration: 0 of the reference where it runs, NAN of what was not seen good. */
double rival_gain_ln(const struct rival *r, const int *setting);
/* The good observation that beat everything measured before it, the reference included, by more than
 * margin_ln: among observations first, first + step, ... ; -1 = the reference. */
int rival_incumbent(const struct search_input *in, size_t first, size_t step, double margin_ln);
/* The configuration of an observation (-1 = the reference) becomes what is changed. */
const int *rival_build_on(struct rival *r, int observation, const char *name);

/* One change to `setting` (unchanged on return), completed by another where it breaks an invariant; NULL
 * where that does not help. rival_change: what may run, else NULL. rival_legal_change: the first that is
 * legal, also when it has run, and the same one in every decision. */
struct candidate *rival_change(struct rival *r, int *setting, int lever, int to);
struct candidate *rival_legal_change(struct rival *r, int *setting, int lever, int to);

struct rival_change {
	int lever, to;
	double worth; /* against the base's own setting */
	uint64_t tie;
};
/* All one-change moves of `base`, most worth first, equals in random order; worth[id], ids in lever-major
 * order over all settings, NULL = rival_worth(). In the decision's arena. */
struct rival_change *rival_rank_changes(
	struct rival *r, const int *base, const double *worth, bool knobs_only, size_t *ret_count);
/* rival_worth() of every id, less much more than any of it for a setting that is not the base's and was tried
 * in the observations first, first + step, ...: what is new comes first. In the decision's arena. */
double *rival_untried_worth(struct rival *r, const int *base, size_t first, size_t step);
/* The first of them that may run. */
struct candidate *rival_best_change(struct rival *r, const int *base, const double *worth, bool knobs_only);
int rival_id(const struct rival *r, int lever, int setting);
int rival_ids(const struct rival *r);

#endif

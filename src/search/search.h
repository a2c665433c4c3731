/*
 * The controller: ledger in (as observations), candidate out. Never starts a process. CONTROLLER rules R5 to
 * R9. Strategies and operators are tables (strategy.c, seeds.c): adding one is adding a row and a file.
 *
 *     struct decision d;
 *     TRY(strategy_find("controller")->next(&input, &d, reterr));
 *     if (d.found)
 *             register and run d.setting, saying d.reason
 *     decision_release(&d);
 *
 * A decision is a pure function of its input. The reference is never proposed.
 */
#ifndef INFRARSI_SEARCH_SEARCH_H
#define INFRARSI_SEARCH_SEARCH_H

#include "base/base.h"
#include "base/memory.h"
#include "model/models.h"
#include "spec/switches.h"

/* True when the candidate may run at all: invariants, conflicts, patch merges. */
typedef bool (*legal_fn)(void *context, const int *setting);

struct search_input {
	struct model_input model;
	legal_fn is_legal;
	void *legal_context;
	const int *const *visited; /* signatures that are registered and not released; failed and running ones
				      included */
	size_t n_visited;
	const int *const *pending; /* of those, trials that run now: what they will measure is guessed */
	size_t n_pending;
	const int *const *user_starts; /* run first, in order, where legal and not visited */
	size_t n_user_starts;
	const int *const *proposed; /* configurations that somebody suggests, latest answer first; they run
				       only where their score is the best */
	size_t n_proposed;
	const int
		*experienced_start;      /* the best experienced configuration, mapped on these levers; NULL =
					    none, then one is put together from the levers' experienced effects */
	uint64_t seed, decision;         /* random numbers of decision k come from (seed, k) */
	double gate_ln;                  /* max(0.02, 2 sigma_pair) */
	struct search_switches switches; /* of the controller; all zero = the defaults */
};

enum { OPERATORS_TEXT_SIZE = 128, SEARCH_REASON_SIZE = 512 };

struct decision {
	bool found;                          /* false: no unvisited legal candidate */
	int *setting;                        /* malloc; n_levers */
	char operators[OPERATORS_TEXT_SIZE]; /* "exploit", "bundle+backtrack+patch", ... */
	int base_observation;                /* observation it was derived from; -1 = reference or none */
	double score, mean_ln, sd_ln, p_fits, p_ok; /* mean: over the (provisional) reference */
	double predicted_peak_bytes;                /* NAN = no memory model */
	double incumbent_ln;
	char reason[SEARCH_REASON_SIZE];
};
void decision_release(struct decision *d);

struct strategy {
	const char *name, *summary;
	enum err_code (*next)(
		const struct search_input *in, struct decision *ret_decision, struct err *reterr);
};
/* "controller" is the default. NULL when unknown. */
const struct strategy *strategy_find(const char *name);
const struct strategy *strategy_list(size_t *ret_count);
/* True of the controller alone: what is predicted, what a trial is worth and what the switches do is said of
 * it. */
bool strategy_has_models(const struct strategy *strategy);

/* What an operator or a start does, in one line, and whether it takes part when nobody says anything. */
struct search_part {
	const char *name, *summary;
	bool on_by_default;
};
struct search_part search_operator_part(enum search_operator which);
struct search_part search_start_part(enum search_start which);
bool search_operator_is_on(const struct search_switches *w, enum search_operator which);
bool search_start_is_on(const struct search_switches *w, enum search_start which);
/* What differs from the defaults: "-escape +contrarian +start:prior"; nothing where nothing does. */
struct strbuf;
void search_switches_text(const struct search_switches *w, struct strbuf *text);

/* Index of the observation that is the incumbent: the valid one with the largest posterior mean; -1 = the
 * reference. */
enum err_code search_incumbent(const struct search_input *in, int *ret_observation, double *ret_mean_ln,
	struct err *reterr) MUST_CHECK;
/* R9: distinct valid configurations, best posterior mean first, that are expected to beat the reference.
 * Indices of observations; ret_order has room for `room`. */
enum err_code search_finalists(const struct search_input *in, size_t room, int *ret_order, size_t *ret_count,
	struct err *reterr) MUST_CHECK;

#endif

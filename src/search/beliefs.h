/*
 * What the search believes, for a person: each setting's gain and memory before any run and now, what is
 * suspected of failures and why. A pure function of the same input that a decision reads.
 *
 *     struct beliefs beliefs;
 *     TRY(beliefs_form(&state.search, &arena, &beliefs, reterr));
 *     ... beliefs.levers[i].settings[k].gain.mean ...
 *
 * Everything is in the arena, and borrows what the input points to. Gains are ln, memory is bytes.
 */
#ifndef INFRARSI_SEARCH_BELIEFS_H
#define INFRARSI_SEARCH_BELIEFS_H

#include "base/base.h"
#include "base/memory.h"
#include "search/search.h"

struct setting_belief { /* against the lever's reference setting */
	int setting;
	bool in_incumbent;
	bool is_big;               /* setting_is_big(): what the search itself takes for a big knob's */
	double predicted_ln;       /* declared, or from experience; 0 = nothing was */
	struct belief_change gain; /* alone, in the reference: time_model_effect() */
	double moved_sd;           /* how far the runs moved it, in sd of what was believed before */
	int n_ok, n_failed;        /* runs with it; transient failures are not counted */
	double memory_mean_bytes, memory_sd_bytes; /* NAN = nothing limits memory as far as is known */
};

struct lever_belief {
	int lever;
	bool is_big;
	struct setting_belief *settings; /* all but the reference, in order */
	size_t n_settings;
};

struct suspicion_belief {
	struct suspicion suspicion;
	int *observations; /* failures that it would explain */
	size_t n_observations;
};

struct proposer_belief {
	int source;
	struct belief_change knob_share, patch_share; /* sd 0 = it predicts nothing of the kind */
};

struct beliefs {
	int incumbent; /* observation; -1 = the reference */
	double incumbent_ln, incumbent_sd_ln;
	int caution; /* power of P(fits) in a score */
	struct lever_belief *levers;
	size_t n_levers;
	struct suspicion_belief *suspicions; /* strongest first; those that count in P(runs) */
	size_t n_suspicions;
	int *transients; /* observations that nothing explains */
	size_t n_transients;
	/* The share of declared gains that comes true; sd 0 = nothing is declared. */
	struct belief_change knob_share, patch_share; /* of the task's own */
	struct proposer_belief *proposers;            /* that predict something, in order of their number */
	size_t n_proposers;
};

enum err_code beliefs_form(const struct search_input *in, struct arena *arena, struct beliefs *ret_beliefs,
	struct err *reterr) MUST_CHECK;

#endif

/* Shared by the files of state/: replaying entries (replay.c), loading (state.c), executions (execution.c),
 * duels (duels.c), confirmations (confirmation.c), the models' input (observe.c). */
#ifndef INFRARSI_STATE_STATE_INT_H
#define INFRARSI_STATE_STATE_INT_H

#include <jansson.h>

#include "state/state.h"

/* A replay in progress. The arrays grow by realloc and are moved into the arena at the end; until then
 * s->references, s->refusals, s->duels and what proposers said are such arrays too. */
struct replay {
	struct state *s;
	struct trial *trials;
	size_t trials_capacity;
	struct execution *duel_runs;
	size_t n_duel_runs, duel_runs_capacity;
	size_t references_capacity, slot_runs_capacity, refusals_capacity, duels_capacity;
	size_t proposers_capacity, suggestions_capacity, priors_capacity, conflicts_capacity,
		opinions_capacity;
	json_t **decisions; /* bodies by order; owned */
	int64_t *decision_ids;
	size_t n_decisions, decisions_capacity, decision_ids_capacity;
	bool last_decision_registered;
};

/* The duel's runs out of all promotion runs; its arrays in the arena. */
void duel_take_runs(struct arena *arena, struct duel *duel, const struct execution *runs, size_t n_runs);
void duel_set_gains(struct duel *duel, double reference_s);
/* What entries say of a confirmation (confirmation.c). */
enum err_code confirmation_wish(struct replay *r, const json_t *body, struct err *reterr) MUST_CHECK;
enum err_code confirmation_open(struct replay *r, const json_t *body, struct err *reterr) MUST_CHECK;
enum err_code confirmation_close(struct replay *r, const json_t *body, struct err *reterr) MUST_CHECK;
void confirmation_take_run(struct state *s, const struct execution *run);

/* Promotion begins anew: what it had delivered stands, and who was measured and not found better does not get
 * another chance. */
void duels_reopen(struct replay *r);

/* A proposal that is an answer of a proposer, and not a patch. */
bool proposal_is_answer(const json_t *body);
/* The number of a proposer, taken up where it is new; 0 for "". */
int proposals_source(struct replay *r, const char *name);
enum err_code proposals_replay(struct replay *r, const json_t *body, struct err *reterr) MUST_CHECK;
/* After the levers were built: priors, conflicts and configurations that were suggested. */
void proposals_inform_search(struct state *s);

/* Time bases out of the reference's runs on slots. */
enum err_code slots_calibrate(struct state *s, struct err *reterr) MUST_CHECK;
/* What a gain that was measured on a slot is less sure of than one that was measured alone, as an sd. */
double slots_extra_sd_ln(const struct state *s, const struct execution *run);

/* What one entry changes. ERR_INPUT names the entry. */
enum err_code replay_entry(struct replay *r, const struct ledger_entry *e, struct err *reterr) MUST_CHECK;
/* An entry's body, with the keys that its kind must have. */
enum err_code entry_body(const struct ledger_entry *e, json_t **ret_body, struct err *reterr) MUST_CHECK;
enum value_kind { VALUE_TEXT, VALUE_INTEGER, VALUE_NUMBER, VALUE_BOOL, VALUE_OBJECT };
enum err_code body_require(
	const json_t *body, const char *key, enum value_kind kind, struct err *reterr) MUST_CHECK;
/* Puts the entry before the message of a failure; OK stays OK. */
enum err_code err_in_entry(const struct ledger_entry *e, enum err_code code, struct err *reterr);
/* The candidate of a body; its settings in the state's arena. */
enum err_code candidate_from_body(
	struct state *s, const json_t *body, struct candidate *ret_candidate, struct err *reterr) MUST_CHECK;

/* Receipts, trials and pairs are counted; a number beyond this is not one of ours, and its successor must not
 * overflow. */
enum { COUNT_MAX = 1000000000 };
/* An integer in 0 .. COUNT_MAX; absent is 0. */
bool count_of(const json_t *body, const char *key, int *ret_count);
/* Seconds or the like that only ever add up: what is unknown or negative costs nothing. */
double amount_of(const json_t *body, const char *key);

/* Nothing measured: every number unknown, no item failed. */
struct execution execution_unknown(void);
/* Body of a `finished` entry -> execution. */
enum err_code execution_from_body(struct arena *arena, const json_t *body, struct execution *ret_execution,
	struct err *reterr) MUST_CHECK;
/* valid, oom, crashed, hung or invalid, from how it ended and the verdict. */
enum trial_status execution_status(const struct execution *run);

#endif

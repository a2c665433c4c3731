/* Shared by the files of state/: replaying entries (state.c), executions (execution.c), the models' input
 * (observe.c). */
#ifndef INFRARSI_STATE_STATE_INT_H
#define INFRARSI_STATE_STATE_INT_H

#include <jansson.h>

#include "state/state.h"

/* Body of a `finished` entry -> execution. */
enum err_code execution_from_body(struct arena *arena, const json_t *body, struct execution *ret_execution,
	struct err *reterr) MUST_CHECK;
/* valid, oom, crashed, hung or invalid, from how it ended and the verdict. */
enum trial_status execution_status(const struct execution *run);
/* The space's levers with priors and Amdahl caps, observations, visited signatures, user starts: fills
 * state->search. */
enum err_code state_build_search_input(struct state *s, struct err *reterr) MUST_CHECK;

#endif

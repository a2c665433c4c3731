#include "base/base.h"

#include <math.h>
#include <string.h>

#include "event/receipt.h"

const char *const failure_class_names[N_FAILURE_CLASSES] = {
	[FAILURE_NONE] = "none",
	[FAILURE_OOM] = "oom",
	[FAILURE_NAN] = "nan",
	[FAILURE_COLLECTIVE] = "collective",
	[FAILURE_COMPILE] = "compile",
	[FAILURE_CRASH] = "crash",
	[FAILURE_KILLED] = "killed",
	[FAILURE_TIMEOUT] = "timeout",
	[FAILURE_STALL] = "stall",
	[FAILURE_DATA] = "data",
	[FAILURE_STOPPED_SLOW] = "stopped_slow",
};

const char *const receipt_role_names[N_RECEIPT_ROLES] = {
	[ROLE_REFERENCE] = "reference",
	[ROLE_PROFILE] = "profile",
	[ROLE_SEARCH] = "search",
	[ROLE_PROMOTION] = "promotion",
	[ROLE_LONGER_REFERENCE] = "longer_reference",
	[ROLE_CONFIRMATION] = "confirmation",
};

bool role_is_reference(enum receipt_role role)
{
	return role == ROLE_REFERENCE || role == ROLE_LONGER_REFERENCE;
}

void receipt_init(struct receipt *r)
{
	struct opt_number none = {false, NAN};
	memset(r, 0, sizeof(*r));
	r->arena = (struct arena)ARENA_INIT;
	r->schema = RECEIPT_SCHEMA;
	r->seq = 1;
	r->exit_status = -1;
	r->startup_s = NAN;
	r->campaign = r->nonce = r->created_utc = r->stack = r->model_digest = "";
	r->storage_precision = r->compute_precision = r->failure_evidence = r->failure_source = "";
	r->terms.updates = 1;
	struct opt_number *numbers[] = {&r->sigma_pair, &r->device_peak_flops, &r->params, &r->active_params,
		&r->layers, &r->d_attn, &r->reported_seq_len, &r->reported_global_batch,
		&r->oom_requested_bytes, &r->oom_free_bytes, &r->oom_capacity_bytes, &r->peak_reported_bytes,
		&r->peak_observed_bytes, &r->eval_difference, &r->resume_difference, &r->tests_passed};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i] = none;
	for (int p = 0; p < N_PHASES; p++)
		r->phase_s[p] = r->reference_phase_s[p] = none;
}

void receipt_release(struct receipt *r)
{
	arena_release(&r->arena);
	receipt_init(r);
}

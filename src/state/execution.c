#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "state/state_int.h"

/* JSON text made by another module, as a value inside ours. */
static json_t *json_from_json_text(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	return json ? json : json_null();
}

/* The same updates that receipt_window() takes. */
static json_t *window_steps(const struct receipt *r)
{
	json_t *steps = json_array();
	for (size_t i = 0; i < r->n_updates; i++)
		if (r->updates[i].update > r->terms.warmup && r->updates[i].update <= r->terms.updates &&
			isfinite(r->updates[i].harness_s) && r->updates[i].harness_s > 0)
			json_array_append_new(steps, json_real(r->updates[i].harness_s));
	return steps;
}

static json_t *phases_to_json(const struct receipt *r)
{
	json_t *phases = json_object();
	for (int p = 0; p < N_PHASES; p++)
		if (r->phase_s[p].has)
			json_object_set_new(phases, phase_names[p], json_from_number(r->phase_s[p].value));
	return phases;
}

char *state_finished_body(const struct execution_record *record)
{
	const struct receipt *r = record->receipt;
	const struct window_stats *w = record->stats;
	CLEANUP(strbuf_release) struct strbuf verdict = STRBUF_INIT;
	verdict_to_json(record->verdict, &verdict);
	json_t *body = json_object();
	json_object_set_new(body, "role", json_string(receipt_role_names[r->role]));
	json_object_set_new(body, "receipt", json_from_text(record->receipt_path));
	json_object_set_new(body, "receipt_digest", json_string(r->payload_digest));
	json_object_set_new(body, "seq", json_integer(r->seq));
	if (record->execution != r->seq && record->execution > 0)
		json_object_set_new(body, "execution", json_integer(record->execution));
	if (record->slot && *record->slot)
		json_object_set_new(body, "slot", json_from_text(record->slot));
	if (record->at_once > 1)
		json_object_set_new(body, "at_once", json_integer(record->at_once));
	json_object_set_new(body, "log", json_from_text(record->log_path));
	json_object_set_new(body, "time_s", json_from_number(w->has_time ? w->mean_s : NAN));
	json_object_set_new(body, "median_s", json_from_number(w->has_time ? w->median_s : NAN));
	if (record->slow_s > 0 && !w->has_time)
		json_object_set_new(body, "slow_s", json_real(record->slow_s));
	json_object_set_new(body, "step_s", window_steps(r));
	json_object_set_new(body, "updates", json_integer((json_int_t)r->n_updates));
	json_object_set_new(body, "peak_bytes", json_from_number(receipt_peak_bytes(r)));
	json_object_set_new(body, "shortfall_bytes", json_from_number(receipt_shortfall_bytes(r)));
	json_object_set_new(body, "capacity_bytes",
		json_from_number(r->oom_capacity_bytes.has ? r->oom_capacity_bytes.value : NAN));
	json_object_set_new(
		body, "device_s", json_from_number(r->wall_s * r->device_count + record->checks_s));
	json_object_set_new(body, "eval", json_from_number(record->eval_value));
	json_object_set_new(body, "build_s", json_from_number(record->build_s));
	json_object_set_new(body, "failure", json_string(failure_class_names[r->failure]));
	json_object_set_new(body, "evidence", json_from_text(r->failure_evidence));
	json_object_set_new(body, "evidence_source", json_from_text(r->failure_source));
	json_object_set_new(body, "verdict", json_from_json_text(verdict.buf));
	json_object_set_new(body, "phase_s", phases_to_json(r));
	json_object_set_new(body, "finalist", json_integer(record->finalist));
	json_object_set_new(body, "pair", json_integer(record->pair));
	json_object_set_new(body, "side", json_string(record->is_candidate_side ? "candidate" : "reference"));
	return json_dump_take(body);
}

static int name_index(const char *name, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return -1;
}

static enum err_code steps_from_body(
	struct arena *arena, const json_t *body, struct execution *run, struct err *reterr)
{
	const json_t *steps = json_object_get(body, "step_s");
	run->n_steps = json_array_size(steps);
	run->step_s = arena_array(arena, run->n_steps, sizeof(double));
	for (size_t i = 0; i < run->n_steps; i++) {
		run->step_s[i] = json_number_value(json_array_get(steps, i));
		if (!(run->step_s[i] > 0))
			return err_set(reterr, ERR_INPUT, "step_s[%zu]: expected seconds above 0", i);
	}
	run->has_time = run->time_s > 0;
	if (run->has_time && run->n_steps == 0)
		return err_set(reterr, ERR_INPUT, "step_s: expected the steps that time_s is the mean of");
	if (run->has_time && !(run->median_s > 0))
		return err_set(reterr, ERR_INPUT, "median_s: expected seconds above 0 beside time_s");
	return OK;
}

static void phases_from_body(const json_t *body, struct execution *run)
{
	const json_t *phases = json_object_get(body, "phase_s");
	for (int p = 0; p < N_PHASES; p++)
		run->phase_s[p] = json_number_of(phases, phase_names[p]);
}

struct execution execution_unknown(void)
{
	struct execution run = {.time_s = NAN,
		.median_s = NAN,
		.slow_s = NAN,
		.gain_ln = NAN,
		.peak_bytes = NAN,
		.shortfall_bytes = NAN,
		.capacity_bytes = NAN,
		.eval_value = NAN,
		.evidence = "",
		.evidence_source = "",
		.at_once = 1,
		.slot = "",
		.verdict = {.primary = -1}};
	for (int p = 0; p < N_PHASES; p++)
		run.phase_s[p] = NAN;
	return run;
}

static enum err_code ending_from_body(const json_t *body, struct execution *run, struct err *reterr)
{
	int role = name_index(json_text_of(body, "role"), receipt_role_names, N_RECEIPT_ROLES);
	int failure = name_index(json_text_of(body, "failure"), failure_class_names, N_FAILURE_CLASSES);
	json_t *verdict = json_object_get(body, "verdict");
	if (role < 0 || failure < 0 || !json_is_object(verdict))
		return err_set(reterr, ERR_INPUT,
			"expected a role, a failure class and a verdict that this version knows");
	run->role = (enum receipt_role)role;
	run->failure = (enum failure_class)failure;
	CLEANUP(free_ptr) char *text = json_dump_take(json_incref(verdict));
	return verdict_from_json(text, &run->verdict, reterr);
}

static enum err_code paths_from_body(
	struct arena *arena, const json_t *body, struct execution *run, struct err *reterr)
{
	run->receipt_path = arena_strdup(arena, json_text_of(body, "receipt"));
	run->receipt_digest = arena_strdup(arena, json_text_of(body, "receipt_digest"));
	run->log_path = arena_strdup(arena, json_text_of(body, "log"));
	if (!path_is_contained(run->receipt_path) || (*run->log_path && !path_is_contained(run->log_path)))
		return err_set(reterr, ERR_INPUT, "receipt, log: expected paths inside .infrarsi");
	return OK;
}

static enum err_code slot_from_body(
	struct arena *arena, const json_t *body, struct execution *run, struct err *reterr)
{
	int at_once;
	if (!count_of(body, "at_once", &at_once))
		return err_set(reterr, ERR_INPUT, "at_once: expected an integer in 0 .. %d", COUNT_MAX);
	run->at_once = MAX_OF(at_once, 1);
	run->slot = arena_strdup(arena, json_text_of(body, "slot"));
	return OK;
}

enum err_code execution_from_body(
	struct arena *arena, const json_t *body, struct execution *ret_execution, struct err *reterr)
{
	struct execution run = execution_unknown();
	TRY(ending_from_body(body, &run, reterr));
	TRY(paths_from_body(arena, body, &run, reterr));
	run.evidence = arena_strdup(arena, json_text_of(body, "evidence"));
	run.evidence_source = arena_strdup(arena, json_text_of(body, "evidence_source"));
	run.time_s = json_number_of(body, "time_s");
	run.median_s = json_number_of(body, "median_s");
	run.slow_s = json_number_of(body, "slow_s");
	run.peak_bytes = json_number_of(body, "peak_bytes");
	run.shortfall_bytes = json_number_of(body, "shortfall_bytes");
	run.capacity_bytes = json_number_of(body, "capacity_bytes");
	run.eval_value = json_number_of(body, "eval");
	run.device_s = amount_of(body, "device_s");
	run.build_s = amount_of(body, "build_s");
	run.is_candidate_side = strcmp(json_text_of(body, "side"), "candidate") == 0;
	if (!count_of(body, "updates", &run.updates_seen) || !count_of(body, "finalist", &run.finalist) ||
		!count_of(body, "pair", &run.pair))
		return err_set(reterr, ERR_INPUT, "updates, finalist, pair: expected integers in 0 .. %d",
			COUNT_MAX);
	TRY(slot_from_body(arena, body, &run, reterr));
	TRY(steps_from_body(arena, body, &run, reterr));
	phases_from_body(body, &run);
	*ret_execution = run;
	return OK;
}

/* The verdict comes first: a collective's complaint after a clean exit is reported and not failed. */
enum trial_status execution_status(const struct execution *run)
{
	if (run->verdict.valid)
		return TRIAL_VALID;
	switch (run->failure) {
	case FAILURE_OOM:
		return TRIAL_OOM;
	case FAILURE_TIMEOUT:
	case FAILURE_STALL:
		return TRIAL_HUNG;
	case FAILURE_STOPPED_SLOW:
		return TRIAL_SLOWER;
	case FAILURE_NONE:
	case FAILURE_NAN:
		return TRIAL_INVALID;
	default:
		return TRIAL_CRASHED;
	}
}

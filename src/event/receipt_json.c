#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "event/fields_int.h"
#include "event/receipt.h"

#define R(member) offsetof(struct receipt, member)
#define T(member) offsetof(struct receipt, terms.member)
#define ANY_REAL -1.7976931348623157e308, 1.7976931348623157e308
#define POSITIVE 0, 1.7976931348623157e308
#define NUMBER_OF(names) 0, 0, names, ARRAY_LEN(names), 0

static const struct field top_fields[] = {
	{"schema", FIELD_INT, R(schema), RECEIPT_SCHEMA, RECEIPT_SCHEMA},
	{"role", FIELD_ENUM, R(role), NUMBER_OF(receipt_role_names)},
	{"campaign", FIELD_TEXT, R(campaign)},
	{"seq", FIELD_INT64, R(seq), 1, 9007199254740992.0},
	{"trial", FIELD_INT, R(trial), 0, INT32_MAX},
	{"nonce", FIELD_TEXT, R(nonce)},
	{"prev", FIELD_DIGEST, R(prev)},
	{"created_utc", FIELD_TEXT, R(created_utc)},
	{"candidate", FIELD_JSON, R(candidate_json)},
	{"signature", FIELD_DIGEST, R(signature)},
	{"argv", FIELD_TEXTS, R(argv), .count_offset = R(n_argv)},
	{"env", FIELD_TEXTS, R(env), .count_offset = R(n_env)},
	{"environment", FIELD_JSON, R(environment_json)},
	{"declared_phases", FIELD_TEXTS, R(declared_phases), .count_offset = R(n_declared_phases)},
	{"device_peak_flops", FIELD_OPT, R(device_peak_flops)},
	{"phase_s", FIELD_PHASES, R(phase_s)},
};

static const struct field terms_fields[] = {
	{"updates", FIELD_INT, T(updates), 1, INT32_MAX},
	{"warmup", FIELD_INT, T(warmup), 0, INT32_MAX},
	{"global_batch", FIELD_REAL, T(global_batch), POSITIVE},
	{"seq_len", FIELD_REAL, T(seq_len), POSITIVE},
	{"loss_tolerance", FIELD_REAL, T(loss_tolerance), POSITIVE},
	{"loss_per_update", FIELD_BOOL, T(loss_per_update)},
	{"grad_norm_tolerance", FIELD_REAL, T(grad_norm_tolerance), POSITIVE},
	{"memory_cap_bytes", FIELD_REAL, T(memory_cap_bytes), POSITIVE},
	{"capacity_bytes", FIELD_REAL, T(capacity_bytes), POSITIVE},
	{"precision_menu", FIELD_TEXTS, T(precision_menu), .count_offset = T(n_precision_menu)},
	{"eval_configured", FIELD_BOOL, T(eval_configured)},
	{"checkpoint_configured", FIELD_BOOL, T(checkpoint_configured)},
	{"tests_configured", FIELD_BOOL, T(tests_configured)},
	{"eval_tolerance", FIELD_REAL, T(eval_tolerance), POSITIVE},
};

static const struct field reference_fields[] = {
	{"digests", FIELD_TEXTS, R(reference_digests), .count_offset = R(n_reference_digests)},
	{"sigma_pair", FIELD_OPT, R(sigma_pair)},
	{"phase_s", FIELD_PHASES, R(reference_phase_s)},
};

static const struct field reported_fields[] = {
	{"start_seen", FIELD_BOOL, R(start_seen)},
	{"nonce_echoed", FIELD_BOOL, R(nonce_echoed)},
	{"stack", FIELD_TEXT, R(stack)},
	{"model_digest", FIELD_TEXT, R(model_digest)},
	{"storage_precision", FIELD_TEXT, R(storage_precision)},
	{"compute_precision", FIELD_TEXT, R(compute_precision)},
	{"params", FIELD_OPT, R(params)},
	{"active_params", FIELD_OPT, R(active_params)},
	{"layers", FIELD_OPT, R(layers)},
	{"d_attn", FIELD_OPT, R(d_attn)},
	{"seq_len", FIELD_OPT, R(reported_seq_len)},
	{"global_batch", FIELD_OPT, R(reported_global_batch)},
	{"versions", FIELD_JSON, R(versions_json)},
};

static const struct field outcome_fields[] = {
	{"exit_status", FIELD_INT, R(exit_status), -1, 255},
	{"exit_signal", FIELD_INT, R(exit_signal), 0, 255},
	{"timed_out", FIELD_BOOL, R(timed_out)},
	{"failure", FIELD_ENUM, R(failure), NUMBER_OF(failure_class_names)},
	{"failure_evidence", FIELD_TEXT, R(failure_evidence)},
	{"failure_source", FIELD_TEXT, R(failure_source)},
	{"oom_requested_bytes", FIELD_OPT, R(oom_requested_bytes)},
	{"oom_free_bytes", FIELD_OPT, R(oom_free_bytes)},
	{"oom_capacity_bytes", FIELD_OPT, R(oom_capacity_bytes)},
	{"bad_event_lines", FIELD_INT, R(bad_event_lines), 0, INT32_MAX},
	{"end_seen", FIELD_BOOL, R(end_seen)},
	{"end_updates", FIELD_INT, R(end_updates), 0, EVENT_MAX_UPDATE},
	{"wall_s", FIELD_REAL, R(wall_s), ANY_REAL},
	{"startup_s", FIELD_MAYBE, R(startup_s), ANY_REAL},
	{"device_count", FIELD_REAL, R(device_count), POSITIVE},
};

static const struct field memory_fields[] = {
	{"peak_reported_bytes", FIELD_OPT, R(peak_reported_bytes)},
	{"peak_observed_bytes", FIELD_OPT, R(peak_observed_bytes)},
	{"observed_is_device", FIELD_BOOL, R(observed_is_device)},
};

static const struct field check_fields[] = {
	{"eval_difference", FIELD_OPT, R(eval_difference)},
	{"resume_difference", FIELD_OPT, R(resume_difference)},
	{"tests_passed", FIELD_OPT, R(tests_passed)},
};

/* The objects of the payload whose members mirror members of struct receipt. */
static const char *const terms_others[] = {"invariants", NULL};
static const struct group {
	const char *key;
	const struct field *fields;
	size_t n_fields;
	const char *const *others;
} groups[] = {
	{"terms", terms_fields, ARRAY_LEN(terms_fields), terms_others},
	{"references", reference_fields, ARRAY_LEN(reference_fields), NULL},
	{"reported", reported_fields, ARRAY_LEN(reported_fields), NULL},
	{"outcome", outcome_fields, ARRAY_LEN(outcome_fields), NULL},
	{"memory", memory_fields, ARRAY_LEN(memory_fields), NULL},
	{"checks", check_fields, ARRAY_LEN(check_fields), NULL},
};
static const char *const top_others[] = {
	"terms", "references", "reported", "outcome", "memory", "checks", "updates", "files", NULL};

#define U(member) offsetof(struct receipt_update, member)
static const struct field update_columns[] = {
	{"update", FIELD_INT, U(update), 1, EVENT_MAX_UPDATE},
	{"loss", FIELD_OPT, U(loss)},
	{"grad_norm", FIELD_OPT, U(grad_norm)},
	{"lr", FIELD_OPT, U(lr)},
	{"opt_step", FIELD_OPT, U(opt_step)},
	{"tokens", FIELD_OPT, U(tokens)},
	{"seq_len", FIELD_OPT, U(seq_len)},
	{"step_s", FIELD_OPT, U(step_s)},
	{"mem_bytes", FIELD_OPT, U(mem_bytes)},
	{"data", FIELD_HALF, U(data)},
	{"harness_s", FIELD_MAYBE, U(harness_s), ANY_REAL},
};

#define F(member) offsetof(struct receipt_file, member)
static const struct field file_fields[] = {
	{"path", FIELD_TEXT, F(path)},
	{"before", FIELD_DIGEST, F(before)},
	{"after", FIELD_DIGEST, F(after)},
};

struct invariant {
	const char *text;
	bool holds;
};
static const struct field invariant_fields[] = {
	{"text", FIELD_TEXT, offsetof(struct invariant, text)},
	{"holds", FIELD_BOOL, offsetof(struct invariant, holds)},
};

static json_t *write_updates(const struct receipt *r)
{
	json_t *object = json_object();
	for (size_t c = 0; c < ARRAY_LEN(update_columns); c++) {
		json_t *column = json_array();
		for (size_t i = 0; i < r->n_updates; i++)
			json_array_append_new(column, json_field_write(&update_columns[c], &r->updates[i]));
		json_object_set_new(object, update_columns[c].key, column);
	}
	return object;
}

static json_t *write_files(const struct receipt *r)
{
	json_t *array = json_array();
	for (size_t i = 0; i < r->n_files; i++)
		json_array_append_new(
			array, json_fields_write(file_fields, ARRAY_LEN(file_fields), &r->files[i]));
	return array;
}

static json_t *write_invariants(const struct receipt_terms *terms)
{
	json_t *array = json_array();
	for (size_t i = 0; i < terms->n_invariants; i++) {
		struct invariant inv = {terms->invariants[i], terms->invariant_holds[i]};
		json_array_append_new(
			array, json_fields_write(invariant_fields, ARRAY_LEN(invariant_fields), &inv));
	}
	return array;
}

void receipt_to_json(const struct receipt *r, struct strbuf *json)
{
	json_t *object = json_fields_write(top_fields, ARRAY_LEN(top_fields), r);
	for (size_t g = 0; g < ARRAY_LEN(groups); g++)
		json_object_set_new(
			object, groups[g].key, json_fields_write(groups[g].fields, groups[g].n_fields, r));
	json_object_set_new(json_object_get(object, "terms"), "invariants", write_invariants(&r->terms));
	json_object_set_new(object, "updates", write_updates(r));
	json_object_set_new(object, "files", write_files(r));
	CLEANUP(free_ptr) char *text = json_dump_take(object);
	strbuf_addstr(json, text);
}

static enum err_code read_column(const json_t *array, const struct json_place *place, const struct field *f,
	struct receipt *r, struct err *reterr)
{
	if (!json_is_array(array))
		return json_expected(reterr, place, "an array");
	if (json_array_size(array) != r->n_updates) {
		char text[96];
		snprintf(text, sizeof(text), "%zu entries, as many as updates.update has", r->n_updates);
		return json_expected(reterr, place, text);
	}
	for (size_t i = 0; i < r->n_updates; i++) {
		const json_t *value = json_array_get(array, i);
		/* The path is made only where it is shown: this is the loop that bounds reading. */
		if (json_field_read(value, place, f, &r->arena, &r->updates[i], NULL) == OK)
			continue;
		char path[96];
		snprintf(path, sizeof(path), "%s[%zu]", place->path, i);
		struct json_place at = {place->file, path};
		return json_field_read(value, &at, f, &r->arena, &r->updates[i], reterr);
	}
	return OK;
}

static enum err_code check_order(const struct receipt *r, const char *file, struct err *reterr)
{
	for (size_t i = 1; i < r->n_updates; i++) {
		if (r->updates[i].update <= r->updates[i - 1].update)
			return err_set_at(reterr, ERR_INPUT, file, 0, 0,
				"updates.update[%zu]: expected more than %d, the one before it", i,
				r->updates[i - 1].update);
	}
	return OK;
}

static enum err_code read_updates(
	const json_t *object, const char *file, struct receipt *r, struct err *reterr)
{
	struct json_place place = {file, "updates"};
	if (!json_is_object(object))
		return json_expected(reterr, &place, "an object of arrays");
	r->n_updates = json_array_size(json_object_get(object, "update"));
	if (r->n_updates > RECEIPT_MAX_UPDATES)
		return json_expected(reterr, &place, "at most 100000 updates");
	r->updates = arena_array(&r->arena, r->n_updates, sizeof(*r->updates));
	for (size_t c = 0; c < ARRAY_LEN(update_columns); c++) {
		const struct field *f = &update_columns[c];
		char path[64];
		snprintf(path, sizeof(path), "updates.%s", f->key);
		struct json_place at = {file, path};
		const json_t *column = json_object_get(object, f->key);
		if (!column)
			return err_set_at(reterr, ERR_INPUT, file, 0, 0, "%s: missing", path);
		TRY(read_column(column, &at, f, r, reterr));
	}
	if (json_object_size(object) != ARRAY_LEN(update_columns))
		return json_expected(reterr, &place, "no other arrays than those of the schema");
	return check_order(r, file, reterr);
}

static enum err_code read_files(const json_t *array, const char *file, struct receipt *r, struct err *reterr)
{
	struct json_place place = {file, "files"};
	if (!json_is_array(array))
		return json_expected(reterr, &place, "an array");
	size_t count = json_array_size(array);
	r->files = arena_array(&r->arena, count, sizeof(*r->files));
	r->n_files = count;
	for (size_t i = 0; i < count; i++) {
		char path[64];
		snprintf(path, sizeof(path), "files[%zu]", i);
		struct json_place at = {file, path};
		TRY(json_fields_read(json_array_get(array, i), &at, file_fields, ARRAY_LEN(file_fields), NULL,
			&r->arena, &r->files[i], reterr));
	}
	return OK;
}

static enum err_code read_invariants(
	const json_t *array, const char *file, struct receipt *r, struct err *reterr)
{
	struct json_place place = {file, "terms.invariants"};
	struct receipt_terms *terms = &r->terms;
	if (!json_is_array(array))
		return json_expected(reterr, &place, "an array");
	size_t count = json_array_size(array);
	terms->invariants = arena_array(&r->arena, count, sizeof(*terms->invariants));
	terms->invariant_holds = arena_array(&r->arena, count, sizeof(*terms->invariant_holds));
	terms->n_invariants = count;
	for (size_t i = 0; i < count; i++) {
		char path[64];
		snprintf(path, sizeof(path), "terms.invariants[%zu]", i);
		struct json_place at = {file, path};
		struct invariant inv = {"", false};
		TRY(json_fields_read(json_array_get(array, i), &at, invariant_fields,
			ARRAY_LEN(invariant_fields), NULL, &r->arena, &inv, reterr));
		terms->invariants[i] = inv.text;
		terms->invariant_holds[i] = inv.holds;
	}
	return OK;
}

/* First of all, so that a receipt of another version is named as such and not by its first new key. */
static enum err_code check_schema(const json_t *object, const char *file, struct err *reterr)
{
	const json_t *schema = json_object_get(object, "schema");
	if (json_is_integer(schema) && json_integer_value(schema) != RECEIPT_SCHEMA)
		return err_set_at(reterr, ERR_INPUT, file, 0, 0,
			"receipt schema %lld: this version reads schema %d",
			(long long)json_integer_value(schema), RECEIPT_SCHEMA);
	return OK;
}

static enum err_code check_phases(const struct receipt *r, const char *file, struct err *reterr)
{
	for (size_t i = 0; i < r->n_declared_phases; i++) {
		bool known = false;
		for (int p = 0; p < N_PHASES; p++)
			known = known || strcmp(r->declared_phases[i], phase_names[p]) == 0;
		if (!known)
			return err_set_at(reterr, ERR_INPUT, file, 0, 0,
				"declared_phases[%zu]: expected a phase such as forward", i);
	}
	return OK;
}

static enum err_code read_receipt(
	const json_t *object, const char *file, struct receipt *r, struct err *reterr)
{
	struct json_place top = {file, ""};
	TRY(check_schema(object, file, reterr));
	TRY(json_fields_read(
		object, &top, top_fields, ARRAY_LEN(top_fields), top_others, &r->arena, r, reterr));
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		struct json_place place = {file, groups[g].key};
		TRY(json_fields_read(json_object_get(object, groups[g].key), &place, groups[g].fields,
			groups[g].n_fields, groups[g].others, &r->arena, r, reterr));
	}
	if (r->terms.warmup >= r->terms.updates)
		return err_set_at(reterr, ERR_INPUT, file, 0, 0,
			"terms.warmup: expected less than terms.updates, %d", r->terms.updates);
	TRY(check_phases(r, file, reterr));
	TRY(read_invariants(
		json_object_get(json_object_get(object, "terms"), "invariants"), file, r, reterr));
	TRY(read_updates(json_object_get(object, "updates"), file, r, reterr));
	return read_files(json_object_get(object, "files"), file, r, reterr);
}

enum err_code receipt_from_value(
	const char *path, const json_t *object, struct receipt *ret_receipt, struct err *reterr)
{
	struct receipt r;
	receipt_init(&r);
	enum err_code code = read_receipt(object, path, &r, reterr);
	if (code != OK) {
		receipt_release(&r);
		return code;
	}
	*ret_receipt = r;
	return OK;
}

enum err_code receipt_from_json(
	const char *path, const char *json, size_t length, struct receipt *ret_receipt, struct err *reterr)
{
	json_error_t error;
	CLEANUP(json_decref_ptr) json_t *object = json_loadb(json, length, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		return err_set_at(reterr, ERR_INPUT, path, error.line, error.column, "%s", error.text);
	return receipt_from_value(path, object, ret_receipt, reterr);
}

#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "event/event.h"

const char *const phase_names[N_PHASES] = {
	[PHASE_FORWARD] = "forward",
	[PHASE_BACKWARD] = "backward",
	[PHASE_OPTIMIZER] = "optimizer",
	[PHASE_DATA] = "data",
	[PHASE_COLLECTIVE] = "collective",
};

enum value_type {
	VALUE_INTEGER, /* int, within low .. high */
	VALUE_COUNT,   /* opt_number: an integer, or a real with an integral value */
	VALUE_KNOWN,   /* the same, and 0 means unknown */
	VALUE_REAL,    /* opt_number: a number or "nan", "inf", "-inf" */
	VALUE_TIME,    /* opt_number: a finite number, seconds; 0 means unknown where low is above 0 */
	VALUE_TEXT,
	VALUE_HEX, /* exactly size - 1 lower-case hex digits */
};

struct value_field {
	const char *key;
	enum value_type type;
	size_t offset, size; /* size: of the text's buffer */
	double low, high;
	bool required;
};

#define AT(member) offsetof(struct event, member)
#define TEXT_AT(member) AT(member), sizeof(((struct event *)NULL)->member)
#define MAX_COUNT 9007199254740992.0 /* 2^53: every integer below is exact in a double */
#define MAX_TIME 1e9

static const struct value_field start_fields[] = {
	{"schema", VALUE_INTEGER, AT(schema), 0, 0, 1e6, true},
	{"rank", VALUE_INTEGER, AT(rank), 0, 0, EVENT_MAX_WORLD - 1, false},
	{"world", VALUE_INTEGER, AT(world), 0, 1, EVENT_MAX_WORLD, false},
	{"nonce", VALUE_TEXT, TEXT_AT(nonce), 0, 0, false},
	{"stack", VALUE_TEXT, TEXT_AT(stack), 0, 0, false},
	{"model_digest", VALUE_HEX, TEXT_AT(model_digest), 0, 0, false},
	{"params", VALUE_KNOWN, AT(params), 0, 0, MAX_COUNT, false},
	{"active_params", VALUE_KNOWN, AT(active_params), 0, 0, MAX_COUNT, false},
	{"layers", VALUE_KNOWN, AT(layers), 0, 0, MAX_COUNT, false},
	{"d_attn", VALUE_KNOWN, AT(d_attn), 0, 0, MAX_COUNT, false},
	{"seq_len", VALUE_KNOWN, AT(seq_len), 0, 0, MAX_COUNT, false},
	{"global_batch", VALUE_KNOWN, AT(global_batch), 0, 0, MAX_COUNT, false},
};

static const struct value_field precision_fields[] = {
	{"storage", VALUE_TEXT, TEXT_AT(storage_precision), 0, 0, false},
	{"compute", VALUE_TEXT, TEXT_AT(compute_precision), 0, 0, false},
};

static const struct value_field update_fields[] = {
	{"i", VALUE_INTEGER, AT(update), 0, 1, EVENT_MAX_UPDATE, true},
	{"rank", VALUE_INTEGER, AT(rank), 0, 0, EVENT_MAX_WORLD - 1, false},
	{"loss", VALUE_REAL, AT(loss), 0, -INFINITY, INFINITY, false},
	{"grad_norm", VALUE_REAL, AT(grad_norm), 0, 0, INFINITY, false},
	{"lr", VALUE_REAL, AT(lr), 0, -INFINITY, INFINITY, false},
	{"opt_step", VALUE_COUNT, AT(opt_step), 0, 0, MAX_COUNT, false},
	{"tokens", VALUE_COUNT, AT(tokens), 0, 0, MAX_COUNT, false},
	{"seq_len", VALUE_KNOWN, AT(seq_len), 0, 0, MAX_COUNT, false},
	{"data", VALUE_HEX, TEXT_AT(data), 0, 0, false},
	{"step_s", VALUE_TIME, AT(step_s), 0, 0, MAX_TIME, false},
	{"mem", VALUE_KNOWN, AT(mem_bytes), 0, 0, MAX_COUNT, false},
};

static const struct value_field phase_fields[] = {
	{"i", VALUE_INTEGER, AT(update), 0, 1, EVENT_MAX_UPDATE, true},
	{"rank", VALUE_INTEGER, AT(rank), 0, 0, EVENT_MAX_WORLD - 1, false},
	{"forward", VALUE_TIME, AT(phase_s[PHASE_FORWARD]), 0, 0, MAX_TIME, false},
	{"backward", VALUE_TIME, AT(phase_s[PHASE_BACKWARD]), 0, 0, MAX_TIME, false},
	{"optimizer", VALUE_TIME, AT(phase_s[PHASE_OPTIMIZER]), 0, 0, MAX_TIME, false},
	{"data", VALUE_TIME, AT(phase_s[PHASE_DATA]), 0, 0, MAX_TIME, false},
	{"collective", VALUE_TIME, AT(phase_s[PHASE_COLLECTIVE]), 0, 0, MAX_TIME, false},
};

static const struct value_field oom_fields[] = {
	{"rank", VALUE_INTEGER, AT(rank), 0, 0, EVENT_MAX_WORLD - 1, false},
	{"requested", VALUE_COUNT, AT(requested_bytes), 0, 0, MAX_COUNT, false},
	{"free", VALUE_COUNT, AT(free_bytes), 0, 0, MAX_COUNT, false},
	{"capacity", VALUE_COUNT, AT(capacity_bytes), 0, 0, MAX_COUNT, false},
};

static const struct value_field end_fields[] = {
	{"rank", VALUE_INTEGER, AT(rank), 0, 0, EVENT_MAX_WORLD - 1, false},
	{"updates", VALUE_INTEGER, AT(updates), 0, 0, EVENT_MAX_UPDATE, true},
};

static const struct {
	const char *name;
	const struct value_field *fields;
	size_t n_fields;
} kinds[] = {
	[EVENT_START] = {"start", start_fields, ARRAY_LEN(start_fields)},
	[EVENT_UPDATE] = {"update", update_fields, ARRAY_LEN(update_fields)},
	[EVENT_PHASE] = {"phase", phase_fields, ARRAY_LEN(phase_fields)},
	[EVENT_OOM] = {"oom", oom_fields, ARRAY_LEN(oom_fields)},
	[EVENT_END] = {"end", end_fields, ARRAY_LEN(end_fields)},
};

static enum err_code read_integer(
	const json_t *value, const struct value_field *f, int *ret_value, struct err *reterr)
{
	json_int_t n = json_integer_value(value);
	if (!json_is_integer(value) || (double)n < f->low || (double)n > f->high)
		return err_set(reterr, ERR_INPUT, "%s: expected an integer in %.0f .. %.0f", f->key, f->low,
			f->high);
	*ret_value = (int)n;
	return OK;
}

static enum err_code read_count(
	const json_t *value, const struct value_field *f, struct opt_number *ret_value, struct err *reterr)
{
	double n = json_number_value(value);
	if (!json_is_number(value) || n < f->low || n > f->high || n != floor(n))
		return err_set(reterr, ERR_INPUT, "%s: expected an integer in %.0f .. %.0f", f->key, f->low,
			f->high);
	if (f->type == VALUE_KNOWN && n == 0)
		return OK;
	*ret_value = (struct opt_number){true, n};
	return OK;
}

static enum err_code read_real(
	const json_t *value, const struct value_field *f, struct opt_number *ret_value, struct err *reterr)
{
	static const struct {
		const char *text;
		double value;
	} words[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
	const char *text = json_string_value(value);
	double n = json_number_value(value);
	bool known = json_is_number(value);
	for (size_t i = 0; text && i < ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i].text) == 0) {
			n = words[i].value;
			known = true;
		}
	}
	if (!known)
		return err_set(
			reterr, ERR_INPUT, "%s: expected a number, \"nan\", \"inf\" or \"-inf\"", f->key);
	if (n < f->low || n > f->high)
		return err_set(reterr, ERR_INPUT, "%s: expected a number that is not negative", f->key);
	*ret_value = (struct opt_number){true, n};
	return OK;
}

static enum err_code read_time(
	const json_t *value, const struct value_field *f, struct opt_number *ret_value, struct err *reterr)
{
	double n = json_number_value(value);
	if (!json_is_number(value) || !(n >= f->low && n <= f->high))
		return err_set(
			reterr, ERR_INPUT, "%s: expected seconds in %.0f .. %.0f", f->key, f->low, f->high);
	*ret_value = (struct opt_number){true, n};
	return OK;
}

static enum err_code read_text(
	const json_t *value, const struct value_field *f, char *ret_text, struct err *reterr)
{
	const char *text = json_string_value(value);
	if (!text)
		return err_set(reterr, ERR_INPUT, "%s: expected a string", f->key);
	if (f->type == VALUE_HEX &&
		(strlen(text) != f->size - 1 || strspn(text, "0123456789abcdef") != f->size - 1))
		return err_set(
			reterr, ERR_INPUT, "%s: expected %zu lower-case hex digits", f->key, f->size - 1);
	if (strlen(text) >= f->size)
		return err_set(reterr, ERR_INPUT, "%s: expected at most %zu bytes", f->key, f->size - 1);
	snprintf(ret_text, f->size, "%s", text);
	return OK;
}

static enum err_code read_field(
	const json_t *value, const struct value_field *f, struct event *event, struct err *reterr)
{
	void *at = (char *)event + f->offset;
	switch (f->type) {
	case VALUE_INTEGER:
		return read_integer(value, f, at, reterr);
	case VALUE_COUNT:
	case VALUE_KNOWN:
		return read_count(value, f, at, reterr);
	case VALUE_REAL:
		return read_real(value, f, at, reterr);
	case VALUE_TIME:
		return read_time(value, f, at, reterr);
	case VALUE_TEXT:
	case VALUE_HEX:
		return read_text(value, f, at, reterr);
	}
	return OK;
}

static enum err_code read_fields(const json_t *object, const struct value_field *fields, size_t n_fields,
	struct event *event, struct err *reterr)
{
	for (size_t i = 0; i < n_fields; i++) {
		const json_t *value = json_object_get(object, fields[i].key);
		if (value)
			TRY(read_field(value, &fields[i], event, reterr));
		else if (fields[i].required)
			return err_set(reterr, ERR_INPUT, "%s: missing", fields[i].key);
	}
	return OK;
}

/* Versions label the record and decide nothing: what does not fit is left out, not refused. */
static enum err_code read_versions(const json_t *object, struct event *event, struct err *reterr)
{
	json_t *versions = json_object_get(object, "versions");
	if (!versions)
		return OK;
	const char *key;
	json_t *value;
	bool texts = json_is_object(versions);
	json_object_foreach(versions, key, value)
	{
		texts = texts && json_is_string(value);
	}
	if (!texts)
		return err_set(reterr, ERR_INPUT, "versions: expected an object of strings");
	CLEANUP(free_ptr) char *text = json_dump_take(json_incref(versions));
	if (strlen(text) < sizeof(event->versions_json))
		snprintf(event->versions_json, sizeof(event->versions_json), "%s", text);
	return OK;
}

static enum err_code read_start(const json_t *object, struct event *event, struct err *reterr)
{
	if (event->schema != EVENT_SCHEMA)
		return err_set(reterr, ERR_INPUT, "schema: expected %d, got %d", EVENT_SCHEMA, event->schema);
	if (event->rank >= event->world)
		return err_set(reterr, ERR_INPUT, "rank: expected less than world, %d, got %d", event->world,
			event->rank);
	const json_t *precision = json_object_get(object, "precision");
	if (precision && !json_is_object(precision))
		return err_set(reterr, ERR_INPUT, "precision: expected an object");
	TRY(read_fields(precision, precision_fields, ARRAY_LEN(precision_fields), event, reterr));
	return read_versions(object, event, reterr);
}

static void clear_numbers(struct event *event)
{
	struct opt_number none = {false, NAN};
	struct opt_number *numbers[] = {&event->params, &event->active_params, &event->layers, &event->d_attn,
		&event->global_batch, &event->seq_len, &event->loss, &event->grad_norm, &event->lr,
		&event->opt_step, &event->tokens, &event->step_s, &event->mem_bytes, &event->requested_bytes,
		&event->free_bytes, &event->capacity_bytes};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i] = none;
	for (int p = 0; p < N_PHASES; p++)
		event->phase_s[p] = none;
}

static enum err_code read_event(const json_t *object, struct event *event, struct err *reterr)
{
	const char *name = json_string_value(json_object_get(object, "e"));
	size_t kind = 0;
	while (name && kind < ARRAY_LEN(kinds) && strcmp(kinds[kind].name, name) != 0)
		kind++;
	if (!name || kind == ARRAY_LEN(kinds))
		return err_set(reterr, ERR_INPUT, "e: expected start, update, phase, oom or end");
	event->kind = (enum event_kind)kind;
	TRY(read_fields(object, kinds[kind].fields, kinds[kind].n_fields, event, reterr));
	if (event->kind == EVENT_START)
		TRY(read_start(object, event, reterr));
	if (event->step_s.has && event->step_s.value == 0)
		event->step_s = (struct opt_number){false, NAN};
	return OK;
}

enum err_code event_parse(const char *line, size_t length, struct event *ret_event, struct err *reterr)
{
	static const char prefix[] = "@infrarsi ";
	size_t skip = sizeof(prefix) - 1;
	if (length >= skip && memcmp(line, prefix, skip) == 0) {
		line += skip;
		length -= skip;
	}
	if (length > EVENT_LINE_MAX)
		return err_set(reterr, ERR_INPUT, "event line of %zu bytes: expected at most %d", length,
			EVENT_LINE_MAX);
	json_error_t error;
	CLEANUP(json_decref_ptr) json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		return err_set(reterr, ERR_INPUT, "column %d: %s", error.column, error.text);
	if (!json_is_object(object))
		return err_set(reterr, ERR_INPUT, "expected a JSON object");
	struct event event;
	memset(&event, 0, sizeof(event));
	event.world = 1;
	clear_numbers(&event);
	TRY(read_event(object, &event, reterr));
	*ret_event = event;
	return OK;
}

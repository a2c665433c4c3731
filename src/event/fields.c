#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "event/fields_int.h"

enum err_code json_expected(struct err *reterr, const struct json_place *place, const char *what)
{
	return err_set_at(reterr, ERR_INPUT, place->file, 0, 0, "%s: expected %s",
		*place->path ? place->path : "the document", what);
}

static json_t *write_opt(struct opt_number n)
{
	if (!n.has)
		return json_null();
	if (isnan(n.value))
		return json_string("nan");
	if (isinf(n.value))
		return json_string(n.value > 0 ? "inf" : "-inf");
	return json_real(n.value);
}

static json_t *write_texts(const char *const *texts, size_t count)
{
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_from_text(texts[i]));
	return array;
}

/* Only objects are embedded; anything else would make the receipt unreadable and is written as null. */
static json_t *write_embedded(const char *text)
{
	json_t *object = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (json_is_object(object))
		return object;
	json_decref(object);
	return json_null();
}

static json_t *write_phases(const struct opt_number *phases)
{
	json_t *object = json_object();
	for (int p = 0; p < N_PHASES; p++)
		json_object_set_new(object, phase_names[p], write_opt(phases[p]));
	return object;
}

json_t *json_field_write(const struct field *f, const void *from)
{
	const void *at = (const char *)from + f->offset;
	switch (f->type) {
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	case FIELD_INT:
		return json_integer(*(const int *)at);
	case FIELD_INT64:
		return json_integer(*(const int64_t *)at);
	case FIELD_REAL:
	case FIELD_MAYBE:
		return json_from_number(*(const double *)at);
	case FIELD_OPT:
		return write_opt(*(const struct opt_number *)at);
	case FIELD_TEXT:
		return json_from_text(*(const char *const *)at);
	case FIELD_DIGEST:
	case FIELD_HALF:
		return json_from_text(at);
	case FIELD_ENUM:
		return json_string(f->names[*(const int *)at]);
	case FIELD_TEXTS:
		return write_texts(*(const char *const *const *)at,
			*(const size_t *)((const char *)from + f->count_offset));
	case FIELD_JSON:
		return write_embedded(*(const char *const *)at);
	case FIELD_PHASES:
		return write_phases(at);
	}
	return json_null();
}

json_t *json_fields_write(const struct field *fields, size_t n_fields, const void *from)
{
	json_t *object = json_object();
	for (size_t i = 0; i < n_fields; i++)
		json_object_set_new(object, fields[i].key, json_field_write(&fields[i], from));
	return object;
}

static enum err_code expected_range(
	struct err *reterr, const struct json_place *place, const char *what, const struct field *f)
{
	char text[128];
	snprintf(text, sizeof(text), "%s in %.17g .. %.17g", what, f->low, f->high);
	return json_expected(reterr, place, text);
}

static enum err_code read_integer(const json_t *value, const struct json_place *place, const struct field *f,
	int64_t *ret_value, struct err *reterr)
{
	int64_t n = json_integer_value(value);
	if (!json_is_integer(value) || (double)n < f->low || (double)n > f->high)
		return expected_range(reterr, place, "an integer", f);
	*ret_value = n;
	return OK;
}

static enum err_code read_real(const json_t *value, const struct json_place *place, const struct field *f,
	double *ret_value, struct err *reterr)
{
	double n = json_number_value(value);
	if (f->type == FIELD_MAYBE && json_is_null(value)) {
		*ret_value = NAN;
		return OK;
	}
	if (!json_is_number(value) || !(n >= f->low && n <= f->high))
		return expected_range(reterr, place, "a number", f);
	*ret_value = n;
	return OK;
}

static enum err_code read_opt(
	const json_t *value, const struct json_place *place, struct opt_number *ret_value, struct err *reterr)
{
	const char *text = json_string_value(value);
	struct opt_number n = {true, json_number_value(value)};
	if (json_is_null(value))
		n = (struct opt_number){false, NAN};
	else if (text && strcmp(text, "nan") == 0)
		n.value = NAN;
	else if (text && strcmp(text, "inf") == 0)
		n.value = INFINITY;
	else if (text && strcmp(text, "-inf") == 0)
		n.value = -INFINITY;
	else if (!json_is_number(value))
		return json_expected(reterr, place, "a number, null, \"nan\", \"inf\" or \"-inf\"");
	*ret_value = n;
	return OK;
}

static enum err_code read_hex(const json_t *value, const struct json_place *place, size_t digits,
	char *ret_text, struct err *reterr)
{
	const char *text = json_string_value(value);
	size_t length = text ? strlen(text) : 0;
	if (!text || (length != 0 && length != digits) || strspn(text, "0123456789abcdef") != length)
		return json_expected(reterr, place,
			digits == 64 ? "64 lower-case hex digits or \"\""
				     : "32 lower-case hex digits or \"\"");
	memcpy(ret_text, text, length + 1);
	return OK;
}

static enum err_code read_enum(const json_t *value, const struct json_place *place, const struct field *f,
	int *ret_value, struct err *reterr)
{
	const char *text = json_string_value(value);
	for (size_t i = 0; text && i < f->n_names; i++) {
		if (strcmp(text, f->names[i]) == 0) {
			*ret_value = (int)i;
			return OK;
		}
	}
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT;
	strbuf_addstr(&names, "one of");
	for (size_t i = 0; i < f->n_names; i++)
		strbuf_addf(&names, " %s", f->names[i]);
	return json_expected(reterr, place, names.buf);
}

static enum err_code read_texts(const json_t *value, const struct json_place *place, const struct field *f,
	struct arena *arena, void *to, struct err *reterr)
{
	if (!json_is_array(value))
		return json_expected(reterr, place, "an array of strings");
	size_t count = json_array_size(value);
	const char **texts = arena_array(arena, count, sizeof(*texts));
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(value, i));
		if (!text)
			return json_expected(reterr, place, "an array of strings");
		texts[i] = arena_strdup(arena, text);
	}
	*(const char ***)((char *)to + f->offset) = texts;
	*(size_t *)((char *)to + f->count_offset) = count;
	return OK;
}

static enum err_code read_embedded(const json_t *value, const struct json_place *place, struct arena *arena,
	const char **ret_text, struct err *reterr)
{
	if (json_is_null(value)) {
		*ret_text = NULL;
		return OK;
	}
	if (!json_is_object(value))
		return json_expected(reterr, place, "an object or null");
	CLEANUP(free_ptr)
	char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
	if (!text)
		return json_expected(reterr, place, "an object that is nested less deeply");
	*ret_text = arena_strdup(arena, text);
	return OK;
}

static enum err_code read_phases(const json_t *value, const struct json_place *place,
	struct opt_number *ret_phases, struct err *reterr)
{
	static const struct field fields[] = {
		{"forward", FIELD_OPT, PHASE_FORWARD * sizeof(struct opt_number)},
		{"backward", FIELD_OPT, PHASE_BACKWARD * sizeof(struct opt_number)},
		{"optimizer", FIELD_OPT, PHASE_OPTIMIZER * sizeof(struct opt_number)},
		{"data", FIELD_OPT, PHASE_DATA * sizeof(struct opt_number)},
		{"collective", FIELD_OPT, PHASE_COLLECTIVE * sizeof(struct opt_number)},
	};
	return json_fields_read(value, place, fields, ARRAY_LEN(fields), NULL, NULL, ret_phases, reterr);
}

static enum err_code read_plain(const json_t *value, const struct json_place *place, const struct field *f,
	struct arena *arena, void *at, struct err *reterr)
{
	int64_t n = 0;
	switch (f->type) {
	case FIELD_BOOL:
		if (!json_is_boolean(value))
			return json_expected(reterr, place, "true or false");
		*(bool *)at = json_is_true(value);
		return OK;
	case FIELD_INT:
		TRY(read_integer(value, place, f, &n, reterr));
		*(int *)at = (int)n;
		return OK;
	case FIELD_INT64:
		return read_integer(value, place, f, at, reterr);
	case FIELD_TEXT:
		if (!json_is_string(value))
			return json_expected(reterr, place, "a string");
		*(const char **)at = arena_strdup(arena, json_string_value(value));
		return OK;
	default:
		return read_real(value, place, f, at, reterr);
	}
}

enum err_code json_field_read(const json_t *value, const struct json_place *place, const struct field *f,
	struct arena *arena, void *to, struct err *reterr)
{
	void *at = (char *)to + f->offset;
	switch (f->type) {
	case FIELD_OPT:
		return read_opt(value, place, at, reterr);
	case FIELD_DIGEST:
		return read_hex(value, place, 64, at, reterr);
	case FIELD_HALF:
		return read_hex(value, place, 32, at, reterr);
	case FIELD_ENUM:
		return read_enum(value, place, f, at, reterr);
	case FIELD_TEXTS:
		return read_texts(value, place, f, arena, to, reterr);
	case FIELD_JSON:
		return read_embedded(value, place, arena, at, reterr);
	case FIELD_PHASES:
		return read_phases(value, place, at, reterr);
	default:
		return read_plain(value, place, f, arena, at, reterr);
	}
}

static bool is_known(const char *key, const struct field *fields, size_t n_fields, const char *const *others)
{
	for (size_t i = 0; i < n_fields; i++)
		if (strcmp(key, fields[i].key) == 0)
			return true;
	for (; others && *others; others++)
		if (strcmp(key, *others) == 0)
			return true;
	return false;
}

static enum err_code refuse_unknown(const json_t *object, const struct json_place *place,
	const struct field *fields, size_t n_fields, const char *const *others, struct err *reterr)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)object, key, value)
	{
		if (is_known(key, fields, n_fields, others))
			continue;
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
		strbuf_add_escaped(&shown, key, strlen(key));
		return err_set_at(reterr, ERR_INPUT, place->file, 0, 0, "%s%sunknown key '%s'", place->path,
			*place->path ? ": " : "", shown.buf);
	}
	return OK;
}

enum err_code json_fields_read(const json_t *object, const struct json_place *place,
	const struct field *fields, size_t n_fields, const char *const *others, struct arena *arena, void *to,
	struct err *reterr)
{
	if (!json_is_object(object))
		return json_expected(reterr, place, "an object");
	for (size_t i = 0; i < n_fields; i++) {
		const json_t *value = json_object_get(object, fields[i].key);
		/* The path is made only where it is shown: most receipts are in order. */
		if (value && json_field_read(value, place, &fields[i], arena, to, NULL) == OK)
			continue;
		char path[160];
		snprintf(path, sizeof(path), "%s%s%s", place->path, *place->path ? "." : "", fields[i].key);
		struct json_place at = {place->file, path};
		if (!value)
			return err_set_at(reterr, ERR_INPUT, place->file, 0, 0, "%s: missing", path);
		return json_field_read(value, &at, &fields[i], arena, to, reterr);
	}
	return refuse_unknown(object, place, fields, n_fields, others, reterr);
}

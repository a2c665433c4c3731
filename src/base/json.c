#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"

const char *json_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

double json_number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

int64_t json_integer_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

bool json_bool_of(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

json_t *json_from_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_from_text(const char *text)
{
	json_t *json = json_string(text ? text : "");
	if (json)
		return json;
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, text, strlen(text));
	return json_string(safe.buf);
}

static char *dump(json_t *json, size_t flags)
{
	char *text = json_dumps(json, flags | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
	json_decref(json);
	if (!text)
		die_oom(0);
	return text;
}

char *json_dump_take(json_t *json)
{
	return dump(json, JSON_COMPACT);
}

char *json_dump_pretty_take(json_t *json)
{
	return dump(json, JSON_INDENT(2));
}

enum err_code json_object_parse(const char *text, const char *what, json_t **ret_object, struct err *reterr)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!json) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT; /* it quotes the text */
		strbuf_add_escaped(&shown, error.text, strlen(error.text));
		return err_set(reterr, ERR_INPUT, "%s: line %d column %d: %s", what, error.line, error.column,
			shown.buf);
	}
	if (!json_is_object(json)) {
		json_decref(json);
		return err_set(reterr, ERR_INPUT, "%s: expected a JSON object", what);
	}
	*ret_object = json;
	return OK;
}

void json_decref_ptr(json_t **json)
{
	json_decref(*json);
	*json = NULL;
}

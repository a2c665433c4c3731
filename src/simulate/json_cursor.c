#include "base/base.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "simulate/json_cursor.h"

enum err_code cursor_fail(const struct cursor *c, struct err *reterr, const char *expected, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, expected);
	vsnprintf(text, sizeof(text), expected, ap);
	va_end(ap);
	return err_set_at(reterr, ERR_INPUT, c->file, 0, 0, "%s: expected %s",
		*c->where ? c->where : "the document", text);
}

static const char *shown(const struct cursor *c, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, text, strnlen(text, 64));
	return arena_strdup(c->arena, safe.buf);
}

bool cursor_has(const struct cursor *c, const char *key)
{
	return json_object_get(c->value, key) != NULL;
}

enum err_code cursor_member(
	const struct cursor *c, const char *key, struct cursor *ret_member, struct err *reterr)
{
	const json_t *value = json_object_get(c->value, key);
	if (!value)
		return cursor_fail(c, reterr, "an object with the key '%s'", key);
	*ret_member = (struct cursor){c->file, c->arena,
		arena_printf(c->arena, "%s%s%s", c->where, *c->where ? "." : "", key), value};
	return OK;
}

enum err_code cursor_only(const struct cursor *c, const char *const *keys, size_t n_keys, struct err *reterr)
{
	const char *key;
	json_t *value;
	if (!json_is_object(c->value))
		return cursor_fail(c, reterr, "an object");
	json_object_foreach((json_t *)c->value, key, value)
	{
		bool known = false;
		for (size_t i = 0; i < n_keys; i++)
			known |= strcmp(keys[i], key) == 0;
		if (known)
			continue;
		const char *close = closest_name(key, keys, n_keys);
		return cursor_fail(c, reterr, "no key '%s'%s%s%s", shown(c, key),
			close ? " (did you mean '" : "", close ? close : "", close ? "'?)" : "");
	}
	return OK;
}

enum err_code cursor_array(
	const struct cursor *c, size_t least, size_t most, size_t *ret_size, struct err *reterr)
{
	size_t size = json_array_size(c->value);
	if (!json_is_array(c->value) || size < least || size > most) {
		if (least == most)
			return cursor_fail(c, reterr, "an array of %zu elements", least);
		return cursor_fail(c, reterr, "an array of %zu to %zu elements", least, most);
	}
	*ret_size = size;
	return OK;
}

struct cursor cursor_element(const struct cursor *c, size_t index)
{
	return (struct cursor){c->file, c->arena, arena_printf(c->arena, "%s[%zu]", c->where, index),
		json_array_get(c->value, index)};
}

enum err_code cursor_number(
	const struct cursor *c, double low, double high, double *ret_value, struct err *reterr)
{
	double value = json_number_value(c->value);
	if (!json_is_number(c->value) || !(value >= low && value <= high))
		return cursor_fail(c, reterr, "a number in %g .. %g", low, high);
	*ret_value = value;
	return OK;
}

enum err_code cursor_integer(const struct cursor *c, int low, int high, int *ret_value, struct err *reterr)
{
	json_int_t value = json_integer_value(c->value);
	if (!json_is_integer(c->value) || value < low || value > high)
		return cursor_fail(c, reterr, "an integer in %d .. %d", low, high);
	*ret_value = (int)value;
	return OK;
}

enum err_code cursor_bool(const struct cursor *c, bool *ret_value, struct err *reterr)
{
	if (!json_is_boolean(c->value))
		return cursor_fail(c, reterr, "true or false");
	*ret_value = json_is_true(c->value);
	return OK;
}

enum err_code cursor_text(const struct cursor *c, size_t most, const char **ret_text, struct err *reterr)
{
	const char *text = json_string_value(c->value);
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	if (text && json_string_length(c->value) == strlen(text))
		strbuf_add_escaped(&safe, text, strlen(text));
	if (!text || !*text || strlen(text) > most || strcmp(safe.buf, text) != 0)
		return cursor_fail(c, reterr, "1 to %zu printable bytes of text", most);
	*ret_text = arena_strdup(c->arena, text);
	return OK;
}

enum err_code cursor_number_of(const struct cursor *c, const char *key, double low, double high,
	double *ret_value, struct err *reterr)
{
	struct cursor member;
	TRY(cursor_member(c, key, &member, reterr));
	return cursor_number(&member, low, high, ret_value, reterr);
}

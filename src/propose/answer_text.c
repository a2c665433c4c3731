#include "base/base.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "propose/answer_text.h"

/* Prose may hold braces that begin nothing. */
enum { TRIES = 64, MAX_DEPTH = 64 };

/* Length of the object that begins at text[0] == '{'; 0 = it has no end, or is nested too deeply. */
static size_t object_length(const char *text, size_t length)
{
	int depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > MAX_DEPTH)
				return 0;
		} else if (c == '}' || c == ']') {
			if (--depth == 0)
				return i + 1;
		}
	}
	return 0;
}

static bool has_key(const json_t *object, const char *const *keys)
{
	for (size_t i = 0; keys[i]; i++)
		if (json_object_get(object, keys[i]))
			return true;
	return false;
}

static int line_of(const char *text, const char *place)
{
	int line = 1;
	for (const char *p = text; p < place; p++)
		line += *p == '\n';
	return line;
}

/* jansson quotes the text. */
static void not_json(int line, const json_error_t *fault, bool ends, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	strbuf_add_escaped(&shown, fault->text, strlen(fault->text));
	err_set(reterr, ERR_INPUT, "line %d: not valid JSON: %s%s", line + MAX_OF(fault->line, 1) - 1,
		shown.buf, ends ? "" : " (the object does not end)");
}

enum err_code answer_find_object(
	const char *text, size_t length, const char *const *keys, json_t **ret_object, struct err *reterr)
{
	struct err first = ERR_INIT;
	const char *end = text + length, *p = text;
	for (int i = 0; i < TRIES && (p = memchr(p, '{', (size_t)(end - p))); i++) {
		json_error_t fault;
		size_t n = object_length(p, (size_t)(end - p));
		json_t *object = json_loadb(p, n ? n : (size_t)(end - p), JSON_REJECT_DUPLICATES, &fault);
		if (json_is_object(object) && has_key(object, keys)) {
			*ret_object = object;
			return OK;
		}
		if (!object && first.code == OK)
			not_json(line_of(text, p), &fault, n != 0, &first);
		else if (object && first.code == OK)
			err_set(&first, ERR_INPUT, "line %d: the JSON object has none of the expected keys",
				line_of(text, p));
		p += object && n ? n : 1;
		json_decref(object);
	}
	if (first.code == OK)
		err_set(&first, ERR_INPUT, "there is no JSON object in the answer");
	return err_set(reterr, ERR_INPUT, "%s", first.message);
}

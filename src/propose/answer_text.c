#include "base/base.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "propose/answer_text.h"

/* Prose may hold braces that begin nothing. */
enum { TRIES = 64, MAX_DEPTH = 64 };

struct extent {
	size_t length; /* 0 = it has no end, or is nested too deeply */
	/* Where it has no end: up to here its lists hold whole items; 0 = there is none. */
	size_t whole;
	bool in_list; /* there, a list is open; else only the object */
};

/* The place of the quote that ends the string which begins at `i`; `length` = it has no end. */
static size_t string_end(const char *text, size_t length, size_t i)
{
	for (i++; i < length && text[i] != '"'; i++)
		i += text[i] == '\\';
	return MIN_OF(i, length);
}

/* Of the object that begins at text[0] == '{'. */
static struct extent measure_object(const char *text, size_t length)
{
	struct extent e = {0};
	int depth = 0;
	bool in_list = false;
	for (size_t i = 0; i < length; i++) {
		char c = text[i];
		if (c == '"') {
			i = string_end(text, length, i);
		} else if (c == '{' || c == '[') {
			if (++depth > MAX_DEPTH)
				return (struct extent){0};
			in_list = depth == 2 ? c == '[' : in_list;
		} else if (c == '}' || c == ']') {
			if (--depth == 0)
				return (struct extent){.length = i + 1};
			if (depth == 1 || (depth == 2 && in_list))
				e = (struct extent){.whole = i + 1, .in_list = depth == 2};
		}
	}
	return e;
}

static bool has_key(const json_t *object, const char *const *keys)
{
	for (size_t i = 0; keys[i]; i++)
		if (json_object_get(object, keys[i]))
			return true;
	return false;
}

/* After the last whole item there is nothing but brackets that are missing, a fence, or prose. */
static bool lacks_brackets_only(const char *tail, size_t length)
{
	size_t blank = 0;
	while (blank < length && strchr(" \t\r\n", tail[blank]))
		blank++;
	return blank == length ||
	       (tail[blank] != ',' && !memchr(tail, '"', length) && !memchr(tail, '{', length));
}

/* What came whole of an object that the text's end cuts, closed; NULL = nothing of use, or it is broken
 * elsewhere. */
static json_t *load_whole_part(const char *text, size_t length, const struct extent *e,
	const json_error_t *fault, const char *const *keys)
{
	CLEANUP(strbuf_release) struct strbuf closed = STRBUF_INIT;
	if (!e->whole || (json_error_code(fault) != json_error_premature_end_of_input &&
				 !lacks_brackets_only(text + e->whole, length - e->whole)))
		return NULL;
	strbuf_add(&closed, text, e->whole);
	strbuf_addstr(&closed, e->in_list ? "]}" : "}");
	json_t *part = json_loadb(closed.buf, closed.len, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(part) && has_key(part, keys))
		return part;
	json_decref(part);
	return NULL;
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

struct finding {
	json_t *object, *part; /* the one that is meant; else what came whole of the first that is cut */
	struct err first, cut; /* what was wrong with the first that is not meant, and with that one */
};

/* The object that begins at `p`; how many bytes to go on by. */
static size_t look_at(
	const char *text, size_t length, const char *p, const char *const *keys, struct finding *f)
{
	json_error_t fault;
	size_t rest = (size_t)(text + length - p);
	struct extent e = measure_object(p, rest);
	json_t *object = json_loadb(p, e.length ? e.length : rest, JSON_REJECT_DUPLICATES, &fault);
	bool is_json = object != NULL;
	if (json_is_object(object) && has_key(object, keys)) {
		f->object = object;
		return rest;
	}
	json_decref(object);
	struct err why = ERR_INIT;
	if (is_json)
		err_set(&why, ERR_INPUT, "line %d: the JSON object has none of the expected keys",
			line_of(text, p));
	else
		not_json(line_of(text, p), &fault, e.length != 0, &why);
	if (f->first.code == OK)
		f->first = why;
	if (!is_json && !f->part && (f->part = load_whole_part(p, rest, &e, &fault, keys)))
		f->cut = why;
	return is_json && e.length ? e.length : 1;
}

enum err_code answer_find_object(const char *text, size_t length, const char *const *keys,
	json_t **ret_object, struct err *ret_cut, struct err *reterr)
{
	struct finding f = {.first = ERR_INIT, .cut = ERR_INIT};
	const char *end = text + length, *p = text;
	for (int i = 0; i < TRIES && !f.object && (p = memchr(p, '{', (size_t)(end - p))); i++)
		p += look_at(text, length, p, keys, &f);
	bool is_cut = !f.object && f.part && ret_cut;
	if (ret_cut)
		*ret_cut = is_cut ? f.cut : (struct err)ERR_INIT;
	if (f.object || is_cut) {
		*ret_object = f.object ? f.object : json_incref(f.part);
		json_decref(f.part);
		return OK;
	}
	json_decref(f.part);
	return err_set(reterr, ERR_INPUT, "%s",
		f.first.code == OK ? "there is no JSON object in the answer" : f.first.message);
}

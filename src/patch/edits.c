#include "base/base.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "patch/edits.h"
#include "patch/loose_diff.h"
#include "patch/nearest.h"

enum { PLACES_SHOWN = 8 };

struct reader {
	const char *name;
	struct arena *arena;
	struct err *reterr;
};

/* ---- from JSON ---- */

static enum err_code refuse_key(
	const struct reader *r, const char *where, const char *key, const char *const *known, size_t n_known)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	const char *meant = strlen(key) < 32 ? closest_name(key, known, n_known) : NULL;
	strbuf_add_escaped(&shown, key, MIN_OF(strlen(key), (size_t)64));
	return err_set_at(r->reterr, ERR_INPUT, r->name, 0, 0, "%sunknown key '%s'%s%s%s", where, shown.buf,
		meant ? " (did you mean '" : "", meant ? meant : "", meant ? "'?)" : "");
}

static const char *type_name(const json_t *value)
{
	static const char *const names[] = {[JSON_OBJECT] = "an object",
		[JSON_ARRAY] = "a list",
		[JSON_STRING] = "a string",
		[JSON_INTEGER] = "a number",
		[JSON_REAL] = "a number",
		[JSON_TRUE] = "true",
		[JSON_FALSE] = "false",
		[JSON_NULL] = "null"};
	return value ? names[json_typeof(value)] : "nothing";
}

static enum err_code read_string(const struct reader *r, const json_t *object, size_t index, const char *key,
	const char **ret_text, size_t *ret_length)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_string(value))
		return err_set_at(r->reterr, ERR_INPUT, r->name, 0, 0,
			"edits[%zu].%s: expected a string, got %s", index, key, type_name(value));
	*ret_length = json_string_length(value);
	*ret_text = arena_strndup(r->arena, json_string_value(value), *ret_length);
	return OK;
}

static enum err_code read_edit(const struct reader *r, json_t *value, size_t index, struct edit *ret_edit)
{
	static const char *const known[] = {"file", "old", "new"};
	struct edit edit = {.index = index};
	char where[32];
	const char *key;
	json_t *ignored;
	size_t file_length;
	snprintf(where, sizeof(where), "edits[%zu]: ", index);
	if (!json_is_object(value))
		return err_set_at(r->reterr, ERR_INPUT, r->name, 0, 0,
			"%sexpected {\"file\", \"old\", \"new\"}, got %s", where, type_name(value));
	json_object_foreach(value, key, ignored)
	{
		if (strcmp(key, "file") != 0 && strcmp(key, "old") != 0 && strcmp(key, "new") != 0)
			return refuse_key(r, where, key, known, ARRAY_LEN(known));
	}
	TRY(read_string(r, value, index, "file", &edit.file, &file_length));
	TRY(read_string(r, value, index, "old", &edit.old, &edit.old_length));
	TRY(read_string(r, value, index, "new", &edit.new, &edit.new_length));
	if (text_line_equal((struct text_line){edit.old, edit.old_length},
		    (struct text_line){edit.new, edit.new_length}))
		return err_set_at(r->reterr, ERR_INPUT, r->name, 0, 0, "%sold and new are the same", where);
	*ret_edit = edit;
	return OK;
}

static enum err_code read_edits(const struct reader *r, const json_t *edits, struct edit_list *list)
{
	size_t n = json_array_size(edits);
	if (!json_is_array(edits))
		return err_set_at(r->reterr, ERR_INPUT, r->name, 0, 0,
			"edits: expected a list of {\"file\", \"old\", \"new\"}, got %s", type_name(edits));
	if (!n || n > EDITS_CAP)
		return err_set_at(r->reterr, ERR_INPUT, r->name, 0, 0,
			"edits: expected 1 to %d edits, got %zu", EDITS_CAP, n);
	list->items = arena_array(r->arena, n, sizeof(*list->items));
	list->count = n;
	for (size_t i = 0; i < n; i++)
		TRY(read_edit(r, json_array_get(edits, i), i, &list->items[i]));
	return OK;
}

/* A value of the header as its text: a list's words with commas between them. */
static bool value_text(const json_t *value, struct strbuf *text)
{
	size_t i;
	json_t *item;
	if (json_is_string(value)) {
		strbuf_addstr(text, json_string_value(value));
		return true;
	}
	if (json_is_number(value)) {
		strbuf_addf(text, "%.17g", json_number_value(value));
		return true;
	}
	json_array_foreach(value, i, item)
	{
		if (!json_is_string(item))
			return false;
		strbuf_addf(text, "%s%s", i ? "," : "", json_string_value(item));
	}
	return json_is_array(value);
}

static enum err_code read_header(const struct reader *r, json_t *object, struct patch_header *header)
{
	const char *known[16], *key;
	size_t n = 0;
	json_t *value;
	known[n++] = "edits";
	for (size_t i = 0; header_key_name(i); i++)
		known[n++] = header_key_name(i);
	json_object_foreach(object, key, value)
	{
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		size_t i = 0;
		while (i < n && strcmp(known[i], key) != 0)
			i++;
		if (i == n)
			return refuse_key(r, "", key, known, n);
		if (i == 0 || json_is_null(value))
			continue;
		if (!value_text(value, &text))
			return err_set_at(r->reterr, ERR_INPUT, r->name, 0, 0,
				"%s: expected a string, a number or a list of strings, got %s", key,
				type_name(value));
		enum err_code code = header_set(header, key, text.buf, r->name, 0, r->arena, r->reterr);
		if (code != OK)
			return err_prefix(r->reterr, code, "%s", key);
	}
	return OK;
}

static enum err_code read_document(const struct reader *r, json_t *root, struct edit_list *list)
{
	if (json_is_array(root))
		return read_edits(r, root, list);
	if (!json_is_object(root))
		return err_set_at(r->reterr, ERR_INPUT, r->name, 1, 1,
			"expected a list of edits or an object with the key 'edits', got %s",
			type_name(root));
	TRY(read_header(r, root, &list->header));
	return read_edits(r, json_object_get(root, "edits"), list);
}

enum err_code edits_parse(const char *name, const char *text, size_t length, struct arena *arena,
	struct edit_list *ret_list, struct err *reterr)
{
	const struct reader r = {name, arena, reterr};
	struct edit_list list = {.count = 0};
	json_error_t error;
	if (length > EDITS_CAP_BYTES)
		return err_set_at(reterr, ERR_LIMIT, name, 0, 0,
			"the edits have %zu bytes, more than the %d allowed", length, EDITS_CAP_BYTES);
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!root) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
		strbuf_add_escaped(&shown, error.text, strlen(error.text));
		return err_set_at(
			reterr, ERR_INPUT, name, error.line, error.column, "not JSON: %s", shown.buf);
	}
	enum err_code code = read_document(&r, root, &list);
	json_decref(root);
	if (code == OK)
		*ret_list = list;
	return code;
}

/* ---- applied ---- */

/* Where old begins, 1-based lines; overlapping occurrences count each. At most PLACES_SHOWN + 1. */
static size_t find_all(const struct edit *edit, const struct old_file *file, size_t *lines, size_t *ret_first)
{
	const char *at = file->text, *end = file->text + file->length, *counted = at;
	size_t n = 0, line = 1;
	while (n <= PLACES_SHOWN) {
		const char *hit = memmem(at, (size_t)(end - at), edit->old, edit->old_length);
		if (!hit)
			break;
		for (; counted < hit; counted++)
			line += *counted == '\n';
		if (n == 0)
			*ret_first = (size_t)(hit - file->text);
		if (n < PLACES_SHOWN)
			lines[n] = line;
		n++;
		at = hit + 1;
	}
	return n;
}

static enum err_code refuse_many(const char *name, const struct edit *edit, const char *path,
	const size_t *lines, size_t count, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	size_t shown = MIN_OF(count, (size_t)PLACES_SHOWN);
	for (size_t i = 0; i < shown; i++)
		strbuf_addf(&text, "%s%zu", i == 0 ? "" : i + 1 == shown ? " and " : ", ", lines[i]);
	return err_set_at(reterr, ERR_INPUT, name, 0, 0,
		"edits[%zu]: old occurs %s%zu times in %s, at lines %s: it has to be unique; add lines "
		"around it",
		edit->index, count > shown ? "more than " : "", shown, path, text.buf);
}

static enum err_code refuse_none(const char *name, const struct edit *edit, const char *path,
	const struct old_file *file, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(text_lines_release) struct text_lines lines, olds;
	struct nearest nearest;
	text_lines_split(&lines, file->text, file->length);
	text_lines_split(&olds, edit->old, edit->old_length);
	const struct wanted wanted = {.lines = olds.items,
		.count = olds.count,
		.first_open = true,
		.last_open = !olds.ends_with_newline};
	if (nearest_find(&lines, &wanted, &nearest))
		nearest_describe(&nearest, edit->file, &text);
	else
		strbuf_addstr(&text, "nothing there is similar");
	return err_set_at(reterr, ERR_INPUT, name, 0, 0, "edits[%zu]: old does not occur in %s; %s",
		edit->index, path, text.buf);
}

static enum err_code make_file(const char *name, const struct edit *edit, const char *path,
	const struct old_file *file, struct strbuf *ret_text, struct err *reterr)
{
	if (file->exists)
		return err_set_at(reterr, ERR_INPUT, name, 0, 0,
			"edits[%zu]: old is empty, which makes a new file, but %s exists", edit->index, path);
	strbuf_clear(ret_text);
	strbuf_add(ret_text, edit->new, edit->new_length);
	return OK;
}

enum err_code edits_apply_one(const char *name, const struct edit *edit, const struct old_file *file,
	struct strbuf *ret_text, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT;
	size_t lines[PLACES_SHOWN], first = 0;
	strbuf_add_escaped(&path, edit->file, MIN_OF(strlen(edit->file), (size_t)300));
	if (!edit->old_length)
		return make_file(name, edit, path.buf, file, ret_text, reterr);
	if (!file->exists)
		return err_set_at(reterr, ERR_INPUT, name, 0, 0,
			"edits[%zu]: there is no file %s; an empty old makes a new one", edit->index,
			path.buf);
	size_t count = find_all(edit, file, lines, &first);
	if (count == 0)
		return refuse_none(name, edit, path.buf, file, reterr);
	if (count > 1)
		return refuse_many(name, edit, path.buf, lines, count, reterr);
	strbuf_clear(ret_text);
	strbuf_add(ret_text, file->text, first);
	strbuf_add(ret_text, edit->new, edit->new_length);
	strbuf_add(ret_text, file->text + first + edit->old_length, file->length - first - edit->old_length);
	return OK;
}

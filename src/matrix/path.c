/* From "updates.11..30.loss" to the places in a payload. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "matrix/matrix_int.h"

enum { WORD_SIZE = 64, MAX_KEYS = 64 };

enum err_code op_error(struct err *reterr, const struct matrix_op *op, const char *fmt, ...)
{
	char message[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT; /* it may quote the file */
	strbuf_add_escaped(&shown, message, strlen(message));
	return err_set_at(reterr, ERR_INPUT, op->file, op->line, 0, "%s", shown.buf);
}

json_t *slot_get(const struct slot *slot)
{
	return slot->key ? json_object_get(slot->container, slot->key)
			 : json_array_get(slot->container, slot->index);
}

void slot_set(const struct slot *slot, json_t *value_take)
{
	if (slot->key)
		json_object_set_new(slot->container, slot->key, value_take);
	else
		json_array_set_new(slot->container, slot->index, value_take);
}

struct visit {
	const struct matrix_op *op;
	slot_fn fn;
	void *context;
};

/* Takes the component in front of the path; false where it is too long. */
static bool take_component(const char **path, char word[WORD_SIZE])
{
	size_t length = strcspn(*path, ".");
	if (length >= WORD_SIZE)
		return false;
	memcpy(word, *path, length);
	word[length] = '\0';
	*path += length + ((*path)[length] == '.');
	return true;
}

static enum err_code no_such_field(
	const struct visit *v, const json_t *object, const char *key, struct err *reterr)
{
	const char *keys[MAX_KEYS], *name;
	size_t n = 0;
	json_t *value;
	json_object_foreach((json_t *)object, name, value) if (n < MAX_KEYS) keys[n++] = name;
	const char *near = closest_name(key, keys, n);
	return op_error(reterr, v->op, "'%s': no field '%s' in a receipt%s%s%s", v->op->path, key,
		near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

/* "*", "11", "11..30", as update numbers. Two dots are part of it, one dot ends it. */
static bool take_range(const char **path, int *ret_first, int *ret_last)
{
	char *end;
	if (**path == '*') {
		*ret_first = 1;
		*ret_last = MATRIX_MAX_UPDATES;
		*path += 1;
	} else {
		long first = strtol(*path, &end, 10), last = first;
		if (end == *path)
			return false;
		if (strncmp(end, "..", 2) == 0)
			last = strtol(end + 2, &end, 10);
		if (first < 1 || last < first || last > MATRIX_MAX_UPDATES)
			return false;
		*ret_first = (int)first;
		*ret_last = (int)last;
		*path = end;
	}
	if (**path != '.')
		return false;
	*path += 1;
	return true;
}

static enum err_code visit_updates(
	const struct visit *v, json_t *updates, const char *path, struct err *reterr)
{
	const json_t *numbers = json_object_get(updates, "update");
	int first, last, n = 0;
	if (!take_range(&path, &first, &last))
		return op_error(reterr, v->op,
			"'%s': expected updates.WHICH.FIELD, WHICH one of *, 11, 11..30 (at most %d)",
			v->op->path, MATRIX_MAX_UPDATES);
	json_t *column = json_object_get(updates, path);
	if (!json_is_array(column))
		return no_such_field(v, updates, path, reterr);
	for (size_t i = 0; i < json_array_size(numbers) && i < json_array_size(column); i++) {
		int update = (int)json_integer_value(json_array_get(numbers, i));
		if (update < first || update > last)
			continue;
		struct slot slot = {column, NULL, i, update};
		TRY(v->fn(v->context, &slot, reterr));
		n++;
	}
	if (n == 0)
		return op_error(reterr, v->op, "'%s': the run has no such update", v->op->path);
	return OK;
}

static enum err_code visit(const struct visit *v, json_t *container, const char *path, struct err *reterr);

static enum err_code visit_slot(
	const struct visit *v, const struct slot *slot, const char *path, struct err *reterr)
{
	return *path ? visit(v, slot_get(slot), path, reterr) : v->fn(v->context, slot, reterr);
}

static enum err_code visit_array(
	const struct visit *v, json_t *array, const char *word, const char *path, struct err *reterr)
{
	size_t size = json_array_size(array);
	int64_t index = 0;
	bool each = strcmp(word, "*") == 0;
	if (!each && (!parse_integer(word, &index) || index < 0 || (size_t)index >= size))
		return op_error(reterr, v->op, "'%s': expected * or 0 to %zu in place of '%s'", v->op->path,
			size ? size - 1 : 0, word);
	for (size_t i = each ? 0 : (size_t)index; i < (each ? size : (size_t)index + 1); i++) {
		struct slot slot = {array, NULL, i, 0};
		TRY(visit_slot(v, &slot, path, reterr));
	}
	return OK;
}

static enum err_code visit(const struct visit *v, json_t *container, const char *path, struct err *reterr)
{
	char word[WORD_SIZE];
	if (!take_component(&path, word))
		return op_error(reterr, v->op, "'%s': a name is too long", v->op->path);
	if (json_is_array(container))
		return visit_array(v, container, word, path, reterr);
	if (!json_object_get(container, word))
		return no_such_field(v, container, word, reterr);
	/* "updates.loss" is the column itself. */
	if (strcmp(word, "updates") == 0 && (*path == '*' || (*path >= '0' && *path <= '9')))
		return visit_updates(v, json_object_get(container, word), path, reterr);
	struct slot slot = {container, word, 0, 0};
	return visit_slot(v, &slot, path, reterr);
}

enum err_code path_visit(
	json_t *payload, const struct matrix_op *op, slot_fn fn, void *context, struct err *reterr)
{
	struct visit v = {op, fn, context};
	return visit(&v, payload, op->path, reterr);
}

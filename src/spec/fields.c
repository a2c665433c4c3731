#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "spec/fields.h"
#include "spec/names.h"
#include "spec/task.h"

enum err_code node_error(
	const struct reader *r, const struct tree_node *node, struct err *reterr, const char *fmt, ...)
{
	char message[sizeof(reterr->message)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_set_at(reterr, ERR_INPUT, r->path, node->line, node->column, "%s", message);
}

const char *did_you_mean(struct arena *arena, const char *name, const char *const *candidates, size_t count)
{
	/* One edit turns any word of two letters into another one: no guess is better there. */
	const char *closest = strlen(name) > 2 ? closest_name(name, candidates, count) : NULL;
	return closest ? arena_printf(arena, " (did you mean '%s'?)", closest) : "";
}

void reader_release(struct reader *r)
{
	free(r->templates);
	*r = (struct reader){0};
}

/* {name} without quotes is a mapping in YAML; it is the likeliest slip in this file. */
static bool is_unquoted_template(const struct tree_node *node)
{
	return node->kind == TREE_MAP && node->n_children == 1 && tree_is_empty(node->first);
}

static enum err_code type_error(const struct reader *r, const char *where, const struct tree_node *node,
	const char *expected, struct err *reterr)
{
	if (is_unquoted_template(node))
		return node_error(r, node, reterr,
			"%s: expected %s, got a mapping; write it in quotes: \"{%s}\"", where, expected,
			printable(node->first->key->text, r->arena));
	return node_error(
		r, node, reterr, "%s: expected %s, got %s", where, expected, tree_describe(node, r->arena));
}

enum err_code read_text(const struct reader *r, const char *where, const struct tree_node *node,
	const char **ret_text, struct err *reterr)
{
	if (node->kind != TREE_SCALAR || tree_is_empty(node))
		return type_error(r, where, node, "a string", reterr);
	*ret_text = node->text;
	return OK;
}

static bool parse_whole(const char *text, double *ret_value)
{
	int64_t value;
	if (!parse_integer(text, &value) || value > (INT64_C(1) << 53) || value < -(INT64_C(1) << 53))
		return false;
	*ret_value = (double)value;
	return true;
}

static const struct scalar_type {
	const char *name, *expected;
	bool (*parse)(const char *text, double *ret_value);
	double shown_factor;
	const char *shown_unit;
} scalar_types[] = {
	[FIELD_STRING] = {"string", "a string"},
	[FIELD_NAME] = {"name", "a name made of a-z, 0-9 and _"},
	[FIELD_INT] = {"int", "a whole number", parse_whole, 1, ""},
	[FIELD_WHOLE] = {"int", "a whole number", parse_whole, 1, ""},
	[FIELD_NUMBER] = {"number", "a number", parse_number, 1, ""},
	[FIELD_DURATION] = {"duration", "a duration such as 90s, 20m or 6h", parse_duration_s, 1, "s"},
	[FIELD_BYTES] = {"bytes", "an amount of memory such as 78GiB", parse_bytes, 1, " bytes"},
	[FIELD_FRACTION] = {"fraction", "a fraction such as 3% or 0.03", parse_fraction, 100, "%"},
	[FIELD_BOOL] = {"bool", "true or false"},
	[FIELD_WORD] = {"word", "a word"},
	[FIELD_NODE] = {"map", "a mapping"},
	[FIELD_TABLE] = {"table", "a mapping"},
	[FIELD_LIST] = {"list", "a list"},
	[FIELD_MAP] = {"map", "a mapping"},
};

static bool has_limits(const struct field *f)
{
	return f->least != 0 || f->most != 0;
}

static enum err_code read_number(const struct reader *r, const struct field *f, const char *where,
	const struct tree_node *node, double *ret_value, struct err *reterr)
{
	const struct scalar_type *type = &scalar_types[f->type];
	double value;
	if (node->kind != TREE_SCALAR || tree_is_empty(node) || !type->parse(node->text, &value))
		return type_error(r, where, node, type->expected, reterr);
	if (has_limits(f) && (value < f->least || value > f->most)) {
		const char *unit = type->shown_unit;
		const char *upper = isinf(f->most) ? ""
						   : arena_printf(r->arena, " and at most %.10g%s",
							     f->most * type->shown_factor, unit);
		return node_error(r, node, reterr, "%s: must be at least %.10g%s%s, got %s", where,
			f->least * type->shown_factor, unit, upper, tree_describe(node, r->arena));
	}
	*ret_value = value;
	return OK;
}

static enum err_code read_bool(const struct reader *r, const char *where, const struct tree_node *node,
	bool *ret_value, struct err *reterr)
{
	bool is_plain = node->kind == TREE_SCALAR && !node->is_quoted;
	if (is_plain && strcmp(node->text, "true") == 0)
		*ret_value = true;
	else if (is_plain && strcmp(node->text, "false") == 0)
		*ret_value = false;
	else
		return type_error(r, where, node, "true or false", reterr);
	return OK;
}

static const char *join_words(const char *const *words, struct arena *arena)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; words[i]; i++)
		strbuf_addf(&text, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
	return arena_strdup(arena, text.buf);
}

static enum err_code read_word(const struct reader *r, const struct field *f, const char *where,
	const struct tree_node *node, int *ret_index, struct err *reterr)
{
	size_t count = 0;
	while (f->words[count])
		count++;
	if (node->kind != TREE_SCALAR)
		return type_error(r, where, node, join_words(f->words, r->arena), reterr);
	for (size_t i = 0; i < count; i++)
		if (strcmp(node->text, f->words[i]) == 0) {
			*ret_index = (int)i;
			return OK;
		}
	return node_error(r, node, reterr, "%s: expected %s, got %s%s", where, join_words(f->words, r->arena),
		tree_describe(node, r->arena), did_you_mean(r->arena, node->text, f->words, count));
}

static enum err_code read_elements(struct reader *r, const struct field *f, const char *where,
	const struct tree_node *node, char *target, struct err *reterr)
{
	enum tree_kind kind = f->type == FIELD_LIST ? TREE_LIST : TREE_MAP;
	if (node->kind != kind && f->example && node->kind == TREE_SCALAR)
		return node_error(r, node, reterr, "%s: expected %s such as %s, got %s", where,
			scalar_types[f->type].expected, f->example, tree_describe(node, r->arena));
	if (node->kind != kind)
		return type_error(r, where, node, scalar_types[f->type].expected, reterr);
	if (f->not_empty && !node->n_children)
		return node_error(r, node, reterr, "%s: must not be empty", where);
	char *elements = arena_array(r->arena, node->n_children, f->element_size);
	char *element = elements;
	for (const struct tree_node *child = node->first; child; child = child->next) {
		TRY(f->element(r, f, where, child, element, reterr));
		element += f->element_size;
	}
	*(void **)(target + f->offset) = elements;
	*(size_t *)(target + f->count_offset) = node->n_children;
	return OK;
}

static enum err_code read_simple(struct reader *r, const struct field *f, const char *where,
	const struct tree_node *node, char *target, struct err *reterr)
{
	double number;
	switch (f->type) {
	case FIELD_STRING:
		TRY(read_text(r, where, node, (const char **)target, reterr));
		return *node->text || !f->not_empty
			       ? OK
			       : node_error(r, node, reterr, "%s: must not be empty", where);
	case FIELD_NAME:
		TRY(read_text(r, where, node, (const char **)target, reterr));
		return name_is_word(node->text)
			       ? OK
			       : type_error(r, where, node, scalar_types[FIELD_NAME].expected, reterr);
	case FIELD_INT:
		TRY(read_number(r, f, where, node, &number, reterr));
		*(int *)target = (int)number;
		return OK;
	case FIELD_BOOL:
		return read_bool(r, where, node, (bool *)target, reterr);
	case FIELD_WORD:
		return read_word(r, f, where, node, (int *)target, reterr);
	case FIELD_NODE:
		*(const struct tree_node **)target = node;
		return OK;
	default:
		return read_number(r, f, where, node, (double *)target, reterr);
	}
}

static enum err_code read_field(struct reader *r, const struct field *f, const char *where,
	const struct tree_node *node, char *target, struct err *reterr)
{
	const char *name = *where ? arena_printf(r->arena, "%s.%s", where, f->name) : f->name;
	if (f->type == FIELD_TABLE)
		return fields_read(r, f->table, name, node, target + f->offset, reterr);
	if (f->type == FIELD_LIST || f->type == FIELD_MAP)
		return read_elements(r, f, name, node, target, reterr);
	return read_simple(r, f, name, node, target + f->offset, reterr);
}

/* The defaults of a table that is absent, or of a field that is. */
static enum err_code read_default(
	struct reader *r, const struct field *f, const char *where, char *target, struct err *reterr)
{
	if (f->type == FIELD_TABLE) {
		for (size_t i = 0; i < f->table->count; i++)
			TRY(read_default(r, &f->table->fields[i], where, target + f->offset, reterr));
		return OK;
	}
	if (!f->fallback)
		return OK;
	struct tree_node *node;
	TRY(tree_parse("default", f->fallback, strlen(f->fallback), r->arena, &node, reterr));
	return read_field(r, f, where, node, target, reterr);
}

static bool is_of_kind(const struct field *f, unsigned kinds)
{
	return !f->kinds || f->kinds & kinds;
}

static const struct field *find_field(const struct field_table *table, const char *name, unsigned kinds)
{
	for (size_t i = 0; i < table->count; i++)
		if (is_of_kind(&table->fields[i], kinds) && strcmp(table->fields[i].name, name) == 0)
			return &table->fields[i];
	return NULL;
}

/* "a", "a and b", "a, b and c": the kinds that have a field of this name. */
static const char *kinds_of(const struct field_table *table, const char *name, struct arena *arena)
{
	const char *const *words = table->fields[0].words;
	const char *text = NULL, *last = NULL;
	for (size_t k = 0; words[k]; k++) {
		if (!find_field(table, name, 1u << k))
			continue;
		if (last)
			text = text ? arena_printf(arena, "%s, %s", text, last) : last;
		last = words[k];
	}
	return text ? arena_printf(arena, "%s and %s", text, last) : last;
}

static enum err_code unknown_key(const struct reader *r, const struct field_table *table, const char *where,
	const struct tree_node *key, unsigned kinds, struct err *reterr)
{
	size_t count = 0;
	const char **known = arena_array(r->arena, table->count, sizeof(*known));
	for (size_t i = 0; i < table->count; i++)
		if (is_of_kind(&table->fields[i], kinds))
			known[count++] = table->fields[i].name;
	return node_error(r, key, reterr, "unknown key '%s' in %s%s", printable(key->text, r->arena),
		*where ? where : "the task file", did_you_mean(r->arena, key->text, known, count));
}

static enum err_code reject_foreign_keys(const struct reader *r, const struct field_table *table,
	const char *where, const struct tree_node *map, unsigned kinds, struct err *reterr)
{
	for (const struct tree_node *child = map->first; child; child = child->next) {
		const struct field *f = find_field(table, child->key->text, kinds);
		if (!f && table->is_by_kind && find_field(table, child->key->text, ~0u))
			return node_error(r, child->key, reterr, "%s.%s is for %s, not for %s", where,
				child->key->text, kinds_of(table, child->key->text, r->arena),
				tree_find(map, table->fields[0].name)->text);
		if (!f)
			return unknown_key(r, table, where, child->key, kinds, reterr);
		if (f->alias_of && tree_find(map, f->alias_of))
			return node_error(r, child->key, reterr,
				"'%s' is another name for '%s': give one of them", f->name, f->alias_of);
	}
	return OK;
}

static enum err_code require_key(const struct reader *r, const struct field *f, const char *where,
	const struct tree_node *map, struct err *reterr)
{
	if (!f->required || tree_find(map, f->name))
		return OK;
	return node_error(r, map->key ? map->key : map, reterr, "%s needs the key '%s' (%s)",
		*where ? where : "the task file", f->name, f->help);
}

/* The bits that a field of this mapping may have. */
static enum err_code read_kind(const struct reader *r, const struct field_table *table, const char *where,
	const struct tree_node *map, unsigned *ret_kinds, struct err *reterr)
{
	const struct field *f = table->fields;
	int index;
	if (!table->is_by_kind) {
		*ret_kinds = ~0u;
		return OK;
	}
	TRY(require_key(r, f, where, map, reterr));
	TRY(read_word(r, f, arena_printf(r->arena, "%s.%s", where, f->name), tree_find(map, f->name), &index,
		reterr));
	*ret_kinds = 1u << index;
	return OK;
}

enum err_code fields_read(struct reader *r, const struct field_table *table, const char *where,
	const struct tree_node *map, void *target, struct err *reterr)
{
	unsigned kinds;
	if (map->kind != TREE_MAP)
		return type_error(r, *where ? where : "the task file", map, "a mapping (key: value)", reterr);
	TRY(read_kind(r, table, where, map, &kinds, reterr));
	TRY(reject_foreign_keys(r, table, where, map, kinds, reterr));
	for (size_t i = 0; i < table->count; i++) {
		const struct field *f = &table->fields[i];
		const struct tree_node *node = tree_find(map, f->name);
		if (!is_of_kind(f, kinds))
			continue;
		TRY(require_key(r, f, where, map, reterr));
		if (node)
			TRY(read_field(r, f, where, node, target, reterr));
		else
			TRY(read_default(r, f, where, target, reterr));
	}
	return OK;
}

enum err_code read_string_element(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	(void)field;
	return read_text(r, where, value, target, reterr);
}

enum err_code read_template_element(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	TRY(read_text(r, where, value, target, reterr));
	grow_array(&r->templates, &r->templates_capacity, r->n_templates + 1, sizeof(*r->templates));
	r->templates[r->n_templates++] =
		(struct template_use){value->text, where, value->line, value->column, field->is_build};
	return OK;
}

enum err_code read_strings_element(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	const struct field inner = {.name = field->name,
		.type = FIELD_LIST,
		.offset = offsetof(struct string_list, items),
		.count_offset = offsetof(struct string_list, count),
		.not_empty = true,
		.element_size = sizeof(const char *),
		.element = read_string_element,
		.example = field->example};
	return read_elements(r, &inner, where, value, target, reterr);
}

static void describe_type(const struct field *f, struct strbuf *text)
{
	if (f->shape)
		strbuf_addstr(text, f->shape);
	else if (f->type == FIELD_WORD)
		for (size_t i = 0; f->words[i]; i++)
			strbuf_addf(text, "%s%s", i ? "|" : "", f->words[i]);
	else
		strbuf_addstr(text, scalar_types[f->type].name);
}

static void describe_kinds(const struct field_table *table, const struct field *f, struct strbuf *text)
{
	const char *between = "";
	for (size_t k = 0; f->kinds && table->fields[0].words[k]; k++)
		if (f->kinds & 1u << k) {
			strbuf_addf(text, "%s%s", between, table->fields[0].words[k]);
			between = ", ";
		}
	strbuf_addstr(text, f->kinds ? ": " : "");
}

void fields_describe(const struct field_table *table, const char *prefix, struct strbuf *text)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct field *f = &table->fields[i];
		CLEANUP(free_ptr) char *name = xasprintf("%s%s", prefix, f->name);
		strbuf_addf(text, "%s  (", name);
		describe_type(f, text);
		if (f->required)
			strbuf_addstr(text, ", required");
		if (f->fallback)
			strbuf_addf(text, ", default %s", f->fallback);
		strbuf_addstr(text, ")  ");
		describe_kinds(table, f, text);
		strbuf_addf(text, "%s\n", f->help);
		if (f->table) {
			const char *mark = f->type == FIELD_LIST    ? "[]."
					   : f->type == FIELD_TABLE ? "."
								    : ".*.";
			CLEANUP(free_ptr) char *inner = xasprintf("%s%s", name, mark);
			fields_describe(f->table, inner, text);
		}
	}
}

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/yaml_tree.h"

struct builder {
	yaml_parser_t parser;
	const char *path, *text;
	size_t length;
	struct arena *arena;
	struct tree_node *root, *open[TREE_DEPTH];
	int depth;
	struct tree_node *key; /* read, its value still to come */
};

static bool describe_bad_byte(const struct builder *b, int *ret_line, int *ret_column)
{
	size_t offset = b->parser.problem_offset;
	if (offset > b->length)
		return false;
	*ret_line = *ret_column = 1;
	for (size_t i = 0; i < offset; i++) {
		bool is_newline = b->text[i] == '\n';
		bool is_continuation = ((unsigned char)b->text[i] & 0xC0) == 0x80;
		*ret_line += is_newline;
		*ret_column = is_newline ? 1 : *ret_column + !is_continuation;
	}
	return true;
}

static enum err_code syntax_error(struct builder *b, struct err *reterr)
{
	const yaml_parser_t *p = &b->parser;
	int line = (int)p->problem_mark.line + 1, column = (int)p->problem_mark.column + 1;
	const char *problem = p->problem ? p->problem : "not valid YAML";
	if (p->error == YAML_MEMORY_ERROR)
		die_oom(0);
	if (p->error == YAML_READER_ERROR && !describe_bad_byte(b, &line, &column))
		line = column = 1;
	if (p->context && p->context_mark.line != p->problem_mark.line)
		return err_set_at(reterr, ERR_INPUT, b->path, line, column, "%s (%s that began at line %d)",
			problem, p->context, (int)p->context_mark.line + 1);
	if (p->context)
		return err_set_at(reterr, ERR_INPUT, b->path, line, column, "%s (%s)", problem, p->context);
	return err_set_at(reterr, ERR_INPUT, b->path, line, column, "%s", problem);
}

static enum err_code event_error(
	const struct builder *b, const yaml_event_t *event, const char *message, struct err *reterr)
{
	return err_set_at(reterr, ERR_INPUT, b->path, (int)event->start_mark.line + 1,
		(int)event->start_mark.column + 1, "%s", message);
}

static enum err_code attach(struct builder *b, struct tree_node *node, struct err *reterr)
{
	if (b->depth == 0) {
		b->root = node;
		return OK;
	}
	struct tree_node *parent = b->open[b->depth - 1];
	if (parent->kind == TREE_MAP && !b->key) {
		if (node->kind != TREE_SCALAR)
			return err_set_at(reterr, ERR_INPUT, b->path, node->line, node->column,
				"a key must be a plain word (a value that begins with { or [ needs quotes)");
		b->key = node;
		return OK;
	}
	node->key = take_ptr(b->key);
	if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
	parent->n_children++;
	return OK;
}

static enum err_code open_node(
	struct builder *b, const yaml_event_t *event, struct tree_node *node, struct err *reterr)
{
	if (b->depth == TREE_DEPTH)
		return event_error(b, event, "nested more than 32 levels deep", reterr);
	TRY(attach(b, node, reterr));
	b->open[b->depth++] = node;
	return OK;
}

static int compare_keys(const void *a, const void *b)
{
	const struct tree_node *x = *(const struct tree_node *const *)a;
	const struct tree_node *y = *(const struct tree_node *const *)b;
	int order = strcmp(x->key->text, y->key->text);
	if (order)
		return order;
	if (x->key->line != y->key->line)
		return x->key->line < y->key->line ? -1 : 1;
	return (x->key->column > y->key->column) - (x->key->column < y->key->column);
}

/* By sorting: a file of nothing but keys must not cost quadratic time. */
static enum err_code reject_duplicate_keys(
	const struct builder *b, const struct tree_node *map, struct err *reterr)
{
	CLEANUP(free_ptr) const struct tree_node **sorted = xcalloc(map->n_children + 1, sizeof(*sorted));
	size_t n = 0;
	for (const struct tree_node *child = map->first; child; child = child->next)
		sorted[n++] = child;
	qsort(sorted, n, sizeof(*sorted), compare_keys);
	for (size_t i = 1; i < n; i++)
		if (strcmp(sorted[i - 1]->key->text, sorted[i]->key->text) == 0)
			return err_set_at(reterr, ERR_INPUT, b->path, sorted[i]->key->line,
				sorted[i]->key->column, "key '%s' is already given at line %d",
				printable(sorted[i]->key->text, b->arena), sorted[i - 1]->key->line);
	return OK;
}

static enum err_code close_node(struct builder *b, struct err *reterr)
{
	const struct tree_node *node = b->open[--b->depth];
	return node->kind == TREE_MAP ? reject_duplicate_keys(b, node, reterr) : OK;
}

static struct tree_node *new_node(struct builder *b, const yaml_event_t *event, enum tree_kind kind)
{
	struct tree_node *node = arena_alloc(b->arena, sizeof(*node));
	node->kind = kind;
	node->line = (int)event->start_mark.line + 1;
	node->column = (int)event->start_mark.column + 1;
	return node;
}

static enum err_code add_scalar(struct builder *b, const yaml_event_t *event, struct err *reterr)
{
	const char *value = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;
	if (event->data.scalar.anchor)
		return event_error(b, event, "anchors (&name) are not supported here", reterr);
	if (event->data.scalar.tag)
		return event_error(b, event, "tags (!name) are not supported here", reterr);
	if (memchr(value, '\0', length))
		return event_error(b, event, "a NUL character is not allowed", reterr);
	struct tree_node *node = new_node(b, event, TREE_SCALAR);
	node->text = arena_strndup(b->arena, value, length);
	node->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	return attach(b, node, reterr);
}

static enum err_code add_collection(
	struct builder *b, const yaml_event_t *event, enum tree_kind kind, struct err *reterr)
{
	bool is_map = kind == TREE_MAP;
	if (is_map ? !!event->data.mapping_start.anchor : !!event->data.sequence_start.anchor)
		return event_error(b, event, "anchors (&name) are not supported here", reterr);
	if (is_map ? !!event->data.mapping_start.tag : !!event->data.sequence_start.tag)
		return event_error(b, event, "tags (!name) are not supported here", reterr);
	return open_node(b, event, new_node(b, event, kind), reterr);
}

static enum err_code add_event(struct builder *b, const yaml_event_t *event, struct err *reterr)
{
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return event_error(b, event, "aliases (*name) are not supported here", reterr);
	case YAML_SCALAR_EVENT:
		return add_scalar(b, event, reterr);
	case YAML_SEQUENCE_START_EVENT:
		return add_collection(b, event, TREE_LIST, reterr);
	case YAML_MAPPING_START_EVENT:
		return add_collection(b, event, TREE_MAP, reterr);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_node(b, reterr);
	case YAML_DOCUMENT_START_EVENT:
		return b->root ? event_error(b, event, "only one YAML document is allowed", reterr) : OK;
	default:
		return OK;
	}
}

static enum err_code build(struct builder *b, struct err *reterr)
{
	for (;;) {
		yaml_event_t event;
		if (!yaml_parser_parse(&b->parser, &event))
			return syntax_error(b, reterr);
		bool is_end = event.type == YAML_STREAM_END_EVENT;
		enum err_code code = add_event(b, &event, reterr);
		yaml_event_delete(&event);
		if (code != OK || is_end)
			return code;
	}
}

enum err_code tree_parse(const char *path, const char *text, size_t length, struct arena *arena,
	struct tree_node **ret_root, struct err *reterr)
{
	if (length > TREE_BYTES)
		return err_set_at(
			reterr, ERR_LIMIT, path, 1, 1, "larger than the %d bytes allowed", TREE_BYTES);
	struct builder b = {.path = path, .text = text, .length = length, .arena = arena};
	if (!yaml_parser_initialize(&b.parser))
		die_oom(0);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, length);
	enum err_code code = build(&b, reterr);
	yaml_parser_delete(&b.parser);
	if (code != OK)
		return code;
	if (!b.root)
		return err_set_at(reterr, ERR_INPUT, path, 1, 1, "the file is empty");
	*ret_root = b.root;
	return OK;
}

const struct tree_node *tree_find(const struct tree_node *map, const char *key)
{
	for (const struct tree_node *child = map->first; child; child = child->next)
		if (strcmp(child->key->text, key) == 0)
			return child;
	return NULL;
}

bool tree_is_empty(const struct tree_node *node)
{
	return node->kind == TREE_SCALAR && !node->is_quoted &&
	       (!*node->text || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

const char *printable(const char *text, struct arena *arena)
{
	enum { SHOWN_BYTES = 160 };
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	size_t length = strlen(text), cut = MIN_OF(length, (size_t)SHOWN_BYTES);
	while (cut < length && cut && ((unsigned char)text[cut] & 0xC0) == 0x80)
		cut--; /* not in the middle of a character */
	strbuf_add_escaped(&shown, text, cut);
	if (cut < length)
		strbuf_addstr(&shown, "...");
	return arena_strdup(arena, shown.buf);
}

const char *tree_describe(const struct tree_node *node, struct arena *arena)
{
	if (node->kind == TREE_LIST)
		return "a list";
	if (node->kind == TREE_MAP)
		return "a mapping";
	if (tree_is_empty(node))
		return "an empty value";
	return arena_printf(arena, "'%s'", printable(node->text, arena));
}

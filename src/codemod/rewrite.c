#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "codemod/rewrite.h"

void rewrite_replace(struct rewrite *r, size_t start, size_t end, const char *text)
{
	grow_array(&r->edits, &r->edits_capacity, r->n_edits + 1, sizeof(*r->edits));
	r->edits[r->n_edits++] = (struct edit){start, end, arena_strdup(r->arena, text)};
}

void rewrite_insert(struct rewrite *r, size_t at, const char *text)
{
	rewrite_replace(r, at, at, text);
}

void rewrite_refuse(struct rewrite *r, TSNode node, const char *reason)
{
	if (r->refusal)
		return;
	r->refusal = reason;
	r->refusal_line = (int)ts_node_start_point(node).row + 1;
}

const char *code_text(struct rewrite *r, TSNode node)
{
	if (ts_node_is_null(node))
		return "";
	size_t start = ts_node_start_byte(node);
	return arena_strndup(r->arena, r->file->text + start, ts_node_end_byte(node) - start);
}

const char *node_dense_text(struct rewrite *r, TSNode node)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (const char *p = code_text(r, node); *p; p++)
		if (!strchr(" \t\r\n", *p))
			strbuf_addch(&text, *p);
	return arena_strdup(r->arena, text.buf);
}

bool node_is_kind(TSNode node, const char *kind)
{
	return !ts_node_is_null(node) && strcmp(ts_node_type(node), kind) == 0;
}

bool node_text_is(struct rewrite *r, TSNode node, const char *text)
{
	if (ts_node_is_null(node))
		return false;
	size_t start = ts_node_start_byte(node), length = ts_node_end_byte(node) - start;
	return length == strlen(text) && memcmp(r->file->text + start, text, length) == 0;
}

TSNode code_field(TSNode node, const char *field)
{
	if (ts_node_is_null(node))
		return node;
	return ts_node_child_by_field_name(node, field, (uint32_t)strlen(field));
}

const char *node_indent(struct rewrite *r, TSNode node)
{
	size_t width = ts_node_start_point(node).column, start = ts_node_start_byte(node) - width;
	const char *indent = arena_strndup(r->arena, r->file->text + start, width);
	return strspn(indent, " \t") == width ? indent : NULL;
}

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, size_t length, const char *word)
{
	size_t n = strlen(word);
	for (size_t i = 0; i + n <= length; i++)
		if (memcmp(text + i, word, n) == 0 && (i == 0 || !is_word_byte(text[i - 1])) &&
			(i + n == length || !is_word_byte(text[i + n])))
			return true;
	return false;
}

bool file_has_word(const struct rewrite *r, const char *word)
{
	return has_word(r->file->text, r->file->length, word);
}

bool subtree_has_word(struct rewrite *r, TSNode node, const char *word)
{
	size_t start = ts_node_start_byte(node);
	return has_word(r->file->text + start, ts_node_end_byte(node) - start, word);
}

void visit_kind(struct rewrite *r, TSNode top, const char *kind, visit_fn visit, void *context)
{
	if (ts_node_is_null(top))
		return;
	TSTreeCursor cursor = ts_tree_cursor_new(top);
	for (bool more = true; more; more = syntax_next(&cursor)) {
		TSNode node = ts_tree_cursor_current_node(&cursor);
		if (node_is_kind(node, kind))
			visit(r, node, context);
	}
	ts_tree_cursor_delete(&cursor);
}

static void count_one(struct rewrite *r, TSNode node, void *context)
{
	(void)r, (void)node;
	++*(size_t *)context;
}

size_t count_kind(struct rewrite *r, TSNode top, const char *kind)
{
	size_t n = 0;
	visit_kind(r, top, kind, count_one, &n);
	return n;
}

const char *call_name(struct rewrite *r, TSNode call)
{
	TSNode function = code_field(call, "function");
	return code_text(
		r, node_is_kind(function, "attribute") ? code_field(function, "attribute") : function);
}

TSNode call_keyword(struct rewrite *r, TSNode call, const char *name)
{
	TSNode arguments = code_field(call, "arguments"), none = {0};
	for (uint32_t i = 0; !ts_node_is_null(arguments) && i < ts_node_named_child_count(arguments); i++) {
		TSNode argument = ts_node_named_child(arguments, i);
		if (node_is_kind(argument, "keyword_argument") &&
			node_text_is(r, code_field(argument, "name"), name))
			return code_field(argument, "value");
	}
	return none;
}

bool call_has_splat(TSNode call)
{
	TSNode arguments = code_field(call, "arguments");
	if (!node_is_kind(arguments, "argument_list"))
		return true;
	for (uint32_t i = 0; i < ts_node_named_child_count(arguments); i++) {
		TSNode argument = ts_node_named_child(arguments, i);
		if (node_is_kind(argument, "dictionary_splat") || node_is_kind(argument, "list_splat"))
			return true;
	}
	return false;
}

void call_add_argument(struct rewrite *r, TSNode call, const char *argument)
{
	TSNode arguments = code_field(call, "arguments"), last = {0};
	for (uint32_t i = 0; i < ts_node_named_child_count(arguments); i++)
		if (!node_is_kind(ts_node_named_child(arguments, i), "comment"))
			last = ts_node_named_child(arguments, i);
	if (ts_node_is_null(last))
		rewrite_insert(r, ts_node_start_byte(arguments) + 1, argument);
	else
		rewrite_insert(r, ts_node_end_byte(last), arena_printf(r->arena, ", %s", argument));
	r->n_places++;
}

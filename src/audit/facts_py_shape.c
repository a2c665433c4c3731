#include "base/base.h"

#include <string.h>

#include "audit/facts_py_int.h"
#include "base/memory.h"

enum { LEAVES_DEPTH_CAP = 40 };

TSNode py_child_of_type(TSNode node, const char *type)
{
	uint32_t count = node_count(node, 64u);
	for (uint32_t i = 0; i < count; i++) {
		TSNode child = node_named(node, i);
		if (node_is(child, type))
			return child;
	}
	return (TSNode){0};
}

TSNode py_bare(TSNode node)
{
	for (int i = 0; i < SYNTAX_DEPTH_CAP && node_is(node, "parenthesized_expression"); i++)
		node = node_named(node, 0);
	return node;
}

const char *py_string_content(struct walker *w, TSNode string)
{
	const char *text = walk_text(w, string);
	const char *from = strpbrk(text, "\"'");
	if (!from)
		return text;
	char quote = *from;
	while (*from == quote)
		from++;
	size_t length = strcspn(from, "\"'");
	return arena_strndup(w->arena, from, length);
}

/* x["lr"] is about lr, x[i] about x. */
static TSNode subscripted(TSNode node, bool *is_key)
{
	TSNode key = node_field(node, "subscript");
	*is_key = node_is(key, "string");
	return *is_key ? key : node_field(node, "value");
}

/* Nodes that are about what their first child is about. */
static bool is_transparent(TSNode node)
{
	static const char *const types[] = {"parenthesized_expression", "list_splat", "list_splat_pattern",
		"dictionary_splat_pattern", "await", "typed_parameter", "as_pattern", "as_pattern_target",
		"pattern_list", "tuple_pattern"};
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (node_is(node, types[i]))
			return true;
	return false;
}

const char *py_subject(struct walker *w, TSNode node)
{
	for (int i = 0; i < SYNTAX_DEPTH_CAP && !ts_node_is_null(node); i++) {
		bool is_key = false;
		if (node_is(node, "identifier"))
			return walk_text(w, node);
		if (node_is(node, "attribute"))
			return walk_text(w, node_field(node, "attribute"));
		if (node_is(node, "subscript"))
			node = subscripted(node, &is_key);
		else if (node_is(node, "call"))
			node = node_field(node, "function");
		else
			node = is_transparent(node) ? node_named(node, 0) : (TSNode){0};
		if (is_key)
			return py_string_content(w, node);
	}
	return "";
}

const char *py_receiver(struct walker *w, TSNode function)
{
	for (int i = 0; i < SYNTAX_DEPTH_CAP && !ts_node_is_null(function); i++) {
		if (node_is(function, "attribute"))
			return walk_text(w, node_field(function, "object"));
		if (node_is(function, "subscript"))
			function = node_field(function, "value");
		else
			function = py_bare(function);
		if (!node_is(function, "attribute") && !node_is(function, "subscript"))
			return "";
	}
	return "";
}

const char *py_negated(struct walker *w, const char *condition)
{
	return strncmp(condition, "! ", 2) == 0 ? condition + 2 : arena_printf(w->arena, "! %s", condition);
}

const char *py_condition(struct walker *w, TSNode condition, bool negated)
{
	for (int i = 0; i < SYNTAX_DEPTH_CAP; i++) {
		condition = py_bare(condition);
		if (!node_is(condition, "not_operator"))
			break;
		condition = node_field(condition, "argument");
		negated = !negated;
	}
	return arena_printf(w->arena, "%s( %s )", negated ? "! " : "", walk_text(w, condition));
}

bool py_is_jump(TSNode node)
{
	return node_is(node, "return_statement") || node_is(node, "break_statement") ||
	       node_is(node, "continue_statement") || node_is(node, "raise_statement");
}

static TSNode last_statement(TSNode block)
{
	uint32_t count = node_count(block, UINT32_MAX);
	return count ? node_named(block, count - 1) : (TSNode){0};
}

bool py_always_leaves(TSNode statement)
{
	for (int i = 0; i < LEAVES_DEPTH_CAP; i++) {
		if (py_is_jump(statement))
			return true;
		TSNode block = {0};
		if (node_is(statement, "with_statement"))
			block = node_field(statement, "body");
		else if (node_is(statement, "try_statement"))
			block = py_child_of_type(py_child_of_type(statement, "finally_clause"), "block");
		if (ts_node_is_null(block))
			return false;
		statement = last_statement(block);
	}
	return false;
}

static bool is_definition(TSNode node)
{
	return node_is(node, "function_definition") || node_is(node, "class_definition") ||
	       node_is(node, "lambda");
}

/* sys.exit(1), os.abort(): not sys.exit(0), which is no error. */
static bool ends_in_failure(struct walker *w, TSNode call)
{
	static const char *const fatal[] = {"exit", "abort", "_exit", "quit", "fatal"};
	const char *callee = py_subject(w, node_field(call, "function"));
	TSNode status = node_named(node_field(call, "arguments"), 0);
	for (size_t i = 0; i < ARRAY_LEN(fatal); i++)
		if (strcmp(callee, fatal[i]) == 0)
			return callee[0] == 'a' || callee[0] == 'f' ||
			       (!ts_node_is_null(status) && strcmp(walk_text(w, status), "0") != 0);
	return false;
}

bool py_leaves(struct walker *w, TSNode node, bool in_loop, int depth, bool *error)
{
	if (depth > LEAVES_DEPTH_CAP || ts_node_is_null(node) || is_definition(node))
		return false;
	if (node_is(node, "raise_statement")) {
		*error = true;
		return true;
	}
	if (node_is(node, "return_statement"))
		return true;
	if (node_is(node, "break_statement") || node_is(node, "continue_statement"))
		return !in_loop;
	bool is_loop = node_is(node, "for_statement") || node_is(node, "while_statement");
	bool found = false;
	if (node_is(node, "call") && ends_in_failure(w, node))
		found = *error = true;
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do
			found |= py_leaves(w, ts_tree_cursor_current_node(&cursor), in_loop || is_loop,
				depth + 1, error);
		while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
	return found;
}

bool py_raises(TSNode body, int depth)
{
	if (depth > LEAVES_DEPTH_CAP || ts_node_is_null(body) || is_definition(body))
		return false;
	if (node_is(body, "raise_statement"))
		return true;
	bool found = false;
	uint32_t count = node_count(body, 1000);
	TSTreeCursor cursor = ts_tree_cursor_new(body);
	if (count && ts_tree_cursor_goto_first_child(&cursor))
		do
			found |= py_raises(ts_tree_cursor_current_node(&cursor), depth + 1);
		while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
	return found;
}

TSNode py_keyword(struct walker *w, TSNode arguments, const char *name)
{
	uint32_t count = node_count(arguments, 64u);
	for (uint32_t i = 0; i < count; i++) {
		TSNode child = node_named(arguments, i);
		if (node_is(child, "keyword_argument") &&
			strcmp(walk_text(w, node_field(child, "name")), name) == 0)
			return node_field(child, "value");
	}
	return (TSNode){0};
}

#include "base/base.h"

#include <string.h>

#include "audit/facts_c_int.h"
#include "base/memory.h"

/* The name that an expression is about: the last field, the array's or the pointer's variable. */
const char *c_subject(struct walker *w, TSNode node)
{
	for (int i = 0; i < SYNTAX_DEPTH_CAP && !ts_node_is_null(node); i++) {
		if (node_is(node, "field_expression"))
			return walk_text(w, node_field(node, "field"));
		if (node_is(node, "subscript_expression") || node_is(node, "pointer_expression"))
			node = node_field(node, "argument");
		else if (node_is(node, "call_expression"))
			node = node_field(node, "function");
		else if (node_is(node, "cast_expression"))
			node = node_field(node, "value");
		else if (node_is(node, "binary_expression"))
			node = node_field(node, "left");
		else if (node_is(node, "parenthesized_expression") || node_is(node, "update_expression") ||
			 node_is(node, "field_designator") || node_is(node, "subscript_designator"))
			node = node_named(node, 0);
		else
			return walk_text(w, node);
	}
	return "";
}

/* The identifier inside a declarator, and what stands around it. */
TSNode c_declared(TSNode node, unsigned *flags)
{
	for (int i = 0; i < SYNTAX_DEPTH_CAP && !ts_node_is_null(node); i++) {
		if (node_is(node, "pointer_declarator"))
			*flags |= DECLARE_POINTER;
		else if (node_is(node, "array_declarator"))
			*flags |= DECLARE_ARRAY;
		else if (node_is(node, "function_declarator"))
			*flags |= DECLARE_FUNCTION;
		else if (node_is(node, "identifier") || node_is(node, "field_identifier"))
			return node;
		TSNode inner = node_field(node, "declarator");
		node = ts_node_is_null(inner) ? node_named(node, 0) : inner;
	}
	return node;
}

static bool is_loop(TSNode node)
{
	return node_is(node, "for_statement") || node_is(node, "while_statement") ||
	       node_is(node, "do_statement");
}

static bool returns_error(struct walker *w, TSNode node)
{
	const char *value = walk_text(w, node_named(node, 0));
	return value[0] == '-' || strcmp(value, "NULL") == 0 || strcmp(value, "false") == 0 ||
	       strcmp(value, "EXIT_FAILURE") == 0;
}

/* Whether a branch leaves the sequence it stands in, and whether that is an error path. */
bool c_leaves(struct walker *w, TSNode node, bool in_loop, int depth, bool *error)
{
	static const char *const fatal[] = {"exit", "abort", "_exit", "perror", "err", "errx", "die"};
	if (depth > 40)
		return false;
	if (node_is(node, "return_statement")) {
		*error |= returns_error(w, node);
		return true;
	}
	if (node_is(node, "goto_statement"))
		return true;
	if (node_is(node, "break_statement") || node_is(node, "continue_statement"))
		return !in_loop;
	if (node_is(node, "call_expression")) {
		const char *callee = walk_text(w, node_field(node, "function"));
		for (size_t i = 0; i < ARRAY_LEN(fatal); i++)
			*error |= strcmp(callee, fatal[i]) == 0;
	}
	bool found = false;
	uint32_t count = ts_node_named_child_count(node);
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (count && ts_tree_cursor_goto_first_child(&cursor))
		do
			found |= c_leaves(w, ts_tree_cursor_current_node(&cursor), in_loop || is_loop(node),
				depth + 1, error);
		while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
	return found;
}

bool c_is_jump(TSNode node)
{
	return node_is(node, "return_statement") || node_is(node, "goto_statement") ||
	       node_is(node, "break_statement") || node_is(node, "continue_statement");
}

static bool is_comparison(const char *op)
{
	static const char *const ops[] = {"<", "<=", ">", ">=", "!="};
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (strcmp(op, ops[i]) == 0)
			return true;
	return false;
}

/* The variable and its bound, from the first comparison of the condition. */
void c_read_bound(struct walker *w, TSNode condition, const char **name, const char **bound)
{
	for (int i = 0; i < 64 && !ts_node_is_null(condition); i++) {
		if (node_is(condition, "parenthesized_expression")) {
			condition = node_named(condition, 0);
			continue;
		}
		if (!node_is(condition, "binary_expression"))
			break;
		TSNode left = node_field(condition, "left");
		if (is_comparison(walk_text(w, node_field(condition, "operator")))) {
			*name = c_subject(w, left);
			*bound = walk_text(w, node_field(condition, "right"));
			return;
		}
		condition = left;
	}
	*name = c_subject(w, condition);
	*bound = walk_text(w, condition);
}

const char *c_initial_value(struct walker *w, TSNode init)
{
	for (int i = 0; i < 8 && !ts_node_is_null(init); i++) {
		TSNode right = node_field(init, node_is(init, "assignment_expression") ? "right" : "value");
		if (!ts_node_is_null(right))
			return walk_text(w, right);
		init = node_is(init, "comma_expression") ? node_field(init, "left")
							 : node_field(init, "declarator");
	}
	return "";
}

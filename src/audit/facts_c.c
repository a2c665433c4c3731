#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "audit/facts_c_int.h"
#include "base/memory.h"

static const char *negated(struct walker *w, const char *text)
{
	return arena_printf(w->arena, "! %s", text);
}

/* ---- statements that guard others ---- */

/* After `if (x) return;` everything that follows in the block depends on x; after `return;` nothing runs. */
static void after_statement(struct walker *w, TSNode statement, struct scope *scope)
{
	bool error = false;
	const char *text = NULL;
	if (node_is(statement, "if_statement") && c_leaves(w, statement, false, 0, &error))
		text = negated(w, walk_text(w, node_field(statement, "condition")));
	else if (c_is_jump(statement))
		text = "never";
	if (!text)
		return;
	scope->guards = walk_guard_after(w, scope, text, statement, error);
}

static void walk_sequence(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode child = ts_tree_cursor_current_node(&cursor);
			if (node_is(child, "case_statement") || node_is(child, "labeled_statement"))
				scope.guards = outer->guards;
			walk_node(w, child, &scope);
			after_statement(w, child, &scope);
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
}

static void walk_branch(struct walker *w, TSNode node, const struct scope *scope)
{
	bool is_if = node_is(node, "if_statement");
	TSNode condition = node_field(node, "condition");
	const char *text = walk_text(w, condition);
	struct fact *fact = walk_add(w, FACT_BRANCH, node, is_if ? "if" : "?:", text, scope);
	fact->value = text;
	walk_node(w, condition, scope);
	struct scope inner = *scope;
	inner.guards = walk_guard(w, scope, GUARD_IF, text, node);
	walk_node(w, node_field(node, "consequence"), &inner);
	inner.guards = walk_guard(w, scope, GUARD_IF, negated(w, text), node);
	walk_node(w, node_field(node, "alternative"), &inner);
}

static void walk_switch(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode condition = node_field(node, "condition");
	const char *text = walk_text(w, condition);
	walk_add(w, FACT_BRANCH, node, "switch", text, scope)->value = text;
	walk_node(w, condition, scope);
	walk_node(w, node_field(node, "body"), scope);
}

static void walk_case(struct walker *w, TSNode node, const struct scope *scope)
{
	struct scope inner = *scope;
	const char *text = arena_printf(w->arena, "case %s", walk_text(w, node_field(node, "value")));
	inner.guards = walk_guard(w, scope, GUARD_CASE, text, node);
	walk_sequence(w, node, &inner);
}

static void walk_conditional_directive(struct walker *w, TSNode node, const struct scope *scope)
{
	bool has_condition = !ts_node_is_null(node_field(node, "condition"));
	TSNode condition = node_field(node, has_condition ? "condition" : "name");
	TSNode keyword = node_child(node, 0);
	const char *text = arena_printf(w->arena, "%s %s", walk_text(w, keyword), walk_text(w, condition));
	struct scope inner = *scope, other = *scope;
	inner.guards = walk_guard(w, scope, GUARD_DIRECTIVE, text, node);
	other.guards = walk_guard(w, scope, GUARD_DIRECTIVE, negated(w, text), node);
	TSNode alternative = node_field(node, "alternative");
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode child = ts_tree_cursor_current_node(&cursor);
			bool is_other = !ts_node_is_null(alternative) && ts_node_eq(child, alternative);
			struct scope *part = is_other ? &other : &inner;
			walk_node(w, child, part);
			after_statement(w, child, part);
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
}

/* && and || decide whether their right side runs. */
static void walk_binary(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode left = node_field(node, "left"), right = node_field(node, "right");
	const char *op = walk_text(w, node_field(node, "operator"));
	if (strcmp(op, "&&") == 0 || strcmp(op, "||") == 0) {
		struct scope inner = *scope;
		const char *text = walk_text(w, left);
		inner.guards = walk_guard(w, scope, GUARD_IF, op[0] == '&' ? text : negated(w, text), node);
		walk_node(w, left, scope);
		walk_node(w, right, &inner);
		return;
	}
	struct fact *fact = walk_add(w, FACT_BINARY, node, op, walk_text(w, node), scope);
	fact->op = op;
	fact->init = walk_text(w, left);
	fact->value = walk_text(w, right);
	walk_children(w, node, scope);
}

/* ---- loops ---- */

static void walk_loop(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode condition = node_field(node, "condition"), init = node_field(node, "initializer");
	TSNode update = node_field(node, "update"), body = node_field(node, "body");
	const char *name = "", *bound = "", *step = walk_text(w, update);
	c_read_bound(w, condition, &name, &bound);
	const char *text =
		arena_printf(w->arena, "%s ; %s ; %s", walk_text(w, init), walk_text(w, condition), step);
	struct fact *fact = walk_add(w, FACT_LOOP, node, name, text, scope);
	fact->value = bound;
	fact->init = c_initial_value(w, init);
	fact->step = step;
	fact->condition = walk_text(w, condition);
	walk_node(w, init, scope);
	struct scope inner = *scope;
	inner.loops++;
	inner.guards = walk_guard(w, scope, GUARD_LOOP, walk_text(w, condition), node);
	walk_node(w, condition, &inner);
	walk_node(w, update, &inner);
	walk_node(w, body, &inner);
}

/* ---- plain facts ---- */

static void walk_call(struct walker *w, TSNode node, const struct scope *scope)
{
	struct fact *fact = walk_add(
		w, FACT_CALL, node, c_subject(w, node_field(node, "function")), walk_text(w, node), scope);
	fact->value = walk_text(w, node_field(node, "arguments"));
	walk_children(w, node, scope);
}

static void walk_assignment(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode left = node_field(node, "left");
	struct fact *fact = walk_add(w, FACT_ASSIGN, node, c_subject(w, left), walk_text(w, node), scope);
	fact->op = walk_text(w, node_field(node, "operator"));
	fact->init = walk_text(w, left);
	fact->value = walk_text(w, node_field(node, "right"));
	walk_children(w, node, scope);
}

static void walk_count(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode argument = node_field(node, "argument");
	const char *name = c_subject(w, argument);
	struct fact *fact = walk_add(w, FACT_ASSIGN, node, name, walk_text(w, node), scope);
	fact->op = walk_text(w, node_field(node, "operator"));
	fact->init = walk_text(w, argument);
	walk_children(w, node, scope);
}

static void walk_initializer_pair(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode designator = node_field(node, "designator");
	struct fact *fact =
		walk_add(w, FACT_ASSIGN, node, c_subject(w, designator), walk_text(w, node), scope);
	fact->op = ":";
	fact->init = walk_text(w, designator);
	fact->value = walk_text(w, node_field(node, "value"));
	walk_children(w, node, scope);
}

static unsigned storage_flags(struct walker *w, TSNode declaration, const struct scope *scope)
{
	unsigned flags = scope->function[0] ? 0 : DECLARE_STATIC;
	uint32_t count = MIN_OF(ts_node_named_child_count(declaration), 16u);
	for (uint32_t i = 0; i < count; i++) {
		TSNode child = node_named(declaration, i);
		const char *text;
		if (!node_is(child, "storage_class_specifier") && !node_is(child, "type_qualifier"))
			continue;
		text = walk_text(w, child);
		if (strcmp(text, "const") == 0 || strcmp(text, "constexpr") == 0)
			flags |= DECLARE_CONST;
		if (strcmp(text, "static") == 0 || strcmp(text, "_Thread_local") == 0 ||
			strcmp(text, "__thread") == 0 || strcmp(text, "thread_local") == 0)
			flags |= DECLARE_STATIC;
	}
	return flags;
}

static void add_declared(
	struct walker *w, TSNode declarator, const char *type, unsigned flags, const struct scope *scope)
{
	TSNode value = node_field(declarator, "value");
	TSNode identifier = c_declared(declarator, &flags);
	const char *name = walk_text(w, identifier);
	const char *text = arena_printf(w->arena, "%s %s%s%s", type, flags & DECLARE_STATIC ? "static " : "",
		flags & DECLARE_POINTER ? "* " : "", name);
	struct fact *fact = walk_add(w, FACT_DECLARE, declarator, name, text, scope);
	fact->flags = flags;
	fact->value = type;
	if (!node_is(declarator, "init_declarator") || ts_node_is_null(value))
		return;
	fact = walk_add(w, FACT_ASSIGN, declarator, name, walk_text(w, declarator), scope);
	fact->op = "=";
	fact->init = name;
	fact->value = walk_text(w, value);
}

static void walk_declaration(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *type = walk_text(w, node_field(node, "type"));
	unsigned flags = 0;
	if (node_is(node, "parameter_declaration"))
		flags = DECLARE_PARAMETER;
	else if (node_is(node, "field_declaration"))
		flags = DECLARE_FIELD;
	else
		flags = storage_flags(w, node, scope);
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do {
			const char *field = ts_tree_cursor_current_field_name(&cursor);
			if (field && strcmp(field, "declarator") == 0)
				add_declared(w, ts_tree_cursor_current_node(&cursor), type, flags, scope);
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
	walk_children(w, node, scope);
}

static void walk_function(struct walker *w, TSNode node, const struct scope *scope)
{
	unsigned flags = 0;
	const char *name = walk_text(w, c_declared(node_field(node, "declarator"), &flags));
	struct scope inner = {.function = name, .guards = scope->guards};
	walk_add(w, FACT_FUNCTION, node, name, name, scope)->value = walk_text(w, node_field(node, "type"));
	walk_children(w, node, &inner);
}

static void walk_define(struct walker *w, TSNode node, const struct scope *scope)
{
	struct fact *fact = walk_add(
		w, FACT_DEFINE, node, walk_text(w, node_field(node, "name")), walk_text(w, node), scope);
	fact->value = walk_text(w, node_field(node, "value"));
	fact->init = walk_text(w, node_field(node, "parameters"));
}

static void walk_include(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *path = walk_text(w, node_field(node, "path"));
	walk_add(w, FACT_INCLUDE, node, path, path, scope);
}

static void walk_cast(struct walker *w, TSNode node, const struct scope *scope)
{
	struct fact *fact = walk_add(
		w, FACT_CAST, node, walk_text(w, node_field(node, "type")), walk_text(w, node), scope);
	fact->value = walk_text(w, node_field(node, "value"));
	walk_children(w, node, scope);
}

static void walk_attribute(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *text = walk_text(w, node);
	walk_add(w, FACT_ATTRIBUTE, node, text, text, scope);
	walk_children(w, node, scope);
}

static void walk_asm(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *text = walk_text(w, node);
	walk_add(w, FACT_ASM, node, text, text, scope);
	walk_children(w, node, scope);
}

/* Sorted by type. */
static const struct walk_handler handlers[] = {
	{"assignment_expression", walk_assignment, 0},
	{"attribute_declaration", walk_attribute, 0},
	{"attribute_specifier", walk_attribute, 0},
	{"binary_expression", walk_binary, 0},
	{"break_statement", walk_exit, 0},
	{"call_expression", walk_call, 0},
	{"case_statement", walk_case, 0},
	{"cast_expression", walk_cast, 0},
	{"compound_statement", walk_sequence, 0},
	{"conditional_expression", walk_branch, 0},
	{"continue_statement", walk_exit, 0},
	{"declaration", walk_declaration, 0},
	{"do_statement", walk_loop, 0},
	{"field_declaration", walk_declaration, 0},
	{"field_identifier", NULL, FACT_NAME},
	{"for_statement", walk_loop, 0},
	{"function_definition", walk_function, 0},
	{"gnu_asm_expression", walk_asm, 0},
	{"goto_statement", walk_exit, 0},
	{"identifier", NULL, FACT_NAME},
	{"if_statement", walk_branch, 0},
	{"initializer_pair", walk_initializer_pair, 0},
	{"parameter_declaration", walk_declaration, 0},
	{"preproc_call", NULL, FACT_DIRECTIVE},
	{"preproc_def", walk_define, 0},
	{"preproc_elif", walk_conditional_directive, 0},
	{"preproc_elifdef", walk_conditional_directive, 0},
	{"preproc_function_def", walk_define, 0},
	{"preproc_if", walk_conditional_directive, 0},
	{"preproc_ifdef", walk_conditional_directive, 0},
	{"preproc_include", walk_include, 0},
	{"primitive_type", NULL, FACT_NAME},
	{"return_statement", walk_exit, 0},
	{"string_literal", NULL, FACT_STRING},
	{"switch_statement", walk_switch, 0},
	{"type_identifier", NULL, FACT_NAME},
	{"update_expression", walk_count, 0},
	{"while_statement", walk_loop, 0},
};

enum err_code facts_read_c(struct source *source, struct arena *arena, struct err *reterr)
{
	return walk_source(source, handlers, ARRAY_LEN(handlers), arena, reterr);
}

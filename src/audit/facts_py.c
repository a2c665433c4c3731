/* Reads a Python tree: definitions and statements. Expressions and their parts: facts_py_parts.c. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "audit/facts_py_int.h"
#include "base/memory.h"

/* ---- sequences and what guards them ---- */

/* After `if x: return` the rest of the block depends on x; so it does after an elif or else that leaves. */
static void after_if(struct walker *w, TSNode statement, struct scope *scope)
{
	TSTreeCursor cursor = ts_tree_cursor_new(statement);
	const char *condition = py_condition(w, node_field(statement, "condition"), true);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode part = ts_tree_cursor_current_node(&cursor);
			bool error = false;
			if (node_is(part, "elif_clause"))
				condition = py_condition(w, node_field(part, "condition"), true);
			else if (node_is(part, "else_clause"))
				condition = py_negated(w, condition);
			else if (!node_is(part, "block"))
				continue;
			if (py_leaves(w, part, false, 0, &error))
				scope->guards = walk_guard_after(w, scope, condition, statement, error);
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
}

static void after_statement(struct walker *w, TSNode statement, struct scope *scope)
{
	if (node_is(statement, "if_statement"))
		after_if(w, statement, scope);
	else if (py_always_leaves(statement))
		scope->guards =
			walk_guard_after(w, scope, "never", statement, node_is(statement, "raise_statement"));
}

static bool is_docstring(TSNode statement)
{
	return node_is(statement, "expression_statement") && node_count(statement, 1000) == 1 &&
	       node_is(node_named(statement, 0), "string");
}

static void walk_sequence(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode child = ts_tree_cursor_current_node(&cursor);
			if (is_docstring(child))
				continue;
			walk_node(w, child, &scope);
			after_statement(w, child, &scope);
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
}

/* ---- branches ---- */

static void walk_part(struct walker *w, TSNode part, const char *condition, TSNode whole, struct scope *scope)
{
	struct scope inner = *scope;
	inner.guards = walk_guard_inside(w, scope, GUARD_IF, condition, whole, part);
	walk_node(w, part, &inner);
}

static void add_branch(
	struct walker *w, const char *name, TSNode node, const char *condition, const struct scope *scope)
{
	walk_add(w, FACT_BRANCH, node, name, condition, scope)->value = condition;
}

/* Every elif and else depends on what stands before it too. */
static void walk_if(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	const char *condition = py_condition(w, node_field(node, "condition"), false);
	add_branch(w, "if", node, condition, &scope);
	walk_node(w, node_field(node, "condition"), &scope);
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode part = ts_tree_cursor_current_node(&cursor);
			if (node_is(part, "block")) {
				walk_part(w, part, condition, node, &scope);
				continue;
			}
			bool is_elif = node_is(part, "elif_clause");
			if (!is_elif && !node_is(part, "else_clause"))
				continue;
			scope.guards =
				walk_guard_inside(w, &scope, GUARD_IF, py_negated(w, condition), node, part);
			if (is_elif) {
				condition = py_condition(w, node_field(part, "condition"), false);
				add_branch(w, "elif", part, condition, &scope);
				walk_node(w, node_field(part, "condition"), &scope);
				walk_part(w, node_field(part, "consequence"), condition, node, &scope);
			} else {
				walk_node(w, node_field(part, "body"), &scope);
			}
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
}

/* a if condition else b */
static void walk_choice(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	TSNode parts[3];
	uint32_t n = 0, count = node_count(node, 16u);
	for (uint32_t i = 0; i < count && n < 3; i++) {
		TSNode child = node_named(node, i);
		if (!node_is(child, "comment"))
			parts[n++] = child;
	}
	if (n < 3) {
		walk_children(w, node, outer);
		return;
	}
	const char *condition = py_condition(w, parts[1], false);
	add_branch(w, "?:", node, condition, outer);
	walk_part(w, parts[0], condition, node, &scope);
	walk_node(w, parts[1], outer);
	walk_part(w, parts[2], py_negated(w, condition), node, &scope);
}

/* `and` and `or` decide whether their right side runs. */
static void walk_boolean(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	TSNode left = node_field(node, "left");
	bool is_or = node_is(node_field(node, "operator"), "or");
	walk_node(w, left, outer);
	walk_part(w, node_field(node, "right"), py_condition(w, left, is_or), node, &scope);
}

static void walk_match(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode subject = node_field(node, "subject");
	add_branch(w, "match", node, arena_printf(w->arena, "( %s )", walk_text(w, subject)), scope);
	walk_node(w, subject, scope);
	walk_children(w, node_field(node, "body"), scope);
}

static void walk_case(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	TSNode match = node_parent(node_parent(node)), guard = node_field(node, "guard");
	const char *pattern = walk_text(w, py_child_of_type(node, "case_pattern"));
	const char *text =
		arena_printf(w->arena, "( %s case %s )", walk_text(w, node_field(match, "subject")), pattern);
	scope.guards = walk_guard_inside(w, outer, GUARD_CASE, text, match, node);
	if (!ts_node_is_null(guard)) {
		TSNode condition = node_named(guard, 0);
		const char *further = py_condition(w, condition, false);
		add_branch(w, "case", node, further, &scope);
		walk_node(w, condition, &scope);
		scope.guards = walk_guard_inside(w, &scope, GUARD_IF, further, node, node);
	}
	walk_node(w, node_field(node, "consequence"), &scope);
}

/* ---- loops ---- */

/* for i in range(n): the same facts as for (i = 0; i < n; i++). */
static bool read_range(struct walker *w, TSNode right, struct fact *loop)
{
	const char *part[3] = {NULL};
	size_t n = 0;
	TSNode arguments = node_field(right, "arguments");
	if (!node_is(right, "call") || strcmp(walk_text(w, node_field(right, "function")), "range") != 0 ||
		!node_is(arguments, "argument_list"))
		return false;
	uint32_t count = node_count(arguments, 8u);
	for (uint32_t i = 0; i < count; i++) {
		TSNode child = node_named(arguments, i);
		if (node_is(child, "comment"))
			continue;
		if (n == 3 || node_is(child, "list_splat"))
			return false;
		part[n++] = walk_text(w, child);
	}
	if (n == 0)
		return false;
	const char *stride = n == 3 ? part[2] : NULL;
	loop->init = n == 1 ? "0" : part[0];
	loop->value = n == 1 ? part[0] : part[1];
	loop->step = stride ? arena_printf(w->arena, "%s += %s", loop->name, stride)
			    : arena_printf(w->arena, "%s ++", loop->name);
	loop->condition = arena_printf(
		w->arena, "%s %s %s", loop->name, stride && stride[0] == '-' ? ">" : "<", loop->value);
	return true;
}

/* The scope of the body. */
static struct scope enter_loop(
	struct walker *w, TSNode node, TSNode left, TSNode right, const struct scope *outer)
{
	struct scope scope = *outer;
	const char *over = walk_text(w, right);
	const char *text = arena_printf(w->arena, "%s in %s", walk_text(w, left), over);
	struct fact *loop = walk_add(w, FACT_LOOP, node, py_subject(w, left), text, outer);
	struct fact range = *loop;
	if (read_range(w, py_bare(right), &range)) {
		*loop = range;
	} else {
		loop->value = over;
		loop->op = "in";
	}
	walk_node(w, right, outer);
	walk_node(w, left, outer);
	scope.loops++;
	scope.guards = walk_guard(w, outer, GUARD_LOOP, text, node);
	return scope;
}

static void walk_for(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = enter_loop(w, node, node_field(node, "left"), node_field(node, "right"), outer);
	walk_node(w, node_field(node, "body"), &scope);
	walk_node(w, node_field(node_field(node, "alternative"), "body"), outer);
}

static void walk_while(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	TSNode condition = py_bare(node_field(node, "condition"));
	const char *text = walk_text(w, condition), *name = "", *bound = text;
	if (node_is(condition, "comparison_operator") && node_count(condition, 1000) >= 2) {
		name = py_subject(w, node_named(condition, 0));
		bound = walk_text(w, node_named(condition, 1));
	}
	struct fact *loop = walk_add(w, FACT_LOOP, node, name, text, outer);
	loop->value = bound;
	loop->condition = text;
	loop->op = "while";
	scope.loops++;
	scope.guards = walk_guard(w, outer, GUARD_LOOP, text, node);
	walk_node(w, condition, &scope);
	walk_node(w, node_field(node, "body"), &scope);
	walk_node(w, node_field(node_field(node, "alternative"), "body"), outer);
}

/* [f(x) for x in xs if c] */
static void walk_comprehension(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode part = ts_tree_cursor_current_node(&cursor);
			if (node_is(part, "for_in_clause")) {
				scope = enter_loop(
					w, part, node_field(part, "left"), node_field(part, "right"), &scope);
			} else if (node_is(part, "if_clause")) {
				TSNode condition = node_named(part, 0);
				const char *text = py_condition(w, condition, false);
				add_branch(w, "filter", part, text, &scope);
				walk_node(w, condition, &scope);
				scope.guards = walk_guard_inside(w, &scope, GUARD_IF, text, node, node);
			}
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
	walk_node(w, node_field(node, "body"), &scope);
}

/* ---- definitions ---- */

static bool is_mutable(TSNode value)
{
	return node_is(value, "list") || node_is(value, "dictionary") || node_is(value, "set") ||
	       node_is(value, "call") || node_is(value, "list_comprehension");
}

static void walk_parameter(
	struct walker *w, TSNode node, const struct scope *inner, const struct scope *outer)
{
	TSNode name = node_field(node, "name"), value = node_field(node, "value");
	const char *text = py_subject(w, ts_node_is_null(name) ? node : name);
	if (!text[0])
		return;
	walk_add(w, FACT_NAME, node, text, text, inner);
	struct fact *fact = walk_add(w, FACT_DECLARE, node, text, text, inner);
	fact->flags = DECLARE_PARAMETER | (is_mutable(value) ? DECLARE_STATIC : 0);
	fact->value = walk_text(w, value);
	if (ts_node_is_null(value))
		return;
	const char *whole = arena_printf(w->arena, "%s = %s", text, fact->value);
	const char *given = fact->value;
	fact = walk_add(w, FACT_ASSIGN, node, text, whole, inner);
	fact->op = ":";
	fact->init = text;
	fact->value = given;
	fact->flags = DECLARE_PARAMETER;
	walk_node(w, value, outer);
}

static void walk_parameters(
	struct walker *w, TSNode parameters, const struct scope *inner, const struct scope *outer)
{
	TSTreeCursor cursor = ts_tree_cursor_new(parameters);
	if (!ts_node_is_null(parameters) && ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode child = ts_tree_cursor_current_node(&cursor);
			if (ts_node_is_named(child))
				walk_parameter(w, child, inner, outer);
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
}

static void walk_function(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *name = walk_text(w, node_field(node, "name"));
	const char *qualified = arena_printf(w->arena, "%s%s", scope->prefix, name);
	struct scope inner = {.function = qualified,
		.guards = scope->guards,
		.prefix = arena_printf(w->arena, "%s.", qualified),
		.callee = ""};
	struct fact *fact = walk_add(w, FACT_FUNCTION, node, qualified, qualified, scope);
	fact->init = name;
	fact->value = walk_text(w, node_field(node, "parameters"));
	fact->flags = scope->in_class ? DECLARE_FIELD : 0;
	walk_parameters(w, node_field(node, "parameters"), &inner, scope);
	walk_node(w, node_field(node, "body"), &inner);
}

static void walk_class(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *name = walk_text(w, node_field(node, "name"));
	TSNode bases = node_field(node, "superclasses");
	struct scope inner = *scope;
	inner.prefix = arena_printf(w->arena, "%s%s.", scope->prefix, name);
	inner.in_class = true;
	walk_add(w, FACT_CLASS, node, name, arena_printf(w->arena, "class %s %s", name, walk_text(w, bases)),
		scope)
		->value = walk_text(w, bases);
	walk_node(w, bases, scope);
	walk_node(w, node_field(node, "body"), &inner);
}

static void walk_decorated(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode definition = node_field(node, "definition");
	const char *name =
		arena_printf(w->arena, "%s%s", scope->prefix, walk_text(w, node_field(definition, "name")));
	uint32_t count = node_count(node, 64u);
	for (uint32_t i = 0; i < count; i++) {
		TSNode child = node_named(node, i);
		if (!node_is(child, "decorator"))
			continue;
		TSNode expression = node_named(child, 0);
		const char *value = walk_text(w, expression);
		struct fact *fact = walk_add(w, FACT_DECORATOR, child, py_subject(w, expression),
			arena_printf(w->arena, "@ %s of %s", value, name), scope);
		fact->value = value;
		fact->function = name;
		walk_node(w, expression, scope);
	}
	walk_node(w, definition, scope);
}

/* ---- plain statements ---- */

static void walk_assert(struct walker *w, TSNode node, const struct scope *scope)
{
	struct fact *fact = walk_add(w, FACT_CALL, node, "assert", walk_text(w, node), scope);
	fact->value = walk_text(w, node_named(node, 0));
	walk_children(w, node, scope);
}

static void walk_outer_names(struct walker *w, TSNode node, const struct scope *scope)
{
	uint32_t count = node_count(node, 64u);
	for (uint32_t i = 0; i < count; i++) {
		TSNode child = node_named(node, i);
		const char *name = walk_text(w, child);
		walk_add(w, FACT_NAME, child, name, name, scope);
		walk_add(w, FACT_DECLARE, child, name, arena_printf(w->arena, "global %s", name), scope)
			->flags = DECLARE_STATIC;
	}
}

static void walk_delete(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode target = node_named(node, 0);
	walk_add(w, FACT_DELETE, node, py_subject(w, target), walk_text(w, node), scope)->value =
		walk_text(w, target);
	walk_children(w, node, scope);
}

static void walk_exec(struct walker *w, TSNode node, const struct scope *scope)
{
	walk_add(w, FACT_CALL, node, "exec", walk_text(w, node), scope);
	walk_children(w, node, scope);
}

/* Sorted by type. */
static const struct walk_handler handlers[] = {
	{"assert_statement", walk_assert, 0},
	{"assignment", py_walk_assignment, 0},
	{"augmented_assignment", py_walk_augmented, 0},
	{"binary_operator", py_walk_binary, 0},
	{"block", walk_sequence, 0},
	{"boolean_operator", walk_boolean, 0},
	{"break_statement", walk_exit, 0},
	{"call", py_walk_call, 0},
	{"case_clause", walk_case, 0},
	{"class_definition", walk_class, 0},
	{"comment", py_walk_nothing, 0},
	{"comparison_operator", py_walk_comparison, 0},
	{"conditional_expression", walk_choice, 0},
	{"continue_statement", walk_exit, 0},
	{"decorated_definition", walk_decorated, 0},
	{"delete_statement", walk_delete, 0},
	{"dictionary_comprehension", walk_comprehension, 0},
	{"exec_statement", walk_exec, 0},
	{"for_statement", walk_for, 0},
	{"function_definition", walk_function, 0},
	{"future_import_statement", py_walk_nothing, 0},
	{"generator_expression", walk_comprehension, 0},
	{"global_statement", walk_outer_names, 0},
	{"identifier", NULL, FACT_NAME},
	{"if_statement", walk_if, 0},
	{"import_from_statement", py_walk_import_from, 0},
	{"import_statement", py_walk_import, 0},
	{"keyword_argument", py_walk_keyword, 0},
	{"lambda_parameters", py_walk_nothing, 0},
	{"list_comprehension", walk_comprehension, 0},
	{"match_statement", walk_match, 0},
	{"module", walk_sequence, 0},
	{"named_expression", py_walk_walrus, 0},
	{"nonlocal_statement", walk_outer_names, 0},
	{"pair", py_walk_pair, 0},
	{"raise_statement", walk_exit, 0},
	{"return_statement", walk_exit, 0},
	{"set_comprehension", walk_comprehension, 0},
	{"string", py_walk_string, 0},
	{"subscript", py_walk_subscript, 0},
	{"try_statement", py_walk_try, 0},
	{"type", py_walk_nothing, 0},
	{"while_statement", walk_while, 0},
	{"with_statement", py_walk_with, 0},
};

enum err_code facts_read_python(struct source *source, struct arena *arena, struct err *reterr)
{
	TRY(walk_source(source, handlers, ARRAY_LEN(handlers), arena, reterr));
	size_t n = 0;
	for (size_t i = 0; i < source->n_facts; i++)
		n += source->facts[i].kind == FACT_INCLUDE;
	source->includes = arena_array(arena, n + 1, sizeof(*source->includes));
	for (size_t i = 0; i < source->n_facts; i++)
		if (source->facts[i].kind == FACT_INCLUDE)
			source->includes[source->n_includes++] = &source->facts[i];
	return OK;
}

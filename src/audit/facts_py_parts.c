/* Reads a Python tree: assignments, calls, contexts, handlers, imports and what statements are made of. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "audit/facts_py_int.h"
#include "base/memory.h"

enum { TARGETS_CAP = 64 };

void py_walk_nothing(struct walker *w, TSNode node, const struct scope *scope)
{
	(void)w, (void)node, (void)scope;
}

/* ---- assignments ---- */

/* What keeps its value after the function: module variables, attributes, names declared global. */
static unsigned storage_flags(struct walker *w, TSNode target, const struct scope *scope)
{
	bool attribute = node_is(target, "attribute");
	if (node_is(target, "subscript"))
		attribute = node_is(node_field(target, "value"), "attribute");
	if (attribute || scope->in_class)
		return DECLARE_FIELD;
	(void)w;
	return scope->function[0] ? 0 : DECLARE_STATIC;
}

static void add_assigned(struct walker *w, TSNode target, TSNode node, const char *op, const char *value,
	const struct scope *scope)
{
	const char *init = walk_text(w, target);
	struct fact *fact = walk_add(w, FACT_ASSIGN, node, py_subject(w, target),
		arena_printf(w->arena, "%s %s %s", init, op, value), scope);
	fact->op = op;
	fact->init = init;
	fact->value = value;
	fact->flags = storage_flags(w, target, scope);
}

static bool is_list_of_targets(TSNode node)
{
	return node_is(node, "pattern_list") || node_is(node, "tuple_pattern") ||
	       node_is(node, "list_pattern") || node_is(node, "expression_list") || node_is(node, "tuple");
}

/* a, b = f(): each is assigned the whole; a, b = 1, 2: each its own. */
static void add_targets(struct walker *w, TSNode left, TSNode right, TSNode node, const struct scope *scope)
{
	TSNode targets = py_bare(left), values = py_bare(right);
	if (!is_list_of_targets(targets)) {
		add_assigned(w, left, node, "=", walk_text(w, right), scope);
		return;
	}
	uint32_t n = MIN_OF(node_count(targets, 1000), (uint32_t)TARGETS_CAP);
	bool paired = is_list_of_targets(values) && node_count(values, 1000) == n;
	const char *whole = paired ? "" : walk_text(w, right);
	for (uint32_t i = 0; i < n; i++) {
		TSNode target = node_named(targets, i);
		const char *value = paired ? walk_text(w, node_named(values, i)) : whole;
		add_assigned(w, target, node, "=", value, scope);
	}
}

void py_walk_assignment(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode left = node_field(node, "left"), right = node_field(node, "right");
	TSNode value = right;
	/* a = b = c assigns c to both */
	for (int i = 0; i < TARGETS_CAP && node_is(value, "assignment"); i++)
		value = node_field(value, "right");
	if (!ts_node_is_null(right))
		add_targets(w, left, value, node, scope);
	walk_node(w, left, scope);
	walk_node(w, right, scope);
}

void py_walk_augmented(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode left = node_field(node, "left"), right = node_field(node, "right");
	add_assigned(w, left, node, walk_text(w, node_field(node, "operator")), walk_text(w, right), scope);
	walk_node(w, left, scope);
	walk_node(w, right, scope);
}

void py_walk_walrus(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode name = node_field(node, "name"), value = node_field(node, "value");
	add_assigned(w, name, node, "=", walk_text(w, value), scope);
	walk_node(w, name, scope);
	walk_node(w, value, scope);
}

/* A named value that is handed on: a keyword argument, an entry of a dictionary, the default of an option. */
static void add_named(
	struct walker *w, TSNode node, const char *name, const char *value, const struct scope *scope)
{
	struct fact *fact = walk_add(w, FACT_ASSIGN, node, name,
		arena_printf(w->arena, "%s : %s = %s", scope->callee, name, value), scope);
	fact->op = ":";
	fact->init = name;
	fact->value = value;
	fact->step = scope->callee;
}

void py_walk_keyword(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode name = node_field(node, "name"), value = node_field(node, "value");
	add_named(w, node, walk_text(w, name), walk_text(w, value), scope);
	walk_node(w, name, scope);
	walk_node(w, value, scope);
}

void py_walk_pair(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode key = node_field(node, "key"), value = node_field(node, "value");
	const char *name = node_is(key, "string") ? py_string_content(w, key) : py_subject(w, key);
	add_named(w, node, name, walk_text(w, value), scope);
	walk_node(w, key, scope);
	walk_node(w, value, scope);
}

/* ---- calls ---- */

/* add_argument("--batch-size", default=8) sets batch_size. */
static void add_option(struct walker *w, TSNode call, const struct scope *scope)
{
	static const char *const makers[] = {"add_argument", "option", "Option", "DEFINE_integer",
		"DEFINE_float", "DEFINE_string", "DEFINE_bool"};
	const char *callee = py_subject(w, node_field(call, "function"));
	TSNode arguments = node_field(call, "arguments"), first = node_named(arguments, 0);
	size_t i = 0;
	while (i < ARRAY_LEN(makers) && strcmp(callee, makers[i]) != 0)
		i++;
	if (i == ARRAY_LEN(makers) || !node_is(first, "string"))
		return;
	TSNode value = py_keyword(w, arguments, "default");
	if (ts_node_is_null(value) && callee[0] == 'D')
		value = node_named(arguments, 1);
	char *name = arena_strdup(w->arena, py_string_content(w, first));
	name += strspn(name, "-");
	for (char *at = name; *at; at++)
		*at = *at == '-' ? '_' : *at;
	if (!ts_node_is_null(value))
		add_named(w, call, name, walk_text(w, value), scope);
}

void py_walk_call(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode function = node_field(node, "function"), arguments = node_field(node, "arguments");
	const char *name = py_subject(w, function), *receiver = py_receiver(w, function);
	const char *text = walk_text(w, node), *values = walk_text(w, arguments);
	for (const struct import_alias *a = w->aliases; a && node_is(function, "identifier"); a = a->next)
		if (strcmp(a->bound, name) == 0) {
			name = a->name;
			receiver = a->module;
			break;
		}
	struct fact *fact = walk_add(w, FACT_CALL, node, name, text, scope);
	fact->value = values;
	fact->init = receiver;
	add_option(w, node, scope);
	walk_node(w, function, scope);
	struct scope inner = *scope;
	inner.callee = name;
	walk_node(w, arguments, &inner);
}

/* ---- operators, subscripts, strings ---- */

void py_walk_binary(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *op = walk_text(w, node_field(node, "operator"));
	struct fact *fact = walk_add(w, FACT_BINARY, node, op, walk_text(w, node), scope);
	const char *left = walk_text(w, node_field(node, "left"));
	fact->op = op;
	fact->init = left;
	fact->value = walk_text(w, node_field(node, "right"));
	walk_children(w, node, scope);
}

void py_walk_comparison(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *op = walk_text(w, node_field(node, "operators"));
	if (node_count(node, 1000) == 2) {
		struct fact *fact = walk_add(w, FACT_BINARY, node, op, walk_text(w, node), scope);
		fact->op = op;
		fact->init = walk_text(w, node_named(node, 0));
		fact->value = walk_text(w, node_named(node, 1));
	}
	walk_children(w, node, scope);
}

void py_walk_subscript(struct walker *w, TSNode node, const struct scope *scope)
{
	TSNode value = node_field(node, "value");
	bool cuts = false;
	uint32_t count = MIN_OF(node_count(node, 1000), (uint32_t)TARGETS_CAP);
	for (uint32_t i = 1; i < count; i++)
		cuts |= node_is(node_named(node, i), "slice") || node_is(node_named(node, i), "identifier");
	if (cuts) {
		const char *base = walk_text(w, value), *whole = walk_text(w, node);
		const char *cut = whole + MIN_OF(strlen(base), strlen(whole));
		struct fact *fact = walk_add(w, FACT_SLICE, node, py_subject(w, value), whole, scope);
		fact->init = base;
		fact->value = cut[0] == ' ' ? cut + 1 : cut;
	}
	walk_children(w, node, scope);
}

void py_walk_string(struct walker *w, TSNode node, const struct scope *scope)
{
	const char *text = walk_text(w, node);
	walk_add(w, FACT_STRING, node, text, text, scope);
	walk_children(w, node, scope);
}

/* ---- with, try ---- */

static void walk_with_item(struct walker *w, TSNode item, struct scope *scope, TSNode statement)
{
	TSNode value = node_field(item, "value"), alias = {0};
	if (node_is(value, "as_pattern")) {
		alias = node_field(value, "alias");
		value = node_named(value, 0);
	}
	const char *text = walk_text(w, value);
	walk_add(w, FACT_WITH, item, py_subject(w, value), text, scope)->value = text;
	walk_node(w, value, scope);
	if (!ts_node_is_null(alias)) {
		const char *name = py_subject(w, alias);
		struct fact *fact = walk_add(w, FACT_ASSIGN, item, name, walk_text(w, item), scope);
		fact->op = "=";
		fact->init = name;
		fact->value = text;
	}
	scope->guards = walk_guard(w, scope, GUARD_WITH, text, statement);
}

void py_walk_with(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	TSNode clause = py_child_of_type(node, "with_clause");
	TSTreeCursor cursor = ts_tree_cursor_new(clause);
	if (!ts_node_is_null(clause) && ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode item = ts_tree_cursor_current_node(&cursor);
			if (node_is(item, "with_item"))
				walk_with_item(w, item, &scope, node);
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
	walk_node(w, node_field(node, "body"), &scope);
}

static void walk_handler(struct walker *w, TSNode clause, TSNode whole, const struct scope *outer)
{
	struct scope scope = *outer;
	TSNode body = py_child_of_type(clause, "block"), what = node_named(clause, 0);
	while (node_is(what, "comment"))
		what = node_next(what);
	if (node_is(what, "as_pattern"))
		what = node_named(what, 0);
	const char *types = node_is(what, "block") ? "" : walk_text(w, what);
	const char *text = arena_printf(w->arena, "except %s : %s", types, walk_text(w, body));
	struct fact *fact = walk_add(w, FACT_HANDLER, clause, types, text, outer);
	fact->value = walk_text(w, body);
	fact->flags = py_raises(body, 0) ? HANDLER_RAISES : 0;
	scope.guards = walk_guard_inside(
		w, outer, GUARD_EXCEPT, arena_printf(w->arena, "( except %s )", types), whole, clause);
	walk_node(w, body, &scope);
}

void py_walk_try(struct walker *w, TSNode node, const struct scope *outer)
{
	struct scope scope = *outer;
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	scope.guards = walk_guard_inside(w, outer, GUARD_TRY, "try", node, node_field(node, "body"));
	if (ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode part = ts_tree_cursor_current_node(&cursor);
			if (node_is(part, "except_clause") || node_is(part, "except_group_clause"))
				walk_handler(w, part, node, outer);
			else if (node_is(part, "block"))
				walk_node(w, part, &scope);
			else if (node_is(part, "else_clause") || node_is(part, "finally_clause"))
				walk_children(w, part, outer);
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
}

/* ---- imports ---- */

static void add_import(struct walker *w, TSNode node, const char *bound, const char *what, const char *module,
	const struct scope *scope)
{
	const char *text = arena_printf(w->arena, "import %s as %s", what, bound);
	struct fact *fact = walk_add(w, FACT_INCLUDE, node, bound, text, scope);
	fact->value = what;
	fact->init = module;
}

/* import a.b binds a; import a.b as c binds c to a.b. */
static void import_name(struct walker *w, TSNode name, const char *module, const struct scope *scope)
{
	TSNode alias = node_field(name, "alias");
	bool has_alias = node_is(name, "aliased_import");
	TSNode path = has_alias ? node_field(name, "name") : name;
	const char *what = walk_text(w, path);
	const char *whole = module[0] ? arena_printf(w->arena, "%s . %s", module, what) : what;
	const char *bound = has_alias ? walk_text(w, alias) : what;
	if (has_alias && module[0]) {
		struct import_alias *known = arena_alloc(w->arena, sizeof(*known));
		*known = (struct import_alias){w->aliases, bound, module, what};
		w->aliases = known;
	}
	if (!has_alias && !module[0])
		bound = arena_strndup(w->arena, what, strcspn(what, " "));
	add_import(w, name, bound, whole, module[0] ? module : what, scope);
}

static void import_names(struct walker *w, TSNode node, const char *module, const struct scope *scope)
{
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	if (ts_tree_cursor_goto_first_child(&cursor))
		do {
			TSNode child = ts_tree_cursor_current_node(&cursor);
			const char *field = ts_tree_cursor_current_field_name(&cursor);
			if (field && strcmp(field, "name") == 0)
				import_name(w, child, module, scope);
			else if (node_is(child, "wildcard_import"))
				add_import(w, child, "*", arena_printf(w->arena, "%s . *", module), module,
					scope);
		} while (ts_tree_cursor_goto_next_sibling(&cursor));
	ts_tree_cursor_delete(&cursor);
}

void py_walk_import(struct walker *w, TSNode node, const struct scope *scope)
{
	import_names(w, node, "", scope);
}

void py_walk_import_from(struct walker *w, TSNode node, const struct scope *scope)
{
	import_names(w, node, walk_text(w, node_field(node, "module_name")), scope);
}

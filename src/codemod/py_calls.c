#include "base/base.h"

#include <string.h>

#include "codemod/py_calls.h"
#include "codemod/py_modules.h"
#include "codemod/py_scope.h"

TSNode py_peel(TSNode node)
{
	while (node_is_kind(node, "parenthesized_expression"))
		node = ts_node_named_child(node, 0);
	return node;
}

TSNode py_argument(TSNode call, uint32_t n, uint32_t of)
{
	TSNode none = {0}, list = code_field(call, "arguments");
	if (!node_is_kind(list, "argument_list") || ts_node_named_child_count(list) != of)
		return none;
	for (uint32_t i = 0; i < of; i++)
		if (node_is_kind(ts_node_named_child(list, i), "keyword_argument"))
			return none;
	return ts_node_named_child(list, n);
}

TSNode py_method_object(struct rewrite *r, TSNode call, const char *name)
{
	TSNode none = {0}, function = code_field(call, "function");
	if (!node_is_kind(call, "call") || !node_is_kind(function, "attribute") ||
		!node_text_is(r, code_field(function, "attribute"), name))
		return none;
	return code_field(function, "object");
}

bool py_is_torch_call(struct rewrite *r, TSNode call, const char *name)
{
	TSNode function = code_field(call, "function"), object = code_field(function, "object");
	if (!node_is_kind(function, "attribute") || !node_text_is(r, code_field(function, "attribute"), name))
		return false;
	const char *module = node_dense_text(r, object);
	return scope_is_functional(r, strcmp(module, "torch") == 0 ? "torch.nn.functional" : module);
}

struct making {
	const char *name, *kind;
	TSNode left; /* of the assignment that is looked at */
	size_t n, n_of_kind;
};

/* "nn.Linear" and "torch.nn.Linear", where nn and torch are torch's in this file. */
static bool is_torch_module(struct rewrite *r, TSNode function, const char *kind)
{
	const char *module = node_dense_text(r, code_field(function, "object"));
	return node_is_kind(function, "attribute") &&
	       node_text_is(r, code_field(function, "attribute"), kind) &&
	       scope_is_functional(r, arena_printf(r->arena, "%s.functional", module));
}

/* A member of the module may be set, self.head.weight = ...: it stays what it is, but for what it does. */
static void see_target(struct rewrite *r, TSNode attribute, void *context)
{
	struct making *m = context;
	TSNode outer = ts_node_parent(attribute), name = code_field(outer, "attribute");
	bool is_of_module = node_is_kind(outer, "attribute") && ts_node_eq(outer, m->left) &&
			    ts_node_eq(code_field(outer, "object"), attribute);
	m->n += node_text_is(r, attribute, m->name) && !(is_of_module && !node_text_is(r, name, "forward"));
}

static void see_making(struct rewrite *r, TSNode assignment, void *context)
{
	struct making *m = context;
	TSNode right = code_field(assignment, "right");
	m->left = code_field(assignment, "left");
	visit_kind(r, m->left, "attribute", see_target, m);
	m->n_of_kind += node_text_is(r, m->left, m->name) && node_is_kind(right, "call") &&
			is_torch_module(r, code_field(right, "function"), m->kind);
}

bool py_is_module(struct rewrite *r, TSNode attribute, const char *kind)
{
	if (!node_is_kind(attribute, "attribute") ||
		!node_text_is(r, code_field(attribute, "object"), "self"))
		return false;
	struct making m = {.name = code_text(r, attribute), .kind = kind};
	visit_kind(r, scope_class(attribute), "assignment", see_making, &m);
	return m.n > 0 && m.n == m.n_of_kind;
}

/* ---- who else touches a module ---- */

struct touching {
	const char *name, *class_name; /* of the member, without self. */
	TSNode class;
	bool is_touched;
};

/* self.head of another class is another member. */
static bool is_other_class(struct rewrite *r, const struct touching *t, TSNode attribute)
{
	TSNode class = scope_class(attribute);
	bool is_same = t->class.tree == class.tree && !ts_node_is_null(class) && ts_node_eq(class, t->class);
	return node_text_is(r, code_field(attribute, "object"), "self") && !is_same;
}

/* self.head.weight, self.head.SKIP = 1: neither a method nor what the module does. */
static bool is_plain_member(struct rewrite *r, TSNode node)
{
	TSNode member = code_field(node, "attribute"), up = ts_node_parent(node);
	const char *name = code_text(r, member);
	bool is_method = node_is_kind(up, "call") && ts_node_eq(code_field(up, "function"), node);
	return node_is_kind(node, "attribute") && !is_method && name[0] != '_' &&
	       strcmp(name, "forward") != 0;
}

/* Called, made in its class, or a member of it looked at. */
static void see_touch(struct rewrite *r, TSNode attribute, void *context)
{
	struct touching *t = context;
	TSNode up = ts_node_parent(attribute), name = code_field(attribute, "attribute");
	bool is_target = node_is_kind(up, "assignment") && ts_node_eq(code_field(up, "left"), attribute);
	/* m.forward = f, whichever module m is */
	t->is_touched |= is_target && node_text_is(r, name, "forward");
	if (!node_text_is(r, name, t->name) || is_other_class(r, t, attribute))
		return;
	bool is_made = is_target && node_text_is(r, code_field(attribute, "object"), "self");
	bool is_called = node_is_kind(up, "call") && ts_node_eq(code_field(up, "function"), attribute);
	t->is_touched |= !is_called && !is_made && !is_plain_member(r, up);
}

static void see_class(struct rewrite *r, TSNode class, void *context)
{
	struct touching *t = context;
	TSNode bases = code_field(class, "superclasses");
	bool is_it = t->class.tree == class.tree && ts_node_eq(class, t->class);
	if (ts_node_is_null(bases))
		return;
	t->is_touched |= subtree_has_word(r, bases, t->class_name);
	for (uint32_t i = 0; is_it && i < ts_node_named_child_count(bases); i++)
		t->is_touched |= py_is_own_class(r, code_text(r, ts_node_named_child(bases, i)));
}

bool py_is_touched_elsewhere(struct rewrite *r, TSNode attribute)
{
	struct touching t = {
		.name = code_text(r, code_field(attribute, "attribute")), .class = scope_class(attribute)};
	t.class_name = code_text(r, code_field(t.class, "name"));
	for (size_t i = 0; i < r->n_sources; i++) {
		struct rewrite view = *r; /* texts of nodes are read from their own file */
		view.file = r->sources[i].file;
		view.root = r->sources[i].root;
		visit_kind(&view, view.root, "attribute", see_touch, &t);
		visit_kind(&view, view.root, "class_definition", see_class, &t);
	}
	return t.is_touched;
}

TSNode py_next_statement(TSNode statement)
{
	TSNode next = ts_node_next_named_sibling(statement);
	while (node_is_kind(next, "comment"))
		next = ts_node_next_named_sibling(next);
	return next;
}

TSNode py_assignment_of(TSNode statement)
{
	TSNode none = {0}, child = ts_node_named_child(statement, 0);
	return node_is_kind(statement, "expression_statement") && node_is_kind(child, "assignment") ? child
												    : none;
}

struct counting {
	const char *name;
	size_t n;
};

static void count_name(struct rewrite *r, TSNode node, void *context)
{
	struct counting *c = context;
	c->n += node_text_is(r, node, c->name);
}

size_t py_count_names(struct rewrite *r, TSNode top, const char *name)
{
	struct counting c = {.name = name};
	visit_kind(r, top, "identifier", count_name, &c);
	return c.n;
}

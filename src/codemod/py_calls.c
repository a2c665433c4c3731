#include "base/base.h"

#include <string.h>

#include "codemod/py_calls.h"
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
	size_t n, n_of_kind;
};

static void see_making(struct rewrite *r, TSNode assignment, void *context)
{
	struct making *m = context;
	TSNode left = code_field(assignment, "left"), right = code_field(assignment, "right");
	const char *target = node_dense_text(r, left);
	if (!strstr(target, m->name) || strcmp(target, arena_printf(r->arena, "%s.weight", m->name)) == 0 ||
		strcmp(target, arena_printf(r->arena, "%s.bias", m->name)) == 0)
		return;
	const char *made =
		node_is_kind(right, "call") ? node_dense_text(r, code_field(right, "function")) : "";
	m->n++;
	m->n_of_kind += node_text_is(r, left, m->name) &&
			(strcmp(made, arena_printf(r->arena, "nn.%s", m->kind)) == 0 ||
				strcmp(made, arena_printf(r->arena, "torch.nn.%s", m->kind)) == 0);
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

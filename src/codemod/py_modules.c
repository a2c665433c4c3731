#include "base/base.h"

#include <string.h>

#include "codemod/py_modules.h"

TSNode py_statement_of(TSNode node)
{
	while (!ts_node_is_null(node) && !node_is_kind(node, "expression_statement"))
		node = ts_node_parent(node);
	return node;
}

/* `model.to(device)` or `model = Net(...).to(device)`: a name, at the level of a function or module. */
static void find_move(struct rewrite *r, TSNode call, void *context)
{
	struct model_move *p = context;
	const char *method = call_name(r, call);
	if (strcmp(method, "to") != 0 && strcmp(method, "cuda") != 0)
		return;
	TSNode statement = py_statement_of(call), child = {0};
	if (!ts_node_is_null(statement))
		child = ts_node_named_child(statement, 0);
	TSNode target = node_is_kind(child, "assignment")
				? code_field(child, "left")
				: code_field(code_field(call, "function"), "object");
	TSNode moved = node_is_kind(child, "assignment") ? code_field(child, "right") : child;
	if (!node_is_kind(target, "identifier") || !ts_node_eq(moved, call))
		return;
	const char *name = code_text(r, target);
	if (!strstr(name, "model") && !strstr(name, "net"))
		return;
	p->found++;
	p->statement = statement;
	p->name = name;
}

bool py_is_conditional(TSNode node)
{
	for (; !ts_node_is_null(node); node = ts_node_parent(node))
		if (node_is_kind(node, "for_statement") || node_is_kind(node, "while_statement") ||
			node_is_kind(node, "if_statement"))
			return true;
	return false;
}

struct model_move py_find_move(struct rewrite *r)
{
	struct model_move m = {.name = ""};
	visit_kind(r, r->root, "call", find_move, &m);
	return m;
}

bool py_program_has(struct rewrite *r, const char *word)
{
	for (size_t i = 0; i < r->n_sources; i++) {
		struct rewrite view = *r;
		view.file = r->sources[i].file;
		if (file_has_word(&view, word))
			return true;
	}
	return false;
}

struct named {
	const char *name;
	bool found;
};

static void see_class(struct rewrite *r, TSNode node, void *context)
{
	struct named *n = context;
	n->found |= node_text_is(r, code_field(node, "name"), n->name);
}

bool py_is_own_class(struct rewrite *r, const char *name)
{
	struct named n = {.name = name};
	for (size_t i = 0; i < r->n_sources; i++) {
		struct rewrite view = *r;
		view.file = r->sources[i].file;
		visit_kind(&view, r->sources[i].root, "class_definition", see_class, &n);
	}
	return n.found;
}

/* The model compiled in its place: behind the move to the device, before the optimizer and any wrapper take
 * it. */
#include "base/base.h"

#include <string.h>

#include "codemod/rewrite.h"

struct placing {
	TSNode statement; /* model = model.to(device) */
	const char *name;
	int found;
};

static TSNode statement_of(TSNode node)
{
	while (!ts_node_is_null(node) && !node_is_kind(node, "expression_statement"))
		node = ts_node_parent(node);
	return node;
}

/* `model.to(device)` or `model = Net(...).to(device)`: a name, at the level of a function or module. */
static void find_move(struct rewrite *r, TSNode call, void *context)
{
	struct placing *p = context;
	const char *method = call_name(r, call);
	if (strcmp(method, "to") != 0 && strcmp(method, "cuda") != 0)
		return;
	TSNode statement = statement_of(call), child = {0};
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

static bool is_in_loop(TSNode node)
{
	for (; !ts_node_is_null(node); node = ts_node_parent(node))
		if (node_is_kind(node, "for_statement") || node_is_kind(node, "while_statement") ||
			node_is_kind(node, "if_statement"))
			return true;
	return false;
}

static void run(struct rewrite *r)
{
	struct placing p = {0};
	if (!file_has_word(r, "torch"))
		return;
	visit_kind(r, r->root, "call", find_move, &p);
	if (!p.found)
		return;
	if (file_has_word(r, "compile")) {
		rewrite_refuse(r, p.statement, "the file compiles something already");
	} else if (p.found > 1) {
		rewrite_refuse(r, p.statement, "several models are moved to a device");
	} else if (is_in_loop(p.statement)) {
		rewrite_refuse(r, p.statement, "the model is moved under a condition or in a loop");
	} else if (!node_indent(r, p.statement)) {
		rewrite_refuse(r, p.statement, "the move stands on a line with something else");
	} else {
		/* In place. torch.compile(model) would give a wrapper whose parameters go by other names
		 * (_orig_mod.x): in checkpoints, and in the digest of the model that the contract holds. */
		rewrite_insert(r, ts_node_end_byte(p.statement),
			arena_printf(r->arena, "\n%s%s.compile()", node_indent(r, p.statement), p.name));
		r->n_places++;
	}
}

const struct codemod codemod_py_compile = {
	{"compile", "the model compiled, before optimizer and wrappers take it", "torch_compile",
		"forward,backward",
		"one model that is moved to a device at the level of a function, in a file that compiles "
		"nothing; needs torch 2.2",
		LANGUAGE_PYTHON},
	run};

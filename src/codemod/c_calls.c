#include "base/base.h"

#include <string.h>

#include "codemod/c_calls.h"
#include "codemod/c_code.h"

enum { CALLERS = 64 };

bool c_is_in_region(struct rewrite *r, TSNode statement)
{
	for (; !ts_node_is_null(statement) && !node_is_kind(statement, "function_definition");
		statement = ts_node_parent(statement))
		if (c_directive_has(r, c_directive_of(statement), "omp"))
			return true;
	return false;
}

struct callers {
	const char *names[CALLERS]; /* the function, and those that lead to it */
	int n, next;
	bool in_region, by_name_only;
};

const char *c_function_name(struct rewrite *r, TSNode function)
{
	TSNode declarator = code_field(function, "declarator");
	while (!ts_node_is_null(declarator) && !node_is_kind(declarator, "identifier"))
		declarator = code_field(declarator, "declarator");
	return code_text(r, declarator);
}

static void add_caller(struct callers *c, const char *name)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(c->names[i], name) == 0)
			return;
	if (c->n < CALLERS)
		c->names[c->n++] = name;
	else
		c->in_region = true;
}

static void see_use(struct rewrite *r, TSNode node, void *context)
{
	struct callers *c = context;
	TSNode up = ts_node_parent(node);
	if (c->in_region || !node_text_is(r, node, c->names[c->next]) ||
		node_is_kind(up, "function_declarator"))
		return;
	bool is_call = node_is_kind(up, "call_expression") && ts_node_eq(code_field(up, "function"), node);
	if (!is_call && c->by_name_only)
		return;
	TSNode function = c_function_of(node);
	c->in_region |= !is_call || ts_node_is_null(function) || c_is_in_region(r, node);
	if (!c->in_region)
		add_caller(c, c_function_name(r, function));
}

static bool leads_from_region(struct rewrite *r, TSNode function, bool by_name_only)
{
	struct callers c = {.by_name_only = by_name_only};
	add_caller(&c, c_function_name(r, function));
	for (; c.next < c.n && !c.in_region; c.next++)
		for (size_t i = 0; i < r->n_sources; i++) {
			struct rewrite view = *r;
			view.file = r->sources[i].file;
			visit_kind(&view, r->sources[i].root, "identifier", see_use, &c);
		}
	return c.in_region;
}

bool c_may_run_in_region(struct rewrite *r, TSNode function)
{
	return leads_from_region(r, function, false);
}

bool c_is_called_in_region(struct rewrite *r, TSNode function)
{
	return leads_from_region(r, function, true);
}

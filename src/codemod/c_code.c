#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "codemod/c_code.h"

TSNode c_function_of(TSNode node)
{
	while (!ts_node_is_null(node) && !node_is_kind(node, "function_definition"))
		node = ts_node_parent(node);
	return node;
}

bool c_is_loop(TSNode node)
{
	return node_is_kind(node, "for_statement") || node_is_kind(node, "while_statement") ||
	       node_is_kind(node, "do_statement");
}

static TSNode loop_name(TSNode loop)
{
	TSNode init = code_field(loop, "initializer");
	if (node_is_kind(init, "declaration"))
		init = code_field(init, "declarator");
	return node_is_kind(init, "assignment_expression") ? code_field(init, "left")
							   : code_field(init, "declarator");
}

const char *c_loop_variable(struct rewrite *r, TSNode loop)
{
	TSNode name = loop_name(loop);
	return node_is_kind(name, "identifier") ? code_text(r, name) : "";
}

/* ---- loops that count ---- */

static int read_step(struct rewrite *r, TSNode update, const char *variable)
{
	const char *text = node_dense_text(r, update);
	if (strcmp(text, arena_printf(r->arena, "%s++", variable)) == 0 ||
		strcmp(text, arena_printf(r->arena, "++%s", variable)) == 0)
		return 1;
	const char *begin = arena_printf(r->arena, "%s+=", variable);
	size_t n = strlen(begin), digits = 0;
	if (strncmp(text, begin, n) != 0)
		return 0;
	digits = strspn(text + n, "0123456789");
	return digits && digits < 6 && !text[n + digits] ? atoi(text + n) : 0;
}

static TSNode first_value(TSNode loop)
{
	TSNode init = code_field(loop, "initializer"), none = {0};
	if (node_is_kind(init, "assignment_expression"))
		return code_field(init, "right");
	if (!node_is_kind(init, "declaration"))
		return none;
	TSNode declarator = code_field(init, "declarator");
	/* Two variables are not a loop that counts one. */
	for (uint32_t i = 0, n = 0; i < ts_node_child_count(init); i++)
		if (node_is_kind(ts_node_child(init, i), ",") && ++n)
			return none;
	return code_field(declarator, "value");
}

/* As one operand of a product or a sum. */
static const char *as_operand(struct rewrite *r, TSNode node)
{
	bool is_whole = node_is_kind(node, "identifier") || node_is_kind(node, "number_literal") ||
			node_is_kind(node, "field_expression") || node_is_kind(node, "call_expression") ||
			node_is_kind(node, "parenthesized_expression");
	return is_whole ? code_text(r, node) : arena_printf(r->arena, "(%s)", code_text(r, node));
}

bool c_read_loop(struct rewrite *r, TSNode loop, struct c_loop *ret_loop)
{
	struct c_loop l = {.loop = loop};
	TSNode condition = code_field(loop, "condition"), first = first_value(loop);
	if (!node_is_kind(loop, "for_statement") || ts_node_is_null(first) ||
		!node_is_kind(condition, "binary_expression"))
		return false;
	l.body = code_field(loop, "body");
	l.variable = c_loop_variable(r, loop);
	l.is_inclusive = node_text_is(r, code_field(condition, "operator"), "<=");
	if (!*l.variable || !node_text_is(r, code_field(condition, "left"), l.variable) ||
		!(l.is_inclusive || node_text_is(r, code_field(condition, "operator"), "<")))
		return false;
	l.bound_node = code_field(condition, "right");
	l.bound = as_operand(r, l.bound_node);
	l.first = node_dense_text(r, first);
	l.step = read_step(r, code_field(loop, "update"), l.variable);
	l.is_declared_here = node_is_kind(code_field(loop, "initializer"), "declaration");
	bool has_calls =
		count_kind(r, first, "call_expression") || count_kind(r, l.bound_node, "call_expression");
	if (!l.step || has_calls || c_reason_impure(r, first) || c_reason_impure(r, l.bound_node) ||
		subtree_has_word(r, l.bound_node, l.variable) || subtree_has_word(r, first, l.variable))
		return false;
	*ret_loop = l;
	return true;
}

/* ---- what changes ---- */

struct writes {
	const char *name;
	bool found, address_only;
};

/* The variable that is written or pointed to: `s` in `s.a[i]`; a null node behind a pointer. */
static TSNode root_of(struct rewrite *r, TSNode node)
{
	TSNode none = {0};
	for (;;) {
		if (node_is_kind(node, "identifier"))
			return node;
		if (node_is_kind(node, "parenthesized_expression"))
			node = ts_node_named_child(node, 0);
		else if (node_is_kind(node, "field_expression") &&
			 !node_text_is(r, code_field(node, "operator"), "->"))
			node = code_field(node, "argument");
		else
			return none;
	}
}

static void see_write(struct rewrite *r, TSNode node, void *context)
{
	struct writes *w = context;
	TSNode target = code_field(node, node_is_kind(node, "assignment_expression") ? "left" : "argument");
	bool is_address = node_is_kind(node, "pointer_expression");
	if (is_address && !node_text_is(r, code_field(node, "operator"), "&"))
		return;
	w->found |= (is_address || !w->address_only) && node_text_is(r, root_of(r, target), w->name);
}

static void see_declared(struct rewrite *r, TSNode node, void *context)
{
	struct writes *w = context;
	TSNode up = ts_node_parent(node);
	bool is_declared = ts_node_eq(code_field(up, "declarator"), node) || node_is_kind(up, "declaration");
	w->found |= is_declared && node_text_is(r, node, w->name);
}

static void see_any(struct rewrite *r, TSNode node, void *context)
{
	(void)r, (void)node;
	((struct writes *)context)->found = true;
}

bool c_is_address_taken(struct rewrite *r, TSNode scope, const char *name)
{
	struct writes w = {.name = name, .address_only = true};
	visit_kind(r, scope, "pointer_expression", see_write, &w);
	visit_kind(r, scope, "gnu_asm_expression", see_any, &w);
	return w.found;
}

bool c_is_written(struct rewrite *r, TSNode scope, const char *name)
{
	struct writes w = {.name = name};
	visit_kind(r, scope, "assignment_expression", see_write, &w);
	visit_kind(r, scope, "update_expression", see_write, &w);
	visit_kind(r, scope, "pointer_expression", see_write, &w);
	visit_kind(r, scope, "identifier", see_declared, &w);
	visit_kind(r, scope, "gnu_asm_expression", see_any, &w);
	return w.found;
}

struct counter {
	const char *name;
	bool only;
};

static void see_use(struct rewrite *r, TSNode node, void *context)
{
	struct counter *c = context;
	if (!node_text_is(r, node, c->name) || node_is_kind(ts_node_parent(node), "declaration"))
		return;
	for (TSNode up = ts_node_parent(node); !ts_node_is_null(up); up = ts_node_parent(up)) {
		if (!node_is_kind(up, "for_statement") || !node_text_is(r, loop_name(up), c->name))
			continue;
		/* `for (n = n + 1; ...)` goes on from where another loop ended. */
		bool is_before = ts_node_end_byte(node) <= ts_node_end_byte(code_field(up, "initializer"));
		c->only &= !is_before || ts_node_eq(node, loop_name(up));
		return;
	}
	c->only = false;
}

static void see_clause(struct rewrite *r, TSNode node, void *context)
{
	struct counter *c = context;
	/* It is handed on by a clause that is not private(). */
	c->only &= !subtree_has_word(r, node, c->name) || subtree_has_word(r, node, "private");
}

bool c_is_only_counter(struct rewrite *r, TSNode function, const char *name)
{
	struct counter c = {.name = name, .only = true};
	visit_kind(r, function, "identifier", see_use, &c);
	visit_kind(r, function, "preproc_call", see_clause, &c);
	return c.only;
}

/* ---- directives ---- */

TSNode c_directive_of(TSNode statement)
{
	TSNode before = ts_node_prev_named_sibling(statement), none = {0};
	while (node_is_kind(before, "comment"))
		before = ts_node_prev_named_sibling(before);
	bool is_directive = node_is_kind(before, "preproc_call") || node_is_kind(before, "preproc_if") ||
			    node_is_kind(before, "preproc_ifdef");
	return is_directive ? before : none;
}

bool c_directive_has(struct rewrite *r, TSNode directive, const char *word)
{
	return !ts_node_is_null(directive) && subtree_has_word(r, directive, "omp") &&
	       subtree_has_word(r, directive, word);
}

TSNode c_next_statement(TSNode directive)
{
	TSNode next = ts_node_next_named_sibling(directive);
	while (node_is_kind(next, "comment"))
		next = ts_node_next_named_sibling(next);
	return next;
}

bool c_uses_openmp(const struct rewrite *r)
{
	for (size_t i = 0; i < r->n_sources; i++)
		if (strstr(r->sources[i].file->text, "#pragma omp "))
			return true;
	return false;
}

bool c_is_collapsed(struct rewrite *r, TSNode loop)
{
	for (TSNode up = ts_node_parent(loop); !ts_node_is_null(up); up = ts_node_parent(up)) {
		if (node_is_kind(up, "for_statement")) {
			TSNode directive = c_directive_of(up);
			if (c_directive_has(r, directive, "collapse") ||
				c_directive_has(r, directive, "ordered") ||
				c_directive_has(r, directive, "tile"))
				return true;
		} else if (!node_is_kind(up, "compound_statement") || ts_node_named_child_count(up) != 1) {
			return false;
		}
	}
	return false;
}

const char *c_reason_no_place(struct rewrite *r, TSNode statement)
{
	if (!node_is_kind(ts_node_parent(statement), "compound_statement") || !node_indent(r, statement))
		return "a directive does not fit where the loop stands";
	if (!ts_node_is_null(c_directive_of(statement)) || file_has_word(r, "_Pragma"))
		return "a directive belongs to the loop";
	if (c_is_collapsed(r, statement))
		return "the loop is one of a nest that a directive takes together";
	return NULL;
}

bool c_add_clause(struct rewrite *r, TSNode directive, const char *clause)
{
	const char *text = code_text(r, directive);
	if (strchr(text, '\\') || strstr(text, "//") || strstr(text, "/*"))
		return false;
	rewrite_insert(r, ts_node_start_byte(directive) + strcspn(text, "\r\n"),
		arena_printf(r->arena, " %s", clause));
	return true;
}

bool c_directives_at_margin(const struct rewrite *r)
{
	return strstr(r->file->text, "\n#pragma omp ") != NULL;
}

void c_insert_directive(struct rewrite *r, TSNode statement, const char *text)
{
	const char *indent = c_directives_at_margin(r) ? "" : node_indent(r, statement);
	size_t line = ts_node_start_byte(statement) - ts_node_start_point(statement).column;
	rewrite_insert(r, line, arena_printf(r->arena, "%s%s\n", indent, text));
}

/* Loop order. */
#include "base/base.h"

#include <string.h>

#include "codemod/c_code.h"

/*
 * for (j = 0; j < N; j++) { float s = 0; for (k = 0; k < K; k++) s += A[..k..] * B[k * N + j]; C[.. + j] = s;
 * }
 *
 * walks B down its columns. With the loops exchanged each C is summed in the same order, so the result is
 * the same to the last bit, and B is read along its rows.
 */
struct product {
	TSNode outer, inner, sum, store;
	const char *j, *k, *total, *type, *target, *term;
};

static TSNode only_statement(TSNode body)
{
	while (node_is_kind(body, "compound_statement") && ts_node_named_child_count(body) == 1)
		body = ts_node_named_child(body, 0);
	return body;
}

static bool counts_up_from_zero(struct rewrite *r, TSNode loop)
{
	const char *init = node_dense_text(r, code_field(loop, "initializer")), *v = c_loop_variable(r, loop);
	const char *update = node_dense_text(r, code_field(loop, "update"));
	const char *condition = node_dense_text(r, code_field(loop, "condition"));
	size_t n = strlen(init);
	if (n && init[n - 1] == ';')
		n--;
	return *v && n >= 2 && strncmp(init + n - 2, "=0", 2) == 0 &&
	       strncmp(condition, arena_printf(r->arena, "%s<", v), strlen(v) + 1) == 0 &&
	       (strcmp(update, arena_printf(r->arena, "%s++", v)) == 0 ||
		       strcmp(update, arena_printf(r->arena, "++%s", v)) == 0);
}

static bool read_total(struct rewrite *r, TSNode first, struct product *p)
{
	TSNode init = code_field(first, "declarator");
	if (!node_is_kind(first, "declaration") || !node_is_kind(init, "init_declarator"))
		return false;
	const char *zero = node_dense_text(r, code_field(init, "value"));
	p->type = code_text(r, code_field(first, "type"));
	p->total = code_text(r, code_field(init, "declarator"));
	return node_is_kind(code_field(init, "declarator"), "identifier") &&
	       (strcmp(zero, "0") == 0 || strcmp(zero, "0.0f") == 0 || strcmp(zero, "0.0") == 0 ||
		       strcmp(zero, "0.f") == 0);
}

static bool read_sum(struct rewrite *r, struct product *p)
{
	TSNode sum = ts_node_named_child(only_statement(code_field(p->inner, "body")), 0);
	if (!node_is_kind(sum, "assignment_expression") ||
		!node_text_is(r, code_field(sum, "operator"), "+=") ||
		!node_text_is(r, code_field(sum, "left"), p->total))
		return false;
	TSNode product = code_field(sum, "right");
	p->term = code_text(r, product);
	return node_is_kind(product, "binary_expression") &&
	       node_text_is(r, code_field(product, "operator"), "*") &&
	       node_is_kind(code_field(product, "left"), "subscript_expression") &&
	       node_is_kind(code_field(product, "right"), "subscript_expression");
}

/* One factor does not know j; the other's place is "k * N + j". */
static bool walks_columns(struct rewrite *r, struct product *p, TSNode sum)
{
	TSNode product = code_field(sum, "right");
	for (int side = 0; side < 2; side++) {
		TSNode column = code_field(product, side ? "left" : "right");
		TSNode row = code_field(product, side ? "right" : "left");
		const char *index = node_dense_text(r, code_field(column, "index"));
		size_t n = strlen(p->k), m = strlen(index), tail = strlen(p->j) + 1;
		if (strncmp(index, p->k, n) == 0 && index[n] == '*' && m > tail &&
			strcmp(index + m - tail, arena_printf(r->arena, "+%s", p->j)) == 0 &&
			!subtree_has_word(r, row, p->j))
			return true;
	}
	return false;
}

struct declared {
	const char *name, *type;
	int n, n_own;
};

static void look_at_parameter(struct rewrite *r, TSNode node, void *context)
{
	struct declared *d = context;
	TSNode declarator = code_field(node, "declarator");
	if (!subtree_has_word(r, node, d->name))
		return;
	d->n++;
	bool is_pointer = node_is_kind(declarator, "pointer_declarator") &&
			  node_text_is(r, code_field(declarator, "declarator"), d->name);
	d->n_own += is_pointer && subtree_has_word(r, declarator, "restrict") &&
		    node_text_is(r, code_field(node, "type"), d->type);
}

static void look_at_declaration(struct rewrite *r, TSNode node, void *context)
{
	struct declared *d = context;
	TSNode declarator = code_field(node, "declarator");
	if (!subtree_has_word(r, node, d->name))
		return;
	/* Where it only stands in an initialiser it is no declaration of it. */
	bool is_array = node_is_kind(declarator, "array_declarator") &&
			node_text_is(r, code_field(declarator, "declarator"), d->name);
	d->n += is_array || !node_is_kind(declarator, "init_declarator");
	d->n_own += is_array && node_text_is(r, code_field(node, "type"), d->type);
}

/* The sums go through memory now: that must be as exact as the variable was, and nobody else's. */
static bool is_own_memory(struct rewrite *r, const struct product *p, const char *name)
{
	struct declared d = {.name = name, .type = p->type};
	TSNode function = p->outer;
	while (!ts_node_is_null(function) && !node_is_kind(function, "function_definition"))
		function = ts_node_parent(function);
	visit_kind(r, function, "parameter_declaration", look_at_parameter, &d);
	visit_kind(r, code_field(function, "body"), "declaration", look_at_declaration, &d);
	return d.n == 1 && d.n_own == 1;
}

static bool read_store(struct rewrite *r, struct product *p, TSNode last)
{
	TSNode store = ts_node_named_child(last, 0);
	TSNode target = code_field(store, "left"), base = code_field(target, "argument");
	if (!node_is_kind(store, "assignment_expression") ||
		!node_text_is(r, code_field(store, "operator"), "=") ||
		!node_is_kind(target, "subscript_expression") || !node_is_kind(base, "identifier") ||
		!node_text_is(r, code_field(store, "right"), p->total) || subtree_has_word(r, target, p->k))
		return false;
	const char *name = code_text(r, base);
	p->store = store;
	p->target = code_text(r, target);
	return is_own_memory(r, p, name) && subtree_has_word(r, target, p->j) &&
	       !subtree_has_word(r, p->inner, name);
}

/* "for (...)" without the body. */
static const char *head_of(struct rewrite *r, TSNode loop)
{
	size_t start = ts_node_start_byte(loop), end = ts_node_start_byte(code_field(loop, "body"));
	while (end > start && strchr(" \t\r\n", r->file->text[end - 1]))
		end--;
	return arena_strndup(r->arena, r->file->text + start, end - start);
}

static void exchange(struct rewrite *r, const struct product *p)
{
	const char *indent = node_indent(r, p->outer);
	const char *outer = head_of(r, p->outer), *inner = head_of(r, p->inner);
	rewrite_replace(r, ts_node_start_byte(p->outer), ts_node_end_byte(p->outer),
		arena_printf(r->arena, "%s\n%s\t%s = 0;\n%s%s\n%s\t%s\n%s\t\t%s += %s;", outer, indent,
			p->target, indent, inner, indent, outer, indent, p->target, p->term));
	r->n_places++;
}

/* NULL: the loops may be exchanged. */
static const char *reason_against(struct rewrite *r, TSNode loop, struct product *p)
{
	if (!counts_up_from_zero(r, loop) || !counts_up_from_zero(r, p->inner))
		return "a loop does not count up from 0 by one";
	if (!read_store(r, p, ts_node_named_child(code_field(loop, "body"), 2)))
		return "the result is kept in another type, or may be read in the loop (restrict would say "
		       "that "
		       "it is not)";
	if (subtree_has_word(r, code_field(p->inner, "condition"), p->j))
		return "the inner loop's bound depends on the outer one";
	if (node_is_kind(ts_node_prev_named_sibling(loop), "preproc_call"))
		return "a directive belongs to the loop";
	if (!node_is_kind(ts_node_parent(loop), "compound_statement") || !node_indent(r, loop))
		return "two loops do not fit where this one stands";
	return NULL;
}

static void find_columns(struct rewrite *r, TSNode loop, void *context)
{
	struct product p = {.outer = loop};
	TSNode body = code_field(loop, "body");
	(void)context;
	if (!node_is_kind(body, "compound_statement") || ts_node_named_child_count(body) != 3)
		return;
	p.inner = ts_node_named_child(body, 1);
	if (!node_is_kind(p.inner, "for_statement") || !read_total(r, ts_node_named_child(body, 0), &p))
		return;
	p.j = c_loop_variable(r, loop);
	p.k = c_loop_variable(r, p.inner);
	if (!*p.j || !*p.k || !read_sum(r, &p))
		return;
	TSNode sum = ts_node_named_child(only_statement(code_field(p.inner, "body")), 0);
	if (!walks_columns(r, &p, sum))
		return;
	const char *reason = reason_against(r, loop, &p);
	if (reason)
		rewrite_refuse(r, loop, reason);
	else
		exchange(r, &p);
}

static void run_order(struct rewrite *r)
{
	visit_kind(r, r->root, "for_statement", find_columns, NULL);
}

const struct codemod codemod_c_loop_order = {
	{"loop-order", "matrix products that read along rows", "tile_size", "forward,backward",
		"a sum over k of A[...k] * B[k * N + j] stored to C[...j], both loops counting up from 0, C "
		"of the sum's own type; each sum keeps its order",
		LANGUAGE_C},
	run_order};

/* OpenMP schedules, loop order, and what a loop works out again and again. */
#include "base/base.h"

#include <string.h>

#include "codemod/rewrite.h"

/* ---- schedule ---- */

static TSNode next_real(TSNode node)
{
	TSNode next = ts_node_next_named_sibling(node);
	while (node_is_kind(next, "comment"))
		next = ts_node_next_named_sibling(next);
	return next;
}

/* The variable that a for loop counts. */
static const char *loop_variable(struct rewrite *r, TSNode loop)
{
	TSNode init = code_field(loop, "initializer");
	if (node_is_kind(init, "declaration"))
		init = code_field(init, "declarator");
	TSNode name = node_is_kind(init, "assignment_expression") ? code_field(init, "left")
								  : code_field(init, "declarator");
	return node_is_kind(name, "identifier") ? code_text(r, name) : "";
}

struct balance {
	TSNode outer;
	const char *variable;
	bool uneven;
};

static void look_at_inner(struct rewrite *r, TSNode loop, void *context)
{
	struct balance *b = context;
	TSNode condition = code_field(loop, "condition"), init = code_field(loop, "initializer");
	if (ts_node_eq(loop, b->outer))
		return;
	b->uneven |= !ts_node_is_null(condition) && subtree_has_word(r, condition, b->variable);
	b->uneven |= !ts_node_is_null(init) && subtree_has_word(r, init, b->variable);
}

/* Uneven passes are dealt out as threads come free. */
static void deal_out(struct rewrite *r, TSNode pragma, const char *text)
{
	if (strchr(text, '\\'))
		return;
	rewrite_insert(r, ts_node_start_byte(pragma) + strcspn(text, "\n"), " schedule(guided)");
	r->n_places++;
}

/* Even passes need no dealing out. */
static void keep_together(struct rewrite *r, TSNode pragma, TSNode loop, const char *text)
{
	const char *given = strstr(text, "schedule(dynamic"), *close = given ? strchr(given, ')') : NULL;
	if (!close)
		return;
	if (count_kind(r, loop, "if_statement") || count_kind(r, loop, "while_statement")) {
		rewrite_refuse(r, pragma, "passes of the loop may differ in their work");
		return;
	}
	size_t start = ts_node_start_byte(pragma) + (size_t)(given - text);
	rewrite_replace(r, start, start + (size_t)(close - given) + 1, "schedule(static)");
	r->n_places++;
}

/* Sums by thread, in the order in which threads come, or loops that pair up by their schedule. */
static bool knows_its_thread(struct rewrite *r, TSNode pragma, TSNode loop)
{
	static const char *const words[] = {
		"omp_get_thread_num", "omp_get_num_threads", "atomic", "critical", "threadprivate"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (subtree_has_word(r, loop, words[i]))
			return true;
	return subtree_has_word(r, pragma, "nowait");
}

static void choose_schedule(struct rewrite *r, TSNode pragma, void *context)
{
	const char *text = code_text(r, pragma);
	TSNode loop = next_real(pragma);
	(void)context;
	if (!strstr(text, "omp") || !subtree_has_word(r, pragma, "for") ||
		!node_is_kind(loop, "for_statement"))
		return;
	struct balance b = {.outer = loop, .variable = loop_variable(r, loop)};
	if (!*b.variable)
		return;
	visit_kind(r, loop, "for_statement", look_at_inner, &b);
	bool is_given = strstr(text, "schedule");
	if ((b.uneven || is_given) && knows_its_thread(r, pragma, loop)) {
		rewrite_refuse(r, pragma, "which thread does what may matter here");
		return;
	}
	if (strstr(text, "reduction") || subtree_has_word(r, pragma, "ordered")) {
		if (b.uneven || is_given)
			rewrite_refuse(r, pragma, "a reduction's order would change with the schedule");
	} else if (b.uneven && !is_given) {
		deal_out(r, pragma, text);
	} else if (!b.uneven) {
		keep_together(r, pragma, loop, text);
	}
}

static void run_schedule(struct rewrite *r)
{
	visit_kind(r, r->root, "preproc_call", choose_schedule, NULL);
}

const struct codemod codemod_c_omp_schedule = {
	{"omp-schedule", "OpenMP loops scheduled by the shape of their work", "omp_schedule",
		"forward,backward,optimizer",
		"parallel for: guided where inner loops depend on the counter, static where they do not and "
		"dynamic was asked for and nothing in the loop is conditional; not with reductions, atomics "
		"or thread numbers",
		LANGUAGE_C},
	run_schedule};

/* ---- order of loops ---- */

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
	const char *init = node_dense_text(r, code_field(loop, "initializer")), *v = loop_variable(r, loop);
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
	p.j = loop_variable(r, loop);
	p.k = loop_variable(r, p.inner);
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

#include "base/base.h"

#include <string.h>

#include "base/strbuf.h"
#include "codemod/c_code.h"
#include "codemod/c_work.h"

/*
 * Simple operations that are worth waking other threads for; a call of the mathematical library counts
 * for 16. A guess: of 2^16, 2^18 and 2^20 it did best on examples/gpt-c with two threads that sleep between
 * loops, but the three were not told apart beyond the noise.
 */
enum { OPERATIONS_WORTH_IT = 1 << 18, CALL_OPERATIONS = 16, TERMS = 6 };

struct term { /* operations for each of the passes that the product counts */
	const char *product;
	int operations;
};

struct work {
	struct c_loop outer;
	struct term terms[TERMS];
	int n;
	const char *why;
};

static void add_operations(struct work *w, const char *product, int n)
{
	for (int i = 0; i < w->n; i++)
		if (strcmp(w->terms[i].product, product) == 0) {
			w->terms[i].operations += n;
			return;
		}
	if (w->n < TERMS)
		w->terms[w->n++] = (struct term){product, n};
	else
		w->why = "too many loops inside to tell how much there is to do";
}

static void see_call(struct rewrite *r, TSNode node, void *context)
{
	(void)r, (void)node;
	*(bool *)context = true;
}

struct names {
	struct work *work;
	bool known;
};

static void see_name(struct rewrite *r, TSNode node, void *context)
{
	struct names *n = context;
	const char *text = code_text(r, node);
	struct c_name name = c_find_name(r, node, text);
	n->known &= !c_is_declared_in(&name, n->work->outer.loop) &&
		    !c_is_written(r, n->work->outer.loop, text) && strcmp(text, n->work->outer.variable) != 0;
}

/* What is read through a pointer may only be read where the outer bound does so, too: with no passes at all
 * the pointer may lead nowhere. */
static void see_member(struct rewrite *r, TSNode node, void *context)
{
	struct names *n = context;
	TSNode root = node;
	while (node_is_kind(root, "field_expression"))
		root = code_field(root, "argument");
	bool is_read = node_is_kind(root, "identifier") &&
		       count_kind(r, n->work->outer.bound_node, "field_expression") &&
		       subtree_has_word(r, n->work->outer.bound_node, code_text(r, root));
	n->known &= is_read || !strstr(code_text(r, node), "->");
}

/* The same value before the outer loop as in it. */
static bool is_known_before(struct rewrite *r, struct work *w, TSNode bound)
{
	struct names n = {.work = w, .known = true};
	bool has_other =
		count_kind(r, bound, "subscript_expression") || count_kind(r, bound, "pointer_expression");
	visit_kind(r, bound, "call_expression", see_call, &has_other);
	visit_kind(r, bound, "identifier", see_name, &n);
	visit_kind(r, bound, "field_expression", see_member, &n);
	return n.known && !has_other;
}

static void add_node(struct rewrite *r, struct work *w, TSNode node, const char *product);

static void add_children(struct rewrite *r, struct work *w, TSNode node, const char *product)
{
	for (uint32_t i = 0; !w->why && i < ts_node_named_child_count(node); i++)
		add_node(r, w, ts_node_named_child(node, i), product);
}

static void add_loop(struct rewrite *r, struct work *w, TSNode node, const char *product)
{
	struct c_loop inner;
	if (!c_read_loop(r, node, &inner) || !is_known_before(r, w, inner.bound_node))
		w->why = "how often an inner loop runs is not known before";
	else
		add_children(r, w, node, arena_printf(r->arena, "%s * %s", product, inner.bound));
}

/* memcpy(to, from, n * sizeof(...)) and memset() are loops, too. */
static bool add_copy(struct rewrite *r, struct work *w, TSNode call, const char *product)
{
	TSNode arguments = code_field(call, "arguments"), length = ts_node_named_child(arguments, 2);
	if ((!node_text_is(r, code_field(call, "function"), "memcpy") &&
		    !node_text_is(r, code_field(call, "function"), "memset")) ||
		!node_is_kind(length, "binary_expression") ||
		!node_is_kind(code_field(length, "right"), "sizeof_expression") ||
		!node_is_kind(code_field(length, "left"), "identifier") ||
		!is_known_before(r, w, code_field(length, "left")))
		return false;
	const char *count = code_text(r, code_field(length, "left"));
	add_operations(w, arena_printf(r->arena, "%s * %s", product, count), 1);
	return true;
}

static void add_node(struct rewrite *r, struct work *w, TSNode node, const char *product)
{
	static const char *const operations[] = {"binary_expression", "assignment_expression",
		"subscript_expression", "conditional_expression", "update_expression"};
	if (node_is_kind(node, "for_statement")) {
		add_loop(r, w, node, product);
		return;
	}
	if (node_is_kind(node, "while_statement") || node_is_kind(node, "do_statement") ||
		node_is_kind(node, "goto_statement")) {
		w->why = "how often an inner loop runs is not known before";
		return;
	}
	if (node_is_kind(node, "call_expression")) {
		if (c_is_math_call(r, node))
			add_operations(w, product, CALL_OPERATIONS);
		else if (!add_copy(r, w, node, product))
			w->why = "what a call costs is not known";
	}
	for (size_t i = 0; i < ARRAY_LEN(operations); i++)
		if (node_is_kind(node, operations[i]))
			add_operations(w, product, 1);
	add_children(r, w, node, product);
}

/* All factors of one product are factors of the other. */
static bool is_part_of(struct rewrite *r, const char *product, const char *other)
{
	for (const char *p = product; *p;) {
		const char *end = strstr(p, " * ");
		size_t n = end ? (size_t)(end - p) : strlen(p);
		const char *factor = arena_printf(r->arena, " * %.*s * ", (int)n, p);
		if (!strstr(arena_printf(r->arena, " * %s * ", other), factor))
			return false;
		p += end ? n + 3 : n;
	}
	return true;
}

/* What is done beside the loops that run most often counts for little: it is added there. */
static void fold(struct rewrite *r, struct work *w)
{
	for (int i = 0; i < w->n; i++)
		for (int j = 0; j < w->n; j++) {
			if (i == j || !is_part_of(r, w->terms[i].product, w->terms[j].product))
				continue;
			w->terms[j].operations += w->terms[i].operations;
			w->terms[i--] = w->terms[--w->n];
			break;
		}
}

static int passes_worth_it(int operations)
{
	int passes = OPERATIONS_WORTH_IT;
	while (passes > 1 && passes * (long)operations > OPERATIONS_WORTH_IT)
		passes /= 2;
	return passes;
}

const char *c_enough_work(struct rewrite *r, TSNode loop, const char **ret_why)
{
	struct work w = {.n = 0};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	*ret_why = "the loop does not just count";
	if (!c_read_loop(r, loop, &w.outer))
		return NULL;
	add_operations(&w, w.outer.bound, 1);
	add_node(r, &w, w.outer.body, w.outer.bound);
	*ret_why = w.why;
	if (w.why)
		return NULL;
	fold(r, &w);
	for (int i = 0; i < w.n; i++) {
		const char *product = w.terms[i].product;
		strbuf_addf(&text, "%s%s%s > %d", i ? " || " : "", strstr(product, " * ") ? "(long)" : "",
			product, passes_worth_it(w.terms[i].operations));
	}
	return arena_strdup(r->arena, text.buf);
}

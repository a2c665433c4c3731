/*
 * Blocks of rows. A loop that is shared out among threads does for each row
 *
 *     for (k = 0; k < n; k++) add(y, x[k], matrix + k * m, m);
 *
 * and so reads the whole matrix once for each row. Here the rows are taken four at a time, and all four use a
 * line of the matrix while it is near. That the passes do not meet is what the directive promises: they
 * may run beside each other, so they may take turns, as long as nothing belongs to a thread rather than
 * to a pass. Each row does what it did in the order in which it did it: the result is the same to the last
 * bit.
 *
 * The counter goes up to three beyond the bound, which is taken to be no nearer to the largest number of its
 * type.
 */
#include "base/base.h"

#include <string.h>

#include "codemod/c_blocking.h"
#include "codemod/c_clauses.h"

/* ---- what looks like one ---- */

static bool read_statements(struct c_blocking *b)
{
	TSNode body = b->rows.body;
	if (!node_is_kind(body, "compound_statement")) {
		b->statements[b->n_statements++] = body;
		return true;
	}
	for (uint32_t i = 0; i < ts_node_named_child_count(body); i++) {
		TSNode child = ts_node_named_child(body, i);
		if (node_is_kind(child, "comment"))
			continue;
		if (b->n_statements == BLOCKING_STATEMENTS)
			return false;
		b->statements[b->n_statements++] = child;
	}
	return b->n_statements > 0;
}

bool c_is_place(const struct c_blocking *b, int statement)
{
	return node_is_kind(b->statements[statement], "declaration");
}

struct mention {
	const char *name;
	bool found;
};

static void see_mention(struct rewrite *r, TSNode node, void *context)
{
	struct mention *m = context;
	m->found |= node_text_is(r, node, m->name);
}

bool c_is_mentioned(struct rewrite *r, TSNode node, const char *name)
{
	struct mention m = {.name = name};
	visit_kind(r, node, "identifier", see_mention, &m);
	visit_kind(r, node, "type_identifier", see_mention, &m); /* sizeof(name) may be read as one */
	return m.found;
}

const char *c_place_name(struct rewrite *r, const struct c_blocking *b, int statement)
{
	TSNode declarator = code_field(b->statements[statement], "declarator");
	while (node_is_kind(declarator, "init_declarator") || node_is_kind(declarator, "pointer_declarator"))
		declarator = code_field(declarator, "declarator");
	return node_is_kind(declarator, "identifier") ? code_text(r, declarator) : "";
}

bool c_depends_on_row(struct rewrite *r, const struct c_blocking *b, TSNode node)
{
	bool depends = subtree_has_word(r, node, b->rows.variable);
	for (int i = 0; i < b->n_statements; i++) {
		const char *name = c_is_place(b, i) ? c_place_name(r, b, i) : "";
		depends |= *name && subtree_has_word(r, node, name);
	}
	return depends;
}

struct stream {
	const struct c_blocking *b;
	bool found, has_call;
};

static void see_operand(struct rewrite *r, struct stream *s, TSNode node)
{
	s->found |= subtree_has_word(r, node, s->b->inner.variable) && !c_depends_on_row(r, s->b, node);
}

static void see_element(struct rewrite *r, TSNode node, void *context)
{
	see_operand(r, context, node);
}

static void see_call(struct rewrite *r, TSNode node, void *context)
{
	struct stream *s = context;
	TSNode arguments = code_field(node, "arguments");
	s->has_call |= !c_is_math_call(r, node);
	for (uint32_t i = 0; i < ts_node_named_child_count(arguments); i++)
		see_operand(r, s, ts_node_named_child(arguments, i));
}

/* `const float *line = matrix + k * n;` */
static void see_pointer(struct rewrite *r, TSNode node, void *context)
{
	if (node_is_kind(code_field(node, "declarator"), "pointer_declarator"))
		see_operand(r, context, code_field(node, "value"));
}

/* Every row goes through the same memory, and does enough at each step for the turns not to matter. */
static bool streams_matrix(struct rewrite *r, const struct c_blocking *b)
{
	struct stream s = {.b = b};
	visit_kind(r, b->inner.body, "subscript_expression", see_element, &s);
	visit_kind(r, b->inner.body, "init_declarator", see_pointer, &s);
	visit_kind(r, b->inner.body, "call_expression", see_call, &s);
	return s.found && (s.has_call || count_kind(r, b->inner.body, "for_statement") ||
				  count_kind(r, b->inner.body, "while_statement") ||
				  count_kind(r, b->inner.body, "do_statement"));
}

static bool is_candidate(struct rewrite *r, TSNode loop, struct c_blocking *b)
{
	*b = (struct c_blocking){.directive = c_directive_of(loop)};
	return c_is_parallel_for(r, b->directive) && c_read_loop(r, loop, &b->rows) && b->rows.step == 1 &&
	       !b->rows.is_inclusive && read_statements(b) &&
	       c_read_loop(r, b->statements[b->n_statements - 1], &b->inner) && streams_matrix(r, b);
}

/* ---- all of it ---- */

static void consider(struct rewrite *r, TSNode loop, void *context)
{
	struct c_blocking b;
	(void)context;
	if (!is_candidate(r, loop, &b))
		return;
	b.row = c_find_name(r, b.rows.body, b.rows.variable);
	b.now = arena_printf(r->arena, "%s_now", b.rows.variable);
	b.end = arena_printf(r->arena, "%s_end", b.rows.variable);
	const char *why = c_reason_against_blocks(r, &b);
	if (!why)
		why = c_reason_no_text(r, &b);
	if (why) {
		rewrite_refuse(r, loop, why);
		return;
	}
	c_write_blocks(r, &b);
	r->n_places++;
}

static void run(struct rewrite *r)
{
	visit_kind(r, r->root, "for_statement", consider, NULL);
}

const struct codemod codemod_c_blocking = {
	{"blocking", "rows taken four at a time, so that a matrix is read once for four", "tile_size",
		"forward,backward",
		"parallel for over rows whose last statement is a loop that goes through a matrix which does "
		"not depend on the row; not with clauses beyond private counters and plain schedules, "
		"variables that carry a value between the parts of a pass, or calls that cannot be looked "
		"into",
		LANGUAGE_C},
	run};

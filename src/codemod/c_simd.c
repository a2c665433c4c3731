/*
 * Innermost loops as vectors. Compilers leave them scalar where the order of a sum would change, where
 * pointers might overlap and -O2 has no checks for it, or both. Sums are made in another order, as with
 * -ffast-math but nowhere else; what is no sum stays the same to the last bit.
 */
#include "base/base.h"

#include <string.h>

#include "base/strbuf.h"
#include "codemod/c_threads.h"

static bool has_simd_around(struct rewrite *r, TSNode loop)
{
	for (TSNode up = ts_node_parent(loop); !ts_node_is_null(up); up = ts_node_parent(up))
		if (c_directive_has(r, c_directive_of(up), "simd"))
			return true;
	return false;
}

static bool is_innermost(struct rewrite *r, TSNode loop)
{
	TSNode body = code_field(loop, "body");
	return !count_kind(r, body, "for_statement") && !count_kind(r, body, "while_statement") &&
	       !count_kind(r, body, "do_statement");
}

/* Each line but the first one step further to the right. */
static const char *indented(struct rewrite *r, const char *text, const char *step)
{
	CLEANUP(strbuf_release) struct strbuf moved = STRBUF_INIT;
	for (const char *p = text; *p; p++) {
		strbuf_addch(&moved, *p);
		if (*p == '\n' && p[1] && p[1] != '\n')
			strbuf_addstr(&moved, step);
	}
	return arena_strdup(r->arena, moved.buf);
}

/*
 * The loop twice: as vectors where the pointers do not overlap, else as it was. An if() clause would say the
 * same in one line, but gcc 12 crashes on some of them.
 */
static void write_both(struct rewrite *r, TSNode loop, const char *directive, const char *condition)
{
	const char *indent = node_indent(r, loop), *step = *indent == ' ' ? "    " : "\t";
	const char *text = indented(r, code_text(r, loop), step);
	const char *margin = c_directives_at_margin(r) ? "" : arena_printf(r->arena, "%s%s", indent, step);
	rewrite_replace(r, ts_node_start_byte(loop), ts_node_end_byte(loop),
		arena_printf(r->arena, "if (%s) {\n%s%s\n%s%s%s\n%s} else {\n%s%s%s\n%s}", condition, margin,
			directive, indent, step, text, indent, indent, step, text, indent));
}

static bool is_candidate(struct rewrite *r, TSNode loop, struct c_loop *ret_loop)
{
	return is_innermost(r, loop) && c_read_loop(r, loop, ret_loop) &&
	       count_kind(r, ret_loop->body, "subscript_expression") > 0 &&
	       ts_node_is_null(c_directive_of(loop)) && !has_simd_around(r, loop);
}

static void write_vectors(struct rewrite *r, const struct c_body *body, const char *condition)
{
	const char *sums = "";
	if (body->n_sums)
		sums = arena_printf(r->arena, " reduction(+ : %s)", c_join(r, body->sums, body->n_sums));
	const char *directive = arena_printf(r->arena, "#pragma omp simd%s", sums);
	if (*condition)
		write_both(r, body->loop.loop, directive, condition);
	else
		c_insert_directive(r, body->loop.loop, directive);
	r->n_places++;
}

static void consider(struct rewrite *r, TSNode loop, bool wants_sums)
{
	struct c_loop counted;
	struct c_body body;
	const char *why = NULL, *condition = "";
	if (!is_candidate(r, loop, &counted))
		return;
	bool is_read = c_read_body(r, &counted, BODY_LANES, &body);
	bool does_something = !is_read || body.n_sums || body.n_writes;
	/* The other codemod's, or nothing to gain: a call is no vector. */
	if (wants_sums != (body.n_sums > 0) || !does_something || body.n_calls)
		return;
	if (!is_read)
		why = body.why;
	else if (c_parallel_directive(r, loop, &why))
		return;
	else if (!(condition = c_disjoint(r, &body)))
		why = "pointers may lead to the same memory";
	else
		why = c_reason_no_place(r, loop);
	if (why)
		rewrite_refuse(r, loop, why);
	else
		write_vectors(r, &body, condition);
}

static void consider_sum(struct rewrite *r, TSNode loop, void *context)
{
	(void)context;
	consider(r, loop, true);
}

static void consider_elements(struct rewrite *r, TSNode loop, void *context)
{
	(void)context;
	consider(r, loop, false);
}

static void run_reduction(struct rewrite *r)
{
	if (c_uses_openmp(r))
		visit_kind(r, r->root, "for_statement", consider_sum, NULL);
}

static void run_loops(struct rewrite *r)
{
	if (c_uses_openmp(r))
		visit_kind(r, r->root, "for_statement", consider_elements, NULL);
}

const struct codemod codemod_c_simd_reduction = {
	{"simd-reduction", "sums of floats in vectors", "cc_opt_level", "forward,backward,optimizer",
		"innermost loops of programs with OpenMP that only add to float or double variables; not "
		"with calls, "
		"conditions, or values that go on from pass to pass",
		LANGUAGE_C},
	run_reduction};

const struct codemod codemod_c_simd_loops = {
	{"simd-loops", "loops over elements in vectors, where the pointers do not overlap", "cc_opt_level",
		"forward,backward,optimizer",
		"innermost loops of programs with OpenMP that write x[i] only; whether pointers overlap is "
		"looked at "
		"when it runs, unless restrict says it; not with calls or conditions",
		LANGUAGE_C},
	run_loops};

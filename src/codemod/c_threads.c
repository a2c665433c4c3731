/* Loops whose passes do not meet, shared out among threads in a program that uses OpenMP already. */
#include "base/base.h"

#include <string.h>

#include "codemod/c_calls.h"
#include "codemod/c_threads.h"
#include "codemod/c_work.h"

static bool is_in_loop(TSNode loop)
{
	for (TSNode up = ts_node_parent(loop); !ts_node_is_null(up); up = ts_node_parent(up))
		if (c_is_loop(up))
			return true;
	return false;
}

/* A loop that adds up or fills arrays; others are none of its business. */
static bool is_candidate(struct rewrite *r, TSNode loop, struct c_loop *ret_loop)
{
	TSNode function = c_function_of(loop);
	return c_uses_openmp(r) && !is_in_loop(loop) && !ts_node_is_null(function) &&
	       !c_is_in_region(r, loop) && c_read_loop(r, loop, ret_loop) &&
	       count_kind(r, ret_loop->body, "subscript_expression") > 0;
}

/* Could be vectors. */
static bool is_simple(struct rewrite *r, const struct c_body *body)
{
	return !body->n_loops && !body->n_calls && !count_kind(r, body->loop.body, "if_statement");
}

/* Vectors only where pointers need not be told apart. */
static const char *clauses_of(
	struct rewrite *r, const struct c_body *body, const char *work, const char *disjoint)
{
	const char *sums = "", *counters = "";
	bool is_simd = !*disjoint && is_simple(r, body);
	bool is_split = strstr(disjoint, "||") && disjoint[0] != '(';
	if (body->n_sums)
		sums = arena_printf(r->arena, " reduction(+ : %s)", c_join(r, body->sums, body->n_sums));
	if (body->n_counters)
		counters =
			arena_printf(r->arena, " private(%s)", c_join(r, body->counters, body->n_counters));
	if (*disjoint && strstr(work, "||"))
		work = arena_printf(r->arena, "(%s)", work);
	if (is_split)
		disjoint = arena_printf(r->arena, "(%s)", disjoint);
	return arena_printf(r->arena, "#pragma omp parallel for%s%s%s if (%s%s%s%s)", is_simd ? " simd" : "",
		counters, sums, is_simd ? "parallel : " : "", work, *disjoint ? " && " : "", disjoint);
}

/* NULL: the loop may be shared out, as far as its variables and callers say. */
static const char *reason_around(struct rewrite *r, const struct c_loop *loop)
{
	struct c_name variable = c_find_name(r, loop->body, loop->variable);
	TSNode function = c_function_of(loop->loop);
	if (!loop->is_declared_here &&
		(variable.place != NAME_LOCAL || !c_is_only_counter(r, function, loop->variable)))
		return "the loop's variable is used after the loop";
	return c_may_run_in_region(r, function) ? "the function may be called from a parallel region" : NULL;
}

const char *c_parallel_directive(struct rewrite *r, TSNode loop, const char **ret_why)
{
	struct c_loop counted;
	struct c_body body;
	*ret_why = NULL;
	if (!is_candidate(r, loop, &counted))
		return NULL;
	const char *work = c_enough_work(r, loop, ret_why), *disjoint;
	if (!work || (*ret_why = c_reason_no_place(r, loop)))
		return NULL;
	if (!c_read_body(r, &counted, BODY_ROWS, &body))
		*ret_why = body.why;
	else if (!body.n_sums && !body.n_writes)
		return NULL;
	else if (!(disjoint = c_disjoint(r, &body)))
		*ret_why = "pointers may lead to the same memory";
	else if (*disjoint && is_simple(r, &body)) /* vectors are worth more: simd-loops */
		return NULL;
	else if (!(*ret_why = reason_around(r, &counted)))
		return clauses_of(r, &body, work, disjoint);
	return NULL;
}

static void share_out(struct rewrite *r, TSNode loop, void *context)
{
	const char *why = NULL, *directive = c_parallel_directive(r, loop, &why);
	(void)context;
	if (why)
		rewrite_refuse(r, loop, why);
	if (!directive)
		return;
	c_insert_directive(r, loop, directive);
	r->n_places++;
}

static void run(struct rewrite *r)
{
	visit_kind(r, r->root, "for_statement", share_out, NULL);
}

const struct codemod codemod_c_omp_parallel = {
	{"omp-parallel", "loops whose passes do not meet shared out among threads", "omp_num_threads",
		"forward,backward,optimizer",
		"outermost loops of programs with OpenMP that add up floats, or write x[i] or rows x[i * "
		"width + j]; "
		"pointers are told apart when it runs; not inside or called from a parallel region, nor with "
		"calls "
		"other than the mathematical library's",
		LANGUAGE_C},
	run};

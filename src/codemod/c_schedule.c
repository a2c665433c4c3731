/* Shared-out loops: how their passes are dealt to threads, and whether there is enough to do for several. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "codemod/c_code.h"
#include "codemod/c_work.h"

/* ---- schedule ---- */

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
static void deal_out(struct rewrite *r, TSNode pragma)
{
	r->n_places += c_add_clause(r, pragma, "schedule(guided)");
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
	TSNode loop = c_next_statement(pragma);
	(void)context;
	if (!strstr(text, "omp") || !subtree_has_word(r, pragma, "for") ||
		!node_is_kind(loop, "for_statement"))
		return;
	struct balance b = {.outer = loop, .variable = c_loop_variable(r, loop)};
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
		deal_out(r, pragma);
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

/* ---- short loops ---- */

/* "#pragma omp parallel for" and clauses that say nothing of when threads are used, or in which order sums
 * are made. */
static bool is_plain_parallel_for(struct rewrite *r, TSNode pragma)
{
	static const char *const words[] = {"if", "simd", "reduction", "ordered", "num_threads", "target",
		"teams", "copyin", "lastprivate", "linear", "allocate"};
	char words_read[3][16] = {"", "", ""};
	if (sscanf(code_text(r, pragma), "#pragma %15s %15s %15s", words_read[0], words_read[1],
		    words_read[2]) != 3 ||
		strcmp(words_read[0], "omp") != 0 || strcmp(words_read[1], "parallel") != 0 ||
		strcmp(words_read[2], "for") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (subtree_has_word(r, pragma, words[i]))
			return false;
	return true;
}

static void keep_short(struct rewrite *r, TSNode pragma, void *context)
{
	const char *why = NULL;
	TSNode loop = c_next_statement(pragma);
	(void)context;
	if (!is_plain_parallel_for(r, pragma) || !node_is_kind(loop, "for_statement"))
		return;
	const char *condition = c_enough_work(r, loop, &why);
	if (knows_its_thread(r, pragma, loop))
		why = "which thread does what may matter here";
	if (why)
		rewrite_refuse(r, pragma, why);
	else
		r->n_places += c_add_clause(r, pragma, arena_printf(r->arena, "if (%s)", condition));
}

static void run_short(struct rewrite *r)
{
	visit_kind(r, r->root, "preproc_call", keep_short, NULL);
}

const struct codemod codemod_c_short_loops = {
	{"short-loops", "short loops stay on one thread: waking the others takes longer", "omp_num_threads",
		"forward,backward,optimizer",
		"parallel for whose work can be read from its bounds: an if() clause with a number of "
		"passes; not "
		"with calls other than the mathematical library's, reductions, atomics or thread numbers",
		LANGUAGE_C},
	run_short};

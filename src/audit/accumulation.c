/* A4, the part about sums and stores in loops. */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"

/* The other half of an if does the same. */
static bool is_done_otherwise(const struct fact *f, const struct guard *guard)
{
	TSNode other = node_field(guard->node, "alternative");
	if (ts_node_is_null(other))
		return false;
	if (node_contains(other, f->node))
		other = node_field(guard->node, "consequence");
	for (size_t i = 0; i < f->source->n_facts; i++) {
		const struct fact *g = &f->source->facts[i];
		if (g != f && node_contains(other, g->node) &&
			(g->kind == FACT_CALL || (g->kind == FACT_ASSIGN && strcmp(g->name, f->name) == 0)))
			return true;
	}
	return false;
}

/* Outside of brackets: x[i] != 0 asks about an element, not about i. */
static bool compares_name(const char *text, const char *name)
{
	struct token t;
	for (int depth = 0; next_token(&text, &t);) {
		depth += token_is(&t, "[") - token_is(&t, "]");
		if (depth == 0 && token_is(&t, name))
			return true;
	}
	return false;
}

/* A comparison with a loop's counter: n + 1 < tokens, i > 0, b != last. */
static bool is_about_counter(const struct fact *f, const struct guard *guard)
{
	for (const struct guard *g = f->guards; g; g = g->up) {
		if (g->kind != GUARD_LOOP)
			continue;
		for (size_t i = 0; i < f->source->n_facts; i++) {
			const struct fact *loop = &f->source->facts[i];
			if (loop->kind == FACT_LOOP && ts_node_eq(loop->node, g->node) && loop->name[0] &&
				compares_name(guard->text, loop->name))
				return true;
		}
	}
	return false;
}

static bool accumulates(const struct fact *f)
{
	return f->kind == FACT_ASSIGN && f->loops > 0 && f->op[0] != ':' &&
	       !node_is(f->node, "init_declarator") && (f->op[1] == '=' || strchr(f->init, '['));
}

/* A store that was made in every turn and is now left out in some. */
void check_accumulation(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!accumulates(f) || !f->twin || !f->same || !same_function(f, f->twin) ||
			!spend(change, f->source->n_facts))
			continue;
		const struct guard *guard = added_guard(change, f->twin, f, WORDS_COUNT);
		if (guard && guard->kind == GUARD_IF && is_about_counter(f, guard) &&
			!is_done_otherwise(f, guard))
			report(change, AUDIT_BLOCK, f, "what was added up in every turn is left out in some");
	}
}

/* A4, the part about exits: what is left before its end. */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"
#include "base/memory.h"
#include "base/strbuf.h"

static bool compares_empty(const char *condition)
{
	return text_contains(condition, "== 0") || text_contains(condition, "<= 0") ||
	       text_contains(condition, "< 1") || text_contains(condition, "== NULL") ||
	       text_contains(condition, "( !");
}

static enum audit_severity exit_severity(const char *condition)
{
	bool arbitrary = depends_on_step(condition) || text_has_token(condition, "%") ||
			 text_has_real(condition) || text_has_word(condition, WORDS_RANDOM) ||
			 text_has_token(condition, "&") || strcmp(condition, "never") == 0;
	return arbitrary && !compares_empty(condition)                                       ? AUDIT_BLOCK
	       : arbitrary && (text_has_token(condition, "%") || depends_on_step(condition)) ? AUDIT_BLOCK
											     : AUDIT_REVIEW;
}

/* The condition that an exit hangs on, when it is one of this change. */
static const struct guard *exit_condition(const struct fact *f)
{
	const struct guard *g = f->guards;
	return g && (g->kind == GUARD_IF || g->kind == GUARD_AFTER_EXIT || g->kind == GUARD_CASE) ? g : NULL;
}

static bool leads_to_error(const struct fact *f)
{
	return f->value[0] == '-' || strcmp(f->value, "NULL") == 0 || strcmp(f->value, "false") == 0 ||
	       strcmp(f->value, "EXIT_FAILURE") == 0 || (f->name[0] == 'r' && strcmp(f->value, "1") == 0);
}

/* What follows an exit in its block no longer runs. */
static bool cuts_off(const struct fact *f)
{
	TSNode next = node_next(f->node);
	while (node_is(next, "comment"))
		next = node_next(next);
	return !ts_node_is_null(next) && !node_is(next, "case_statement") &&
	       !node_is(next, "labeled_statement");
}

/* A return at the end that hands over a differently computed value is no exit in this sense. */
static bool is_early(const struct fact *f)
{
	return f->loops > 0 || exit_condition(f) || cuts_off(f);
}

static bool is_new_exit(const struct change *change, const struct fact *f)
{
	return f->kind == FACT_EXIT && !f->twin && !leads_to_error(f) &&
	       existed(change, FACT_FUNCTION, f->function);
}

static bool does_work(const struct fact *f)
{
	return word_in(f->function, WORDS_WORK) || word_in(f->function, WORDS_UPDATE) || f->loops > 0;
}

/* if (k >= n) break; where a loop that changed ended at n */
static bool ends_as_before(const struct change *change, const struct fact *f, const struct guard *g)
{
	CLEANUP(free_ptr) char *staying = xasprintf("! %s", g->text);
	if (!spend(change, change->n_old))
		return false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *old = change->old[i];
		if (old->kind == FACT_LOOP && !old->same && same_function(old, f) &&
			keeps_within(f, staying, old->value))
			return true;
	}
	return false;
}

static void check_conditional_exit(struct change *change, const struct fact *f, const struct guard *g)
{
	if (f->name[0] != 'r' && g->kind == GUARD_IF && ends_as_before(change, f, g))
		return;
	enum audit_severity severity = exit_severity(g->text);
	/* if (fused) { fused_work(); return; } */
	bool works_first = node_calls(change, f->source, g->node, WORDS_WORK) ||
			   node_calls(change, f->source, g->node, WORDS_UPDATE);
	if (severity == AUDIT_BLOCK || !works_first)
		report(change, severity, f, "a new early exit skips work");
}

void check_exits(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_new_exit(change, f))
			continue;
		const struct guard *g = exit_condition(f);
		if (cuts_off(f))
			report(change, AUDIT_BLOCK, f, "what follows this exit no longer runs");
		else if (g && does_work(f) && is_early(f) && !(f->name[0] == 'b' && g->kind == GUARD_CASE))
			check_conditional_exit(change, f, g);
	}
}

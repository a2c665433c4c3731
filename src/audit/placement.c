/*
 * Where a call stands: which conditions and loops decide that it runs. Work that is skipped, made periodic or
 * done fewer times shows here whatever the condition is.
 */
#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "audit/audit_int.h"
#include "base/memory.h"

/* `if (i < n)` says what `for (...; i < n; ...)` said. */
static bool is_same_condition(const char *a, const char *b)
{
	size_t length = strlen(b);
	return strcmp(a, b) == 0 ||
	       (strncmp(a, "( ", 2) == 0 && strlen(a) == length + 4 && memcmp(a + 2, b, length) == 0);
}

bool guard_chain_has(const struct guard *chain, const char *text)
{
	for (; chain; chain = chain->up)
		if (is_same_condition(text, chain->text))
			return true;
	return false;
}

static bool counts_a_loop(const struct fact *f, const struct token *t)
{
	for (const struct guard *g = f->guards; g; g = g->up) {
		const char *at = g->text;
		struct token part;
		/* the counter stands on the left: i < n */
		if (g->kind == GUARD_LOOP && next_token(&at, &part) &&
			(!token_is(&part, "(") || next_token(&at, &part)))
			if (part.length == t->length && memcmp(part.text, t->text, t->length) == 0)
				return true;
	}
	return false;
}

bool keeps_within(const struct fact *f, const char *condition, const char *bound)
{
	static const char *const staying[] = {"<"}, *const leaving[] = {">=", "=="};
	struct token t[3];
	size_t n = 0;
	bool negated = strncmp(condition, "! ", 2) == 0;
	condition += negated ? 2 : 0;
	condition += strncmp(condition, "( ", 2) == 0 ? 2 : 0;
	while (n < 2 && next_token(&condition, &t[n]))
		n++;
	char op[4] = "";
	if (n < 2 || t[1].length > 2 || !counts_a_loop(f, &t[0]))
		return false;
	memcpy(op, t[1].text, t[1].length);
	size_t length = strlen(bound);
	bool same = strncmp(condition, " ", 1) == 0 && strncmp(condition + 1, bound, length) == 0 &&
		    (strcmp(condition + 1 + length, " )") == 0 || !condition[1 + length]);
	return same && (negated ? name_is_one_of(op, leaving, ARRAY_LEN(leaving))
				: name_is_one_of(op, staying, ARRAY_LEN(staying)));
}

/* A loop around `before` ended there already: `if (k < n)` inside a block, where `i < n` was the loop. */
static bool is_old_bound(const struct fact *before, const struct fact *now, const struct guard *guard)
{
	const struct source *s = before->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_LOOP && node_contains(f->node, before->node) &&
			keeps_within(now, guard->text, f->value))
			return true;
	}
	return false;
}

/* The branch that does not hold the call: whichever half of the if, ?: or #if it is not in. */
static bool other_branch_calls(
	const struct change *change, const struct fact *now, const struct guard *guard, enum words list)
{
	if (guard->kind == GUARD_AFTER_EXIT)
		return node_calls(change, now->source, guard->node, list);
	TSNode alternative = node_field(guard->node, "alternative");
	if (ts_node_is_null(alternative))
		return false;
	if (!node_contains(alternative, now->node))
		return node_calls(change, now->source, alternative, list);
	TSNode consequence = node_field(guard->node, "consequence");
	if (!ts_node_is_null(consequence))
		return node_calls(change, now->source, consequence, list);
	/* #if: everything before the alternative */
	for (size_t i = 0; i < now->source->n_facts; i++) {
		const struct fact *f = &now->source->facts[i];
		if (f->kind == FACT_CALL && node_contains(guard->node, f->node) &&
			!node_contains(alternative, f->node) && word_in(f->name, list))
			return true;
	}
	return false;
}

const struct guard *added_guard(
	const struct change *change, const struct fact *before, const struct fact *now, enum words list)
{
	for (const struct guard *g = now->guards; g; g = g->up) {
		if (!spend(change, 8))
			return NULL;
		if (g->kind == GUARD_LOOP || g->is_error_path || guard_chain_has(before->guards, g->text))
			continue;
		if (!spend(change, before->source->n_facts) || is_old_bound(before, now, g))
			continue;
		if (list != WORDS_COUNT && other_branch_calls(change, now, g, list))
			continue;
		return g;
	}
	return NULL;
}

/* An added call of the same trade in the same function: the work may have been fused into it. */
static const struct fact *replacement(const struct change *change, const struct fact *gone, enum words list)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->twin && word_in(f->name, list))
			return f;
	}
	(void)gone;
	return NULL;
}

/* Its function was rewritten: the old body, and the calls in it, went as a whole. */
static bool function_is_gone(const struct change *change, const char *function)
{
	for (size_t i = 0; i < change->n_new; i++)
		if (change->new[i]->kind == FACT_FUNCTION && strcmp(change->new[i]->name, function) == 0)
			return false;
	return true;
}

/* MPI_Iallreduce for MPI_Allreduce: the same work, and rule A12 asks that it is waited for. */
static const struct fact *immediate_form(const struct change *change, const struct fact *old)
{
	if (strncmp(old->name, "MPI_", 4) != 0)
		return NULL;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->twin && same_function(f, old) &&
			strncmp(f->name, "MPI_I", 5) == 0 && strcasecmp(f->name + 5, old->name + 4) == 0)
			return f;
	}
	return NULL;
}

/* zero_gradients() gone, and gradients[i] = 0 where they were used last. */
static bool is_cleared_in_place(const struct change *change, const struct fact *gone)
{
	if (!strstr(gone->name, "zero") && !strstr(gone->name, "clear"))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_ASSIGN && !f->twin && f->loops && strstr(f->name, "grad") &&
			strchr(f->init, '[') && text_number(f->value) == 0 && strcmp(f->op, "=") == 0)
			return true;
	}
	return false;
}

static void check_removed(struct change *change, const struct fact *old, enum words list, const char *what)
{
	char reason[160];
	const struct fact *immediate = immediate_form(change, old);
	if (immediate) {
		check_replaced_arguments(change, immediate, old, "part of the work is no longer done");
		return;
	}
	const struct fact *instead = replacement(change, old, list);
	bool was_choice = false; /* one of two ways to do the work, and the other stays */
	for (const struct guard *g = old->guards; g; g = g->up)
		was_choice |= g->kind != GUARD_LOOP && !g->is_error_path &&
			      other_branch_calls(change, old, g, list);
	bool inlined = existed(change, FACT_FUNCTION, old->name) && function_is_gone(change, old->name);
	bool fine = instead || was_choice || inlined || is_cleared_in_place(change, old) ||
		    function_is_gone(change, old->function);
	snprintf(reason, sizeof(reason), "a call to %s is gone%s", what,
		instead ? "; another call may do its work" : "");
	report(change, fine ? AUDIT_REVIEW : AUDIT_BLOCK, old, reason);
}

/* A real number, or a value that outlives the call, is no count of elements. */
static bool is_no_count(const struct change *change, const struct fact *f, const char *name)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *d = change->new[i];
		if (d->kind == FACT_DECLARE && strcmp(d->name, name) == 0 && same_function(d, f) &&
			((d->flags & DECLARE_STATIC) || text_has_token(d->value, "float") ||
				text_has_token(d->value, "double")))
			return true;
	}
	return false;
}

/* By how far training has come, by which rank this is, by bits. */
static bool decides_by_more(const char *condition)
{
	return depends_on_step(condition) || text_has_token(condition, "%") ||
	       text_has_token(condition, "&") || text_has_word(condition, WORDS_THREAD);
}

bool is_emptiness(const struct change *change, const struct fact *f, const struct guard *guard)
{
	static const char *const empty[] = {"== 0", "> 0", "<= 0", "== NULL"};
	bool compares = false;
	for (size_t i = 0; i < ARRAY_LEN(empty); i++)
		compares |= text_contains(guard->text, empty[i]);
	if (!compares || decides_by_more(guard->text))
		return false;
	struct token t;
	for (const char *at = guard->text; next_token(&at, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (!text_has_identifier(name) || strcmp(name, "NULL") == 0)
			continue;
		if (counts_a_loop(f, &t) || strcmp(name, "micro") == 0 || !existed(change, FACT_NAME, name) ||
			is_no_count(change, f, name))
			return false;
	}
	return true;
}

static bool is_zero_text(const char *text)
{
	return strcmp(text, "0") == 0 || strcmp(text, "false") == 0;
}

static bool is_condition(const char *text, const char *flag, bool negated)
{
	CLEANUP(free_ptr)
	char *a = xasprintf(negated ? "( ! %s )" : "( %s )", flag), *b = xasprintf("( %s == 0 )", flag);
	return strcmp(text, a) == 0 || (negated && strcmp(text, b) == 0);
}

static bool is_set_between(
	const struct change *change, const struct fact *first, const struct fact *second, const char *flag)
{
	bool set = false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || strcmp(f->name, flag) != 0 || !same_function(f, first))
			continue;
		bool begins = f->loops < first->loops && f->index < first->index && is_zero_text(f->value);
		bool between = first->index < f->index && f->index < second->index && f->op[0] == '=' &&
			       f->loops == first->loops;
		if (!begins && !between)
			return false;
		set |= between;
	}
	return set;
}

/* if (size > 1) around a collective: one process has nothing to exchange. */
static bool is_alone(const struct fact *now, const struct guard *guard)
{
	static const char *const sizes[] = {"size", "world_size", "n_ranks", "nranks", "ranks", "world"};
	struct token last = {0}, t;
	if (!strcasestr(now->name, "allreduce") && !strcasestr(now->name, "all_reduce") &&
		!strcasestr(now->name, "reduce_scatter") && !strcasestr(now->name, "allgather"))
		return false;
	const char *at = guard->text, *end = strstr(at, " > 1 )");
	if (!end || end[6] || at[0] != '(')
		return false;
	while (next_token(&at, &t) && t.text < end)
		last = t;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (last.text && token_is(&last, sizes[i]))
			return !text_has_token(guard->text, "&&");
	return false;
}

/*
 * if (!ahead) load(next); ... ahead = ...; if (ahead) load(next);
 * However `ahead` is set between the two, each turn finds one load: made at its begin or at the end of the
 * turn before.
 */
static bool is_loaded_ahead(const struct change *change, const struct fact *now, const struct guard *guard)
{
	char flag[80] = "";
	if (guard->kind != GUARD_IF || (sscanf(guard->text, "( ! %79s )", flag) != 1 &&
					       sscanf(guard->text, "( %79s == 0 )", flag) != 1))
		return false;
	if (!is_condition(guard->text, flag, true) || !spend(change, 2 * change->n_new))
		return false;
	for (size_t i = now->index + 1; i < change->n_new && same_function(change->new[i], now); i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && strcmp(f->text, now->text) == 0 && f->loops == now->loops &&
			f->guards && f->guards->kind == GUARD_IF && f->guards->up == guard->up &&
			is_condition(f->guards->text, flag, false))
			return is_set_between(change, now, f, flag);
	}
	return false;
}

static void check_kept(struct change *change, const struct fact *old, enum words list, const char *what)
{
	char reason[160];
	const struct fact *now = old->twin;
	const struct guard *guard = added_guard(change, old, now, list);
	if (guard && (is_loaded_ahead(change, now, guard) || is_alone(now, guard)))
		return;
	if (guard) {
		snprintf(reason, sizeof(reason), "%s became conditional", what);
		report(change, is_emptiness(change, now, guard) ? AUDIT_REVIEW : AUDIT_BLOCK, now, reason);
	} else if (same_function(old, now) && now->loops < old->loops) {
		snprintf(reason, sizeof(reason), "%s is no longer inside the loop that repeated it", what);
		report(change, AUDIT_BLOCK, now, reason);
	}
}

void check_placement(struct change *change, enum words list, enum words but_not, const char *what)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *old = change->old[i];
		if (old->kind != FACT_CALL || !word_in(old->name, list) ||
			(but_not != WORDS_COUNT && word_in(old->name, but_not)))
			continue;
		if (old->twin)
			check_kept(change, old, list, what);
		else
			check_removed(change, old, list, what);
	}
}

static size_t count_uses(struct fact **facts, size_t n, const char *name, const char *function)
{
	size_t uses = 0;
	for (size_t i = 0; i < n; i++) {
		const struct fact *f = facts[i];
		if (f->kind == FACT_NAME && strcmp(f->name, name) == 0 &&
			(!function || strcmp(f->function, function) == 0))
			uses++;
		if (f->kind == FACT_DECLARE && strcmp(f->name, name) == 0 &&
			(!function || strcmp(f->function, function) == 0))
			uses--;
	}
	return uses;
}

/* A term is dropped when its coefficient is named nowhere in the function any more and did not move
 * elsewhere. */
void check_lost_names(struct change *change, enum words list, const char *reason)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_NAME || f->twin || !f->function[0] || !word_in(f->name, list) ||
			!existed(change, FACT_FUNCTION, f->function) ||
			(!node_is(f->node, "identifier") && !node_is(f->node, "field_identifier")))
			continue;
		size_t before = count_uses(change->old, change->n_old, f->name, f->function);
		size_t now = count_uses(change->new, change->n_new, f->name, f->function);
		bool moved = count_uses(change->new, change->n_new, f->name, NULL) >=
			     count_uses(change->old, change->n_old, f->name, NULL);
		if (before > now && !moved)
			report(change, now == 0 ? AUDIT_BLOCK : AUDIT_REVIEW, f, reason);
	}
}

/*
 * Where a call stands: which conditions and loops decide that it runs. Work that is skipped, made periodic or
 * done fewer times shows here whatever the condition is.
 */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "audit/audit_int.h"

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

static void check_removed(struct change *change, const struct fact *old, enum words list, const char *what)
{
	char reason[160];
	const struct fact *instead = replacement(change, old, list);
	bool was_choice = false; /* one of two ways to do the work, and the other stays */
	for (const struct guard *g = old->guards; g; g = g->up)
		was_choice |= g->kind != GUARD_LOOP && !g->is_error_path &&
			      other_branch_calls(change, old, g, list);
	bool inlined = existed(change, FACT_FUNCTION, old->name) && function_is_gone(change, old->name);
	bool fine = instead || was_choice || inlined || function_is_gone(change, old->function);
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

bool is_emptiness(const struct change *change, const struct fact *f, const struct guard *guard)
{
	bool compares = text_contains(guard->text, "== 0") || text_contains(guard->text, "> 0") ||
			text_contains(guard->text, "<= 0") || text_contains(guard->text, "== NULL");
	if (!compares || depends_on_step(guard->text) || text_has_token(guard->text, "%") ||
		text_has_token(guard->text, "&"))
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

static void check_kept(struct change *change, const struct fact *old, enum words list, const char *what)
{
	char reason[160];
	const struct fact *now = old->twin;
	const struct guard *guard = added_guard(change, old, now, list);
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

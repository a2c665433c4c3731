/* A4, the part about positions: what may see what. A causal loop that ends later, and masks that let more or
 * less through. */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "audit/audit_int.h"
#include "base/strbuf.h"

/* Outside of brackets: x[i] > largest asks about an element, not about i. */
static bool names_outside_brackets(const char *text, const char *name)
{
	struct token t;
	for (int depth = 0; next_token(&text, &t);) {
		depth += token_is(&t, "[") - token_is(&t, "]");
		if (depth == 0 && token_is(&t, name))
			return true;
	}
	return false;
}

/* A condition in the body picks among the turns. */
static bool picks_turns(const struct fact *loop)
{
	const struct source *s = loop->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_BRANCH && node_contains(loop->node, s->facts[i].node) &&
			names_outside_brackets(s->facts[i].value, loop->name))
			return true;
	return false;
}

static bool counts_around(const struct fact *f, const char *name)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_LOOP && &s->facts[i] != f &&
			strcmp(s->facts[i].name, name) == 0 && node_contains(s->facts[i].node, f->node))
			return true;
	return false;
}

static bool names_position(const struct fact *f, const char *text)
{
	struct token t;
	while (next_token(&text, &t)) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (isalpha((unsigned char)name[0]) && counts_around(f, name))
			return true;
	}
	return false;
}

/* t2 <= t, in a loop of t below T, made t2 < T. */
static bool reaches_end(const struct fact *now, const struct fact *old)
{
	const struct source *s = now->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_LOOP && f != now && node_contains(f->node, now->node) && f->name[0] &&
			text_contains(old->value, f->name) && strcmp(f->value, now->value) == 0)
			return true;
	}
	return false;
}

/* The scores are masked as they are computed. */
static bool uses_mask(const struct fact *loop)
{
	const struct source *s = loop->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_NAME && node_contains(loop->node, s->facts[i].node) &&
			strstr(s->facts[i].name, "mask"))
			return true;
	return false;
}

void check_further(
	struct change *change, const struct fact *now, const struct fact *old, enum coverage coverage)
{
	if (strcmp(now->step, old->step) != 0 || strcmp(now->init, old->init) != 0 ||
		strcmp(now->value, old->value) == 0 || !names_position(old, old->value) || picks_turns(now) ||
		uses_mask(now))
		return;
	if (reaches_end(now, old) || (coverage == COVERAGE_ALL && loop_goes_further(change, now, old)))
		report(change, AUDIT_BLOCK, now, "the loop goes beyond the position where it ended before");
}

/* ---- masks ---- */

static bool is_comparison(const struct token *t)
{
	static const char *const ops[] = {"<", "<=", ">", ">=", "==", "!="};
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (token_is(t, ops[i]))
			return true;
	return false;
}

static bool next_part(const char **at, struct token *t) /* without what a shift of a position consists of */
{
	while (next_token(at, t))
		if (!isdigit((unsigned char)t->text[0]) && !token_is(t, "+") && !token_is(t, "-") &&
			!token_is(t, "(") && !token_is(t, ")"))
			return true;
	return false;
}

/* The same names in the same order, compared otherwise or shifted by a number: t2 <= t and t2 <= t + 1. */
static bool is_shifted(const char *now, const char *before)
{
	struct token a, b;
	size_t compared = 0;
	for (;;) {
		bool more = next_part(&now, &a), had = next_part(&before, &b);
		if (!more || !had)
			return !more && !had && compared == 1;
		bool compares = is_comparison(&a) && is_comparison(&b);
		compared += compares;
		if (!compares && (a.length != b.length || memcmp(a.text, b.text, a.length) != 0))
			return false;
	}
}

/* Two positions are compared: one of the loops around and another. */
static bool compares_positions(const struct fact *f)
{
	struct token t;
	size_t positions = 0;
	for (const char *at = f->value; next_token(&at, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		positions += isalpha((unsigned char)name[0]) && counts_around(f, name);
	}
	return positions >= 2 && !text_has_token(f->value, "[");
}

/* What the condition decides between is as before. */
static bool decides_the_same(const struct fact *now, const struct fact *old)
{
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	static const char *const fields[] = {"consequence", "alternative"};
	bool same = true;
	for (size_t i = 0; i < ARRAY_LEN(fields) && same; i++) {
		node_text(now->source, node_field(now->node, fields[i]), &a);
		node_text(old->source, node_field(old->node, fields[i]), &b);
		same = a.len == b.len && memcmp(a.buf, b.buf, a.len) == 0;
	}
	strbuf_release(&a);
	strbuf_release(&b);
	return same;
}

void check_position_masks(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_BRANCH || f->twin || !compares_positions(f) ||
			!spend(change, change->n_old))
			continue;
		for (size_t k = 0; k < change->n_old; k++) {
			const struct fact *old = change->old[k];
			if (old->kind == FACT_BRANCH && !old->twin && same_function(old, f) &&
				is_shifted(f->value, old->value) && decides_the_same(f, old)) {
				report(change, AUDIT_BLOCK, f, "a mask lets other positions through");
				break;
			}
		}
	}
}

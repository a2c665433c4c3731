/* Expressions made smaller: half a bound, a shorter window, a constant in place of a size. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "audit/audit_int.h"
#include "base/memory.h"
#include "base/strbuf.h"

static bool has_cutting_operator(const char *text)
{
	static const char *const cutting[] = {"/", ">>", "-", "&", "?", "%"};
	struct token t;
	for (const char *at = text; next_token(&at, &t);) {
		for (size_t i = 0; i < ARRAY_LEN(cutting); i++)
			if (token_is(&t, cutting[i]))
				return true;
		char word[16] = "";
		memcpy(word, t.text, MIN_OF(t.length, sizeof(word) - 1));
		if (strcasestr(word, "min"))
			return true;
	}
	return false;
}

/* What an added assignment in the function gives a plain variable. */
static const char *value_of(const struct change *change, const char *function, const char *name)
{
	if (!spend(change, change->n_new))
		return NULL;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if ((f->kind == FACT_ASSIGN || f->kind == FACT_DEFINE) && is_added(f) &&
			strcmp(f->name, name) == 0 &&
			(f->kind == FACT_DEFINE || strcmp(f->function, function) == 0 || !f->function[0]))
			return f->value;
	}
	return NULL;
}

static bool is_plain_reduction(const char *now, const char *base)
{
	if (text_is_literal(now)) {
		/* a literal for a literal: smaller; a literal for an expression: whatever it is, it is not
		 * the same */
		double before = text_number(base);
		return isnan(before) ? true : text_number(now) < before;
	}
	return strcmp(now, base) != 0 && text_contains(now, base) && has_cutting_operator(now);
}

const char *resolve(const struct change *change, const char *function, const char *text)
{
	const char *value = strchr(text, ' ') ? NULL : value_of(change, function, text);
	return value ? value : text;
}

bool is_reduction(const struct change *change, const char *function, const char *now, const char *base)
{
	if (!now[0] || !base[0] || strcmp(now, base) == 0)
		return false;
	if (is_plain_reduction(now, base))
		return true;
	const char *value = resolve(change, function, now);
	return value != now && value[0] && is_plain_reduction(value, base);
}

/* The next argument of "( a , b ( c , d ) )" from *at; NULL at the end. Free it. */
static char *next_argument(const char **at)
{
	struct token t;
	struct strbuf argument = STRBUF_INIT;
	int depth = 0;
	while (next_token(at, &t)) {
		char c = t.length == 1 ? t.text[0] : '\0';
		if (depth == 0 && c == ',')
			return strbuf_detach(&argument);
		depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
		if (depth < 0)
			break;
		if (argument.len)
			strbuf_addch(&argument, ' ');
		strbuf_add(&argument, t.text, t.length);
	}
	bool last = argument.len > 0;
	char *text = strbuf_detach(&argument);
	if (last)
		return text;
	free(text);
	return NULL;
}

static size_t count_arguments(const char *text)
{
	size_t n = 0;
	const char *at = text[0] == '(' ? text + 1 : text;
	for (char *argument; (argument = next_argument(&at)); n++)
		free(argument);
	return n;
}

/* "( int ) n" is n. */
static const char *without_cast(const char *text)
{
	static const char *const casts[] = {"( int ) ", "( size_t ) ", "( long ) ", "( unsigned ) "};
	for (size_t i = 0; i < ARRAY_LEN(casts); i++)
		if (strncmp(text, casts[i], strlen(casts[i])) == 0)
			return text + strlen(casts[i]);
	return text;
}

/* A further call of the same function that goes on at the end of this one: f(x, n / 2), f(x + n / 2, n - n /
 * 2). */
static bool goes_on_in_another(const struct change *change, const struct fact *now, const char *length)
{
	CLEANUP(free_ptr) char *offset = xasprintf("+ %s", length), *index = xasprintf("[ %s ]", length);
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && f != now && !f->twin && strcmp(f->name, now->name) == 0 &&
			same_function(f, now) &&
			(text_contains(f->value, offset) || text_contains(f->value, index)))
			return true;
	}
	return false;
}

/* The call stands in a new loop that ends where its argument did, and whose stride is in the length. */
static bool is_one_of_parts(
	const struct change *change, const struct fact *now, const char *length, const char *whole)
{
	const char *resolved = resolve(change, now->function, without_cast(length));
	for (size_t i = 0; i < now->source->n_facts; i++) {
		const struct fact *f = &now->source->facts[i];
		const char *stride = strstr(f->step, "+= ");
		if (f->kind == FACT_LOOP && is_added(f) && node_contains(f->node, now->node) && stride &&
			strcmp(f->value, without_cast(whole)) == 0 && text_contains(resolved, stride + 3))
			return true;
	}
	return false;
}

/* BATCH * SEQ_LEN in place of BATCH * SEQ_LEN * WIDTH, and not once for each in a new loop */
static bool lost_factor(const struct fact *now, const char *argument, const char *before)
{
	size_t length = strlen(argument);
	if (!text_has_identifier(argument) || strncmp(before, argument, length) != 0 ||
		strncmp(before + length, " * ", 3) != 0)
		return false;
	for (size_t i = 0; i < now->source->n_facts; i++) {
		const struct fact *f = &now->source->facts[i];
		if (f->kind == FACT_LOOP && is_added(f) && node_contains(f->node, now->node))
			return false;
	}
	return true;
}

void check_replaced_arguments(
	struct change *change, const struct fact *now, const struct fact *before, const char *reason)
{
	const char *a = before->value, *b = now->value;
	a += a[0] == '(';
	b += b[0] == '(';
	for (;;) {
		CLEANUP(free_ptr) char *old = next_argument(&a);
		CLEANUP(free_ptr) char *new = next_argument(&b);
		if (!old || !new)
			return;
		/* a constant for another: clipping at 1e9 is no clipping */
		bool other_constant = text_is_literal(old) && text_is_literal(new) && strcmp(old, new) != 0;
		bool less = is_reduction(change, now->function, without_cast(new), without_cast(old)) &&
			    spend(change, change->n_new) && !goes_on_in_another(change, now, new) &&
			    !is_one_of_parts(change, now, new, old);
		if (other_constant || less || lost_factor(now, new, old))
			report(change, AUDIT_BLOCK, now, reason);
	}
}

void check_arguments(struct change *change, const struct fact *now, const char *reason)
{
	if (count_arguments(now->twin->value) == count_arguments(now->value))
		check_replaced_arguments(change, now, now->twin, reason);
}

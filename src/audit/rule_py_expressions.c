/* A4 for Python: expressions that lost a part or were given other numbers, layers that do nothing or are
 * shared. */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))

/* ---- parts ---- */

/* What is left of the old text without the new one does something: an operator, a call. */
/* A token, with the one before it, that makes a difference to the value. */
static bool does_something(const struct token *t, const struct token *before)
{
	static const char *const operators[] = {"+", "-", "*", "/", "@", "**", "//", "%"};
	static const char *const readings[] = {"item", "detach", "float", "cpu", "clone", "contiguous", "to",
		"cuda", "double", "numpy", "tolist", "int", "view", "reshape", "squeeze", "unsqueeze",
		"flatten", "type_as", "requires_grad_", "pin_memory", "long", "compile", "checkpoint"};
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (token_is(t, operators[i]))
			return true;
	if (!token_is(t, "(") || !before->length || !isalpha((unsigned char)before->text[0]))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(readings); i++)
		if (token_is(before, readings[i]))
			return false;
	return true;
}

static bool drops_something(const char *was, const char *now)
{
	const char *kept = strstr(was, now), *end = kept + strlen(now);
	struct token t, last = {"", 0};
	for (const char *rest = was; next_token(&rest, &t);) {
		if (t.text >= kept && t.text < end)
			continue;
		if (does_something(&t, &last))
			return true;
		last = t;
	}
	return false;
}

/* The dropped operand is applied elsewhere in the function now. */
static bool is_applied_elsewhere(const struct change *change, const struct fact *f, const char *was)
{
	const char *last = py_last(was);
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *g = change->new[i];
		bool applies = g->kind == FACT_BINARY || g->kind == FACT_CALL ||
			       (g->kind == FACT_ASSIGN && g->op[1] == '=');
		bool names = text_has_token(g->value, last) || text_has_token(g->init, last);
		if (applies && names && !g->twin && same_function(g, f) && !node_contains(f->node, g->node))
			return true;
	}
	return false;
}

/* x = x + f(x) became x = f(x): the new expression is a part of the old one. */
static bool is_work_of_change(const struct fact *f)
{
	bool work = py_computes_update(f->function) || word_in(f->name, WORDS_RESULT);
	return work && !f->same && f->value[0] && !py_is_evaluation(f->function) && !py_is_literal(f->value);
}

/* What stood in the place of an assigned or returned value; "" when nothing did. */
static const char *value_before(const struct change *change, const struct fact *f)
{
	const char *was = "";
	if (f->kind == FACT_ASSIGN)
		return py_sets(f) && py_was_here(f) ? f->twin->value : "";
	for (size_t i = 0; i < change->n_old; i++)
		if (py_is_exit(change->old[i], "return") && !change->old[i]->twin &&
			same_function(change->old[i], f))
			was = change->old[i]->value;
	return was;
}

static void check_dropped_parts(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool returns = py_is_exit(f, "return") && !f->twin;
		if ((f->kind != FACT_ASSIGN && !returns) || !is_work_of_change(f) ||
			!spend(change, change->n_old))
			continue;
		const char *was = value_before(change, f);
		if (strcmp(was, f->value) != 0 && text_contains(was, f->value) &&
			drops_something(was, f->value) && !is_applied_elsewhere(change, f, was))
			report(change, AUDIT_BLOCK, f, "part of what was computed is dropped");
	}
}

/* The texts differ in numbers alone. */
static bool differs_in_numbers(const char *a, const char *b, bool *ret_real)
{
	struct token x, y;
	bool differs = false;
	*ret_real = false;
	for (;;) {
		bool more_a = next_token(&a, &x), more_b = next_token(&b, &y);
		if (more_a != more_b)
			return false;
		if (!more_a)
			return differs;
		if (x.length == y.length && memcmp(x.text, y.text, x.length) == 0)
			continue;
		if (!isdigit((unsigned char)x.text[0]) || !isdigit((unsigned char)y.text[0]))
			return false;
		differs = true;
		*ret_real |= memchr(x.text, '.', x.length) || memchr(x.text, 'e', x.length);
	}
}

/* 10000.0 ** (i / d) became 100.0 ** (i / d). */
static void check_numbers(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool returns = py_is_exit(f, "return") && !f->twin, real;
		bool assigns = py_is_assignment(f) && !f->same && py_was_here(f) && strchr(f->value, ' ');
		if ((!returns && !assigns) || !f->function[0] || word_in(f->name, WORDS_TILE) ||
			py_is_evaluation(f->function))
			continue;
		const char *was = value_before(change, f);
		bool matters = py_computes_update(f->function);
		if (was[0] && differs_in_numbers(f->value, was, &real))
			report(change, real || matters ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"a constant of a computation changed");
	}
}

/* ---- layers ---- */

/* def forward(self, x): return x */
static bool does_nothing_with(const struct change *change, const struct fact *exit)
{
	bool parameter = false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!same_function(f, exit))
			continue;
		if (f->kind == FACT_CALL || f->kind == FACT_BINARY || py_is_assignment(f))
			return false;
		parameter |= py_is(f, FACT_DECLARE, exit->value);
	}
	return parameter;
}

static void check_empty_layers(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool plain = py_is_new(f, FACT_EXIT) && !strchr(f->value, ' ') &&
			     strcmp(py_short(f->function), "forward") == 0;
		if (plain && !py_existed_function(change, f->function) && does_nothing_with(change, f))
			report(change, AUDIT_BLOCK, f, "a layer that does nothing");
	}
}

/* [Block(config)] * n, a.weight = b.weight: the same parameters serve several times. */
static bool repeats_layer(const struct fact *f)
{
	const char *call = f->init[0] == '[' ? strstr(f->init, " (") : NULL;
	if (f->kind != FACT_BINARY || f->op[0] != '*' || !call)
		return false;
	while (call > f->init && call[-1] != ' ')
		call--;
	return py_is_constructor(call);
}

static bool ties_parameters(const struct fact *f)
{
	static const char *const parameters[] = {"weight", "bias"};
	return py_sets(f) && strchr(f->init, '.') && IN(f->name, parameters) && strchr(f->value, '.') &&
	       IN(py_last(f->value), parameters);
}

static void check_shared(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!f->twin && (repeats_layer(f) || ties_parameters(f)))
			report(change, AUDIT_BLOCK, f, "the same parameters serve several times");
	}
}

void py_check_expressions(struct change *change)
{
	check_dropped_parts(change);
	check_numbers(change);
	check_empty_layers(change);
	check_shared(change);
}

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/expression.h"
#include "spec/expression_names.h"
#include "spec/names.h"
#include "spec/task.h"
#include "spec/yaml_tree.h"

enum verdict { VERDICT_UNKNOWN, VERDICT_HOLDS, VERDICT_BROKEN };
/* Bytes of remembered verdicts for one constraint and for all; without room it is evaluated each time. */
enum { MEMO_COMBINATIONS = 1 << 16, MEMO_BYTES = 1 << 23 };

struct constraint {
	enum constraint_kind kind;
	const struct expression *expression;
	int handle;
	bool *reads_knob;    /* by knob, also through derived values */
	bool *reads_derived; /* by derived value, also through others */
	size_t *knobs, n_knobs;
	unsigned char *memo; /* NULL = too many combinations */
};

struct expression_set {
	struct arena arena;
	const struct task *task;
	struct sandbox *sandbox;
	struct constraint *constraints;
	size_t n_constraints;
	size_t memo_bytes;
};

static const char *const kind_names[] = {"derived", "contract.invariants", "conflicts"};

static enum err_code expression_error(const struct expression_set *set, const struct constraint *c,
	const struct err *inner, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	enum err_code code = err_set_at(reterr, ERR_INPUT, set->task->path, c->expression->place.line,
		c->expression->place.column, "%s: `%s`: %s", kind_names[c->kind],
		printable(c->expression->text, &arena), printable(inner->message, &arena));
	arena_release(&arena);
	return code;
}

/* A derived value may read those that stand above it, so that there is an order and no cycle. */
static bool is_visible(const struct constraint *c, size_t index, struct name name)
{
	return name.kind != NAME_UNKNOWN &&
	       !(name.kind == NAME_DERIVED && c->kind == CONSTRAINT_DERIVED && name.index >= index);
}

static enum err_code unknown_name(const struct expression_set *set, const struct constraint *c,
	const char *text, struct name name, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	struct err inner = ERR_INIT;
	double unused;
	if (name.kind == NAME_DERIVED)
		(void)err_set(&inner, ERR_INPUT,
			"'%s' stands further down; a derived value can read those above it", text);
	else if (name.kind == NAME_CONTRACT && !contract_value(set->task, name.index, &unused))
		(void)err_set(&inner, ERR_INPUT, "'%s' is not declared in the contract", text);
	else
		(void)err_set(&inner, ERR_INPUT, "unknown name '%s'%s", printable(text, &arena),
			task_suggest(set->task, text, true, &arena));
	enum err_code code = expression_error(set, c, &inner, reterr);
	arena_release(&arena);
	return code;
}

static enum err_code note_name(
	struct expression_set *set, size_t index, const char *text, bool is_lenient, struct err *reterr)
{
	struct constraint *c = &set->constraints[index];
	struct name name = task_lookup(set->task, text);
	double unused;
	bool is_undeclared = name.kind == NAME_CONTRACT && !contract_value(set->task, name.index, &unused);
	if (name.kind == NAME_UNKNOWN && is_lenient && strcmp(text, "_ENV") != 0)
		return OK; /* a parameter, or refused when it is evaluated */
	if (!is_visible(c, index, name) || is_undeclared)
		return unknown_name(set, c, text, name, reterr);
	if (name.kind == NAME_KNOB)
		c->reads_knob[name.index] = true;
	if (name.kind != NAME_DERIVED)
		return OK;
	const struct constraint *through = &set->constraints[name.index];
	c->reads_derived[name.index] = true;
	for (size_t k = 0; k < set->task->n_knobs; k++)
		c->reads_knob[k] |= through->reads_knob[k];
	for (size_t d = 0; d < name.index; d++)
		c->reads_derived[d] |= through->reads_derived[d];
	return OK;
}

static void prepare_memo(struct expression_set *set, struct constraint *c)
{
	size_t combinations = 1;
	for (size_t k = 0; k < set->task->n_knobs; k++)
		c->n_knobs += c->reads_knob[k];
	c->knobs = arena_array(&set->arena, c->n_knobs, sizeof(*c->knobs));
	for (size_t k = 0, n = 0; k < set->task->n_knobs; k++) {
		if (!c->reads_knob[k])
			continue;
		c->knobs[n++] = k;
		if (combinations <= MEMO_COMBINATIONS)
			combinations *= set->task->knobs[k].n_settings;
	}
	if (combinations > MEMO_COMBINATIONS || set->memo_bytes + combinations > MEMO_BYTES)
		return;
	set->memo_bytes += combinations;
	c->memo = arena_alloc(&set->arena, combinations);
}

static enum err_code add_constraint(struct expression_set *set, enum constraint_kind kind,
	const struct expression *expression, struct err *reterr)
{
	const struct task *task = set->task;
	size_t index = set->n_constraints;
	struct constraint *c = &set->constraints[index];
	c->kind = kind;
	c->expression = expression;
	c->reads_knob = arena_array(&set->arena, task->n_knobs, sizeof(bool));
	c->reads_derived = arena_array(&set->arena, task->n_derived, sizeof(bool));
	struct err inner = ERR_INIT;
	if (sandbox_compile(set->sandbox, expression->text, &c->handle, &inner) != OK)
		return expression_error(set, c, &inner, reterr);
	struct name_uses uses;
	expression_names(expression->text, &set->arena, &uses);
	for (size_t i = 0; i < uses.count; i++)
		TRY(note_name(set, index, uses.items[i].name, uses.has_function, reterr));
	prepare_memo(set, c);
	set->n_constraints++;
	return OK;
}

static enum err_code add_constraints(struct expression_set *set, struct err *reterr)
{
	const struct task *task = set->task;
	for (size_t i = 0; i < task->n_derived; i++)
		TRY(add_constraint(set, CONSTRAINT_DERIVED, &task->derived[i].value, reterr));
	for (size_t i = 0; i < task->contract.n_invariants; i++)
		TRY(add_constraint(set, CONSTRAINT_INVARIANT, &task->contract.invariants[i], reterr));
	for (size_t i = 0; i < task->n_conflicts; i++)
		TRY(add_constraint(set, CONSTRAINT_CONFLICT, &task->conflicts[i], reterr));
	for (size_t i = 0; i < contract_names(); i++) {
		struct sandbox_value value = {.kind = SANDBOX_NUMBER};
		if (contract_value(task, i, &value.number))
			TRY(sandbox_set(set->sandbox, contract_name(i), &value, reterr));
	}
	return OK;
}

enum err_code expression_set_create(
	const struct task *task, struct expression_set **ret_set, struct err *reterr)
{
	size_t room = task->n_derived + task->contract.n_invariants + task->n_conflicts;
	struct expression_set *set = xcalloc(1, sizeof(*set));
	set->task = task;
	set->sandbox = sandbox_new();
	set->constraints = arena_array(&set->arena, room, sizeof(*set->constraints));
	enum err_code code = add_constraints(set, reterr);
	if (code != OK)
		expression_set_free(set);
	else
		*ret_set = set;
	return code;
}

void expression_set_free(struct expression_set *set)
{
	if (!set)
		return;
	sandbox_free(set->sandbox);
	arena_release(&set->arena);
	free(set);
}

size_t expression_set_count(const struct expression_set *set)
{
	return set->n_constraints;
}

const char *constraint_section(const struct expression_set *set, size_t index)
{
	return kind_names[set->constraints[index].kind];
}

const struct expression *constraint_expression(const struct expression_set *set, size_t index)
{
	return set->constraints[index].expression;
}

enum constraint_kind constraint_kind(const struct expression_set *set, size_t index)
{
	return set->constraints[index].kind;
}

const size_t *constraint_knobs(const struct expression_set *set, size_t index, size_t *ret_count)
{
	*ret_count = set->constraints[index].n_knobs;
	return set->constraints[index].knobs;
}

static enum err_code check_kind(
	const struct constraint *c, const struct sandbox_value *value, struct err *reterr)
{
	static const char *const names[] = {"true or false", "a number", "a string"};
	if (c->kind == CONSTRAINT_DERIVED && value->kind == SANDBOX_BOOL)
		return err_set(reterr, ERR_INPUT, "gives true or false, expected a number or a string");
	if (c->kind != CONSTRAINT_DERIVED && value->kind != SANDBOX_BOOL)
		return err_set(reterr, ERR_INPUT, "gives %s, expected true or false", names[value->kind]);
	return OK;
}

static enum err_code set_derived(struct expression_set *set, size_t index, struct err *reterr)
{
	struct sandbox_value value;
	TRY(sandbox_evaluate(set->sandbox, set->constraints[index].handle, &value, reterr));
	TRY(check_kind(&set->constraints[index], &value, reterr));
	CLEANUP(free_ptr) char *text = value.kind == SANDBOX_TEXT ? xstrdup(value.text) : NULL;
	value.text = text;
	return sandbox_set(set->sandbox, set->task->derived[index].name, &value, reterr);
}

enum err_code constraint_value(struct expression_set *set, size_t index, const int *setting,
	struct sandbox_value *ret_value, struct err *reterr)
{
	const struct task *task = set->task;
	const struct constraint *c = &set->constraints[index];
	for (size_t i = 0; i < c->n_knobs; i++) {
		const struct knob *knob = &task->knobs[c->knobs[i]];
		const struct setting *s = &knob->settings[setting[c->knobs[i]]];
		struct sandbox_value value = {.kind = s->is_number ? SANDBOX_NUMBER : SANDBOX_TEXT,
			.number = s->number,
			.text = s->text};
		TRY(sandbox_set(set->sandbox, knob->name, &value, reterr));
	}
	for (size_t d = 0; d < task->n_derived; d++) {
		if (!c->reads_derived[d])
			continue;
		enum err_code code = set_derived(set, d, reterr);
		if (code != OK)
			return err_prefix(reterr, code, "derived '%s'", task->derived[d].name);
	}
	struct sandbox_value value;
	TRY(sandbox_evaluate(set->sandbox, c->handle, &value, reterr));
	TRY(check_kind(c, &value, reterr));
	*ret_value = value;
	return OK;
}

static bool evaluate(struct expression_set *set, size_t index, const int *setting)
{
	struct sandbox_value value;
	if (constraint_value(set, index, setting, &value, NULL) != OK)
		return false;
	switch (set->constraints[index].kind) {
	case CONSTRAINT_INVARIANT:
		return value.truth;
	case CONSTRAINT_CONFLICT:
		return !value.truth;
	default:
		return true;
	}
}

bool constraint_holds(struct expression_set *set, size_t index, const int *setting)
{
	struct constraint *c = &set->constraints[index];
	if (!c->memo)
		return evaluate(set, index, setting);
	size_t cell = 0;
	for (size_t i = 0; i < c->n_knobs; i++)
		cell = cell * set->task->knobs[c->knobs[i]].n_settings + (size_t)setting[c->knobs[i]];
	if (c->memo[cell] == VERDICT_UNKNOWN)
		c->memo[cell] = evaluate(set, index, setting) ? VERDICT_HOLDS : VERDICT_BROKEN;
	return c->memo[cell] == VERDICT_HOLDS;
}

void constraint_reason(struct expression_set *set, size_t index, const int *setting, struct strbuf *reason)
{
	const struct constraint *c = &set->constraints[index];
	struct arena arena = ARENA_INIT;
	struct err inner = ERR_INIT;
	struct sandbox_value value;
	strbuf_addf(
		reason, "`%s` (line %d) ", printable(c->expression->text, &arena), c->expression->place.line);
	if (constraint_value(set, index, setting, &value, &inner) != OK)
		strbuf_addf(reason, "cannot be evaluated: %s", printable(inner.message, &arena));
	else if (c->kind == CONSTRAINT_CONFLICT)
		strbuf_addstr(reason, "is a declared conflict");
	else
		strbuf_addstr(reason, "does not hold");
	arena_release(&arena);
}

/* The shortest decimal that reads back as the same number; whole numbers without a point. */
static const char *number_text(double number, struct arena *arena)
{
	char text[40];
	if (number == floor(number) && fabs(number) < 0x1p53)
		return arena_printf(arena, "%.0f", number + 0.0);
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	return arena_strdup(arena, text);
}

enum err_code expression_set_derive(struct expression_set *set, const int *setting, struct arena *arena,
	const char ***ret_texts, double **ret_numbers, struct err *reterr)
{
	size_t n = set->task->n_derived;
	const char **texts = arena_array(arena, n, sizeof(*texts));
	double *numbers = arena_array(arena, n, sizeof(*numbers));
	for (size_t i = 0; i < n; i++) {
		struct sandbox_value value;
		struct err inner = ERR_INIT;
		if (constraint_value(set, i, setting, &value, &inner) != OK)
			return expression_error(set, &set->constraints[i], &inner, reterr);
		bool is_text = value.kind == SANDBOX_TEXT;
		texts[i] = is_text ? arena_strdup(arena, value.text) : number_text(value.number, arena);
		numbers[i] = is_text ? NAN : value.number;
	}
	*ret_texts = texts;
	if (ret_numbers)
		*ret_numbers = numbers;
	return OK;
}

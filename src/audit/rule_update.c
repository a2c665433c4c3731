/* A3: optimizer and auxiliary work that is skipped, deferred, made periodic, or loses one of its terms. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "audit/audit_int.h"
#include "base/strbuf.h"

/* `if (step % 2 == 0)` and the like around anything but printing. */
static void check_step_conditions(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_BRANCH || f->twin || !depends_on_step(f->value) ||
			only_logs(change, f->source, f->node))
			continue;
		if (node_is(f->node, "conditional_expression") && word_in(f->function, WORDS_LOG))
			continue;
		report(change, AUDIT_BLOCK, f, "a new condition on the step decides what is computed");
	}
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_BRANCH || !f->twin || f->kind != FACT_ASSIGN)
			continue;
		const struct guard *guard = added_guard(change, f->twin, f, WORDS_UPDATE);
		if (guard && guard->kind == GUARD_IF && depends_on_step(guard->text))
			report(change, AUDIT_BLOCK, f, "an assignment now depends on the step");
	}
}

/* What a branch does: its text without blanks, directives and the braces around it. */
static void branch_text(const struct source *source, TSNode branch, struct strbuf *text)
{
	if (node_is(branch, "else_clause"))
		branch = ts_node_named_child(branch, 0);
	uint32_t end = ts_node_end_byte(branch);
	bool begins_line = false;
	for (uint32_t at = ts_node_start_byte(branch); at < end; at++) {
		if (begins_line && source->text[at] == '#')
			while (at + 1 < end && source->text[at] != '\n')
				at++;
		begins_line = source->text[at] == '\n' || (begins_line && strchr(" \t", source->text[at]));
		if (!strchr(" \t\r\n", source->text[at]))
			strbuf_addch(text, source->text[at]);
	}
	bool has_braces = text->len >= 2 && text->buf[0] == '{' && text->buf[text->len - 1] == '}';
	if (has_braces) {
		memmove(text->buf, text->buf + 1, text->len - 2);
		text->len -= 2;
		text->buf[text->len] = '\0';
	}
}

static uint64_t conditions_of(const struct guard *guards)
{
	return guards ? guards->conditions : 0;
}

/* if (...) { A } else { A }, but for directives, and no other condition is new: A is done whatever happens.
 */
static bool is_done_either_way(const struct fact *f, const struct guard *guard)
{
	TSNode other = node_is(guard->node, "if_statement")
			       ? ts_node_child_by_field_name(guard->node, "alternative", 11)
			       : (TSNode){.id = NULL};
	if (ts_node_is_null(other) || conditions_of(f->guards) != guard->conditions ||
		conditions_of(guard->up) != conditions_of(f->twin->guards))
		return false;
	CLEANUP(strbuf_release) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	branch_text(f->source, ts_node_child_by_field_name(guard->node, "consequence", 11), &a);
	branch_text(f->source, other, &b);
	return a.len > 0 && a.len == b.len && memcmp(a.buf, b.buf, a.len) == 0;
}

/* In functions of the optimizer, assignments must stay unconditional too. */
static void check_assignments(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || !f->twin || !f->function[0] || !same_function(f, f->twin) ||
			!word_in(f->function, WORDS_UPDATE) || node_is(f->node, "init_declarator"))
			continue;
		const struct guard *guard = added_guard(change, f->twin, f, WORDS_COUNT);
		if (!guard || is_done_either_way(f, guard))
			continue;
		bool periodic = depends_on_step(guard->text) || text_has_token(guard->text, "%") ||
				strcmp(guard->text, "never") == 0;
		report(change, periodic ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			"part of an update became conditional");
	}
}

/* In functions of the optimizer, every call counts: whatever it is named, it is part of the update. */
static void check_calls_within(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_CALL || !f->twin || !same_function(f, f->twin) ||
			!word_in(f->function, WORDS_UPDATE) || word_in(f->name, WORDS_LOG) ||
			word_in(f->name, WORDS_ALLOCATE))
			continue;
		const struct guard *guard = added_guard(change, f, f->twin, WORDS_UPDATE);
		if (!guard || is_done_either_way(f->twin, guard))
			continue;
		/* leaving out what is zero changes nothing, where it is a factor */
		bool zero = text_contains(guard->text, "!= 0") || text_contains(guard->text, "== 0");
		report(change, zero && !depends_on_step(guard->text) ? AUDIT_REVIEW : AUDIT_BLOCK, f->twin,
			"part of an update became conditional");
	}
}

static bool is_update_function(const char *function)
{
	const char *last = strrchr(function, '_');
	return word_in(function, WORDS_UPDATE) || strcmp(last ? last : function, "_update") == 0 ||
	       strncmp(function, "update_", 7) == 0;
}

static bool existed_still(const struct change *change, const char *function)
{
	for (size_t i = 0; i < change->n_new; i++)
		if (change->new[i]->kind == FACT_FUNCTION && strcmp(change->new[i]->name, function) == 0)
			return true;
	return false;
}

/* A store through a pointer that makes state; scaling in place (*=) is an intermediate that fusing does away
 * with. */
static bool stores_through(const struct fact *f, const char *name)
{
	return f->kind == FACT_ASSIGN && strcmp(f->name, name) == 0 && strpbrk(f->init, "[*") &&
	       f->op[0] != '*';
}

static bool writes_in_old(const struct change *change, const struct fact *parameter)
{
	for (size_t i = 0; i < change->n_old; i++)
		if (stores_through(change->old[i], parameter->name) &&
			same_function(change->old[i], parameter))
			return true;
	return false;
}

/* x[i] = c ? 0 : x[i] * s: the old store scaled what was there, so x[i] *= f may say the same. */
static bool scaled_in_old(const struct change *change, const struct fact *parameter)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (stores_through(f, parameter->name) && same_function(f, parameter) &&
			(strcmp(f->op, "=") != 0 || !text_contains(f->value, f->init) ||
				!text_has_token(f->value, "*")))
			return false;
	}
	return true;
}

static bool may_write_in_new(const struct change *change, const struct fact *parameter)
{
	bool scaling_counts = scaled_in_old(change, parameter);
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool passes = f->kind == FACT_CALL && text_contains(f->value, parameter->name);
		bool scales = scaling_counts && f->kind == FACT_ASSIGN && strcmp(f->op, "*=") == 0 &&
			      strcmp(f->name, parameter->name) == 0;
		if ((passes || scales || stores_through(f, parameter->name)) && same_function(f, parameter))
			return true;
	}
	return false;
}

static bool is_read_not_written(const struct change *change, const struct fact *old)
{
	bool read = false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (strcmp(f->name, old->name) != 0)
			continue;
		if (f->kind == FACT_ASSIGN && !node_is(f->node, "init_declarator"))
			return false;
		read |= f->kind == FACT_NAME && same_function(f, old);
	}
	return read;
}

/* State that is still read here but written nowhere any more. */
static void check_stores(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->twin || !stores_through(f, f->name) || !word_in(f->function, WORDS_UPDATE))
			continue;
		if (spend(change, change->n_new) && is_read_not_written(change, f))
			report(change, AUDIT_BLOCK, f, "part of the state is no longer updated");
	}
}

/* A function of the optimizer that no longer stores through one of its pointers. */
static void check_outputs(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_DECLARE || !(f->flags & DECLARE_PARAMETER) ||
			!(f->flags & DECLARE_POINTER) || !f->twin || !same_function(f, f->twin) ||
			!word_in(f->function, WORDS_UPDATE))
			continue;
		if (spend(change, change->n_old + change->n_new) && writes_in_old(change, f) &&
			!may_write_in_new(change, f))
			report(change, AUDIT_BLOCK, f, "part of the state is no longer updated");
	}
}

static size_t count_elements(struct fact **facts, size_t n, const struct fact *like, bool anywhere)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += facts[i]->kind == FACT_NAME && strcmp(facts[i]->name, like->name) == 0 &&
			 (anywhere || same_function(facts[i], like));
	return count;
}

/* params of model->params[i], an array that is not the function's own */
static bool is_array_read(const struct change *change, const struct fact *f)
{
	TSNode node = f->node;
	if (node_is(node, "field_identifier"))
		node = node_parent(node);
	TSNode parent = node_parent(node);
	if (f->kind != FACT_NAME || !node_is(parent, "subscript_expression") ||
		!ts_node_eq(node_field(parent, "argument"), node))
		return false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *d = change->old[i];
		if (d->kind == FACT_DECLARE && strcmp(d->name, f->name) == 0 && same_function(d, f) &&
			!(d->flags & DECLARE_PARAMETER))
			return false;
	}
	return true;
}

static bool has_new_call(const struct change *change, const struct fact *in)
{
	for (size_t i = 0; i < change->n_new; i++)
		if (change->new[i]->kind == FACT_CALL && !change->new[i]->twin &&
			same_function(change->new[i], in) && !word_in(change->new[i]->name, WORDS_LOG))
			return true;
	return false;
}

/* An array that the update was computed from is not looked at any more. */
static void check_inputs(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_NAME || f->twin || !is_update_function(f->function) ||
			!existed_still(change, f->function) ||
			!spend(change, 2 * (change->n_old + change->n_new)) || !is_array_read(change, f))
			continue;
		bool moved = count_elements(change->new, change->n_new, f, true) >=
			     count_elements(change->old, change->n_old, f, true);
		if (!moved && !has_new_call(change, f) &&
			count_elements(change->new, change->n_new, f, false) == 0)
			report(change, AUDIT_BLOCK, f,
				"part of what the update is made from is no longer read");
	}
}

/* #define BALANCE 0.01f: a factor of the training, whatever it is called. */
static bool is_real_macro(const struct fact *f)
{
	return f->kind == FACT_DEFINE && text_is_literal(f->value) && text_has_real(f->twin->value) &&
	       !word_in(f->name, WORDS_LOG) && !word_in(f->name, WORDS_TILE);
}

static void check_hyper_parameters(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if ((f->kind != FACT_ASSIGN && f->kind != FACT_DEFINE) || !f->twin || f->same ||
			!(word_in(f->name, WORDS_HYPER) || is_real_macro(f)))
			continue;
		double before = text_number(f->twin->value), now = text_number(f->value);
		if (!isnan(now) && (isnan(before) || now != before))
			report(change, AUDIT_BLOCK, f, "a hyper-parameter was given another value");
		else if (!isnan(before) && isnan(now))
			report(change, AUDIT_REVIEW, f, "a hyper-parameter is no longer a constant");
	}
}

/* Another optimizer: the family's name in the calls is not what it was. */
static void check_family(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *old = change->old[i];
		if (old->kind != FACT_CALL || old->twin || !word_in(old->name, WORDS_FAMILY))
			continue;
		bool kept = false;
		const struct fact *other = NULL;
		for (size_t k = 0; k < change->n_new; k++) {
			const struct fact *now = change->new[k];
			if (now->kind != FACT_CALL || now->twin || !word_in(now->name, WORDS_FAMILY))
				continue;
			other = now;
			for (const char *family = "adam"; family; family = NULL)
				kept |= strstr(now->name, family) && strstr(old->name, family);
			kept |= strstr(now->name, old->name) || strstr(old->name, now->name);
		}
		if (other && !kept)
			report(change, AUDIT_BLOCK, other,
				"another optimizer takes the place of the old one");
	}
}

/* comm_sum(&comm, model->grads, n): whatever the function is called, it works on what the update is made of.
 */
static bool is_given_gradients(const struct fact *call)
{
	static const char *const names[] = {"grad", "grads", "gradient", "gradients"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (text_has_token(call->twin->value, names[i]) && text_has_token(call->value, names[i]))
			return true;
	return false;
}

static void check_call_constants(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && f->twin && !f->same &&
			(word_in(f->name, WORDS_UPDATE) || is_given_gradients(f)) &&
			!word_in(f->name, WORDS_REPORT) && !word_in(f->name, WORDS_ALLOCATE) &&
			!word_in(f->name, WORDS_LOG))
			check_arguments(
				change, f, "an optimizer function is given a constant or a smaller size");
	}
}

void rule_update(struct change *change)
{
	check_placement(change, WORDS_UPDATE, WORDS_REPORT, "optimizer, gradient or auxiliary work");
	check_update_order(change);
	check_handed_work(change);
	check_collectives(change);
	check_step_conditions(change);
	check_assignments(change);
	check_calls_within(change);
	check_lost_names(change, WORDS_HYPER, "a coefficient of the update or the loss is no longer used");
	check_outputs(change);
	check_stores(change);
	check_inputs(change);
	check_hyper_parameters(change);
	check_family(change);
	check_call_constants(change);
}

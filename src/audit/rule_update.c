/* A3: optimizer and auxiliary work that is skipped, deferred, made periodic, or loses one of its terms. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "audit/audit_int.h"

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

/* In functions of the optimizer, assignments must stay unconditional too. */
static void check_assignments(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || !f->twin || !f->function[0] || !same_function(f, f->twin) ||
			!word_in(f->function, WORDS_UPDATE) || node_is(f->node, "init_declarator"))
			continue;
		const struct guard *guard = added_guard(change, f->twin, f, WORDS_COUNT);
		if (!guard)
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
		if (!guard)
			continue;
		/* leaving out what is zero changes nothing, where it is a factor */
		bool zero = text_contains(guard->text, "!= 0") || text_contains(guard->text, "== 0");
		report(change, zero && !depends_on_step(guard->text) ? AUDIT_REVIEW : AUDIT_BLOCK, f->twin,
			"part of an update became conditional");
	}
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

static bool may_write_in_new(const struct change *change, const struct fact *parameter)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool passes = f->kind == FACT_CALL && text_contains(f->value, parameter->name);
		if ((passes || stores_through(f, parameter->name)) && same_function(f, parameter))
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

static void check_hyper_parameters(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if ((f->kind != FACT_ASSIGN && f->kind != FACT_DEFINE) || !f->twin || f->same ||
			!word_in(f->name, WORDS_HYPER))
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

static void check_call_constants(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && f->twin && !f->same && word_in(f->name, WORDS_UPDATE) &&
			!word_in(f->name, WORDS_REPORT))
			check_arguments(
				change, f, "an optimizer function is given a constant or a smaller size");
	}
}

void rule_update(struct change *change)
{
	check_placement(change, WORDS_UPDATE, WORDS_REPORT, "optimizer, gradient or auxiliary work");
	check_step_conditions(change);
	check_assignments(change);
	check_calls_within(change);
	check_lost_names(change, WORDS_HYPER, "a coefficient of the update or the loss is no longer used");
	check_outputs(change);
	check_stores(change);
	check_hyper_parameters(change);
	check_family(change);
	check_call_constants(change);
}

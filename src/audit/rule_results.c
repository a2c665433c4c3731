/* A8: what is reported must be what was computed: no constants, no earlier or smoothed values, no counters
 * without work. */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"

/* An assignment of a result in the old version that computed it, and is gone or changed. */
static const struct fact *lost_computation(const struct change *change, const struct fact *now)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_ASSIGN && strcmp(f->name, now->name) == 0 && (!f->twin || !f->same) &&
			!text_is_literal(f->value) && text_has_identifier(f->value))
			return f;
	}
	return NULL;
}

static void check_constants(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || !is_added(f) || !word_in(f->name, WORDS_RESULT) || !f->value[0])
			continue;
		if (!text_has_identifier(f->value) &&
			(lost_computation(change, f) || text_number(f->value) != 0))
			report(change, AUDIT_BLOCK, f, "a result is given a constant");
	}
}

/* New numbers, names of earlier values, another normalisation. */
static void check_mixture(struct change *change, const struct fact *f)
{
	const char *before = f->twin ? f->twin->value : "";
	bool scales = f->op[0] == '*' || f->op[0] == '/';
	bool replaces = f->twin && strcmp(f->op, "=") == 0 && !node_is(f->node, "init_declarator");
	if (text_has_word(f->value, WORDS_STALE) && !text_has_word(before, WORDS_STALE))
		report(change, AUDIT_BLOCK, f, "a result is mixed with or taken from an earlier value");
	else if ((f->twin || scales) && text_has_new_number(f->value, before))
		report(change, AUDIT_BLOCK, f, "a result is computed with a new constant");
	else if (replaces || scales)
		report(change, AUDIT_REVIEW, f, "a result is computed or normalised differently");
}

static void check_mixtures(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_ASSIGN && is_added(f) && word_in(f->name, WORDS_RESULT) &&
			text_has_identifier(f->value))
			check_mixture(change, f);
	}
}

static bool returns_result(const struct fact *f)
{
	return f->kind == FACT_EXIT && f->name[0] == 'r' &&
	       (word_in(f->function, WORDS_RESULT) || word_in(f->function, WORDS_WORK) ||
		       word_in(f->function, WORDS_UPDATE));
}

/* return 2.31f; where something computed was returned */
static void check_return(struct change *change, const struct fact *f)
{
	bool lost = false,
	     new_number = word_in(f->function, WORDS_RESULT) || text_has_word(f->value, WORDS_RESULT),
	     literal = text_is_literal(f->value);
	for (size_t k = 0; k < change->n_old; k++) {
		const struct fact *old = change->old[k];
		if (old->kind != FACT_EXIT || !same_function(old, f) || !text_has_identifier(old->value))
			continue;
		lost |= !old->twin;
		new_number &= text_has_new_number(f->value, old->value);
	}
	if (lost && literal && !text_contains(f->value, "- 1"))
		report(change, AUDIT_BLOCK, f, "a constant is returned in place of a result");
	else if (lost && new_number)
		report(change, AUDIT_BLOCK, f, "a result is computed with a new constant");
	else if (lost && text_has_word(f->value, WORDS_STALE))
		report(change, AUDIT_BLOCK, f, "an earlier value is returned in place of a result");
	else if (literal && text_has_real(f->value))
		report(change, AUDIT_REVIEW, f, "a constant is returned");
}

static void check_returns(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!f->twin && returns_result(f) && f->value[0])
			check_return(change, f);
	}
}

/* opt_step++ twice, tokens += more: counters that run ahead of the work */
static bool counts_work(const struct fact *f)
{
	static const char *const operators[] = {"++", "+=", "--", "-="};
	static const char *const names[] = {"tokens", "rows"};
	return f->kind == FACT_ASSIGN && name_is_one_of(f->op, operators, ARRAY_LEN(operators)) &&
	       (word_in(f->name, WORDS_STEP) || name_is_one_of(f->name, names, ARRAY_LEN(names)));
}

static void check_counters(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->same || !counts_work(f))
			continue;
		if (f->twin && (strcmp(f->value, f->twin->value) != 0 || strcmp(f->op, f->twin->op) != 0))
			report(change,
				text_has_new_number(f->value, f->twin->value) ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"a counter of work is advanced by something else");
		else if (!f->twin && existed(change, FACT_NAME, f->name) &&
			 !node_is(ts_node_parent(f->node), "for_statement"))
			report(change, AUDIT_BLOCK, f, "a counter of work is advanced in a further place");
	}
}

void rule_results(struct change *change)
{
	check_constants(change);
	check_mixtures(change);
	check_returns(change);
	check_counters(change);
}

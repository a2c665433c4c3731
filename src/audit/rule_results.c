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

/* The same value is still returned, perhaps after a further condition. */
static bool is_still_returned(const struct change *change, const struct fact *old)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_EXIT && same_function(f, old) && strcmp(f->value, old->value) == 0)
			return true;
	}
	return false;
}

/* The division may have moved to an assignment: loss /= rows; return loss; */
static bool sets_variable(const struct change *change, const struct fact *exit)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_ASSIGN && is_added(f) && same_function(f, exit) &&
			text_contains(exit->value, f->name) &&
			(strcmp(f->op, "/=") == 0 || strcmp(f->op, "*=") == 0 ||
				text_has_token(f->value, "/") || text_has_token(f->value, "*")))
			return true;
	}
	return false;
}

/* `now` is `before` without one of its divisions. */
static bool lost_division(const char *now, const char *before)
{
	size_t n = strlen(now), n_before = strlen(before);
	for (const char *at = before; n < n_before && (at = strstr(at, " / ")); at++) {
		size_t head = (size_t)(at - before);
		if (head <= n && strncmp(now, before, head) == 0 &&
			strcmp(now + head, before + n_before - (n - head)) == 0)
			return true;
	}
	return false;
}

/* The same but for real numbers: 1e-3f in place of 1e-5f. */
static bool has_other_reals_only(const char *now, const char *before)
{
	struct token a, b;
	bool other = false;
	for (;;) {
		bool more = next_token(&now, &a), had = next_token(&before, &b);
		if (!more || !had)
			return !more && !had && other;
		if (a.length == b.length && memcmp(a.text, b.text, a.length) == 0)
			continue;
		char x[40] = "", y[40] = "";
		memcpy(x, a.text, MIN_OF(a.length, sizeof(x) - 1));
		memcpy(y, b.text, MIN_OF(b.length, sizeof(y) - 1));
		if (!text_has_real(x) || !text_has_real(y))
			return false;
		other |= text_number(x) != text_number(y);
	}
}

static void check_numbers(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || !f->twin || f->same || !same_function(f, f->twin))
			continue;
		if (has_other_reals_only(f->value, f->twin->value) && text_has_identifier(f->value))
			report(change, AUDIT_BLOCK, f, "a constant of the computation was changed");
		if (word_in(f->name, WORDS_RESULT) && lost_division(f->value, f->twin->value))
			report(change, AUDIT_BLOCK, f, "a result is no longer divided");
	}
}

/* loss / count has become a sum. */
static void check_undivided(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *old = change->old[i];
		if (old->kind != FACT_EXIT || old->twin || !strstr(old->value, " / ") ||
			!spend(change, change->n_new) || is_still_returned(change, old))
			continue;
		for (size_t k = 0; k < change->n_new; k++) {
			const struct fact *f = change->new[k];
			if (f->kind == FACT_EXIT && !f->twin && same_function(f, old) && f->value[0] &&
				lost_division(f->value, old->value) && !sets_variable(change, f))
				report(change, AUDIT_BLOCK, f, "a result is no longer divided");
		}
	}
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

/* The old version returned a variable named as a result. */
static bool returned_result(const struct change *change, const struct fact *f)
{
	if (!spend(change, change->n_old))
		return false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *old = change->old[i];
		if (old->kind == FACT_EXIT && same_function(old, f) &&
			text_has_word(old->value, WORDS_RESULT))
			return true;
	}
	return false;
}

static bool returns_result(const struct change *change, const struct fact *f)
{
	return f->kind == FACT_EXIT && f->name[0] == 'r' &&
	       (word_in(f->function, WORDS_RESULT) || word_in(f->function, WORDS_WORK) ||
		       word_in(f->function, WORDS_UPDATE) || returned_result(change, f));
}

static const char *divisor_of(const char *text)
{
	const char *found = NULL;
	for (const char *at = text; (at = strstr(at, " / ")); at++)
		found = at + 3;
	return found;
}

static bool names_existed(const struct change *change, const char *text)
{
	struct token t;
	while (next_token(&text, &t)) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (text_has_identifier(name) && !existed(change, FACT_NAME, name))
			return false;
	}
	return true;
}

/* return loss / rows, where loss / count was returned, and both were there: another mean. */
static bool is_divided_by_another(const struct change *change, const char *now, const char *before)
{
	const char *divisor = divisor_of(now), *was = divisor_of(before);
	return divisor && was && strcmp(divisor, was) != 0 && text_has_identifier(divisor) &&
	       names_existed(change, divisor);
}

/* How what a function returned before compares with what it returns now. */
struct lost_returns {
	bool lost, other_mean, new_number;
};

static struct lost_returns compare_returns(const struct change *change, const struct fact *f)
{
	struct lost_returns r = {
		.new_number = word_in(f->function, WORDS_RESULT) || text_has_word(f->value, WORDS_RESULT)};
	for (size_t k = 0; k < change->n_old; k++) {
		const struct fact *old = change->old[k];
		if (old->kind != FACT_EXIT || !same_function(old, f) || !text_has_identifier(old->value))
			continue;
		r.new_number &= text_has_new_number(f->value, old->value);
		if (!spend(change, change->n_new) || old->twin || is_still_returned(change, old))
			continue;
		r.lost = true;
		r.other_mean |= is_divided_by_another(change, f->value, old->value);
	}
	return r;
}

/* return 2.31f; where something computed was returned */
static void check_return(struct change *change, const struct fact *f)
{
	bool literal = text_is_literal(f->value);
	struct lost_returns r = compare_returns(change, f);
	if (r.lost && literal && !text_contains(f->value, "- 1"))
		report(change, AUDIT_BLOCK, f, "a constant is returned in place of a result");
	else if (r.lost && r.new_number)
		report(change, AUDIT_BLOCK, f, "a result is computed with a new constant");
	else if (r.lost && text_has_word(f->value, WORDS_STALE))
		report(change, AUDIT_BLOCK, f, "an earlier value is returned in place of a result");
	else if (r.other_mean)
		report(change, AUDIT_REVIEW, f, "a result is divided by something else");
	else if (literal && text_has_real(f->value))
		report(change, AUDIT_REVIEW, f, "a constant is returned");
}

static void check_returns(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!f->twin && f->value[0] && returns_result(change, f))
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
			 !node_is(node_parent(f->node), "for_statement"))
			report(change, AUDIT_BLOCK, f, "a counter of work is advanced in a further place");
	}
}

void rule_results(struct change *change)
{
	check_constants(change);
	check_mixtures(change);
	check_numbers(change);
	check_undivided(change);
	check_returns(change);
	check_counters(change);
}

/* A6: failures made invisible: checks and exits removed, NaN replaced, losses clamped, success returned. */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"

static const char *const nan_tests[] = {"isnan", "isinf", "isfinite", "__builtin_isnan", "__builtin_isinf",
	"__builtin_isfinite", "fpclassify", "isnanf", "isnormal", "nan_to_num"};

static bool ends_program(const struct fact *f)
{
	static const char *const fatal[] = {
		"exit", "abort", "_exit", "_Exit", "quick_exit", "err", "errx", "die", "fatal", "perror"};
	return f->kind == FACT_CALL && name_is_one_of(f->name, fatal, ARRAY_LEN(fatal));
}

/* malloc() of `mask = malloc(n)`: gone with the variable. */
static bool was_made_by_gone_call(const struct change *change, const struct fact *check, const char *name)
{
	bool made = false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_ASSIGN || !same_function(f, check) || strcmp(f->init, name) != 0)
			continue;
		for (size_t k = 0; k < change->n_old; k++) {
			const struct fact *call = change->old[k];
			if (call->kind != FACT_CALL || call->source != f->source ||
				!node_contains(f->node, call->node))
				continue;
			if (call->twin)
				return false;
			made = true;
		}
	}
	return made;
}

/* What was checked is gone itself: the variables of the condition are named no more, nor are the calls that
 * made them. */
static bool checked_what_is_gone(const struct change *change, const struct fact *check)
{
	const struct guard *g = check->guards;
	struct token t;
	bool gone = false;
	while (g && g->kind != GUARD_IF)
		g = g->up;
	for (const char *at = g ? g->text : ""; next_token(&at, &t);) {
		char name[80] = "";
		memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
		if (!text_has_identifier(name) || strcmp(name, "NULL") == 0)
			continue;
		if (!spend(change, change->n_new + 8 * change->n_old))
			return false;
		for (size_t i = 0; i < change->n_new; i++)
			if (change->new[i]->kind == FACT_NAME && same_function(change->new[i], check) &&
				strcmp(change->new[i]->name, name) == 0)
				return false;
		if (!was_made_by_gone_call(change, check, name))
			return false;
		gone = true;
	}
	return gone;
}

static void check_removed(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_CALL)
			continue;
		bool assertion = strcmp(f->name, "assert") == 0 || strstr(f->name, "Check") ||
				 strstr(f->name, "check_");
		if (!f->twin && name_is_one_of(f->name, nan_tests, ARRAY_LEN(nan_tests)))
			report(change, AUDIT_BLOCK, f, "a test for NaN is gone");
		else if (!f->twin && (ends_program(f) || assertion) && !checked_what_is_gone(change, f))
			report(change, AUDIT_REVIEW, f, "an error check is gone");
	}
}

static bool is_zero(const char *text)
{
	return strcmp(text, "0") == 0 || strcmp(text, "( 0 )") == 0 || strcmp(text, "EXIT_SUCCESS") == 0 ||
	       strcmp(text, "( EXIT_SUCCESS )") == 0;
}

static bool is_failure(const char *text)
{
	static const char *const values[] = {
		"1", "( 1 )", "EXIT_FAILURE", "( EXIT_FAILURE )", "- 1", "( - 1 )", "2"};
	return name_is_one_of(text, values, ARRAY_LEN(values));
}

/* exit(1) became exit(0); in main, return 1 became return 0. */
static void check_exit_status(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->same || !ends_program(f) || !is_zero(f->value))
			continue;
		if (!f->twin)
			report(change, AUDIT_BLOCK, f, "the program ends early as a success");
		else if (!is_zero(f->twin->value))
			report(change, AUDIT_BLOCK, f, "a failure now ends the program as a success");
	}
}

static bool now_returns_success(const struct change *change, const char *function)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_EXIT && !f->twin && strcmp(f->function, function) == 0 &&
			is_zero(f->value))
			return true;
	}
	return false;
}

static void check_status(struct change *change)
{
	check_exit_status(change);
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind != FACT_EXIT || f->twin || !is_failure(f->value))
			continue;
		bool success = now_returns_success(change, f->function);
		report(change, success ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			success ? "a failure is now returned as a success"
				: "an error is no longer returned");
	}
}

/* The branch or ?: whose condition holds the node. */
static const struct fact *deciding_branch(const struct fact *f)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *b = &s->facts[i];
		if (b->kind == FACT_BRANCH && node_contains(node_field(b->node, "condition"), f->node))
			return b;
	}
	return NULL;
}

/* After the test the program ends, says so or returns; it does not put a number in. */
static bool reacts_honestly(const struct fact *branch)
{
	const struct source *s = branch->source;
	bool speaks = false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (!node_contains(node_field(branch->node, "consequence"), f->node))
			continue;
		if (f->kind == FACT_ASSIGN ||
			(f->kind == FACT_EXIT && (f->name[0] == 'c' || f->name[0] == 'b')))
			return false;
		speaks |= ends_program(f) || f->kind == FACT_EXIT ||
			  (f->kind == FACT_CALL && word_in(f->name, WORDS_LOG));
	}
	return speaks;
}

static void check_nan(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool test = f->kind == FACT_CALL && name_is_one_of(f->name, nan_tests, ARRAY_LEN(nan_tests));
		bool unequal_to_itself = f->kind == FACT_BINARY &&
					 (strcmp(f->op, "!=") == 0 || strcmp(f->op, "==") == 0) &&
					 strcmp(f->init, f->value) == 0;
		if (f->twin || (!test && !unequal_to_itself))
			continue;
		const struct fact *branch = deciding_branch(f);
		if (branch && reacts_honestly(branch))
			continue;
		report(change, AUDIT_BLOCK, f, "a NaN is recognised and not reported as a failure");
	}
}

/* fminf(loss, 10.0f), loss > 5 ? 5 : loss */
static bool has_clamp(const char *text)
{
	static const char *const clamps[] = {"fminf", "fmin", "fmaxf", "fmax", "MIN", "MAX", "clamp", "?"};
	for (size_t i = 0; i < ARRAY_LEN(clamps); i++)
		if (text_has_token(text, clamps[i]))
			return true;
	return false;
}

static void check_clamps(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || !is_added(f) || !word_in(f->name, WORDS_RESULT))
			continue;
		bool clamped_before = f->twin && has_clamp(f->twin->value);
		if (has_clamp(f->value) && !clamped_before && text_has_word(f->value, WORDS_RESULT))
			report(change, AUDIT_BLOCK, f, "a reported value is clamped");
	}
}

static void check_signals(struct change *change)
{
	static const char *const names[] = {"signal", "sigaction", "setjmp", "sigsetjmp", "longjmp",
		"siglongjmp", "atexit", "on_exit", "fedisableexcept", "feclearexcept", "set_terminate",
		"close_stderr"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && is_added(f) && name_is_one_of(f->name, names, ARRAY_LEN(names)))
			report(change, AUDIT_BLOCK, f, "errors are caught before anyone sees them");
	}
}

void rule_errors(struct change *change)
{
	check_removed(change);
	check_status(change);
	check_nan(change);
	check_clamps(change);
	check_signals(change);
}

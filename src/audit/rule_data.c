/* A9: the same rows in the same order, the same random numbers. */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"

static bool is_random_call(const struct fact *f)
{
	return f->kind == FACT_CALL && word_in(f->name, WORDS_RANDOM);
}

static void check_random_calls(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (is_random_call(f) && f->twin && !f->same)
			report(change, AUDIT_BLOCK, f, "a random number generator is called differently");
		else if (is_random_call(f) && !f->twin)
			report(change, existed(change, FACT_CALL, f->name) ? AUDIT_BLOCK : AUDIT_REVIEW, f,
				"a further use of a random number generator");
	}
}

static bool in_data_function(const struct fact *f)
{
	return f->function[0] && (word_in(f->function, WORDS_LOADER) || word_in(f->function, WORDS_RANDOM));
}

/* Inside loaders and generators: positions and seeds, and what decides about them. */
static void check_functions(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_added(f) || !in_data_function(f) || !existed(change, FACT_FUNCTION, f->function))
			continue;
		bool random = word_in(f->function, WORDS_RANDOM);
		if (f->kind == FACT_ASSIGN && f->twin && same_function(f, f->twin) &&
			!node_is(f->node, "init_declarator"))
			report(change, AUDIT_BLOCK, f, "rows or random numbers are made differently");
		else if (f->kind == FACT_ASSIGN && f->twin && same_function(f, f->twin))
			report(change, AUDIT_REVIEW, f,
				"a value used to make rows or random numbers changed");
		else if (f->kind == FACT_BRANCH || (f->kind == FACT_EXIT && random))
			report(change, AUDIT_REVIEW, f, "a loader or generator has a new decision");
	}
}

static void check_seeds(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		bool sets = f->kind == FACT_ASSIGN || f->kind == FACT_DEFINE;
		if (sets && is_added(f) && (word_in(f->name, WORDS_RANDOM)) &&
			existed(change, FACT_NAME, f->name))
			report(change, AUDIT_BLOCK, f,
				"a seed or the state of a generator is set differently");
	}
}

static bool is_new_array(const struct change *change, const struct fact *call, const char *name)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_DECLARE && strcmp(f->name, name) == 0 && same_function(f, call))
			return !f->twin && (f->flags & (DECLARE_ARRAY | DECLARE_POINTER)) &&
			       !(f->flags & DECLARE_STATIC);
	}
	return false;
}

/* The same rows, written to arrays that are new in this function. */
static bool goes_elsewhere_only(const struct change *change, const struct fact *call)
{
	const char *now = call->value, *before = call->twin->value;
	struct token a, b;
	if (!spend(change, 8 * change->n_new))
		return false;
	for (;;) {
		bool more = next_token(&now, &a), had = next_token(&before, &b);
		if (!more || !had)
			return !more && !had;
		char name[80] = "";
		memcpy(name, a.text, MIN_OF(a.length, sizeof(name) - 1));
		bool same = a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
		if (!same && !is_new_array(change, call, name))
			return false;
	}
}

/* load_row(corpus, step, row) became load_row(corpus, 0, row % 2): other arguments, other rows. */
static void check_calls(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || !f->twin || f->same || !word_in(f->name, WORDS_DATA) ||
			word_in(f->name, WORDS_ALLOCATE) || word_in(f->name, WORDS_RANDOM) ||
			goes_elsewhere_only(change, f))
			continue;
		check_arguments(change, f, "rows are chosen by a constant or from fewer");
		bool modulo = text_has_token(f->value, "%") && !text_has_token(f->twin->value, "%");
		report(change, modulo ? AUDIT_BLOCK : AUDIT_REVIEW, f, "rows are asked for differently");
	}
}

void rule_data(struct change *change)
{
	check_placement(change, WORDS_DATA, WORDS_ALLOCATE, "loading of rows");
	check_placement(change, WORDS_RANDOM, WORDS_COUNT, "drawing of random numbers");
	check_random_calls(change);
	check_functions(change);
	check_seeds(change);
	check_lost_names(change, WORDS_RANDOM, "a seed or generator is no longer used here");
	check_calls(change);
}

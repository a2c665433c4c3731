/* A4 for Python: loops that end earlier, start later, leave out turns, or go over less. */
#include "base/base.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

static bool is_range(const struct fact *loop)
{
	return loop->init[0] != '\0';
}

static bool body_works(const struct change *change, const struct fact *loop)
{
	const struct source *s = loop->source;
	TSNode node = node_is(loop->node, "for_in_clause") ? node_parent(loop->node) : loop->node;
	if (!spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++)
		if (node_contains(node, s->facts[i].node) &&
			(py_is_work(&s->facts[i]) || py_is_update(&s->facts[i]) || py_is_load(&s->facts[i]) ||
				(s->facts[i].kind == FACT_CALL && py_is_constructor(s->facts[i].name))))
			return true;
	return false;
}

/* Another loop of this change that ends where the old one did. */
static bool is_covered(const struct change *change, const struct fact *loop, const char *bound)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_LOOP && f != loop && is_added(f) && same_function(f, loop) &&
			strcmp(f->value, bound) == 0 && !text_is_literal(f->init))
			return true;
	}
	return false;
}

static double stride_of(const struct fact *loop)
{
	const char *number = strstr(loop->step, "+= ");
	return number ? py_number(number + 3) : 1;
}

static void check_uncounted(struct change *change, const struct fact *now, const struct fact *old)
{
	double before = stride_of(old), stride = stride_of(now);
	bool resolved;
	const char *value = py_resolve(change, now, now->value, &resolved);
	bool less = py_is_less(change, now, now->value, old->value) || py_cuts(value, old->value);
	if (less && strcmp(now->value, old->value) != 0 && !is_covered(change, now, old->value))
		report(change, AUDIT_BLOCK, now,
			"the loop ends earlier than before and nothing does the rest");
	else if (stride > before && !loop_steps_on(now))
		report(change, AUDIT_BLOCK, now, "the loop leaves out iterations");
	else if (py_number(now->init) > py_number(old->init))
		report(change, AUDIT_BLOCK, now, "the loop starts later than before");
}

/* The loop inside a loop over blocks that goes through one block. */
static const struct fact *loop_within(const struct fact *now)
{
	const struct source *s = now->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_LOOP && f != now && is_range(f) && is_added(f) &&
			node_contains(now->node, f->node) && text_contains(f->init, now->name))
			return f;
	}
	return now;
}

static void check_range(struct change *change, const struct fact *now, const struct fact *old)
{
	if (strcmp(now->init, old->init) == 0 && strcmp(now->value, old->value) == 0 &&
		strcmp(now->step + strlen(now->name), old->step + strlen(old->name)) == 0)
		return;
	const struct fact *within = loop_within(now);
	enum coverage coverage = loop_coverage(change, within, old);
	bool peeled =
		py_number(now->init) == 1 && py_number(old->init) == 0 && strcmp(now->value, old->value) == 0;
	switch (coverage) {
	case COVERAGE_ALL:
		return;
	case COVERAGE_IF_EVEN:
		report(change, AUDIT_REVIEW, within,
			"the loops over parts do everything only if the sizes divide without a remainder");
		return;
	case COVERAGE_PART:
	case COVERAGE_PART_OF_BLOCKS:
		report(change, peeled ? AUDIT_REVIEW : AUDIT_BLOCK, within,
			"the loop leaves out some of what it did before");
		return;
	default:
		check_uncounted(change, now, old);
	}
}

/* ---- iterables ---- */

static const char *const shorteners[] = {"islice", "cycle", "repeat", "sample", "take", "head", "select",
	"Subset", "takewhile", "nlargest", "choices", "first", "skip", "dropwhile", "compress", "shard"};

static bool has_shortener(const char *text)
{
	return py_text_has_any(text, shorteners, ARRAY_LEN(shorteners));
}

/* What enumerate(), tqdm() and iter() go over. */
static const char *core_of(const char *text, char core[PY_ARGUMENT_CAP])
{
	static const char *const wrappers[] = {"enumerate ( ", "tqdm ( ", "iter ( "};
	for (size_t i = 0; i < ARRAY_LEN(wrappers); i++) {
		const char *at = text + strlen(wrappers[i]);
		if (strncmp(text, wrappers[i], strlen(wrappers[i])) == 0 && py_next_argument(&at, core))
			return core;
	}
	return text;
}

/* for block in self.layers[:6]; for batch in islice(loader, n) */
static bool is_shortened(
	const struct fact *now, const struct fact *old, const char *value, const char *before)
{
	static const char zip[] = "zip ( range (";
	if (has_shortener(value) && !has_shortener(old->value))
		return true;
	if (strstr(now->value, zip) && !strstr(old->value, zip))
		return true;
	if (!text_contains(value, before))
		return strstr(value, "[ :") && text_has_new_number(value, before);
	const char *cut = strstr(value, before) + strlen(before);
	return strchr(cut, '[') && strchr(cut, ':');
}

/* kept = [next(it) for _ in range(4)]; for batch in kept */
static bool is_kept_part(const char *value, const char *before)
{
	return text_contains(value, before) && (value[0] == '[' || strncmp(value, "list (", 6) == 0) &&
	       text_has_new_number(value, before);
}

static void check_iterable(struct change *change, const struct fact *now, const struct fact *old)
{
	static const char *const wrappers[] = {
		"enumerate", "zip", "tqdm", "iter", "list", "tuple", "Prefetch", "prefetch", "range"};
	bool resolved;
	char was[PY_ARGUMENT_CAP], is[PY_ARGUMENT_CAP];
	const char *value = py_resolve(change, now, core_of(now->value, is), &resolved);
	const char *before = core_of(old->value, was);
	if (strcmp(value, before) == 0)
		return;
	bool wrapped = text_contains(value, before) && HAS(value, wrappers);
	if ((resolved && is_kept_part(value, before)) || is_shortened(now, old, value, before))
		report(change, AUDIT_BLOCK, now, "the loop goes over less than before");
	else if (text_has_token(value, "reversed") != text_has_token(old->value, "reversed"))
		report(change, AUDIT_REVIEW, now, "the loop goes the other way round");
	else if (!wrapped && body_works(change, now))
		report(change, AUDIT_REVIEW, now, "the loop goes over something else");
}

static void check_while(struct change *change, const struct fact *now, const struct fact *old)
{
	bool further = text_has_token(now->text, "and") && !text_has_token(old->text, "and");
	if (py_is_less(change, now, now->value, old->value))
		report(change, AUDIT_BLOCK, now, "the loop ends earlier than before");
	else if (further)
		report(change,
			py_is_arbitrary(now->text) || text_has_new_number(now->text, old->text)
				? AUDIT_BLOCK
				: AUDIT_REVIEW,
			now, "the loop has a further condition to end");
	else if (body_works(change, now) && strcmp(now->text, old->text) != 0)
		report(change, AUDIT_REVIEW, now, "the loop ends on something else");
}

/* The old loop in the place of a new one: its bound or iterable is part of it. */
static const struct fact *replaced_loop(const struct change *change, const struct fact *now)
{
	bool resolved;
	const char *value = py_resolve(change, now, now->value, &resolved);
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_LOOP && !f->twin && same_function(f, now) &&
			(text_contains(now->value, f->value) || text_contains(value, f->value)))
			return f;
	}
	return NULL;
}

/* The comprehension goes over data, parameters or layers. */
static bool filters_work(const struct fact *filter)
{
	for (const struct guard *g = filter->guards; g; g = g->up) {
		const char *at = g->kind == GUARD_LOOP ? strstr(g->text, " in ") : NULL;
		struct token t;
		while (at && next_token(&at, &t)) {
			char name[60] = "";
			memcpy(name, t.text, MIN_OF(t.length, sizeof(name) - 1));
			if (py_is_data_name(name) || word_in(name, WORDS_WORK) || strstr(name, "param"))
				return true;
		}
	}
	return false;
}

static void check_filters(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		const struct guard guard = {.kind = GUARD_IF, .text = f->value, .node = f->node};
		if (!py_is(f, FACT_BRANCH, "filter") || f->twin || py_is_evaluation(f->function) ||
			!filters_work(f) || py_weigh(change, f, &guard) != PY_DECISIVE)
			continue;
		bool certain = py_is_arbitrary(f->value) || text_has_new_number(f->value, "");
		report(change, certain ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			"some of what is gone through is left out");
	}
}

static void check_loop(struct change *change, const struct fact *now, const struct fact *old)
{
	if (is_range(now) && is_range(old))
		check_range(change, now, old);
	else if (now->op[0] == 'i' && old->op[0] == 'i')
		check_iterable(change, now, old);
	else if (now->op[0] == 'w' && old->op[0] == 'w')
		check_while(change, now, old);
	else if (is_range(now) && !isnan(py_number(now->value)) && body_works(change, now))
		report(change, AUDIT_BLOCK, now, "the loop has a fixed number of turns");
}

void py_check_loops(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *now = change->new[i];
		if (now->kind != FACT_LOOP || now->same || py_is_evaluation(now->function))
			continue;
		const struct fact *old = now->twin ? now->twin : replaced_loop(change, now);
		if (old && same_function(old, now))
			check_loop(change, now, old);
	}
	check_filters(change);
}

/*
 * A4: less work: shorter loops, skipped iterations, smaller arguments, early exits.
 *
 * Blocking, unrolling and vectorising also shorten bounds and lengthen strides. They are told apart by what
 * makes them honest: a second loop that ends at the old bound (the tail, or the loop over blocks), or a body
 * that does several elements a turn.
 */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_int.h"
#include "base/memory.h"
#include "base/strbuf.h"

/* ---- loops ---- */

/* i + 8 <= n, which leaves out what does not fill a part: the first comparison, as the loop's bound is. */
static bool asks_for_whole_parts(const struct fact *loop)
{
	TSNode at = node_field(loop->node, "condition");
	for (int i = 0; i < 64 && !ts_node_is_null(at); i++) {
		if (node_is(at, "parenthesized_expression")) {
			at = node_named(at, 0);
			continue;
		}
		TSNode op = node_field(at, "operator");
		if (!node_is(at, "binary_expression") || ts_node_is_null(op))
			return false;
		if (loop->source->text[node_start(op)] == '+')
			return true;
		at = node_field(at, "left");
	}
	return false;
}

/* Another loop that is new in this function and ends where the old one did. */
static bool has_covering_loop(const struct change *change, const struct fact *loop, const char *bound)
{
	if (!spend(change, change->n_new))
		return false;
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_LOOP && f != loop && is_added(f) && same_function(f, loop) &&
			strcmp(f->value, bound) == 0 && !asks_for_whole_parts(f))
			return true;
	}
	return false;
}

static bool is_count(const char *text) /* a number or a macro, not 0 */
{
	return text_is_literal(text) ? text_number(text) != 0
				     : text[0] >= 'A' && text[0] <= 'Z' && !strchr(text, ' ');
}

static bool is_inner_counter(const struct fact *loop, const char *name)
{
	const struct source *s = loop->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_LOOP && &s->facts[i] != loop &&
			strcmp(s->facts[i].name, name) == 0 && node_contains(loop->node, s->facts[i].node))
			return true;
	return false;
}

/* Python: x[i : i + stride] */
static bool steps_by_slices(const struct fact *loop, TSNode body)
{
	const struct source *s = loop->source;
	const char *stride = strstr(loop->step, "+= ");
	for (size_t i = 0; i < s->n_facts && stride; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_BINARY && f->op[0] == '+' && node_contains(body, f->node) &&
			strcmp(f->init, loop->name) == 0 && strcmp(f->value, stride + 3) == 0)
			return true;
	}
	return false;
}

bool loop_steps_on(const struct fact *loop)
{
	const struct source *s = loop->source;
	TSNode body = node_field(loop->node, "body");
	if (s->language == LANGUAGE_PYTHON)
		return steps_by_slices(loop, ts_node_is_null(body) ? node_parent(loop->node) : body);
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (ts_node_is_null(body) || !node_contains(body, f->node))
			continue;
		if (f->kind == FACT_BINARY && f->op[0] == '+' && strcmp(f->init, loop->name) == 0 &&
			(is_count(f->value) || is_inner_counter(loop, f->value)))
			return true;
		if (f->kind == FACT_LOOP && text_contains(f->init, loop->name))
			return true;
	}
	return false;
}

/* The body multiplies i by what the bound was divided by. */
static bool body_multiplies(const struct fact *loop, const char *bound)
{
	const struct source *s = loop->source;
	TSNode body = node_field(loop->node, "body");
	const char *slash = strstr(bound, " / "), *shift = strstr(bound, " >> ");
	const char *factor = slash ? slash + 3 : shift ? shift + 4 : NULL;
	if (!factor || ts_node_is_null(body) || strpbrk(factor, " "))
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind != FACT_BINARY || !node_contains(body, f->node))
			continue;
		bool here = (strcmp(f->init, loop->name) == 0 && strcmp(f->value, factor) == 0) ||
			    (strcmp(f->value, loop->name) == 0 && strcmp(f->init, factor) == 0);
		if (here && (slash ? f->op[0] == '*' : strcmp(f->op, "<<") == 0))
			return true;
	}
	return false;
}

/* A load or store that moves more than one element. */
static bool body_is_vectorised(const struct change *change, const struct fact *loop)
{
	(void)change;
	const struct source *s = loop->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_CALL && node_contains(loop->node, f->node) &&
			(strncmp(f->name, "_mm", 3) == 0 || strncmp(f->name, "vld", 3) == 0 ||
				strncmp(f->name, "vst", 3) == 0 || strncmp(f->name, "svld", 4) == 0))
			return true;
	}
	return false;
}

/* 1 for i++, n for i += n, 0 for what is not a constant. */
static double stride_of(const char *step)
{
	const char *number = strstr(step, "+= ");
	if (strstr(step, "++") || strstr(step, "--"))
		return 1;
	if (!number || !text_is_literal(number + 3))
		return 0;
	return text_number(number + 3);
}

static const struct fact *enclosing_loop(const struct fact *loop, const char *name)
{
	const struct source *s = loop->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_LOOP && f != loop && node_contains(f->node, loop->node) && f->name[0] &&
			text_contains(name, f->name))
			return f;
	}
	return NULL;
}

/* while (n) and while (n != 0) */
static bool says_not_zero(const char *condition, const char *plain)
{
	CLEANUP(free_ptr)
	char *unequal = xasprintf("( %s != 0 )", plain), *more = xasprintf("( %s > 0 )", plain);
	return strcmp(condition, unequal) == 0 || strcmp(condition, more) == 0;
}

static void check_bound(struct change *change, const struct fact *now, const struct fact *old)
{
	if (says_not_zero(now->condition, old->value) || says_not_zero(old->condition, now->value))
		return;
	if (strcmp(now->value, old->value) == 0 ||
		!is_reduction(change, now->function, now->value, old->value))
		return;
	const char *resolved = resolve(change, now->function, now->value);
	if (text_has_word(now->value, WORDS_THREAD) || has_covering_loop(change, now, old->value) ||
		body_multiplies(now, resolved) || body_is_vectorised(change, now))
		return;
	report(change, AUDIT_BLOCK, now, "the loop ends earlier than before and nothing does the rest");
}

static void check_stride(struct change *change, const struct fact *now, const struct fact *old)
{
	double before = stride_of(old->step), stride = stride_of(now->step);
	if (!(stride > before) || before == 0)
		return;
	if (loop_steps_on(now) || body_is_vectorised(change, now))
		return;
	report(change, AUDIT_BLOCK, now, "the loop leaves out iterations");
}

/* i = i0 of a block, or i = block * size, are starts of a part; t - window and t > 16 ? ... cut something
 * off. */
static bool cuts_start(const char *init)
{
	return text_has_token(init, "-") || text_has_token(init, "?") || strstr(init, "max") ||
	       strstr(init, "MAX");
}

static bool is_divided(const char *init)
{
	return text_has_token(init, "/") || text_has_token(init, ">>");
}

static void check_start(
	struct change *change, const struct fact *now, const struct fact *old, enum coverage coverage)
{
	static const char reason[] = "the loop starts later than before";
	if (strcmp(now->init, old->init) == 0 || !now->init[0] || text_has_word(now->init, WORDS_THREAD))
		return;
	double before = text_number(old->init), start = text_number(now->init);
	if (isnan(before))
		return;
	if (!isnan(start)) {
		if (start > before)
			report(change, start > 1 ? AUDIT_BLOCK : AUDIT_REVIEW, now, reason);
		return;
	}
	bool cut = cuts_start(now->init);
	if (!cut && (enclosing_loop(now, now->init) || has_covering_loop(change, now, old->value)))
		return;
	bool counted = coverage == COVERAGE_PART && !body_is_vectorised(change, now);
	report(change, cut || counted || is_divided(now->init) ? AUDIT_BLOCK : AUDIT_REVIEW, now, reason);
}

/* Every part of `i < end && i < n` is about the counter. */
static bool bounds_counter_only(const struct fact *loop)
{
	CLEANUP(strbuf_release) struct strbuf condition = STRBUF_INIT;
	node_text(loop->source, node_field(loop->node, "condition"), &condition);
	for (char *at = condition.buf; at;) {
		char *end = strstr(at, " && ");
		if (end)
			*end = '\0';
		if (!text_has_token(at, loop->name))
			return false;
		at = end ? end + 4 : NULL;
	}
	return true;
}

/* for (...; l < L && !confident; ...) */
static void check_condition(struct change *change, const struct fact *now, const struct fact *old)
{
	bool had = strstr(old->text, "&&") != NULL, has = strstr(now->text, "&&") != NULL;
	if (has && !had)
		report(change,
			text_has_new_number(now->text, old->text) || depends_on_step(now->text)
				? AUDIT_BLOCK
				: AUDIT_REVIEW,
			now, "the loop has a further condition to end");
}

/* The old loop that a loop without a twin may have replaced: its bound is part of the new one. */
static const struct fact *replaced_loop(const struct change *change, const struct fact *now)
{
	const char *bound = resolve(change, now->function, now->value);
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_LOOP && !f->twin && same_function(f, now) &&
			(text_contains(now->value, f->value) || text_contains(bound, f->value)))
			return f;
	}
	return NULL;
}

/* A counter moved on in the body of its own for loop leaves out the next turn. */
static void check_counters(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || f->twin || !f->loops || node_is(f->node, "init_declarator"))
			continue;
		for (const struct guard *g = f->guards; g; g = g->up) {
			TSNode update = g->kind == GUARD_LOOP ? node_field(g->node, "update") : g->node;
			if (g->kind != GUARD_LOOP || ts_node_is_null(update) ||
				node_contains(update, f->node))
				continue;
			if (text_contains(g->text, f->name) && existed(change, FACT_LOOP, f->name))
				report(change, AUDIT_BLOCK, f, "a loop's counter is moved on in its body");
		}
	}
}

/* The loop inside a loop over blocks that goes through one block. */
static const struct fact *loop_within(const struct change *change, const struct fact *now)
{
	const struct source *s = now->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_LOOP && f != now && is_added(f) && node_contains(now->node, f->node) &&
			(text_contains(f->init, now->name) ||
				text_contains(resolve(change, f->function, f->init), now->name)))
			return f;
	}
	return now;
}

static void check_loop(struct change *change, const struct fact *now, const struct fact *old)
{
	bool same_range = strcmp(now->init, old->init) == 0 && strcmp(now->value, old->value) == 0 &&
			  strcmp(now->step, old->step) == 0;
	const struct fact *within = loop_within(change, now);
	enum coverage coverage =
		same_range && within == now ? COVERAGE_UNKNOWN : loop_coverage(change, within, old);
	if (coverage != COVERAGE_ALL || !bounds_counter_only(now))
		check_condition(change, now, old);
	check_further(change, now, old, coverage);
	if (coverage == COVERAGE_ALL)
		return;
	if (coverage == COVERAGE_PART_OF_BLOCKS && !body_is_vectorised(change, within)) {
		report(change, AUDIT_BLOCK, within,
			"the loops over parts leave out some of what one loop did before");
		return;
	}
	if (coverage == COVERAGE_IF_EVEN) {
		report(change, AUDIT_REVIEW, within,
			"the loops over parts do everything only if the sizes divide without a remainder");
		return;
	}
	check_bound(change, now, old);
	check_stride(change, now, old);
	check_start(change, now, old, coverage);
}

/* An added condition `i < n` does what is left, perhaps with a mask. */
static bool has_covering_branch(const struct change *change, const struct fact *loop)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_BRANCH && is_added(f) && same_function(f, loop) &&
			text_contains(f->value, loop->value))
			return true;
	}
	return false;
}

/* A loop that changed or went ended at the same bound. */
static bool takes_the_place(const struct change *change, const struct fact *loop)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *old = change->old[i];
		if (old->kind == FACT_LOOP && !old->same && same_function(old, loop) &&
			strcmp(old->value, loop->value) == 0)
			return true;
	}
	return false;
}

/* for (i = 0; i + 8 <= n; i += 8), in place of a loop to n, wants something that does the rest. */
static void check_whole_parts(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_LOOP || (f->twin && same_function(f, f->twin)) || !f->name[0] ||
			!f->value[0] || !asks_for_whole_parts(f) ||
			!spend(change, change->n_old + change->n_new))
			continue;
		if (takes_the_place(change, f) && !has_covering_loop(change, f, f->value) &&
			!has_covering_branch(change, f))
			report(change, AUDIT_REVIEW, f, "what does not fill the last part may be left out");
	}
}

static void check_loops(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *now = change->new[i];
		if (now->kind != FACT_LOOP || !is_added(now))
			continue;
		const struct fact *old = now->twin ? now->twin : replaced_loop(change, now);
		if (!old || !same_function(old, now))
			continue;
		check_loop(change, now, old);
	}
}

/* ---- sizes and arguments ---- */

static bool is_size_name(const char *name)
{
	static const char *const counts[] = {"BATCHES", "batches", "ROUNDS", "rounds", "REPEATS", "repeats",
		"PASSES", "passes", "ITERS", "iters"};
	const char *last = strrchr(name, '_');
	return word_in(name, WORDS_SIZE) ||
	       name_is_one_of(last ? last + 1 : name, counts, ARRAY_LEN(counts)) ||
	       (strlen(name) <= 2 && name[0] >= 'A' && name[0] <= 'Z');
}

static bool sets_size(const struct fact *f)
{
	return (f->kind == FACT_ASSIGN || f->kind == FACT_DEFINE) && is_size_name(f->name) &&
	       !word_in(f->name, WORDS_TIME) && !word_in(f->name, WORDS_TILE);
}

static void check_changed_size(struct change *change, const struct fact *f)
{
	if (is_reduction(change, f->function, f->value, f->twin->value))
		report(change, AUDIT_BLOCK, f, "a size of the workload was made smaller");
	else if (!isnan(text_number(f->twin->value)) && !isnan(text_number(f->value)))
		report(change, AUDIT_BLOCK, f, "a size of the workload was changed");
}

/* T = T / 2; T /= 2; */
static void check_added_size(struct change *change, const struct fact *f)
{
	static const char *const cutting[] = {"/=", ">>=", "-="};
	bool itself =
		text_contains(f->value, f->init) && is_reduction(change, f->function, f->value, f->init);
	if ((itself || name_is_one_of(f->op, cutting, ARRAY_LEN(cutting))) &&
		existed(change, FACT_NAME, f->name))
		report(change, AUDIT_BLOCK, f, "a size of the workload is cut");
}

static void check_sizes(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_added(f) || !sets_size(f))
			continue;
		if (f->twin && same_function(f, f->twin))
			check_changed_size(change, f);
		else
			check_added_size(change, f);
	}
}

static bool is_evaluation(const char *name)
{
	return strncmp(name, "eval", 4) == 0 || strstr(name, "_eval") || strncmp(name, "valid", 5) == 0 ||
	       strstr(name, "_valid");
}

static void check_call_sizes(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && f->twin && !f->same && existed(change, FACT_CALL, f->name) &&
			(word_in(f->name, WORDS_WORK) || word_in(f->name, WORDS_DATA) ||
				is_evaluation(f->name)) &&
			!word_in(f->name, WORDS_ALLOCATE))
			check_arguments(change, f, "a call is given a smaller size or a constant");
	}
}

/* Micro-batches, layers or rows are repeated by loops: work in fewer of them is less work. */
void rule_work(struct change *change)
{
	check_placement(change, WORDS_WORK, WORDS_UPDATE, "forward, backward or loss work");
	check_loops(change);
	check_whole_parts(change);
	check_counters(change);
	check_accumulation(change);
	check_position_masks(change);
	check_exits(change);
	check_sizes(change);
	check_call_sizes(change);
}

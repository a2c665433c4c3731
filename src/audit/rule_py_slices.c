/*
 * A4 for Python: tensors and sequences cut: x[:, :n // 2], x[::2], x.narrow(1, 0, k). Two slices that
 * complete each other (`: d` and `d :`, `::2` and `1::2`, `:-1` and `1:`) leave nothing out, nor does a slice
 * that a loop over the whole moves along.
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/python.h"

enum { PART_CAP = 120 };

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))

struct part {
	char start[PART_CAP], stop[PART_CAP], step[PART_CAP];
	bool is_slice;
};

/* The next dimension of "[ : , a : b ]" from *at; false at the end. */
static bool next_part(const char **at, struct part *part)
{
	struct token t;
	char *const fields[] = {part->start, part->stop, part->step};
	size_t field = 0, n = 0;
	int depth = 0;
	bool any = false;
	*part = (struct part){.is_slice = false};
	while (next_token(at, &t)) {
		char c = t.length == 1 ? t.text[0] : '\0';
		if (depth == 0 && (c == ',' || c == ']'))
			return true;
		any = true;
		depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
		if (depth == 0 && c == ':' && field < 2) {
			part->is_slice = true;
			field++;
			n = 0;
			continue;
		}
		if (n + t.length + 2 >= PART_CAP)
			continue;
		if (n)
			fields[field][n++] = ' ';
		memcpy(fields[field] + n, t.text, t.length);
		n += t.length;
		fields[field][n] = '\0';
	}
	return any;
}

enum cut { CUT_NOT, CUT_MAYBE, CUT };

static const struct fact *loop_around(const struct fact *f, const char *text)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *loop = &s->facts[i];
		if (loop->kind != FACT_LOOP || !loop->name[0])
			continue;
		TSNode node = node_is(loop->node, "for_in_clause") ? node_parent(loop->node) : loop->node;
		if (node_contains(node, f->node) && text_has_token(text, loop->name))
			return loop;
	}
	return NULL;
}

/* A variable that the loop's body counts on: offset += n. */
static bool is_moved_along(const struct fact *f, const char *text)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *a = &s->facts[i];
		if (a->kind == FACT_ASSIGN && same_function(a, f) && a->loops > 0 && a->op[1] == '=' &&
			text_has_token(text, a->name))
			return true;
	}
	return false;
}

/* for i in range(0, n, chunk): x[i : i + chunk], where n is all of it */
static enum cut cut_of_loop(const struct change *change, const struct fact *f, const struct fact *loop)
{
	bool resolved;
	const char *bound = py_resolve(change, f, loop->value, &resolved);
	if (loop->twin && loop->same)
		return CUT_NOT;
	if (loop->op[0] == 'w' || !loop->init[0])
		return CUT_NOT;
	if (strcmp(loop->init, "0") != 0)
		return CUT_MAYBE;
	bool strided = strstr(loop->step, "+=") != NULL;
	if (strided && (py_has_cut(bound) || !isnan(py_number(bound))))
		return strstr(bound, "size (") && !text_has_token(bound, "//") ? CUT_NOT : CUT;
	return !strided && py_has_cut(bound) && !text_has_token(bound, "+") && !text_has_token(bound, "-")
		       ? CUT_MAYBE
		       : CUT_NOT;
}

static enum cut cut_of_bound(const struct change *change, const struct fact *f, const char *bound)
{
	bool resolved;
	const char *value = py_resolve(change, f, bound, &resolved);
	if (!bound[0] || strcmp(bound, "0") == 0)
		return CUT_NOT;
	if (!isnan(py_number(bound)) || py_has_cut(value) || (resolved && !isnan(py_number(value))) ||
		(text_has_token(value, "*") && text_has_real(value)))
		return CUT;
	return CUT_MAYBE;
}

/* x[:, keep], where keep was chosen by chance or cut itself */
static enum cut cut_of_index(const struct change *change, const struct fact *f, const char *index)
{
	static const char *const choosers[] = {"randperm", "topk", "multinomial", "choice", "sample",
		"nonzero", "rand", "randint", "argsort"};
	bool resolved;
	const char *value = py_resolve(change, f, index, &resolved);
	if (!resolved || loop_around(f, index))
		return CUT_NOT;
	bool chosen = py_text_has_any(value, choosers, ARRAY_LEN(choosers)) || text_has_token(value, ":");
	return chosen ? CUT : CUT_NOT;
}

/* Through a variable (last = min(first + block, n)) only loops over blocks count. */
static const struct fact *block_loop_around(const struct fact *f, const char *text, const char *value)
{
	const struct fact *loop = loop_around(f, text);
	if (loop || value == text)
		return loop;
	loop = loop_around(f, value);
	return loop && strcmp(loop->init, "0") == 0 && strstr(loop->step, "+=") ? loop : NULL;
}

/* k[:, max(0, i - window):i] follows the loop, but leaves out what lies behind the window. */
static bool leaves_behind(const char *start)
{
	return text_has_token(start, "max") && text_has_token(start, "-");
}

static enum cut cut_of_part(const struct change *change, const struct fact *f, const struct part *part)
{
	bool resolved;
	if (!part->is_slice)
		return cut_of_index(change, f, part->start);
	const char *start_text = py_resolve(change, f, part->start, &resolved);
	const char *stop_text = py_resolve(change, f, part->stop, &resolved);
	const struct fact *loop = block_loop_around(f, part->start, start_text);
	if (loop && leaves_behind(start_text))
		return CUT;
	loop = loop ? loop : block_loop_around(f, part->stop, stop_text);
	if (loop)
		return cut_of_loop(change, f, loop);
	if (is_moved_along(f, part->start))
		return CUT_NOT;
	double step = py_number(part->step);
	if (part->step[0] && !(fabs(step) == 1))
		return CUT;
	enum cut start = cut_of_bound(change, f, part->start), stop = cut_of_bound(change, f, part->stop);
	return MAX_OF(start, stop);
}

/* ---- completed slices ---- */

static bool completes(const struct part *a, const struct part *b)
{
	bool shift = strcmp(a->stop, "- 1") == 0 && !a->start[0] && strcmp(b->start, "1") == 0 && !b->stop[0];
	bool halves = a->stop[0] && strcmp(a->stop, b->start) == 0 && !a->step[0] && !b->step[0];
	bool strides = a->step[0] && strcmp(a->step, b->step) == 0 && strcmp(a->start, b->start) != 0;
	return shift || halves || strides;
}

static bool is_completed(const struct change *change, const struct fact *f, const struct part *part)
{
	const struct source *s = f->source;
	if (!spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *other = &s->facts[i];
		struct part p;
		if (other->kind != FACT_SLICE || other == f || !same_function(other, f))
			continue;
		for (const char *at = other->value + 1; next_part(&at, &p);)
			if (p.is_slice && (completes(part, &p) || completes(&p, part)))
				return true;
	}
	return false;
}

static enum cut cut_of_slice(const struct change *change, const struct fact *f)
{
	enum cut cut = CUT_NOT;
	struct part part;
	for (const char *at = f->value + 1; next_part(&at, &part);) {
		enum cut one = cut_of_part(change, f, &part);
		if (one != CUT_NOT && !is_completed(change, f, &part))
			cut = MAX_OF(cut, one);
	}
	return cut;
}

/* ---- what is cut ---- */

static bool is_shown_only(const struct fact *f)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_CALL && node_contains(s->facts[i].node, f->node) &&
			(word_in(s->facts[i].name, WORDS_LOG) || strcmp(s->facts[i].name, "decode") == 0))
			return true;
	return false;
}

/* x = x[...], or the statement around stood there before with x whole. */
static bool takes_the_place(const struct fact *f, bool *ret_itself)
{
	const struct source *s = f->source;
	bool replaces = false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *g = &s->facts[i];
		if (g == f || !node_contains(g->node, f->node) || !same_function(g, f))
			continue;
		if (g->kind == FACT_ASSIGN && g->op[0] != ':' && strcmp(g->init, f->init) == 0)
			*ret_itself = true;
		bool statement = g->kind == FACT_CALL || g->kind == FACT_ASSIGN || g->kind == FACT_LOOP;
		if (statement && g->twin && !g->same && text_contains(g->twin->text, f->init) &&
			!text_contains(g->twin->text, f->text))
			replaces = true;
	}
	return replaces;
}

static bool matters(const struct fact *f)
{
	static const char *const sets[] = {"layers", "blocks", "params", "parameters", "experts", "heads",
		"modules", "grads", "param_groups", "buckets", "weight", "weights", "bias"};
	return py_is_data_name(f->name) || IN(f->name, sets) || word_in(f->name, WORDS_WORK);
}

/* del model.layers[6:] */
static bool is_deleted(const struct fact *f)
{
	return node_is(node_parent(f->node), "delete_statement");
}

/* rows[:capacity] became picks[:capacity]. */
static bool stood_here(const struct change *change, const struct fact *f)
{
	if (!spend(change, change->n_old))
		return false;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *old = change->old[i];
		if (old->kind == FACT_SLICE && !old->twin && same_function(old, f) &&
			strcmp(old->value, f->value) == 0)
			return true;
	}
	return false;
}

static void check_slice(struct change *change, const struct fact *f)
{
	bool itself = false, replaces = takes_the_place(f, &itself);
	bool known = existed(change, FACT_NAME, f->name) || itself || is_deleted(f) || strchr(f->init, '.');
	itself |= is_deleted(f);
	if (!known || (!replaces && !itself && !matters(f)))
		return;
	enum cut cut = cut_of_slice(change, f);
	if (cut == CUT && (itself || replaces || matters(f)))
		report(change, AUDIT_BLOCK, f, "part of the input or of the work is cut away");
	else if (cut == CUT_MAYBE && (itself || replaces))
		report(change, AUDIT_REVIEW, f, "only a part is used: it must be all there is");
}

/* x.narrow(1, 0, n // 2), x.chunk(2)[0] */
static void check_part(struct change *change, const struct fact *f, bool picks_one)
{
	TSNode parent = node_parent(f->node);
	if (picks_one) {
		if (node_is(parent, "subscript") && node_is(node_field(parent, "subscript"), "integer"))
			report(change, AUDIT_BLOCK, f, "one part of several is used");
		return;
	}
	bool less = py_has_cut(f->value) || text_has_new_number(f->value, "");
	if (!loop_around(f, f->value) && !is_moved_along(f, f->value))
		report(change, less ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			"part of the input or of the work is cut away");
}

static void check_parts(struct change *change)
{
	static const char *const cutting[] = {"narrow", "index_select", "masked_select", "take", "select"};
	static const char *const parting[] = {
		"chunk", "split", "tensor_split", "unbind", "array_split", "hsplit"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!py_is_new(f, FACT_CALL) || !(IN(f->name, cutting) || IN(f->name, parting)) ||
			py_is_evaluation(f->function) || !spend(change, 2 * f->source->n_facts))
			continue;
		if (py_is_data_name(py_last(f->init)) || strcmp(f->init, "torch") == 0)
			check_part(change, f, IN(f->name, parting));
	}
}

void py_check_slices(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_SLICE && !f->twin && !py_is_evaluation(f->function) &&
			spend(change, 4 * f->source->n_facts) && !is_shown_only(f) && !stood_here(change, f))
			check_slice(change, f);
	}
	check_parts(change);
	py_check_masks(change);
}

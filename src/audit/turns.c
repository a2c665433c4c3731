/* The turns of a loop, and what its range depends on. */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "audit/evaluate.h"
#include "base/memory.h"
#include "base/strbuf.h"

enum {
	CONDITIONS_CAP = 4096, /* evaluated for one loop */
	SCALE_CAP = 8192,
	SCALE_LEAST = 16
};

static struct place place_of(const struct fact *f, TSNode node)
{
	return (struct place){f->function, node_start(node), 0};
}

bool evaluate_guard(struct evaluation *e, const struct guard *guard, const struct fact *at, long *ret_value)
{
	return evaluate(e, guard->text, place_of(at, guard->node), ret_value);
}

void evaluation_watch(struct evaluation *e, const struct fact *const *loops, size_t n)
{
	e->watched = loops;
	e->n_watched = n;
	e->watched_used = 0;
	e->thread_used = false;
}

/* "i ++" or "-- i" */
static bool read_count(const struct fact *loop, long *ret_stride)
{
	static const struct {
		const char *op;
		long stride;
	} counts[] = {{"++", 1}, {"--", -1}};
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (text_has_token(loop->step, counts[i].op) && text_has_token(loop->step, loop->name) &&
			strlen(loop->step) == strlen(loop->name) + 3) {
			*ret_stride = counts[i].stride;
			return true;
		}
	return false;
}

/* "i += k", "i -= k", "i = i + k" */
static bool read_stride(struct evaluation *e, const struct fact *loop, long *ret_stride)
{
	static const struct {
		const char *between;
		bool names_again;
		long sign;
	} forms[] = {{" += ", false, 1}, {" -= ", false, -1}, {" = ", true, 1}};
	long stride;
	if (read_count(loop, ret_stride))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		CLEANUP(free_ptr)
		char *start = xasprintf(
			"%s%s%s", loop->name, forms[i].between, forms[i].names_again ? loop->name : "");
		const char *value = loop->step + strlen(start);
		if (strncmp(loop->step, start, strlen(start)) != 0)
			continue;
		if (forms[i].names_again && strncmp(value, " + ", 3) != 0)
			return false;
		if (!evaluate(e, value + 3 * forms[i].names_again, place_of(loop, loop->node), &stride))
			return false;
		*ret_stride = forms[i].sign * stride;
		return true;
	}
	return false;
}

static const char *plain_comparison(const struct fact *loop)
{
	static const char *const ops[] = {"<", "<=", ">", ">=", "!="};
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT;
		strbuf_addf(&plain, "%s %s %s", loop->name, ops[i], loop->value);
		if (strcmp(plain.buf, loop->condition) == 0)
			return ops[i];
	}
	return NULL;
}

/* for (i = n; i-- > 0;) */
static bool counts_down_in_condition(const struct fact *loop)
{
	size_t length = strlen(loop->name);
	const char *rest = loop->condition + length;
	return !loop->step[0] && strncmp(loop->condition, loop->name, length) == 0 &&
	       (strcmp(rest, " --") == 0 || strcmp(rest, " -- > 0") == 0);
}

bool turns_begin(struct evaluation *e, const struct fact *loop, struct turns *ret_turns)
{
	long first;
	if (counts_down_in_condition(loop)) {
		if (!evaluate(e, loop->init, place_of(loop, loop->node), &first))
			return false;
		*ret_turns = (struct turns){.at = first - 1, .stride = -1, .op = ">="};
		return true;
	}
	struct place place = place_of(loop, loop->node);
	struct turns t = {.op = plain_comparison(loop)};
	if (!loop->init[0] || !evaluate(e, loop->init, place, &t.at) || !read_stride(e, loop, &t.stride) ||
		t.stride == 0)
		return false;
	if (t.op && !evaluate(e, loop->value, place, &t.end))
		return false;
	*ret_turns = t;
	return true;
}

bool turns_go_on(struct evaluation *e, const struct fact *loop, struct turns *t)
{
	long value = 0;
	if (t->op) {
		bool equal = t->op[1] == '=';
		return t->op[0] == '<'   ? (equal ? t->at <= t->end : t->at < t->end)
		       : t->op[0] == '>' ? (equal ? t->at >= t->end : t->at > t->end)
					 : t->at != t->end;
	}
	t->failed |= ++t->evaluated > CONDITIONS_CAP || !loop->condition[0] ||
		     !evaluate(e, loop->condition, place_of(loop, loop->node), &value);
	return !t->failed && value;
}

/* ---- what a range depends on ---- */

void evaluation_touch(struct evaluation *e, const struct fact *loop)
{
	struct turns t;
	long value;
	(void)turns_begin(e, loop, &t); /* what cannot be told shows when the loop is counted out */
	e->bound[e->n_bound++] = (struct bound_name){loop->name, 1};
	(void)evaluate(e, loop->condition, place_of(loop, loop->node), &value);
	e->n_bound--;
}

void evaluation_touch_guard(struct evaluation *e, const struct guard *guard, const struct fact *at)
{
	long value;
	(void)evaluate_guard(e, guard, at, &value);
}

static long largest_number(const char *text, long largest)
{
	struct token t;
	while (next_token(&text, &t)) {
		long value = isdigit((unsigned char)t.text[0]) ? strtol(t.text, NULL, 0) : 0;
		if (value > largest && value <= SCALE_CAP)
			largest = value;
	}
	return largest;
}

static bool uses_name(const struct fact *at, const char *name)
{
	const struct source *s = at->source;
	for (size_t i = 0; i < s->n_facts; i++)
		if (s->facts[i].kind == FACT_NAME && same_function(&s->facts[i], at) &&
			strcmp(s->facts[i].name, name) == 0)
			return true;
	return false;
}

void evaluation_find_scale(struct evaluation *e, const struct fact *at)
{
	const struct source *s = at->source;
	e->scale = SCALE_LEAST;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		bool here = same_function(f, at) && (f->kind == FACT_LOOP || f->kind == FACT_ASSIGN ||
							    f->kind == FACT_BINARY || f->kind == FACT_BRANCH);
		if (here || (f->kind == FACT_DEFINE && uses_name(at, f->name)))
			e->scale = largest_number(f->kind == FACT_LOOP ? f->text : f->value, e->scale);
	}
}

bool is_in_parallel_region(const struct fact *f)
{
	const struct source *s = f->source;
	for (size_t i = 0; i < s->n_facts && &s->facts[i] != f; i++)
		if (s->facts[i].kind == FACT_DIRECTIVE && same_function(&s->facts[i], f) &&
			text_has_token(s->facts[i].text, "omp") &&
			text_has_token(s->facts[i].text, "parallel"))
			return true;
	return false;
}

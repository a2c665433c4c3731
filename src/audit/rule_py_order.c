/* A3 for Python: the order of an update's parts, and reductions left out of some backward passes. */
#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

/* ---- synchronisation left out ---- */

static bool names_last(const char *condition)
{
	static const char *const parts[] = {"micro", "accum", "last", "final", "sync"};
	return HAS(condition, parts);
}

static bool is_for_all_but_last(const struct fact *f)
{
	for (const struct guard *g = f->guards; g; g = g->up)
		if (g->kind == GUARD_IF && names_last(g->text) && !py_is_arbitrary(g->text))
			return true;
	return false;
}

/* Without a gradient's reduction in all but the last micro-batch, sums stay what they are. */
static uint64_t conditions_of(const struct fact *f)
{
	return f->guards ? f->guards->conditions : 0;
}

/* no_sync(), or a switch that does the same. */
static bool leaves_out_reduction(const struct fact *f)
{
	static const char *const setters[] = {
		"set_requires_gradient_sync", "set_requires_all_reduce", "set_is_last_backward"};
	static const char *const flags[] = {"require_backward_grad_sync", "require_forward_param_sync"};
	if (py_is(f, FACT_CALL, "no_sync"))
		return !f->same || (f->twin && conditions_of(f) != conditions_of(f->twin));
	return !f->same && ((f->kind == FACT_CALL && IN(f->name, setters)) ||
				   (f->kind == FACT_ASSIGN && IN(f->name, flags)));
}

static void check_no_sync(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!leaves_out_reduction(f))
			continue;
		bool never = py_is(f, FACT_CALL, "no_sync")
				     ? !is_for_all_but_last(f)
				     : text_has_token(f->value, "False") || py_depends_on_step(f->value);
		report(change, never ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			"gradients are not synchronised for part of the work");
	}
}

/* ---- order ---- */

enum part {
	PART_FORWARD,
	PART_BACKWARD,
	PART_COLLECTIVE,
	PART_CLIP,
	PART_STEP,
	PART_AVERAGE,
	PART_SCHEDULE,
	PART_ZERO,
	PART_COUNT
};

static enum part part_of(const struct fact *f)
{
	static const enum part parts[] = {[PY_NO_TRADE] = PART_COUNT,
		[PY_BACKWARD] = PART_BACKWARD,
		[PY_STEP] = PART_STEP,
		[PY_CLIP] = PART_CLIP,
		[PY_ZERO] = PART_ZERO,
		[PY_COLLECTIVE] = PART_COLLECTIVE,
		[PY_AVERAGE] = PART_AVERAGE,
		[PY_SCHEDULE] = PART_SCHEDULE,
		[PY_SCALER] = PART_COUNT,
		[PY_TERM] = PART_COUNT};
	static const char *const models[] = {
		"model", "net", "engine", "ddp_model", "model_engine", "forward"};
	if (f->kind != FACT_CALL)
		return PART_COUNT;
	return IN(f->name, models) ? PART_FORWARD : parts[py_trade(f)];
}

/* Which orders matter: by the later part, with what must stand before it. */
static const struct {
	enum part first, second;
	const char *reason;
} orders[] = {
	{PART_FORWARD, PART_BACKWARD, "the forward pass no longer stands before its backward pass"},
	{PART_FORWARD, PART_STEP, "the forward pass uses parameters of another step"},
	{PART_BACKWARD, PART_CLIP, "gradients are clipped before they are there"},
	{PART_BACKWARD, PART_STEP, "the step uses gradients of an earlier update"},
	{PART_COLLECTIVE, PART_STEP, "the step uses gradients that are not yet reduced"},
	{PART_CLIP, PART_STEP, "gradients are clipped after the step"},
	{PART_STEP, PART_AVERAGE, "an average of weights is updated a step late or early"},
	{PART_STEP, PART_SCHEDULE, "the learning rate is set a step late or early"},
};

struct sequence {
	const struct fact *of[PART_COUNT];
};

/* The part that is innermost and first among those that were there before. */
static struct sequence find_sequence(const struct change *change, size_t from, size_t to)
{
	struct sequence s = {{NULL}};
	for (size_t i = from; i < to; i++) {
		const struct fact *f = change->new[i];
		enum part part = part_of(f);
		if (part == PART_COUNT || !f->twin || !same_function(f, f->twin) ||
			f->loops != f->twin->loops || part_of(f->twin) != part)
			continue;
		if (!s.of[part] || s.of[part]->loops < f->loops)
			s.of[part] = f;
	}
	return s;
}

static bool is_reversed(const struct fact *a, const struct fact *b)
{
	return (a->index < b->index) != (a->twin->index < b->twin->index);
}

static void check_sequence(struct change *change, const struct sequence *s)
{
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		const struct fact *a = s->of[orders[i].first], *b = s->of[orders[i].second];
		if (a && b && is_reversed(a, b))
			report(change, AUDIT_BLOCK, orders[i].first == PART_STEP ? b : a, orders[i].reason);
	}
	const struct fact *zero = s->of[PART_ZERO], *backward = s->of[PART_BACKWARD],
			  *step = s->of[PART_STEP];
	if (zero && backward && step && is_reversed(zero, backward) != is_reversed(zero, step))
		report(change, AUDIT_BLOCK, zero, "gradients are zeroed between backward pass and step");
}

/* Facts of one function lie together but for functions defined inside it. */
static void check_sequences(struct change *change)
{
	for (size_t from = 0; from < change->n_new;) {
		size_t to = from + 1;
		while (to < change->n_new &&
			change->new[to]->source ==
				change->new[from]->source &&same_function(change->new[to], change->new[from]))
			to++;
		struct sequence s = find_sequence(change, from, to);
		check_sequence(change, &s);
		from = to;
	}
}

void py_check_order(struct change *change)
{
	check_no_sync(change);
	check_sequences(change);
}

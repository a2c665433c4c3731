/* A3, the part about the order of an update's parts: averages of the weights of the step before, clipping
 * after the step that it was for, gradients that are cleared before they are used. */
#include "base/base.h"

#include <string.h>

#include "audit/audit_int.h"

/* What a call of an update is for. */
enum part { PART_NONE, PART_ZERO, PART_BACKWARD, PART_REDUCE, PART_CLIP, PART_RATE, PART_STEP, PART_AVERAGE };

/* Words in names, in lower case: the first row that matches. */
static const struct {
	const char *word;
	enum part part;
} words[] = {
	{"average", PART_AVERAGE},
	{"averages", PART_AVERAGE},
	{"averaged", PART_AVERAGE},
	{"ema", PART_AVERAGE},
	{"swa", PART_AVERAGE},
	{"polyak", PART_AVERAGE},
	{"shadow", PART_AVERAGE},
	{"teacher", PART_AVERAGE},
	{"zero", PART_ZERO},
	{"clear", PART_ZERO},
	{"clip", PART_CLIP},
	{"clipping", PART_CLIP},
	{"backward", PART_BACKWARD},
	{"bwd", PART_BACKWARD},
	{"backprop", PART_BACKWARD},
	{"allreduce", PART_REDUCE},
	{"reduce", PART_REDUCE},
	{"sum", PART_REDUCE},
	{"rate", PART_RATE},
	{"lr", PART_RATE},
	{"schedule", PART_RATE},
	{"scheduler", PART_RATE},
	{"optimizer", PART_STEP},
	{"optim", PART_STEP},
	{"opt", PART_STEP},
	{"step", PART_STEP},
	{"apply", PART_STEP},
};

/* In this order within one step; a pair that is not named may be exchanged. */
static const struct {
	enum part first, second;
	const char *reason;
} orders[] = {
	{PART_STEP, PART_AVERAGE, "averages are taken before the update that they were taken after"},
	{PART_CLIP, PART_STEP, "gradients are clipped after the update that they were clipped for"},
	{PART_BACKWARD, PART_CLIP, "gradients are clipped before they are complete"},
	{PART_BACKWARD, PART_STEP, "the update is made before the gradients that it was made from"},
	{PART_BACKWARD, PART_REDUCE, "gradients are summed before they are complete"},
	{PART_REDUCE, PART_CLIP, "gradients are clipped before they are summed"},
	{PART_REDUCE, PART_STEP, "the update is made before the gradients are summed"},
	{PART_RATE, PART_STEP, "the update is made with the learning rate of the step before"},
};

static enum part part_of(const struct fact *f)
{
	if (f->kind != FACT_CALL || word_in(f->name, WORDS_REPORT) || word_in(f->name, WORDS_LOG) ||
		word_in(f->name, WORDS_TIME))
		return PART_NONE;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (name_has_word(f->name, &words[i].word, 1))
			return words[i].part;
	return word_in(f->name, WORDS_FAMILY) ? PART_STEP : PART_NONE;
}

static bool stays(const struct fact *old)
{
	return old->twin && same_function(old, old->twin) && old->loops == old->twin->loops;
}

static const char *exchanged(enum part first, enum part second)
{
	for (size_t i = 0; i < ARRAY_LEN(orders); i++)
		if (orders[i].first == first && orders[i].second == second)
			return orders[i].reason;
	return NULL;
}

/* Both are still there, in the same loops, and come in the other order. */
static void check_pairs(struct change *change, const struct fact *first)
{
	enum part part = part_of(first);
	if (part == PART_NONE || !stays(first) || !spend(change, change->n_old - first->index))
		return;
	for (size_t i = first->index + 1; i < change->n_old && same_function(change->old[i], first); i++) {
		const struct fact *second = change->old[i];
		if (second->kind != FACT_CALL || second->source != first->source || !stays(second) ||
			second->twin->index > first->twin->index)
			continue;
		const char *reason = exchanged(part, part_of(second));
		if (reason)
			report(change, AUDIT_BLOCK, second->twin, reason);
	}
}

/* The kept call of a part in a function of one version. */
static const struct fact *kept(const struct change *change, enum part part, const struct fact *near)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (same_function(f, near) && f->source == near->source && part_of(f) == part && stays(f))
			return f;
	}
	return NULL;
}

/* Cleared between the backward pass and the step: the step sees nothing. Before the one or after the other is
 * the same. */
static void check_zero(struct change *change, const struct fact *zero)
{
	if (part_of(zero) != PART_ZERO || !stays(zero) || !spend(change, 2 * change->n_old))
		return;
	const struct fact *backward = kept(change, PART_BACKWARD, zero),
			  *step = kept(change, PART_STEP, zero);
	if (!backward || !step)
		return;
	bool was = backward->index < zero->index && zero->index < step->index;
	size_t at = zero->twin->index;
	if (!was && backward->twin->index < at && at < step->twin->index)
		report(change, AUDIT_BLOCK, zero->twin, "gradients are cleared before they are used");
}

void check_update_order(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		check_pairs(change, change->old[i]);
		check_zero(change, change->old[i]);
	}
}

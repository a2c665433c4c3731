/* A8 for Python: counters of work, what is printed as a result, and the peak of memory. */
#include "base/base.h"

#include <string.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))

/* ---- counters ---- */

static bool counts_work(const struct change *change, const struct fact *f)
{
	static const char *const names[] = {"tokens", "tokens_seen", "samples", "samples_seen",
		"consumed_samples", "consumed_train_samples", "rows", "total_tokens", "num_tokens",
		"n_tokens", "ntokens_seen"};
	return f->kind == FACT_ASSIGN && (strcmp(f->op, "+=") == 0 || strcmp(f->op, "-=") == 0) &&
	       (py_depends_on_step(f->name) || IN(f->name, names) || py_is_reported(change, f->name));
}

/* if applied: updates += 1, and the condition still stands, but no longer around the counter. */
static bool left_condition(const struct change *change, const struct fact *f)
{
	if (!py_was_here(f))
		return false;
	for (const struct guard *g = f->twin->guards; g; g = g->up) {
		if (g->kind != GUARD_IF || guard_chain_has(f->guards, g->text) ||
			!spend(change, change->n_new))
			continue;
		for (size_t i = 0; i < change->n_new; i++)
			if (same_function(change->new[i], f) &&
				guard_chain_has(change->new[i]->guards, g->text))
				return true;
	}
	return false;
}

static void check_counters(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (counts_work(change, f) && left_condition(change, f)) {
			report(change, AUDIT_BLOCK, f, "a counter of work is advanced without it");
			continue;
		}
		if (f->same || !counts_work(change, f) ||
			(f->twin && py_same_but_for_reading(f->text, f->twin->text)))
			continue;
		if (f->twin && same_function(f, f->twin) && strcmp(f->value, f->twin->value) != 0)
			report(change,
				text_has_new_number(f->value, f->twin->value) ||
						text_contains(f->value, f->twin->value)
					? AUDIT_BLOCK
					: AUDIT_REVIEW,
				f, "a counter of work is advanced by something else");
		else if (!f->twin && existed(change, FACT_NAME, f->name))
			report(change, AUDIT_BLOCK, f, "a counter of work is advanced in a further place");
	}
}

/* ---- what is printed ---- */

static size_t count_results(const struct change *change, const struct fact *call, enum words list, bool lost)
{
	const struct source *s = call->source;
	size_t n = 0;
	if (!spend(change, s->n_facts))
		return 0;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		n += f->kind == FACT_NAME && node_contains(call->node, f->node) && word_in(f->name, list) &&
		     (!lost || !f->twin || !node_contains(call->twin->node, f->twin->node));
	}
	return n;
}

static bool loses_a_name(const struct change *change, const struct fact *call)
{
	const struct source *s = call->source;
	if (!spend(change, s->n_facts))
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_NAME && node_contains(call->node, f->node) &&
			!(f->twin && node_contains(call->twin->node, f->twin->node)))
			return true;
	}
	return false;
}

/* print(f"loss {loss}") became print(f"loss {smooth_loss}") or print("loss 2.31"). */
static bool is_print_changed(const struct fact *f)
{
	return f->kind == FACT_CALL && f->twin && !f->same && py_is_quiet(f) && word_in(f->name, WORDS_LOG) &&
	       !py_is_report(f) && !py_same_but_for_reading(f->text, f->twin->text);
}

static void check_print(struct change *change, const struct fact *f)
{
	size_t gone = count_results(change, f, WORDS_RESULT, true);
	size_t now = count_results(change, f->twin, WORDS_RESULT, false);
	size_t was = count_results(change, f, WORDS_RESULT, false);
	size_t stale = count_results(change, f->twin, WORDS_STALE, true);
	gone += stale && loses_a_name(change, f);
	bool other = stale || now == 0 || text_has_new_number(f->twin->text, f->text);
	if (gone && (stale || now < was))
		report(change, other ? AUDIT_BLOCK : AUDIT_REVIEW, f->twin,
			"what is printed as a result is no longer what was computed");
	else if (stale)
		report(change, AUDIT_REVIEW, f->twin, "an earlier value is printed");
}

static void check_printed(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++)
		if (is_print_changed(change->old[i]))
			check_print(change, change->old[i]);
}

/* ---- memory ---- */

static void check_memory(struct change *change)
{
	static const char *const resets[] = {"reset_peak_memory_stats", "reset_max_memory_allocated",
		"reset_max_memory_reserved", "reset_max_memory_cached", "reset_accumulated_memory_stats",
		"reset_peak_stats", "reset_peak_host_memory_stats"};
	static const char *const peaks[] = {
		"max_memory_reserved", "max_memory_allocated", "memory_stats", "mem_get_info"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->twin && IN(f->name, resets))
			report(change, AUDIT_BLOCK, f, "the memory peak is reset before it is read");
	}
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (f->kind == FACT_CALL && !f->twin && IN(f->name, peaks) &&
			py_function_remains(change, f->function))
			report(change, AUDIT_BLOCK, f, "the memory peak is no longer read");
	}
}

void py_check_counters(struct change *change)
{
	check_counters(change);
	check_printed(change);
	check_memory(change);
}

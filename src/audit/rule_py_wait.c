/* A12 for Python: devices, streams, threads and collectives that are started must be waited for inside the
 * update, and before the clock is read. */
#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

/* ---- the device before the clock ---- */

static bool is_significant(const struct fact *f)
{
	return py_is_wait(f) || py_is_work(f) || py_is_update(f) || py_is_load(f);
}

/* The last call before the clock that does anything waits for the device. */
static const struct fact *wait_before(struct fact **facts, const struct fact *clock)
{
	for (size_t i = clock->index; i-- > 0;) {
		const struct fact *f = facts[i];
		if (f->source != clock->source || !same_function(f, clock))
			return NULL;
		if (is_significant(f))
			return py_is_wait(f) ? f : NULL;
	}
	return NULL;
}

static bool encloses(const struct fact *outer, const struct fact *inner)
{
	return node_contains(outer->node, inner->node);
}

/* The first reading in a function that has several begins an interval: what is still outstanding then makes
 * it longer, never shorter. */
static bool begins_interval(const struct change *change, const struct fact *clock)
{
	size_t before = 0, after = 0;
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (!py_is_clock(f) || !same_function(f, clock) || f->source != clock->source)
			continue;
		before += i < clock->index;
		after += i > clock->index;
	}
	return before == 0 && after > 0;
}

static void check_clocks(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *clock = change->old[i];
		bool boundary =
			py_is_clock(clock) || (py_is_report(clock) && strcmp(clock->name, "update") == 0);
		if (!boundary || !clock->twin || !spend(change, 64))
			continue;
		const struct fact *was = wait_before(change->old, clock);
		if (!was || encloses(clock, was))
			continue;
		const struct fact *now = wait_before(change->new, clock->twin);
		enum py_weight weight;
		if (!now)
			report(change, begins_interval(change, clock) ? AUDIT_REVIEW : AUDIT_BLOCK,
				clock->twin, "the device is no longer waited for before the clock is read");
		else if (py_added_guard(change, was, now, &weight))
			report(change, AUDIT_BLOCK, now,
				"the wait before a clock reading became conditional");
		else if (strcmp(was->init, now->init) != 0)
			report(change, AUDIT_REVIEW, now,
				"something else is waited for before the clock is read");
	}
}

/* ---- handles ---- */

static bool is_join(const struct fact *f)
{
	static const char *const names[] = {"wait", "wait_stream", "wait_event", "wait_all", "result", "join",
		"finish_grad_sync", "finish_param_sync", "join_thread", "shutdown"};
	if (f->kind != FACT_CALL || !IN(f->name, names) || !f->init[0])
		return false;
	return strcmp(f->name, "join") != 0 ||
	       (f->init[0] != '"' && !strstr(f->init, "path") && !strstr(f->init, "sep"));
}

static bool is_queue_wait(const struct fact *f)
{
	return strstr(f->init, "queue") || strstr(f->init, "event") || strstr(f->init, "condition");
}

/* The call before it was a wait too, and stays. */
static bool was_waited_twice(const struct change *change, const struct fact *wait)
{
	for (size_t i = wait->index; i-- > 0 && same_function(change->old[i], wait);)
		if (change->old[i]->kind == FACT_CALL)
			return py_is_wait(change->old[i]) && change->old[i]->twin;
	return false;
}

static bool is_more_than_log(const struct change *change, const struct fact *f)
{
	if (f->kind == FACT_EXIT || py_is_clock(f))
		return true;
	if (f->kind == FACT_CALL)
		return !py_is_quiet(f) && !py_is_wait(f);
	return py_is_assignment(f) && !py_was_logged_only(change, f);
}

/* In a branch that only logs, and without a clock behind it there. */
static bool served_log(const struct change *change, const struct fact *wait)
{
	const struct guard *g = wait->guards;
	const struct fact itself = py_imagined_call(py_short(wait->function));
	while (g && g->kind != GUARD_IF)
		g = g->up;
	if (!g || py_is_wait(&itself) || !spend(change, wait->source->n_facts))
		return false;
	bool logs = false;
	for (size_t i = 0; i < wait->source->n_facts; i++) {
		const struct fact *f = &wait->source->facts[i];
		if (!node_contains(g->node, f->node) || ts_node_eq(g->node, f->node))
			continue;
		if (is_more_than_log(change, f))
			return false;
		logs |= f->kind == FACT_CALL && word_in(f->name, WORDS_LOG);
	}
	return logs;
}

static void check_lost_wait(struct change *change, const struct fact *f)
{
	/* what waits for others, wherever it is called */
	const struct fact itself = py_imagined_call(py_short(f->function));
	bool certain =
		py_is_wait(&itself) || (is_join(f) && strcmp(f->name, "result") != 0 && !is_queue_wait(f));
	if (!was_waited_twice(change, f) && !(py_is_wait(f) && served_log(change, f)) &&
		py_function_remains(change, f->function))
		report(change, certain ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			"a wait for outstanding work is gone");
}

static void check_old_waits(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		enum py_weight weight;
		bool join = is_join(f);
		if (!join && !py_is_wait(f))
			continue;
		if (!f->twin)
			check_lost_wait(change, f);
		else if (py_added_guard(change, f, f->twin, &weight))
			report(change, join && weight == PY_DECISIVE ? AUDIT_BLOCK : AUDIT_REVIEW, f->twin,
				"a wait for outstanding work became conditional");
	}
}

/* The name under which a started piece of work is kept: work = ..., works.append(...); "" for none. */
static const char *handle_of(const struct fact *start)
{
	const struct source *s = start->source;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f == start || !node_contains(f->node, start->node) || !same_function(f, start))
			continue;
		/* for work in [start(t) for t in tensors] */
		if (f->kind == FACT_LOOP && node_contains(node_field(f->node, "right"), start->node))
			return f->name;
		if (f->kind == FACT_ASSIGN && f->op[0] != ':')
			return f->name;
		if (f->kind == FACT_CALL && (strcmp(f->name, "append") == 0 || strcmp(f->name, "put") == 0)) {
			const char *dot = strrchr(f->init, ' ');
			return dot ? dot + 1 : f->init;
		}
	}
	return "";
}

/* for work in works: work.wait() */
static bool is_over(const struct fact *wait, const char *handle)
{
	if (text_has_token(wait->init, handle) || text_has_token(wait->value, handle))
		return true;
	for (const struct guard *g = wait->guards; g; g = g->up)
		if (g->kind == GUARD_LOOP && text_has_token(g->text, handle))
			return true;
	return false;
}

static const struct fact *wait_for(const struct change *change, const char *handle)
{
	for (size_t i = 0; i < change->n_new && handle[0]; i++) {
		const struct fact *f = change->new[i];
		if ((is_join(f) || py_is_wait(f)) && is_over(f, handle))
			return f;
	}
	return NULL;
}

/* The optimizer's step lies between the start and the wait, or the wait comes only in the next turn. */
static bool step_lies_between(const struct change *change, const struct fact *start, const struct fact *wait)
{
	if (!same_function(start, wait))
		return false;
	for (size_t i = start->index; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->source != start->source)
			break;
		if (same_function(f, start) && py_trade(f) == PY_STEP && f->index > start->index &&
			(f->index < wait->index || wait->index < start->index))
			return true;
	}
	return false;
}

/* all_reduce(step_loss, async_op=True): the step does not need it, only what reads the sum. */
static bool sums_a_result(const struct fact *start, const struct fact *wait)
{
	static const char *const gradients[] = {"grad", "param", "weight", "flat", "bucket"};
	char sent[PY_ARGUMENT_CAP];
	const char *at = start->value + (start->value[0] == '(');
	const struct source *s = start->source;
	if (!py_next_argument(&at, sent) || strchr(sent, ' ') || HAS(sent, gradients) ||
		!word_in(sent, WORDS_RESULT) || wait->index < start->index || wait->source != s)
		return false;
	for (size_t i = 0; i < s->n_facts; i++) {
		const struct fact *f = &s->facts[i];
		if (f->kind == FACT_NAME && strcmp(f->name, sent) == 0 && same_function(f, start) &&
			f->index > start->index && f->index < wait->index &&
			!node_contains(start->node, f->node))
			return false;
	}
	return true;
}

static void check_start(struct change *change, const struct fact *f, bool certain)
{
	const struct fact *wait = wait_for(change, handle_of(f));
	enum py_weight weight = PY_HARMLESS;
	if (!wait)
		report(change, certain ? AUDIT_BLOCK : AUDIT_REVIEW, f,
			"work is started and never waited for");
	else if (step_lies_between(change, f, wait) && !sums_a_result(f, wait))
		report(change, AUDIT_BLOCK, f, "the step does not wait for work that was started before it");
	else if (py_added_guard(change, f, wait, &weight) && weight == PY_DECISIVE &&
		 py_is_arbitrary(wait->guards->text))
		report(change, AUDIT_BLOCK, wait, "a wait for outstanding work is conditional");
}

static bool is_async_collective(const struct fact *f)
{
	static const char *const always[] = {"isend", "irecv", "batch_isend_irecv", "Iallreduce"};
	return f->kind == FACT_CALL && (IN(f->name, always) || (text_contains(f->value, "async_op = True") &&
								       py_trade(f) == PY_COLLECTIVE));
}

static bool is_thread(const struct fact *f)
{
	static const char *const names[] = {"Thread", "Timer", "submit", "run_coroutine_threadsafe",
		"create_task", "run_in_executor", "start_new_thread", "apply_async", "map_async", "fork"};
	if (f->kind != FACT_CALL || !IN(f->name, names))
		return false;
	return strcmp(f->name, "fork") != 0 || strstr(f->init, "jit");
}

static bool fetches(const struct fact *f)
{
	static const char *const parts[] = {"prefetch", "fetch", "load", "batch", "data", "reader",
		"producer", "worker", "fill", "queue", "copy"};
	return HAS(f->text, parts) || HAS(f->function, parts);
}

static bool updates(const struct fact *f)
{
	static const char *const parts[] = {"step", "backward", "optim", "reduce", "clip", "update", "loss",
		"model", "forward", "ema", "grad"};
	return HAS(f->value, parts) && !strstr(f->value, "prefetch");
}

static void check_starts(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_CALL || !spend(change, 8))
			continue;
		bool was_async = f->twin && is_async_collective(f->twin);
		if (is_async_collective(f) && !f->same && !was_async) {
			check_start(change, f, true);
		} else if (is_thread(f) && !f->twin) {
			if (fetches(f) && !updates(f))
				report(change, AUDIT_REVIEW, f,
					"rows are fetched beside the update: in the same order?");
			else if (wait_for(change, handle_of(f)))
				check_start(change, f, true);
			else
				report(change, AUDIT_BLOCK, f, "work is started and never waited for");
			if (updates(f) && wait_for(change, handle_of(f)))
				report(change, AUDIT_REVIEW, f,
					"work is started beside the update; it must end inside it");
		}
	}
}

/* ---- streams ---- */

static bool joins_stream(const struct change *change, const struct fact *with)
{
	static const char *const names[] = {"wait_stream", "wait_event", "synchronize"};
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind == FACT_CALL && !f->twin && IN(f->name, names) &&
			strcmp(f->source->path, with->source->path) == 0)
			return true;
	}
	return false;
}

static void check_streams(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_WITH || f->twin ||
			!(strcmp(f->name, "stream") == 0 || strcmp(f->name, "StreamContext") == 0))
			continue;
		if (!joins_stream(change, f))
			report(change, AUDIT_BLOCK, f, "work on another stream is not waited for");
	}
}

/* A wait that stood before the step and now stands behind it. */
static void check_order(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (!is_join(f) || !f->twin || !same_function(f, f->twin) || !spend(change, change->n_new))
			continue;
		for (size_t k = 0; k < change->n_new; k++) {
			const struct fact *step = change->new[k];
			if (py_trade(step) == PY_STEP && step->twin && same_function(step, f) &&
				same_function(step->twin, f->twin) && step->source == f->source &&
				f->twin->index < step->twin->index && f->index > step->index)
				report(change, AUDIT_BLOCK, f,
					"the step does not wait for work that was started before it");
		}
	}
}

void rule_py_wait(struct change *change)
{
	check_clocks(change);
	check_old_waits(change);
	check_starts(change);
	check_streams(change);
	check_order(change);
}

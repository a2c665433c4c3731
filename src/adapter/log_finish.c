/* The end of a log: which reader understood it, what the others add, and what the steps say together. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/scan_int.h"
#include "base/memory.h"

void log_options_set_exit(struct log_options *options, int status)
{
	enum { EXIT_OF_TIMEOUT = 124 };
	options->exit_status = (struct opt_number){true, status};
	options->timed_out = status == EXIT_OF_TIMEOUT;
}

/* ---- the choice ---- */

static bool is_certain(const struct reader *r)
{
	return r->evidence >= READER_CERTAIN;
}

static bool is_better(const struct reader *a, const struct reader *b)
{
	if (is_certain(a) != is_certain(b))
		return is_certain(a);
	bool a_steps = reader_n_steps(a) > 0, b_steps = reader_n_steps(b) > 0;
	/* An engine that launched a loop of one's own is known better by its name than by the loop's lines.
	 */
	bool loop = a->ops->priority == READER_LOOP || b->ops->priority == READER_LOOP;
	if (a_steps != b_steps && !(loop && is_certain(a)))
		return a_steps;
	if (a->ops->priority != b->ops->priority)
		return a->ops->priority > b->ops->priority;
	return a->evidence > b->evidence;
}

struct reader *scan_choose(struct log_scan *scan)
{
	struct reader *best = NULL;
	for (size_t i = 0; i < scan->n_readers; i++) {
		struct reader *r = &scan->readers[i];
		bool asked_for = scan->options.format && strcmp(scan->options.format, r->ops->name) == 0;
		if (asked_for)
			return r;
		if (scan->options.format || r->ops->priority == READER_AUXILIARY || r->evidence == 0)
			continue;
		if (!best || is_better(r, best))
			best = r;
	}
	return best;
}

bool reader_can_win(const struct log_scan *scan, const struct reader *r)
{
	const struct reader *best = scan->best;
	int priority = r->ops->priority;
	if (!best || best == r || priority == READER_AUXILIARY || priority == READER_ENGINE)
		return true;
	return !(is_certain(best) && reader_n_steps(best) > 0 && best->ops->priority > READER_ENGINE &&
		 priority < best->ops->priority);
}

/* ---- what others add ---- */

static const char *memory_of_steps(const struct log_summary *s, struct opt_number *ret_largest)
{
	for (size_t i = 0; i < s->n_steps; i++)
		if (s->steps[i].mem_bytes.has)
			fill_largest(ret_largest, s->steps[i].mem_bytes.value);
	return s->mem_kind;
}

/* Memory, overflows and a clean end as an engine below the trainer, or PyTorch itself, reports them. */
static void add_facts(struct log_summary *to, const struct log_summary *from)
{
	to->flags |= from->flags & (1u << LOG_OVERFLOW_SKIPS);
	fill_number(&to->completed, from->completed);
	if (to->peak_mem_bytes.has || to->mem_kind)
		return;
	struct opt_number largest = from->peak_mem_bytes;
	const char *kind = from->peak_mem_kind;
	if (!largest.has)
		kind = memory_of_steps(from, &largest);
	if (largest.has && kind) {
		to->peak_mem_bytes = largest;
		to->peak_mem_kind = kind;
	}
}

static struct log_step *step_numbered(struct log_summary *s, size_t n_sorted, long number)
{
	size_t low = 0, high = n_sorted;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (s->steps[middle].step < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n_sorted && s->steps[low].step == number ? &s->steps[low] : NULL;
}

static void fill_step(struct log_step *to, const struct log_step *from)
{
	fill_number(&to->loss, from->loss);
	fill_number(&to->grad_norm, from->grad_norm);
	fill_number(&to->step_time_s, from->step_time_s);
	fill_number(&to->tokens_per_s, from->tokens_per_s);
	fill_number(&to->mem_bytes, from->mem_bytes);
	fill_number(&to->lr, from->lr);
	fill_number(&to->samples_per_s, from->samples_per_s);
	fill_number(&to->tokens_seen, from->tokens_seen);
	fill_number(&to->tflops_per_device, from->tflops_per_device);
	fill_number(&to->mfu_percent, from->mfu_percent);
}

static int by_step(const void *left, const void *right)
{
	const struct log_step *a = left, *b = right;
	return (a->step > b->step) - (a->step < b->step);
}

/* The steps of the general reader into those of the chosen one. */
static void add_steps(struct log_summary *to, const struct log_summary *from)
{
	const uint32_t about_steps =
		1u << LOG_DUPLICATE_STEPS | 1u << LOG_RESTARTED | 1u << LOG_TORN_RECORD | 1u << LOG_RESUMED;
	size_t n_sorted = to->n_steps, capacity = to->n_steps;
	for (size_t i = 0; i < from->n_steps; i++) {
		struct log_step *known = step_numbered(to, n_sorted, from->steps[i].step);
		if (known) {
			fill_step(known, &from->steps[i]);
		} else if (to->n_steps < LOG_MAX_STEPS) {
			grow_array(&to->steps, &capacity, to->n_steps + 1, sizeof(*to->steps));
			to->steps[to->n_steps++] = from->steps[i];
		}
	}
	if (to->n_steps)
		qsort(to->steps, to->n_steps, sizeof(*to->steps), by_step);
	to->flags |= from->flags & about_steps;
	fill_number(&to->completed, from->completed);
	fill_number(&to->tokens_per_update, from->tokens_per_update);
	fill_number(&to->step_base, from->step_base);
	to->mem_kind = to->mem_kind ? to->mem_kind : from->mem_kind;
	if (to->tokens_per_s_scope == LOG_SCOPE_UNKNOWN) {
		to->tokens_per_s_scope = from->tokens_per_s_scope;
		to->tokens_per_s_derived = from->tokens_per_s_derived;
	}
	if (!to->n_damaged_steps && from->n_damaged_steps) {
		to->damaged_steps =
			xrealloc(to->damaged_steps, from->n_damaged_steps, sizeof(*to->damaged_steps));
		memcpy(to->damaged_steps, from->damaged_steps,
			from->n_damaged_steps * sizeof(*to->damaged_steps));
		to->n_damaged_steps = from->n_damaged_steps;
	}
}

static void add_others(struct log_scan *scan, struct reader *chosen)
{
	for (size_t i = 0; i < scan->n_readers; i++) {
		struct reader *r = &scan->readers[i];
		int own = chosen->ops->priority, other = r->ops->priority;
		if (r == chosen)
			continue;
		if (other == READER_LOOP && (own == READER_ENGINE || chosen->facts->n_steps == 0))
			add_steps(chosen->facts, r->facts);
		if (other == READER_AUXILIARY || (other == READER_ENGINE && own > READER_ENGINE))
			add_facts(chosen->facts, r->facts);
	}
}

/* ---- what the steps say together ---- */

static bool same_number(struct opt_number a, struct opt_number b)
{
	return a.has && b.has && a.value == b.value;
}

/* The steps at the end of the log that have one loss, and what their gradient norms and rates do. */
struct last_losses {
	size_t run;
	bool norm_same, norm_dead; /* one finite value; never finite */
	bool moves;                /* some learning rate is above 0 */
};

static struct last_losses look_at_last_losses(const struct log_summary *s)
{
	size_t n = s->n_steps;
	const struct log_step *last = &s->steps[n - 1];
	bool finite = isfinite(last->grad_norm.value);
	struct last_losses l = {0, last->grad_norm.has && finite, last->grad_norm.has && !finite, false};
	for (; l.run < n && same_number(s->steps[n - 1 - l.run].loss, last->loss); l.run++) {
		const struct log_step *step = &s->steps[n - 1 - l.run];
		l.norm_same = l.norm_same && same_number(step->grad_norm, last->grad_norm);
		l.norm_dead = l.norm_dead && step->grad_norm.has && !isfinite(step->grad_norm.value);
		l.moves = l.moves || step->lr.value > 0.0;
	}
	return l;
}

/* One loss to the last digit up to the end of the log, although the learning rate is not 0: the optimizer or
 * the backward pass does nothing. Rounded losses repeat, too (GRPO's is 0 by construction): then the gradient
 * norm moves. */
static void look_for_frozen(struct log_summary *s)
{
	enum { RUN_WITH_NORM = 3, RUN_WITHOUT_NORM = 5 };
	const struct log_step *last = s->n_steps ? &s->steps[s->n_steps - 1] : NULL;
	if (!last || !last->loss.has || !isfinite(last->loss.value))
		return;
	struct last_losses l = look_at_last_losses(s);
	bool has_norm = last->grad_norm.has;
	if (l.run < (has_norm ? RUN_WITH_NORM : RUN_WITHOUT_NORM) ||
		(has_norm && !l.norm_same && !l.norm_dead) || (last->lr.has && !l.moves))
		return;
	s->flags |= 1u << LOG_FROZEN_LOSS;
	if (l.norm_same)
		s->flags |= 1u << LOG_FROZEN_GRAD_NORM;
}

/* "compiling graph 3 ...": begun and, as far as the log goes, never ended. */
static bool ends_amid(const struct log_scan *scan)
{
	size_t n = scan->last_length;
	while (n > 0 && scan->last[n - 1] == ' ')
		n--;
	return n > 3 && memcmp(scan->last + n - 3, "...", 3) == 0 && scan->last_length + 1 < LOG_LAST_SIZE;
}

static bool ended_badly(const struct log_options *o)
{
	return o->timed_out || o->stalled || (o->exit_status.has && o->exit_status.value != 0.0) ||
	       (o->exit_signal.has && o->exit_signal.value != 0.0);
}

static bool is_short(const struct log_options *o, const struct log_summary *s)
{
	long done = 0;
	if (s->n_steps)
		done = s->steps[s->n_steps - 1].step + (s->step_base.has && s->step_base.value == 0.0);
	return o->requested_updates.has && (double)done < o->requested_updates.value;
}

static void look_for_end(const struct log_scan *scan, struct log_summary *s)
{
	if (ended_badly(&scan->options) || is_short(&scan->options, s))
		s->completed = (struct opt_number){true, 0.0};
	else if (!s->completed.has && scan->options.exit_status.has)
		s->completed = (struct opt_number){true, 1.0};
	else if (!s->completed.has && s->n_steps && ends_amid(scan))
		s->completed = (struct opt_number){true, 0.0};
}

/* ---- the summary ---- */

static void settle_reader(struct reader *reader)
{
	if (reader->ops->finish)
		reader->ops->finish(reader);
	reader_settle(reader);
}

static void finish_failure(struct log_scan *scan, struct log_summary *summary)
{
	const struct log_options *o = &scan->options;
	struct failure_exit ended = {.exit_status = o->exit_status.has ? (int)o->exit_status.value : -1,
		.exit_signal = o->exit_signal.has ? (int)o->exit_signal.value : 0,
		.timed_out = o->timed_out,
		.stalled = o->stalled,
		.build = o->build};
	bool known = o->exit_status.has || o->exit_signal.has || o->timed_out || o->stalled;
	failure_scan_finish(take_ptr(scan->failure), known ? &ended : NULL, summary);
	/* Of the device that the steps' memory is on. */
	if (summary->mem_kind)
		fill_number(&summary->capacity_bytes, summary->failure.capacity_bytes);
}

void log_scan_finish(struct log_scan *scan, struct log_summary *ret_summary)
{
	struct log_summary none = {.framework = "unknown"};
	struct reader *chosen;
	long n_lines = scan->number - 1 + (scan->has_pending ? 1 : 0);
	scan_flush(scan);
	chosen = scan_choose(scan);
	for (size_t i = 0; i < scan->n_readers; i++)
		settle_reader(&scan->readers[i]);
	if (chosen) {
		add_others(scan, chosen);
		*ret_summary = *take_ptr(chosen->facts);
	} else {
		for (size_t i = 0; i < scan->n_readers; i++)
			if (scan->readers[i].ops->priority == READER_AUXILIARY)
				add_facts(&none, scan->readers[i].facts);
		*ret_summary = none;
	}
	ret_summary->n_lines = n_lines;
	ret_summary->n_bytes = scan->n_bytes;
	look_for_frozen(ret_summary);
	/* What the log itself says of its end decides what is noise behind it: before the exit is asked. */
	finish_failure(scan, ret_summary);
	look_for_end(scan, ret_summary);
	log_scan_free(scan);
}

void log_summary_release(struct log_summary *summary)
{
	arena_release(&summary->arena);
	free(summary->steps);
	free(summary->damaged_steps);
	summary->steps = NULL;
	summary->damaged_steps = NULL;
}

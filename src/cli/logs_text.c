#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cli/logs_text.h"

enum { TABLE_ENDS = 5, CURVE_WIDTH = 40 };

/* Offset of a number in struct log_step. */
#define COLUMN(member) offsetof(struct log_step, member)

static struct opt_number column(const struct log_step *s, size_t offset)
{
	return *(const struct opt_number *)((const char *)s + offset);
}

static bool any_in_column(const struct log_summary *s, size_t offset)
{
	for (size_t i = 0; i < s->n_steps; i++)
		if (column(&s->steps[i], offset).has)
			return true;
	return false;
}

static void add_label(struct strbuf *text, const char *label)
{
	strbuf_addf(text, "%-11s", label);
}

/* ---- the table of steps ---- */

static const struct {
	const char *heading;
	size_t offset;
	const char *format;
	double divisor;
} columns[] = {
	{"loss", COLUMN(loss), "%.6g", 1.0},
	{"grad norm", COLUMN(grad_norm), "%.4g", 1.0},
	{"s/update", COLUMN(step_time_s), "%.4g", 1.0},
	{"tokens/s", COLUMN(tokens_per_s), "%.0f", 1.0},
	{"samples/s", COLUMN(samples_per_s), "%.4g", 1.0},
	{"GiB", COLUMN(mem_bytes), "%.2f", 1073741824.0},
	{"lr", COLUMN(lr), "%.3g", 1.0},
};

static void add_row(const struct log_summary *s, const struct log_step *step, struct strbuf *text)
{
	strbuf_addf(text, "  %8ld", step->step);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		char cell[32] = "-";
		struct opt_number value = column(step, columns[i].offset);
		if (!any_in_column(s, columns[i].offset))
			continue;
		if (value.has)
			snprintf(cell, sizeof(cell), columns[i].format, value.value / columns[i].divisor);
		strbuf_addf(text, "  %10s", cell);
	}
	strbuf_addch(text, '\n');
}

static void add_table(const struct log_summary *s, struct strbuf *text)
{
	strbuf_addf(text, "  %8s", "step");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (any_in_column(s, columns[i].offset))
			strbuf_addf(text, "  %10s", columns[i].heading);
	strbuf_addch(text, '\n');
	for (size_t i = 0; i < s->n_steps; i++) {
		if (s->n_steps > 2 * TABLE_ENDS + 1 && i == TABLE_ENDS) {
			strbuf_addf(text, "  %8s  (%zu more)\n", "...", s->n_steps - 2 * TABLE_ENDS);
			i = s->n_steps - TABLE_ENDS;
		}
		add_row(s, &s->steps[i], text);
	}
}

/* ---- figures ---- */

static int by_number(const void *left, const void *right)
{
	const double *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* Median of a column without its first value, which holds start-up and compilation. NAN = nothing there. */
static double median_after_first(const struct log_summary *s, size_t offset, double *ret_first)
{
	CLEANUP(free_ptr) double *values = xcalloc(s->n_steps + 1, sizeof(double));
	size_t n = 0;
	*ret_first = NAN;
	for (size_t i = 0; i < s->n_steps; i++) {
		struct opt_number value = column(&s->steps[i], offset);
		if (!value.has || !isfinite(value.value))
			continue;
		if (isnan(*ret_first))
			*ret_first = value.value;
		else
			values[n++] = value.value;
	}
	if (n == 0)
		return NAN;
	qsort(values, n, sizeof(double), by_number);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2.0;
}

/* The loss over the steps, eight heights; x where it is not finite. */
static void add_curve(const struct log_summary *s, double low, double high, struct strbuf *text)
{
	static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	size_t width = MIN_OF(s->n_steps, (size_t)CURVE_WIDTH);
	if (width < 3)
		return;
	strbuf_addstr(text, "   ");
	for (size_t i = 0; i < width; i++) {
		struct opt_number loss = s->steps[i * (s->n_steps - 1) / (width - 1)].loss;
		if (!loss.has)
			strbuf_addch(text, ' ');
		else if (!isfinite(loss.value))
			strbuf_addch(text, 'x');
		else
			strbuf_addstr(text,
				heights[high > low ? (int)(7.0 * (loss.value - low) / (high - low)) : 0]);
	}
}

static void add_loss(const struct log_summary *s, struct strbuf *text)
{
	const struct log_step *first = NULL, *last = NULL, *lowest = NULL;
	double high = -INFINITY;
	size_t n_bad = 0;
	for (size_t i = 0; i < s->n_steps; i++) {
		const struct log_step *step = &s->steps[i];
		n_bad += step->loss.has && !isfinite(step->loss.value);
		if (!step->loss.has || !isfinite(step->loss.value))
			continue;
		first = first ? first : step;
		last = step;
		high = fmax(high, step->loss.value);
		if (!lowest || step->loss.value < lowest->loss.value)
			lowest = step;
	}
	add_label(text, "Loss");
	if (!first) {
		strbuf_addstr(text, n_bad ? "not a number at every step\n" : "not in this log\n");
		return;
	}
	strbuf_addf(text, "%.6g -> %.6g, lowest %.6g at step %ld", first->loss.value, last->loss.value,
		lowest->loss.value, lowest->step);
	add_curve(s, lowest->loss.value, high, text);
	if (n_bad)
		strbuf_addf(text, "   not finite at %zu step%s", n_bad, n_bad == 1 ? "" : "s");
	strbuf_addch(text, '\n');
}

static void add_times(const struct log_summary *s, struct strbuf *text)
{
	double first, median = median_after_first(s, COLUMN(step_time_s), &first);
	if (!isnan(first)) {
		add_label(text, "Time");
		if (isnan(median))
			strbuf_addf(text, "%.4g s for the only update that is timed\n", first);
		else
			strbuf_addf(text, "median %.4g s/update; the first %.4g s\n", median, first);
	}
	median = median_after_first(s, COLUMN(tokens_per_s), &first);
	median = isnan(median) ? first : median;
	if (!isnan(median)) {
		add_label(text, "Tokens");
		strbuf_addf(text, "median %.0f/s%s%s", median,
			s->tokens_per_s_scope == LOG_SCOPE_DEVICE   ? " per device"
			: s->tokens_per_s_scope == LOG_SCOPE_GLOBAL ? " over all devices"
								    : "",
			s->tokens_per_s_derived ? " (from tokens and time)" : "");
		if (s->tokens_per_update.has)
			strbuf_addf(text, "; %.0f an update", s->tokens_per_update.value);
		strbuf_addch(text, '\n');
	}
}

static void add_memory(const struct log_summary *s, struct strbuf *text)
{
	char amount[UNIT_TEXT_SIZE], capacity[UNIT_TEXT_SIZE];
	struct opt_number peak = s->peak_mem_bytes;
	const char *kind = s->peak_mem_kind;
	for (size_t i = 0; !s->peak_mem_bytes.has && i < s->n_steps; i++)
		if (s->steps[i].mem_bytes.has && (!peak.has || s->steps[i].mem_bytes.value > peak.value)) {
			peak = s->steps[i].mem_bytes;
			kind = s->mem_kind;
		}
	if (!peak.has)
		return;
	add_label(text, "Memory");
	strbuf_addf(text, "peak %s%s%s", format_bytes(peak.value, amount), kind ? " " : "", kind ? kind : "");
	if (s->capacity_bytes.has)
		strbuf_addf(text, " of %s", format_bytes(s->capacity_bytes.value, capacity));
	strbuf_addch(text, '\n');
}

/* ---- what else the log says ---- */

static const char *const flag_words[N_LOG_FLAGS] = {
	[LOG_OVERFLOW_SKIPS] = "updates were skipped by loss scaling (fp16)",
	[LOG_FROZEN_LOSS] = "the loss is the same to the last digit at every step: nothing is being learnt",
	[LOG_FROZEN_GRAD_NORM] = "so is the gradient norm",
	[LOG_DUPLICATE_STEPS] = "several ranks or loggers print the same steps; merged",
	[LOG_RESTARTED] = "the job began again; later values replace earlier ones",
	[LOG_RESUMED] = "resumed from a checkpoint",
	[LOG_FIRST_LINE_OVERLAPS] =
		"the line behind the first one averages the first update in once more; leave out both",
	[LOG_TORN_RECORD] = "step lines were cut by another writer; those steps are left out",
	[LOG_LOSS_NOT_VISIBLE] = "the loss is printed by another pipeline rank",
	[LOG_SHORT_RUN] = "ended by its own limit before the requested steps",
	[LOG_OOM_HANDLED] = "ran out of device memory on purpose and went on",
	[LOG_BATCH_SIZE_CHANGED] = "the batch size is not the one asked for",
	[LOG_COMPILE_FALLBACK] = "compilation was given up and eager mode used: the setting had no effect",
	[LOG_POST_RUN_NOISE] = "complaints behind the end of the training",
	[LOG_POST_RUN_COLLECTIVE_NOISE] = "complaints of collectives behind the end of the training",
	[LOG_FOREIGN_MEMORY] = "another process held memory of the device: no fair trial",
	[LOG_FRAGMENTATION_SUSPECT] = "unused reserved memory exceeds what was missing: fragmentation",
	[LOG_FREE_EXCEEDS_REQUEST] = "more was free than asked for: the shortfall says nothing",
	[LOG_ALLOCATED_EXCEEDS_CAPACITY] =
		"more was allocated than the device has (it spills to host memory)",
};

static void add_flags(const struct log_summary *s, struct strbuf *text)
{
	const char *label = "Notes";
	for (int i = 0; i < N_LOG_FLAGS; i++) {
		if (!(s->flags & 1u << i))
			continue;
		add_label(text, label);
		strbuf_addf(text, "%s\n", flag_words[i]);
		label = "";
	}
	if (s->n_damaged_steps) {
		add_label(text, label);
		strbuf_addf(
			text, "%zu damaged step%s:", s->n_damaged_steps, s->n_damaged_steps == 1 ? "" : "s");
		for (size_t i = 0; i < MIN_OF(s->n_damaged_steps, (size_t)10); i++)
			strbuf_addf(text, " %ld", s->damaged_steps[i]);
		strbuf_addstr(text, s->n_damaged_steps > 10 ? " ...\n" : "\n");
	}
}

static void add_amount(struct strbuf *text, const char *before, struct opt_number bytes)
{
	char amount[UNIT_TEXT_SIZE];
	if (bytes.has)
		strbuf_addf(text, "%s %s", before, format_bytes(bytes.value, amount));
}

static void add_failure(const struct failure_report *f, struct strbuf *text)
{
	add_label(text, "Failure");
	if (f->class == FAILURE_NONE) {
		strbuf_addstr(text, "none found\n");
		return;
	}
	strbuf_addstr(text, failure_class_names[f->class]);
	if (f->subkind)
		strbuf_addf(text, " (%s)", f->subkind);
	if (f->rank.has)
		strbuf_addf(text, ", rank %.0f", f->rank.value);
	if (f->last_good_step.has)
		strbuf_addf(text, ", after step %.0f", f->last_good_step.value);
	if (f->exit_code.has)
		strbuf_addf(text, ", exit %.0f", f->exit_code.value);
	add_amount(text, ", asked for", f->requested_bytes);
	add_amount(text, ", free", f->free_bytes);
	add_amount(text, ", short of", f->shortfall_bytes);
	strbuf_addch(text, '\n');
	add_label(text, "");
	if (f->line)
		strbuf_addf(text, "line %ld: ", f->line);
	strbuf_addf(text, "%s\n", f->evidence); /* escaped where it was read */
}

/* What a harness wants to know of a run and this log does not prove. */
static void add_unchecked(const struct log_summary *s, struct strbuf *text)
{
	const struct {
		const char *what;
		bool told;
	} facts[] = {
		{"loss", any_in_column(s, COLUMN(loss))},
		{"gradient norm", any_in_column(s, COLUMN(grad_norm))},
		{"time of an update", any_in_column(s, COLUMN(step_time_s))},
		{"tokens of an update", s->tokens_per_update.has || any_in_column(s, COLUMN(tokens_seen))},
		{"peak memory", s->peak_mem_bytes.has || any_in_column(s, COLUMN(mem_bytes))},
		{"optimizer steps", s->optimizer_steps.has || any_in_column(s, COLUMN(skipped_total))},
		{"data digest", false},
		{"model digest", false},
	};
	const char *separator = "";
	add_label(text, "Unchecked");
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		if (facts[i].told)
			continue;
		strbuf_addf(text, "%s%s", separator, facts[i].what);
		separator = ", ";
	}
	strbuf_addch(text, '\n');
}

static const char *next_step(const struct log_summary *s)
{
	if (s->failure.class == FAILURE_OOM)
		return "free device memory first: a smaller micro-batch, recomputation, or sharding";
	if (s->failure.class != FAILURE_NONE)
		return "read the log from the line above; what follows it is mostly its echo";
	if (s->n_steps == 0 && strcmp(s->framework, "unknown") == 0)
		return "no format of  infrarsi logs --formats  fits: print lines such as  step=1 loss=2.5 "
		       "dt=0.4 tokens=8192";
	if (s->n_steps == 0)
		return "the log has no step lines yet";
	return "infrarsi logs --json  for all steps";
}

static void add_head(const struct log_summary *s, const char *name, struct strbuf *text)
{
	char size[UNIT_TEXT_SIZE];
	add_label(text, "Log");
	strbuf_add_escaped(text, name, strlen(name));
	strbuf_addf(text, "   %ld line%s, %s\n", s->n_lines, s->n_lines == 1 ? "" : "s",
		format_bytes((double)s->n_bytes, size));
	add_label(text, "Format");
	strbuf_addstr(text, s->framework);
	if (s->recognised_line) {
		strbuf_addf(text, "   from line %ld: ", s->recognised_line);
		strbuf_add_escaped(text, s->recognised_text, strlen(s->recognised_text));
	}
	strbuf_addch(text, '\n');
}

static void add_steps(const struct log_summary *s, struct strbuf *text)
{
	add_label(text, "Steps");
	if (s->n_steps == 0) {
		strbuf_addstr(text, "none\n");
		return;
	}
	strbuf_addf(text, "%zu, %ld to %ld", s->n_steps, s->steps[0].step, s->steps[s->n_steps - 1].step);
	struct opt_number interval = s->log_interval.has    ? s->log_interval
				     : s->logging_steps.has ? s->logging_steps
							    : s->steps_per_print;
	if (interval.has && interval.value > 1.0)
		strbuf_addf(text, ", a line every %.0f updates", interval.value);
	if (s->step_inferred)
		strbuf_addstr(text, "; the lines carry no numbers: counted");
	if (s->optimizer_steps.has)
		strbuf_addf(text, "; %.0f updates were applied", s->optimizer_steps.value);
	if (s->steps_dropped)
		strbuf_addf(text, "; %zu further ones are not kept", s->steps_dropped);
	strbuf_addch(text, '\n');
	add_table(s, text);
}

void logs_add_text(const struct log_summary *s, const char *name, struct strbuf *text)
{
	add_head(s, name, text);
	add_steps(s, text);
	if (s->n_steps) {
		add_loss(s, text);
		add_times(s, text);
	}
	add_memory(s, text);
	add_label(text, "Completed");
	strbuf_addstr(text, !s->completed.has           ? "the log does not say\n"
			    : s->completed.value != 0.0 ? "yes\n"
							: "no\n");
	add_flags(s, text);
	add_failure(&s->failure, text);
	add_unchecked(s, text);
	strbuf_addf(text, "Next: %s\n", next_step(s));
}

/* A summary as JSON; the schema is in docs/logs.md. Numbers as short as they can be and still read back as
 * the same double; amounts of memory in GiB with six decimals; what is not finite as "nan", "inf", "-inf". */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "adapter/log.h"
#include "base/strbuf.h"

const char *const log_flag_names[N_LOG_FLAGS] = {
	[LOG_OVERFLOW_SKIPS] = "overflow_skips",
	[LOG_FROZEN_LOSS] = "frozen_loss",
	[LOG_FROZEN_GRAD_NORM] = "frozen_grad_norm",
	[LOG_DUPLICATE_STEPS] = "duplicate_steps",
	[LOG_RESTARTED] = "restarted",
	[LOG_RESUMED] = "resumed",
	[LOG_FIRST_LINE_OVERLAPS] = "first_line_overlaps_next_window",
	[LOG_TORN_RECORD] = "torn_record",
	[LOG_LOSS_NOT_VISIBLE] = "loss_not_visible",
	[LOG_SHORT_RUN] = "short_run",
	[LOG_OOM_HANDLED] = "oom_handled",
	[LOG_BATCH_SIZE_CHANGED] = "batch_size_changed",
	[LOG_COMPILE_FALLBACK] = "compile_fallback",
	[LOG_POST_RUN_NOISE] = "post_run_noise",
	[LOG_POST_RUN_COLLECTIVE_NOISE] = "post_run_collective_noise",
	[LOG_FOREIGN_MEMORY] = "foreign_memory",
	[LOG_FRAGMENTATION_SUSPECT] = "fragmentation_suspect",
	[LOG_FREE_EXCEEDS_REQUEST] = "free_exceeds_request",
	[LOG_ALLOCATED_EXCEEDS_CAPACITY] = "allocated_exceeds_capacity",
};

/* ---- from a json_t to text ---- */

/* json_dumps() has 17 digits for every number: 8.2143770000000007. */
static void add_real(struct strbuf *out, double value)
{
	char text[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	strbuf_addstr(out, text);
	if (!strpbrk(text, ".e"))
		strbuf_addstr(out, ".0");
}

static void add_text(struct strbuf *out, const json_t *string)
{
	char *text = json_dumps(string, JSON_ENCODE_ANY);
	strbuf_addstr(out, text ? text : "\"\"");
	free(text);
}

static void new_line(struct strbuf *out, int depth)
{
	strbuf_addch(out, '\n');
	for (int i = 0; i < depth; i++)
		strbuf_addch(out, ' ');
}

enum { FLAT = -1 }; /* instead of a depth: on one line */

static void add_json(struct strbuf *out, json_t *json, int depth);

static void add_object(struct strbuf *out, json_t *object, int depth)
{
	const char *key, *separator = "";
	json_t *value;
	strbuf_addch(out, '{');
	json_object_foreach(object, key, value)
	{
		strbuf_addstr(out, separator);
		if (depth != FLAT)
			new_line(out, depth + 1);
		strbuf_addf(out, "\"%s\": ", key);
		add_json(out, value, depth == FLAT ? FLAT : depth + 1);
		separator = depth == FLAT ? ", " : ",";
	}
	if (depth != FLAT)
		new_line(out, depth);
	strbuf_addch(out, '}');
}

static void add_array(struct strbuf *out, json_t *array, int depth)
{
	size_t i;
	json_t *value;
	bool rows = depth != FLAT && json_is_object(json_array_get(array, 0));
	strbuf_addch(out, '[');
	json_array_foreach(array, i, value)
	{
		strbuf_addstr(out, i == 0 ? "" : rows ? "," : ", ");
		if (rows)
			new_line(out, depth + 1);
		add_json(out, value, FLAT);
	}
	if (rows)
		new_line(out, depth);
	strbuf_addch(out, ']');
}

static void add_json(struct strbuf *out, json_t *json, int depth)
{
	if (json_is_object(json))
		add_object(out, json, depth);
	else if (json_is_array(json))
		add_array(out, json, depth);
	else if (json_is_real(json))
		add_real(out, json_real_value(json));
	else if (json_is_integer(json))
		strbuf_addf(out, "%lld", (long long)json_integer_value(json));
	else if (json_is_string(json))
		add_text(out, json);
	else
		strbuf_addstr(out, json_is_true(json) ? "true" : json_is_false(json) ? "false" : "null");
}

/* ---- from the summary to a json_t ---- */

static json_t *real(double value)
{
	if (isnan(value))
		return json_string("nan");
	if (isinf(value))
		return json_string(value < 0.0 ? "-inf" : "inf");
	return json_real(value);
}

static json_t *number(struct opt_number n)
{
	return n.has ? real(n.value) : json_null();
}

static json_t *gib(struct opt_number bytes)
{
	/* Halves to even, as Python's round(): 328 MiB is 0.320312. */
	return bytes.has ? real(rint(bytes.value / 1073741824.0 * 1e6) / 1e6) : json_null();
}

static json_t *count(struct opt_number n)
{
	if (n.has && isfinite(n.value) && fabs(n.value) < 9e15 && n.value == floor(n.value))
		return json_integer((json_int_t)n.value);
	return number(n);
}

static void set_if(json_t *object, const char *key, json_t *(*make)(struct opt_number), struct opt_number n)
{
	if (n.has)
		json_object_set_new(object, key, make(n));
}

static json_t *step_json(const struct log_step *s)
{
	json_t *step = json_object();
	json_object_set_new(step, "step", json_integer(s->step));
	json_object_set_new(step, "loss", number(s->loss));
	json_object_set_new(step, "grad_norm", number(s->grad_norm));
	json_object_set_new(step, "step_time_s", number(s->step_time_s));
	json_object_set_new(step, "tokens_per_s", number(s->tokens_per_s));
	json_object_set_new(step, "mem_gib", gib(s->mem_bytes));
	json_object_set_new(step, "lr", number(s->lr));
	set_if(step, "tflops_per_gpu", number, s->tflops_per_device);
	set_if(step, "mfu_pct", number, s->mfu_percent);
	set_if(step, "samples_per_s", number, s->samples_per_s);
	set_if(step, "tokens_seen", count, s->tokens_seen);
	set_if(step, "skipped_updates", count, s->skipped_updates);
	set_if(step, "skipped_total", count, s->skipped_total);
	if (s->window_first)
		json_object_set_new(step, "window",
			json_pack("[I, I]", (json_int_t)s->window_first, (json_int_t)s->window_last));
	if (s->corrected_loss.has || s->corrected_step_time_s.has) {
		json_t *corrected = json_object();
		set_if(corrected, "loss", number, s->corrected_loss);
		set_if(corrected, "step_time_s", number, s->corrected_step_time_s);
		json_object_set_new(step, "corrected", corrected);
	}
	return step;
}

static json_t *steps_json(const struct log_summary *s)
{
	json_t *steps = json_array();
	for (size_t i = 0; i < s->n_steps; i++)
		json_array_append_new(steps, step_json(&s->steps[i]));
	return steps;
}

static json_t *flags_json(uint32_t flags)
{
	json_t *names = json_array();
	for (int i = 0; i < N_LOG_FLAGS; i++)
		if (flags & 1u << i)
			json_array_append_new(names, json_string(log_flag_names[i]));
	return names;
}

static void add_counts(json_t *json, const struct log_summary *s)
{
	set_if(json, "log_interval", count, s->log_interval);
	set_if(json, "logging_steps", count, s->logging_steps);
	set_if(json, "steps_per_print", count, s->steps_per_print);
	set_if(json, "optimizer_steps", count, s->optimizer_steps);
	set_if(json, "world_size", count, s->world_size);
	set_if(json, "step_base", count, s->step_base);
	set_if(json, "value_precision_digits", count, s->value_precision_digits);
	if (s->step_inferred)
		json_object_set_new(json, "step_inferred", json_true());
	if (s->steps_dropped)
		json_object_set_new(json, "steps_dropped", json_integer((json_int_t)s->steps_dropped));
	if (s->n_damaged_steps) {
		json_t *damaged = json_array();
		for (size_t i = 0; i < s->n_damaged_steps; i++)
			json_array_append_new(damaged, json_integer(s->damaged_steps[i]));
		json_object_set_new(json, "damaged_steps", damaged);
	}
}

static void add_rates_and_memory(json_t *json, const struct log_summary *s)
{
	set_if(json, "tokens_per_update", count, s->tokens_per_update);
	if (s->tokens_per_s_scope != LOG_SCOPE_UNKNOWN)
		json_object_set_new(json, "tokens_per_s_scope",
			json_string(s->tokens_per_s_scope == LOG_SCOPE_GLOBAL ? "global" : "device"));
	if (s->tokens_per_s_derived)
		json_object_set_new(json, "tokens_per_s_derived", json_true());
	if (s->mem_kind)
		json_object_set_new(json, "mem_kind", json_string(s->mem_kind));
	if (s->peak_mem_bytes.has) {
		json_object_set_new(json, "peak_mem_gib", gib(s->peak_mem_bytes));
		json_object_set_new(json, "peak_mem_kind", json_string(s->peak_mem_kind));
	}
	set_if(json, "capacity_gib", gib, s->capacity_bytes);
	/* Where the steps are only counted, they cannot be held against what is said of the whole run. */
	if (!s->step_inferred &&
		(s->train_runtime_s.has || s->train_loss.has || s->train_samples_per_s.has)) {
		json_t *summary = json_object();
		set_if(summary, "train_runtime_s", number, s->train_runtime_s);
		set_if(summary, "train_loss", number, s->train_loss);
		set_if(summary, "train_samples_per_s", number, s->train_samples_per_s);
		json_object_set_new(json, "summary", summary);
	}
}

void log_summary_to_json(const struct log_summary *s, struct strbuf *text)
{
	json_t *json = json_object();
	json_object_set_new(json, "framework", json_string(s->framework));
	json_object_set_new(json, "steps", steps_json(s));
	json_object_set_new(json, "failure", failure_report_to_json(&s->failure));
	add_counts(json, s);
	add_rates_and_memory(json, s);
	if (s->flags)
		json_object_set_new(json, "flags", flags_json(s->flags));
	json_object_set_new(
		json, "completed", s->completed.has ? json_boolean(s->completed.value != 0.0) : json_null());
	add_json(text, json, 0);
	strbuf_addch(text, '\n');
	json_decref(json);
}

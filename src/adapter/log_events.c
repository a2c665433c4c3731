#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/log.h"
#include "adapter/log_events.h"
#include "base/json.h"
#include "base/memory.h"
#include "event/event.h"

struct log_events {
	struct log_scan *scan;
	log_event_fn emit;
	void *context;
	double now_s; /* arrival of the bytes being read */
	bool any_bytes;
	/* The step whose lines are being read. */
	bool pending;
	struct log_step step;
	double arrived_s;
	long offset; /* update = step + offset; set by the first step */
	bool has_offset;
	long last_update; /* emitted */
	double last_arrived_s;
	struct opt_number last_seen, last_opt_step;
	long last_step;
};

static void emit_json(struct log_events *e, json_t *event, double arrived_s)
{
	CLEANUP(free_ptr) char *text = json_dump_take(event);
	e->emit(e->context, text, strlen(text), arrived_s);
}

static void set_value(json_t *event, const char *key, struct opt_number n)
{
	if (!n.has)
		return;
	if (isfinite(n.value))
		json_object_set_new(event, key, json_real(n.value));
	else
		json_object_set_new(event, key,
			json_string(isnan(n.value) ? "nan"
				    : n.value > 0  ? "inf"
						   : "-inf"));
}

/* Beyond 2^53 a count is not exact and the protocol refuses it. */
static void set_count(json_t *event, const char *key, struct opt_number n)
{
	if (n.has && n.value >= 0 && n.value < 9e15)
		json_object_set_new(event, key, json_integer((json_int_t)llround(n.value)));
}

static struct opt_number tokens_of(const struct log_events *e, const struct log_summary *facts)
{
	const struct log_step *s = &e->step;
	bool follows = e->last_update > 0 && s->step == e->last_step + 1;
	if (s->tokens.has)
		return s->tokens;
	if (s->tokens_seen.has && e->last_seen.has && follows)
		return (struct opt_number){true, s->tokens_seen.value - e->last_seen.value};
	if (s->tokens_seen.has && s->step + e->offset == 1)
		return s->tokens_seen;
	if (!facts)
		return (struct opt_number){false, NAN};
	if (facts->tokens_per_update.has || !facts->global_batch.has || !facts->seq_len.has)
		return facts->tokens_per_update;
	return (struct opt_number){true, facts->global_batch.value * facts->seq_len.value};
}

/* Optimizer steps that were taken: updates less those that loss scaling skipped. */
static struct opt_number opt_step_of(struct log_events *e, long update)
{
	const struct log_step *s = &e->step;
	struct opt_number none = {false, NAN};
	if (s->skipped_total.has)
		return (struct opt_number){true, (double)update - s->skipped_total.value};
	bool follows = update == e->last_update + 1 && (e->last_opt_step.has || update == 1);
	if (!s->skipped_updates.has || !follows)
		return none;
	double before = e->last_opt_step.has ? e->last_opt_step.value : 0;
	return (struct opt_number){true, before + 1 - s->skipped_updates.value};
}

static long update_of(struct log_events *e, const struct log_summary *facts)
{
	if (!e->has_offset) {
		bool from_zero =
			e->step.step == 0 || (facts && facts->step_base.has && facts->step_base.value == 0);
		bool resumed = facts && (facts->flags & (uint32_t)1 << LOG_RESUMED);
		e->offset = resumed ? 1 - e->step.step : from_zero;
		e->has_offset = true;
	}
	return e->step.step + e->offset;
}

static void give_pending(struct log_events *e, const struct log_summary *facts, struct opt_number peak_bytes)
{
	if (!e->pending)
		return;
	e->pending = false;
	const struct log_step *s = &e->step;
	long update = update_of(e, facts);
	/* What the protocol refuses is not sent: the harness would count it as a malformed line of the job's.
	 */
	if (update <= e->last_update || update > EVENT_MAX_UPDATE)
		return;
	struct opt_number memory = s->mem_bytes;
	if (peak_bytes.has && !(memory.has && memory.value >= peak_bytes.value))
		memory = peak_bytes;
	struct opt_number opt_step = opt_step_of(e, update);
	json_t *event = json_object();
	json_object_set_new(event, "e", json_string("update"));
	json_object_set_new(event, "i", json_integer(update));
	json_object_set_new(event, "rank", json_integer(0));
	set_value(event, "loss", s->loss);
	set_value(event, "grad_norm", s->grad_norm);
	set_value(event, "lr", s->lr);
	set_count(event, "opt_step", opt_step);
	set_count(event, "tokens", tokens_of(e, facts));
	set_count(event, "mem", memory);
	if (s->step_time_s.has && isfinite(s->step_time_s.value) && s->step_time_s.value >= 0)
		set_value(event, "step_s", s->step_time_s);
	if (facts)
		set_count(event, "seq_len", facts->seq_len);
	emit_json(e, event, e->arrived_s);
	e->last_update = update;
	e->last_arrived_s = e->arrived_s;
	e->last_step = s->step;
	/* The tokens of the first update are also those seen so far. */
	e->last_seen = s->tokens_seen.has || update != 1 ? s->tokens_seen : s->tokens;
	e->last_opt_step = opt_step;
}

static void on_step(void *context, const struct log_step *step)
{
	struct log_events *e = context;
	struct opt_number none = {false, NAN};
	if (e->pending && step->step == e->step.step) {
		e->step = *step; /* a further line about it; the first one is when it ended */
		return;
	}
	give_pending(e, log_scan_facts(e->scan), none);
	e->pending = true;
	e->step = *step;
	e->arrived_s = e->now_s;
}

struct log_events *log_events_new(const char *format, log_event_fn emit, void *context)
{
	struct log_events *e = xcalloc(1, sizeof(*e));
	struct log_options options = {.format = format};
	e->emit = emit;
	e->context = context;
	e->scan = log_scan_new(&options, on_step, e);
	return e;
}

/* The first sign of life stands in for the start event, from which the first update's time counts. */
static void give_start(struct log_events *e)
{
	json_t *event = json_object();
	json_object_set_new(event, "e", json_string("start"));
	json_object_set_new(event, "schema", json_integer(EVENT_SCHEMA));
	json_object_set_new(event, "nonce", json_string(""));
	json_object_set_new(event, "rank", json_integer(0));
	json_object_set_new(event, "world", json_integer(1));
	json_object_set_new(event, "stack", json_string("log"));
	emit_json(e, event, e->now_s);
}

void log_events_feed(struct log_events *e, const char *bytes, size_t length, double arrived_s)
{
	e->now_s = arrived_s;
	if (length && !e->any_bytes)
		give_start(e);
	e->any_bytes |= length > 0;
	log_scan_feed(e->scan, bytes, length);
}

long log_events_seen(const struct log_events *e, double *ret_arrived_s)
{
	/* The first step is the first update, whatever its number: the offset is not known yet. */
	long pending = !e->pending ? 0 : e->has_offset ? e->step.step + e->offset : 1;
	bool newer = pending > e->last_update;
	*ret_arrived_s = newer ? e->arrived_s : e->last_arrived_s;
	return newer ? pending : e->last_update;
}

void log_events_finish(struct log_events *e)
{
	struct log_summary summary;
	/* May tell of one more step: a last line without newline. */
	log_scan_finish(e->scan, &summary);
	give_pending(e, &summary, summary.peak_mem_bytes);
	if (summary.completed.has && summary.completed.value > 0 && e->last_update > 0) {
		json_t *event = json_object();
		json_object_set_new(event, "e", json_string("end"));
		json_object_set_new(event, "updates", json_integer(e->last_update));
		emit_json(e, event, e->now_s);
	}
	log_summary_release(&summary);
	free(e);
}

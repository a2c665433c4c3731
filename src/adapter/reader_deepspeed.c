/* DeepSpeed: the engine's step= line, its throughput timer, the pipeline engine, the launcher. It prints no
 * loss but in the pipeline engine; a script's own lines give it (reader_ddp.c). */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_fields_int.h"

struct deepspeed {
	long last, gap; /* shortest distance of steps; 0 = none yet */
	bool any, pipeline, skipped;
	double skipped_total;
};

static void note_step(struct deepspeed *d, long step)
{
	long gap = step - d->last;
	if (d->any && gap > 0 && (!d->gap || gap < d->gap))
		d->gap = gap;
	if (!d->any || gap > 0)
		d->last = step;
	d->any = true;
}

/* Behind the number at p; NULL = none, or it is no step. */
static const char *take_step(const char *p, long *ret_step)
{
	double number;
	size_t length = read_number(p, &number);
	return length && number_to_step(number, ret_step) ? p + length : NULL;
}

/* "step=10, skipped=1, lr=[9.0e-05, 9.0e-05], mom=[(0.9, 0.95)]"; step=0 is the report before the first
 * update. */
static bool read_engine_line(struct reader *reader, const struct log_line *line)
{
	struct deepspeed *d = reader->state;
	const char *p = strstr(line->text, "step=");
	long step;
	double skipped, lr;
	if (!p || (p > line->text && isalnum((unsigned char)p[-1])) || (p > line->text && p[-1] == '_'))
		return false;
	p = take_step(p + 5, &step);
	if (!p || !begins_with(p, ", skipped="))
		return false;
	size_t length = read_number(p + 10, &skipped);
	if (!length || !begins_with(p + 10 + length, ", lr=[") || line->torn)
		return step > 0 ? (reader_damaged(reader, step), true) : true;
	p += 10 + length + 6;
	if (step == 0)
		return true;
	struct log_step *s = reader_step(reader, step, line);
	if (read_number(p, &lr))
		fill_value(&s->lr, lr);
	fill_value(&s->skipped_total, skipped);
	d->skipped |= skipped > 0.0;
	d->skipped_total = skipped;
	note_step(d, step);
	return true;
}

/* Before 0.8 the timer says "0/40, SamplesPerSec=24.5" and counts micro-steps: which update that is, the
 * engine's line directly before it tells. */
static bool take_old_step(
	struct reader *reader, const char *count_end, const struct log_line *line, long *ret_step)
{
	const char *p = count_end;
	while (p > line->text && isdigit((unsigned char)p[-1]))
		p--;
	if (p == line->text || p[-1] != '/' || !take_step(p, ret_step))
		return false;
	const struct log_step *last = reader_last_step(reader);
	if (last && line->number - last->line <= 2)
		*ret_step = last->step;
	return true;
}

/* The step of a timer line and where its rate stands; the current rate is better than the running average. */
static const char *take_timer_head(struct reader *reader, const struct log_line *line, long *ret_step)
{
	static const char any[] = "SamplesPerSec=", current[] = "CurrSamplesPerSec=";
	const char *global = strstr(line->text, "global_step="), *rate = strstr(line->text, any);
	if (!rate)
		return NULL;
	const char *count_end = strstr(line->text, ", SamplesPerSec=");
	count_end = count_end ? count_end : strstr(line->text, ", RunningAvgSamplesPerSec=");
	if (global ? !take_step(global + strlen("global_step="), ret_step)
		   : !count_end || !take_old_step(reader, count_end, line, ret_step))
		return NULL;
	const char *better = strstr(line->text, current);
	return better ? better + strlen(current) : rate + strlen(any);
}

/* "epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=24.5, CurrSamplesPerSec=25.6,
 * MemAllocated=14.02GB, MaxMemAllocated=41.37GB". These GB are 1024^3 bytes. */
static bool read_timer_line(struct reader *reader, const struct log_line *line)
{
	const char *memory = strstr(line->text, "MaxMemAllocated=");
	long step;
	double bytes, rate;
	const char *rate_text = take_timer_head(reader, line, &step);
	if (!rate_text)
		return false;
	if (step == 0)
		return true;
	struct log_step *s = reader_add_to_step(reader, step, line);
	if (read_number(rate_text, &rate))
		fill_value(&s->samples_per_s, rate);
	if (memory && read_memory(memory + strlen("MaxMemAllocated="), true, &bytes) && bytes > 0.0) {
		fill_largest(&s->mem_bytes, bytes);
		reader->facts->mem_kind = "allocated";
	}
	note_step(reader->state, step);
	return true;
}

/* "steps: 20 loss: 4.2207 aux_loss: 0.0131 iter time (s): 0.512 samples/sec: 125.000" of the pipeline engine,
 * which has no logger before it. */
static bool read_pipeline_line(struct reader *reader, const struct log_line *line)
{
	struct deepspeed *d = reader->state;
	const char *p = strstr(line->text, "steps: ");
	long step;
	if (!p || !strstr(p, "iter time (s): ") || !take_step(p + strlen("steps: "), &step))
		return false;
	struct opt_number samples = number_of(p, "samples/sec");
	if (line->torn || !samples.has) {
		reader_damaged(reader, step);
		return true;
	}
	struct log_step *s = reader_add_to_step(reader, step, line);
	if (s->loss.has)
		s = reader_step(reader, step, line);
	s->line = line->number;
	fill_number(&s->loss, number_of(p, "loss"));
	fill_number(&s->step_time_s, number_of(p, "iter time (s)"));
	fill_number(&s->samples_per_s, samples);
	d->pipeline = true;
	note_step(d, step);
	reader_recognise(reader, READER_CERTAIN);
	return true;
}

static bool read_launcher_line(struct reader *reader, const char *text)
{
	static const char *const certain[] = {"] [launch.py:", "] [runner.py:", "DeepSpeed info: version=",
		"time (ms) | fwd_microstep:", "time (ms) | forward_microstep:"};
	if (strstr(text, "] [launch.py:") && strstr(text, " exits successfully"))
		reader_completed(reader, true);
	/* A trainer that uses DeepSpeed prints these, too. */
	if (strstr(text, "OVERFLOW!") || strstr(text, "verflow detected. Skipping step") ||
		strstr(text, "Grad overflow on iteration")) {
		reader_flag(reader, LOG_OVERFLOW_SKIPS);
		reader_recognise(reader, 1);
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(certain); i++)
		if (strstr(text, certain[i])) {
			reader_recognise(reader, READER_CERTAIN);
			return true;
		}
	return false;
}

static void deepspeed_line(struct reader *reader, const struct log_line *line)
{
	if (read_engine_line(reader, line) || read_timer_line(reader, line)) {
		reader_recognise(reader, READER_CERTAIN);
		return;
	}
	if (read_pipeline_line(reader, line) || read_launcher_line(reader, line->text))
		return;
	if (strstr(line->text, ":log_dist]") || strstr(line->text, "deepspeed.initialize"))
		reader_recognise(reader, 1);
}

static void deepspeed_finish(struct reader *reader)
{
	struct deepspeed *d = reader->state;
	struct log_summary *facts = reader->facts;
	if (d->gap > 1)
		facts->steps_per_print = (struct opt_number){true, (double)d->gap};
	if (d->skipped) {
		facts->optimizer_steps = (struct opt_number){true, (double)d->last - d->skipped_total};
		return;
	}
	/* The pipeline engine's own line is the record there; that nothing was skipped is no news. */
	for (size_t i = 0; d->pipeline && i < facts->n_steps; i++)
		facts->steps[i].skipped_total.has = false;
}

static const char *const anchors[] = {", skipped=", "samplespersec=", "iter time (s): ", "[launch.py:",
	"[runner.py:", "deepspeed info: version=", "fwd_microstep:", "forward_microstep:", "overflow!",
	"overflow detected. skipping step", "grad overflow on iteration", ":log_dist]",
	"deepspeed.initialize", NULL};

const struct reader_ops reader_deepspeed = {"deepspeed", anchors, NULL, sizeof(struct deepspeed),
	deepspeed_line, deepspeed_finish, READER_ENGINE};

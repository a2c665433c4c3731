/*
 * LitGPT and its ancestor Lit-GPT. A line is printed for micro-batches; the one that the optimizer's step
 * ends is marked, and its loss is the mean over them since 2024.
 *
 *   2023  iter 3 step 1: loss 10.9123, iter time: 198.50ms (optimizer.step)
 *   2024  Epoch 1 | iter 4 step 1 | loss train: 10.912, val: n/a | iter time: 198.50 ms (step) remaining
 * time: 0:01
 *
 * The time is that of the last micro-batch: that of the step only where there is one. GB are 1e9 bytes.
 */
#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_fields_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {"iter time:", "memory used", "training time", NULL};

/* Behind `word`, a number and an optional "/number". NULL = they are not there. */
static const char *take_count(const char *p, const char *word, long *ret_number)
{
	double number;
	p += strspn(p, " ");
	if (strncmp(p, word, strlen(word)) != 0)
		return NULL;
	p += strlen(word);
	size_t length = read_number(p, &number);
	if (!length || !number_to_step(number, ret_number))
		return NULL;
	p += length;
	if (*p == '/')
		p += 1 + strspn(p + 1, "0123456789");
	return p;
}

struct state {
	bool from_zero; /* Lit-GPT counts iterations from 0: one was printed */
};

struct record {
	long iteration, step;
	double loss, time_s;
	bool torn;
};

/* "iter 4 step 1 | loss train: 10.912, ... | iter time: 198.50 ms (step)". False when it is no such line. */
static bool read_record(const char *text, struct record *ret_record)
{
	const char *p = strstr(text, "iter "), *time = strstr(text, "iter time: ");
	memset(ret_record, 0, sizeof(*ret_record));
	if (!p || !time || !(p = take_count(p, "iter ", &ret_record->iteration)) ||
		!(p = take_count(p, "step ", &ret_record->step)))
		return false;
	const char *loss = strstr(p, "loss train: ");
	if (loss)
		loss += strlen("loss train: ");
	else if ((loss = strstr(p, ": loss ")))
		loss += strlen(": loss ");
	size_t length = loss ? read_number(loss, &ret_record->loss) : 0;
	if (!length)
		return false;
	ret_record->torn = loss[length] != ',';
	time += strlen("iter time: ");
	length = read_number_scaled(time, -3, &ret_record->time_s);
	time += length;
	ret_record->torn |= !length || !begins_with(time + strspn(time, " "), "ms");
	return true;
}

/* "Memory used: 55.30 GB"; in a table since 2025: "| - Memory Used     : 55.30 GB". */
static void take_notice(struct reader *reader, const char *text)
{
	const char *p;
	double value;
	if (reader->facts->n_steps == 0)
		return;
	if ((p = strcasestr(text, "memory used"))) {
		p += strlen("memory used");
		p += strspn(p, " :");
		if (read_memory(p, false, &value))
			reader_peak_memory(reader, value, "allocated");
	}
	if ((p = strcasestr(text, "training time"))) {
		p += strlen("training time");
		p += strspn(p, " :");
		if (!read_number(p, &value))
			return;
		fill_value(&reader->facts->train_runtime_s, value);
		reader_completed(reader, true);
	}
}

static void line(struct reader *reader, const struct log_line *line)
{
	struct state *state = reader->state;
	struct record record;
	if (!read_record(line->text, &record)) {
		take_notice(reader, line->text);
		return;
	}
	state->from_zero |= record.iteration == 0;
	reader_recognise(reader, READER_CERTAIN);
	bool ends_step = strstr(line->text, "(step)") || strstr(line->text, "(optimizer.step)");
	if (!ends_step && !line->torn)
		return;
	if (record.torn || line->torn) {
		if (ends_step)
			reader_damaged(reader, record.step);
		return;
	}
	struct log_step *step = reader_step(reader, record.step, line);
	fill_value(&step->loss, record.loss);
	/* Of as many iterations as steps one is a step. Where the log does not show the first, both ways to
	 * count are possible. */
	bool one_a_step =
		record.iteration + 1 == record.step || (record.iteration == record.step && !state->from_zero);
	if (one_a_step)
		fill_value(&step->step_time_s, record.time_s);
}

const struct reader_ops reader_litgpt = {
	"litgpt", anchors, NULL, sizeof(struct state), line, NULL, READER_TRAINER};

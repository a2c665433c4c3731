/*
 * TorchTitan's metrics.py. A line of fields two blanks apart, coloured field by field:
 *
 *   2024    step:  1  loss: 12.2467  memory: 42.18GiB(53.33%)  wps: 298  mfu: 1.74%
 *   0.1     step:  1  loss: 12.2500  memory: 47.46GiB(60.00%)  tps: 612  tflops: 35.44  mfu: 3.58%
 *   0.2     step:  1  loss: 12.23144  grad_norm:  3.9062  memory: 66.91GiB(37.51%)  tps: 1,204  tflops: ...
 *
 * Memory is the peak of reserved memory since the last line, wps and tps are tokens per second and device.
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/reader_fields_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {"[titan]", "- root - info -", "- root - warning -",
	"  tps: ", "  wps: ", "gib(", "training starts at step", "parallel loss is not visible", NULL};

static const struct field_syntax syntax = {"  ", ':'};
static const struct field_rule rules[] = {
	{"step", FIELD_STEP, FORM_NUMBER, 0},
	{"loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"grad_norm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"memory", FIELD_MEM_BYTES, FORM_MEMORY_GIB, 0},
	{"tps", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"wps", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"tflops", FIELD_TFLOPS, FORM_NUMBER, 0},
	{"mfu", FIELD_MFU_PERCENT, FORM_NUMBER, 0},
	{"lr", FIELD_LR, FORM_NUMBER, 0},
	{"elapsed_time_per_step", FIELD_STEP_TIME_S, FORM_NUMBER, 0},
};

struct state {
	bool placeholder;
};

/* "step: " of a training step; that of "validate step: " is another. */
static const char *find_step(const char *text)
{
	static const char word[] = "step:", other[] = "validate ";
	for (const char *p = text; (p = strstr(p, word)) != NULL; p++) {
		if (p > text && p[-1] != ' ')
			continue;
		size_t before = sizeof(other) - 1;
		if ((size_t)(p - text) >= before && strncmp(p - before, other, before) == 0)
			continue;
		return p;
	}
	return NULL;
}

/* With pipeline parallelism a rank that is not of the last stage prints torch.tensor([-1.0]), once for each
 * micro-batch: it does not know the loss. A cross entropy is never negative. */
static bool is_placeholder(struct opt_number loss)
{
	return loss.has && loss.value < 0.0 && loss.value == floor(loss.value);
}

static void take_step(struct reader *reader, const struct log_line *line, const char *p)
{
	struct state *state = reader->state;
	struct field_set set;
	fields_take(p, &syntax, rules, ARRAY_LEN(rules), &set);
	long step;
	if (!fields_step(&set, &step) || !strstr(p, "  loss:"))
		return;
	bool whole = set.values[FIELD_MEM_BYTES].has && set.values[FIELD_LOSS].has;
	if (!whole && !set.values[FIELD_TOKENS_PER_S].has && !set.torn && !line->torn)
		return;
	reader_recognise(reader, whole ? READER_CERTAIN : 1);
	if (set.torn || line->torn || !whole) {
		reader_damaged(reader, step);
		return;
	}
	if (is_placeholder(set.values[FIELD_LOSS])) {
		set.values[FIELD_LOSS] = (struct opt_number){false, NAN};
		state->placeholder = true;
	}
	reader->facts->mem_kind = "reserved";
	if (set.values[FIELD_TOKENS_PER_S].has)
		reader->facts->tokens_per_s_scope = LOG_SCOPE_DEVICE;
	fields_store(&set, reader_step(reader, step, line));
}

/* "Training starts at step 1, with local batch size 1, global batch size 8, sequence length 8192, ..." */
static void take_sizes(struct reader *reader, const char *text)
{
	struct log_summary *facts = reader->facts;
	fill_number(&facts->global_batch, number_of(text, "global batch size"));
	fill_number(&facts->seq_len, number_of(text, "sequence length"));
}

static void take_notice(struct reader *reader, const char *text)
{
	const char *p;
	double bytes, first;
	if (strstr(text, "[titan]") || strstr(text, "arallel loss is not visible"))
		reader_recognise(reader, READER_CERTAIN);
	if ((p = strstr(text, "capacity: ")) && (p = strstr(p, " with ")) &&
		read_memory(p + strlen(" with "), true, &bytes))
		fill_value(&reader->facts->capacity_bytes, bytes);
	if ((p = strstr(text, "Training starts at step ")) != NULL) {
		if (read_number(p + strlen("Training starts at step "), &first) && first > 1.0)
			reader_flag(reader, LOG_RESUMED);
		take_sizes(reader, p);
	}
	if (strstr(text, "Training completed"))
		reader_completed(reader, true);
}

static void line(struct reader *reader, const struct log_line *line)
{
	const char *p = find_step(line->text);
	if (p)
		take_step(reader, line, p);
	else
		take_notice(reader, line->text);
}

/* Where the ranks of the last stage print too, their loss has been filled in. */
static void finish(struct reader *reader)
{
	const struct state *state = reader->state;
	for (size_t i = 0; state->placeholder && i < reader->facts->n_steps; i++)
		if (!reader->facts->steps[i].loss.has)
			reader_flag(reader, LOG_LOSS_NOT_VISIBLE);
}

const struct reader_ops reader_torchtitan = {
	"torchtitan", anchors, NULL, sizeof(struct state), line, finish, READER_TRAINER};

/*
 * NeMo. Version 2 prints a line for a step (ProgressPrinter, 4 digits), version 1 and its descendants on
 * other hardware show a bar of Lightning (3 digits). Steps count from 0, memory is in bytes.
 *
 *   2  Training epoch 0, iteration 1/99 | lr: 3e-07 | global_batch_size: 128 | global_step: 1 |
 *      max_memory_reserved: 128849018880 | reduced_train_loss: 11.97 | train_step_timing in s: 6.08
 *   1  Epoch 0: :  47%|####  | 7/15 [06:19<07:13, reduced_train_loss=11.50, global_step=6.000,
 *      consumed_samples=12288.0, train_step_timing in s=49.50]
 */
#include "base/base.h"

#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/line_parts_int.h"

static const char *const anchors[] = {"training epoch ", "reduced_train_loss", "train_step_timing", "[nemo ",
	"`trainer.fit` stopped", NULL};

static const struct field_syntax syntax = {" | ", ':'};
static const struct field_rule rules[] = {
	{"global_step", FIELD_STEP, FORM_NUMBER, 0},
	{"reduced_train_loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"grad_norm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"gradient_norm", FIELD_GRAD_NORM, FORM_NUMBER, 0}, /* NeMo on Trainium */
	{"lr", FIELD_LR, FORM_NUMBER, 0},
	{"train_step_timing in s", FIELD_STEP_TIME_S, FORM_NUMBER, 0},
	{"max_memory_reserved", FIELD_MEM_BYTES, FORM_NUMBER, 0},
	{"max_memory_allocated", FIELD_MEM_ALLOCATED_BYTES, FORM_NUMBER, 0},
	{"TFLOPS_per_GPU", FIELD_TFLOPS, FORM_NUMBER, 0},
};

enum {
	LINE_DIGITS = 4,
	BAR_DIGITS = 3,
	BAR_EXACT_STEPS = 1000, /* from here on global_step is rounded: 2e+3 */
};

struct state {
	struct bar_progress bar;
	long last_step; /* of a bar */
	bool has_last;
};

static void store(struct reader *reader, struct log_step *step, struct field_set *set, double digits)
{
	struct log_summary *facts = reader->facts;
	fields_choose_memory(set, facts);
	facts->step_base = (struct opt_number){true, 0.0};
	fill_value(&facts->value_precision_digits, digits);
	fields_store(set, step);
}

static void take_line(struct reader *reader, const struct log_line *line, const char *p)
{
	const char *iteration = strstr(p, ", iteration "), *pairs = strstr(p, " | ");
	double number;
	long step;
	if (!iteration || !pairs || !read_number(iteration + strlen(", iteration "), &number))
		return;
	struct field_set set;
	fields_take(pairs + 3, &syntax, rules, ARRAY_LEN(rules), &set);
	/* Within an epoch the iteration begins anew. */
	if (!fields_step(&set, &step) && !number_to_step(number, &step))
		return;
	reader_recognise(reader, READER_CERTAIN);
	if (set.torn || line->torn || !set.values[FIELD_LOSS].has)
		reader_damaged(reader, step);
	else
		store(reader, reader_step(reader, step, line), &set, LINE_DIGITS);
}

static void read_postfix(const char *postfix, struct field_set *ret_set)
{
	memset(ret_set, 0, sizeof(*ret_set));
	struct field field;
	for (const char *p = postfix; bar_next_value(&p, &field);)
		field_read(&field, rules, ARRAY_LEN(rules), ret_set);
}

/* The values say themselves which step they are of, so that a drawing with those of the step before is known
 * for one, until 3 digits are too few for the number. */
static void take_bar(struct reader *reader, const struct log_line *line, const struct progress_bar *bar)
{
	struct state *state = reader->state;
	struct field_set set;
	read_postfix(bar->postfix, &set);
	enum bar_change change = bar_advance(&state->bar, bar->done, bar->postfix);
	long step;
	if (!set.values[FIELD_LOSS].has || set.torn)
		return;
	reader_recognise(reader, READER_CERTAIN);
	bool exact = fields_step(&set, &step) && step < BAR_EXACT_STEPS;
	if (!exact)
		step = bar->done - 1;
	if (step < 0 || (exact ? state->has_last && step == state->last_step : change == BAR_SAME))
		return;
	struct log_step *known = reader_last_step(reader);
	if (state->has_last && step == state->last_step && known && known->step == step)
		fields_replace(&set, known);
	else
		store(reader, reader_step(reader, step, line), &set, BAR_DIGITS);
	state->has_last = true;
	state->last_step = step;
}

static void line(struct reader *reader, const struct log_line *line)
{
	const char *p = strstr(line->text, "Training epoch ");
	struct progress_bar open_bar;
	const struct progress_bar *bar = NULL;
	if (!p && strstr(line->text, "reduced_train_loss=")) {
		bar = line_bar(line);
		bar = bar ? bar : bar_read_open(line->text, &open_bar) ? &open_bar : NULL;
	}
	if (p)
		take_line(reader, line, p);
	else if (bar)
		take_bar(reader, line, bar);
	else if (begins_with(line->text, "[NeMo "))
		reader_recognise(reader, READER_CERTAIN);
	if (strstr(line->text, "`Trainer.fit` stopped"))
		reader_completed(reader, true);
}

const struct reader_ops reader_nemo = {
	"nemo", anchors, NULL, sizeof(struct state), line, NULL, READER_DIALECT};

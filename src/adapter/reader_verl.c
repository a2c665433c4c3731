/*
 * verl's console logger: one line a step of reinforcement learning or fine-tuning, numbers as Python's repr
 * of whatever type they have. A line of validation alone is no step.
 *
 *   step:1 - actor/entropy:0.3 - actor/pg_loss:np.float64(-0.0123) - ... - perf/throughput:800.0
 *   step:1 - train/loss:1.1166 - train/lr(1e-3):0.001 - train/time(s):14.796            (SFT trainer)
 *
 * Memory is in GiB, throughput in tokens per second and device.
 */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_fields_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {" - actor/", " - critic/", " - train/loss", " - perf/", " - timing_s/",
	" - val", "total training steps:", "training progress:", "final validation metrics", NULL};

static const struct field_syntax syntax = {" - ", ':'};
static const struct field_rule rules[] = {
	{"training/global_step", FIELD_STEP, FORM_NUMBER, 0},
	{"step", FIELD_STEP, FORM_NUMBER, 0},
	{"actor/pg_loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"actor/loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"train/loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"actor/grad_norm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"train/grad_norm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"actor/lr", FIELD_LR, FORM_NUMBER, 0},
	{"train/lr", FIELD_LR, FORM_NUMBER, 0},
	{"train/lr(1e-3)", FIELD_LR, FORM_NUMBER, -3},
	{"perf/time_per_step", FIELD_STEP_TIME_S, FORM_NUMBER, 0},
	{"timing_s/step", FIELD_STEP_TIME_S, FORM_NUMBER, 0},
	{"train/time(s)", FIELD_STEP_TIME_S, FORM_NUMBER, 0},
	{"perf/throughput", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"perf/max_memory_reserved_gb", FIELD_MEM_BYTES, FORM_GIB, 0},
	{"perf/max_memory_allocated_gb", FIELD_MEM_ALLOCATED_BYTES, FORM_GIB, 0},
};

struct state {
	long announced;
};

/* "step:12 - ", at the start or behind the bar that it was printed over. */
static const char *find_step(const char *text)
{
	for (const char *p = text; (p = strstr(p, "step:")) != NULL; p++) {
		if (p > text && p[-1] != ' ' && p[-1] != ']')
			continue;
		const char *end = p + 5;
		while (isdigit((unsigned char)*end))
			end++;
		if (end > p + 5 && begins_with(end, " - "))
			return p;
	}
	return NULL;
}

static void take_step(struct reader *reader, const struct log_line *line, const char *p)
{
	struct field_set set;
	fields_take(p, &syntax, rules, ARRAY_LEN(rules), &set);
	long step;
	if (!fields_step(&set, &step))
		return;
	reader_recognise(reader, READER_CERTAIN);
	if (set.torn || line->torn) {
		reader_damaged(reader, step);
		return;
	}
	if (!set.values[FIELD_LOSS].has && !set.values[FIELD_STEP_TIME_S].has)
		return;
	fields_choose_memory(&set, reader->facts);
	if (set.values[FIELD_TOKENS_PER_S].has)
		reader->facts->tokens_per_s_scope = LOG_SCOPE_DEVICE;
	fields_store(&set, reader_step(reader, step, line));
}

static void take_notice(struct reader *reader, const char *text)
{
	struct state *state = reader->state;
	const char *p = strstr(text, "Total training steps: ");
	double number;
	struct progress_bar bar;
	if (p && read_number(p + strlen("Total training steps: "), &number))
		number_to_step(number, &state->announced);
	if (strstr(text, "Training Progress:") && read_progress_bar(text, &bar) && state->announced > 0 &&
		bar.total == state->announced && bar.done == bar.total)
		reader_completed(reader, true);
	if (strstr(text, "Final validation metrics"))
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

const struct reader_ops reader_verl = {
	"verl", anchors, NULL, sizeof(struct state), line, NULL, READER_TRAINER};

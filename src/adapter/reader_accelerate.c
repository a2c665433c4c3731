/*
 * A loop of one's own with tqdm, as the examples of accelerate and diffusers have it: a bar over optimizer
 * steps with the loss in its postfix.
 *
 *   Steps:  25%|##  | 1/4 [00:05<00:15,  5.02s/it, loss=3.41, lr=0.0001]
 *   Steps:   1%|    | 1/101 [00:04<08:00,  4.81s/it, lr=1e-5, step_loss=0.0609]
 *
 * tqdm prints 3 digits. Its rate is smoothed over many steps: it is the time of no step.
 */
#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "adapter/line_parts_int.h"

static const char *const anchors[] = {
	"%|", "- info - __main__ -", "total optimization steps", "accelerate", NULL};

enum { UNCERTAIN_MAX = READER_CERTAIN - 1, DESCRIPTION_MAX = 32 };

struct state {
	struct bar_progress bar;
	long base;  /* steps of earlier epochs, where the bar begins anew with each */
	long total; /* of the bar */
	long announced;
	char description[DESCRIPTION_MAX]; /* of the bar that is followed */
	char last_description[DESCRIPTION_MAX];
	bool last_is_other; /* than training */
};

/* What stands before the percentage at `end`, without digits: "Epoch 1/3" and "Epoch 2/3" are one bar. */
static void read_description(const char *text, const char *end, char *ret_description)
{
	size_t used = 0;
	for (; text < end && used + 1 < DESCRIPTION_MAX; text++)
		if (*text != ' ' && (*text < '0' || *text > '9'))
			ret_description[used++] = *text;
	ret_description[used] = '\0';
}

static bool names_other_phase(const char *description)
{
	static const char *const words[] = {"val", "eval", "test", "sanity", "sampl", "infer"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasestr(description, words[i]))
			return true;
	return false;
}

/* Mostly the bar is the one that was drawn last. */
static bool is_other_phase(struct state *state, const char *description)
{
	if (strcmp(state->last_description, description) != 0) {
		snprintf(state->last_description, sizeof(state->last_description), "%s", description);
		state->last_is_other = names_other_phase(description);
	}
	return state->last_is_other;
}

static void move_base(struct state *state, const char *description, const struct progress_bar *bar)
{
	if (bar->done >= state->bar.done)
		return;
	bool by_epoch = strcasestr(description, "epoch") && state->bar.done == state->total;
	state->base = by_epoch ? step_sum(state->base, 1, state->total) : 0;
}

static void take_bar(struct reader *reader, const struct log_line *line, const char *description,
	const struct progress_bar *bar, const struct field_set *set)
{
	struct state *state = reader->state;
	if (state->bar.begun)
		move_base(state, description, bar);
	state->total = bar->total;
	enum bar_change change = bar_advance(&state->bar, bar->done, bar->postfix);
	if (state->announced > 0 && bar->total == state->announced && bar->done == bar->total)
		reader_completed(reader, true);
	if (change == BAR_SAME || bar->done <= 0 || !set->values[FIELD_LOSS].has)
		return;
	long step = step_sum(state->base, 1, bar->done);
	struct log_step *known = reader_last_step(reader);
	if (change == BAR_VALUES && known && known->step == step)
		fields_replace(set, known);
	else
		fields_store(set, reader_step(reader, step, line));
}

static void take_notice(struct reader *reader, const char *text)
{
	struct state *state = reader->state;
	const char *p = strstr(text, "Total optimization steps = ");
	double number;
	if (p && read_number(p + strlen("Total optimization steps = "), &number))
		number_to_step(number, &state->announced);
	if (p && strstr(text, "- INFO - __main__ -"))
		reader_recognise(reader, READER_CERTAIN);
}

static void recognise(struct reader *reader, const char *description)
{
	if (strcmp(description, "Steps:") == 0)
		reader_recognise(reader, READER_CERTAIN);
	else if (reader->evidence < UNCERTAIN_MAX)
		reader_recognise(reader, 1);
}

static void line(struct reader *reader, const struct log_line *line)
{
	struct state *state = reader->state;
	const char *text = line->text, *percent = line_percent(line);
	char description[DESCRIPTION_MAX];
	if (!percent) {
		take_notice(reader, text);
		return;
	}
	/* "Epoch 0:" alone is Lightning's; its bar counts otherwise. */
	read_description(text, percent, description);
	bool known = strcmp(state->description, description) == 0;
	if (!known && (strcmp(description, "Epoch:") == 0 || is_other_phase(state, description)))
		return;
	/* Another bar than the one that is followed tells nothing but by a loss. */
	bool may_be_first = !state->description[0] && !state->bar.begun;
	if (!known && !may_be_first && !strchr(text, '='))
		return;
	const struct progress_bar *bar = line_bar(line);
	if (!bar)
		return;
	const struct field_set *set = line_bar_values(line);
	if (!state->description[0] && set->values[FIELD_LOSS].has) {
		memcpy(state->description, description, sizeof(description));
		known = true;
	}
	if (set->values[FIELD_LOSS].has)
		recognise(reader, description);
	if (known || may_be_first)
		take_bar(reader, line, description, bar, set);
}

static void finish(struct reader *reader)
{
	struct state *state = reader->state;
	struct log_step *step = reader_last_step(reader);
	if (step && bar_is_stale(&state->bar) && step->step == state->base + state->bar.done)
		step->loss.has = step->grad_norm.has = step->lr.has = false;
}

const struct reader_ops reader_accelerate = {
	"accelerate", anchors, NULL, sizeof(struct state), line, finish, READER_TRAINER};

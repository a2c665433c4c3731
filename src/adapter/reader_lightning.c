/*
 * Lightning's tqdm bar of an epoch of training. Version 1 shows a running mean as "loss", version 2 what the
 * module logs with prog_bar=True under its own names; the count is that of the batches of the epoch:
 *
 *   1.x  Epoch 0:  33%|###   | 1/3 [00:02<00:05,  2.50s/it, loss=4.12, v_num=0]
 *   2.x  Epoch 0:  33%|###   | 1/3 [00:02<00:05,  0.40it/s, v_num=0, train/loss=4.120, lr=0.0003]
 *   2.x  Epoch 0: |          | 1/? [00:20<00:00,  0.05it/s, v_num=0, train_loss=14.60]
 */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/line_parts_int.h"

#define NOTICES                                                                                              \
	"`trainer.fit` stopped", "gpu available:", "local_rank: 0 - cuda_visible_devices",                   \
		"pytorch_lightning", "lightning/pytorch", "lightning.pytorch", "batch size finder",          \
		"trying batch size", "restored all states from the checkpoint"
static const char *const anchors[] = {"%|", "/? [", "it [0", NOTICES, NULL};
static const char *const notices[] = {NOTICES, "alidati", NULL};

enum { UNCERTAIN_MAX = READER_CERTAIN - 1, EPOCH_MAX = 1000000 };

struct state {
	bool begun;
	long epoch, base; /* number of the last step of the epoch before */
	long total;
	struct bar_progress bar;
	struct field_set last; /* values of the record that was made last */
	long last_step;
	bool has_last;
	/* Version 1 counts the batches of validation in the same bar, which it moves on during it. */
	bool validating;
	long of_validation; /* of this epoch */
};

/* "Epoch 3:"; "Epoch 3/10:" is another loop's. */
static bool read_epoch(const char *text, long *ret_epoch)
{
	text += strspn(text, " ");
	if (!begins_with(text, "Epoch ") || !isdigit((unsigned char)text[6]))
		return false;
	char *end;
	*ret_epoch = strtol(text + 6, &end, 10);
	return *end == ':' && *ret_epoch < EPOCH_MAX;
}

static void begin_epoch(struct state *state, long epoch, const struct progress_bar *bar)
{
	if (state->begun && epoch == state->epoch + 1 && state->bar.done >= state->total)
		state->base = step_sum(state->base, 1, state->bar.done - state->of_validation);
	else
		state->base = step_sum(0, epoch, bar->total);
	state->begun = true;
	state->epoch = epoch;
	state->of_validation = 0;
	state->validating = false;
}

static bool same_values(const struct field_set *left, const struct field_set *right)
{
	for (int slot = 0; slot < N_FIELDS_OF_STEP; slot++)
		if (left->values[slot].has != right->values[slot].has ||
			(left->values[slot].has && left->values[slot].value != right->values[slot].value))
			return false;
	return true;
}

/* True where version 1 moves the bar on for a batch of validation: the values stay those of the last batch of
 * training. A batch of training is first drawn so, too, and then again with its own. */
static bool is_validation(
	struct state *state, enum bar_change change, long moved_by, const struct field_set *set)
{
	if (!state->validating || !state->has_last)
		return false;
	bool same = same_values(set, &state->last);
	if (same && change == BAR_FORWARD)
		state->of_validation += moved_by;
	if (same)
		return true;
	if (change == BAR_VALUES && state->of_validation > 0)
		state->of_validation--;
	state->validating = false;
	return false;
}

static void store(struct reader *reader, const struct log_line *line, long step, const struct field_set *set)
{
	struct state *state = reader->state;
	struct log_step *known = reader_last_step(reader);
	if (state->has_last && state->last_step == step && known && known->step == step)
		fields_replace(set, known);
	else
		fields_store(set, reader_step(reader, step, line));
	state->has_last = true;
	state->last_step = step;
	state->last = *set;
}

static void take_bar(struct reader *reader, const struct log_line *line, long epoch,
	const struct progress_bar *bar, const struct field_set *set)
{
	struct state *state = reader->state;
	bool new_epoch = !state->begun || epoch != state->epoch;
	if (new_epoch)
		begin_epoch(state, epoch, bar);
	state->total = bar->total;
	long moved_by = bar->done - state->bar.done;
	enum bar_change change = bar_advance(&state->bar, bar->done, bar->postfix);
	if (change == BAR_BACK && !new_epoch)
		state->base = step_sum(0, epoch, bar->total);
	if (begins_with(bar->postfix, "loss=") && is_validation(state, change, moved_by, set))
		return;
	if (change != BAR_SAME && bar->done > 0 && set->values[FIELD_LOSS].has)
		store(reader, line, step_sum(state->base, 1, bar->done - state->of_validation), set);
}

static void take_notice(struct reader *reader, const struct log_line *line)
{
	struct state *state = reader->state;
	const char *text = line->text;
	if (line_percent(line)) {
		state->validating |= strstr(text, "alidati") != NULL;
		return;
	}
	static const char *const own[] = {"`Trainer.fit` stopped", "GPU available: ", "pytorch_lightning",
		"lightning/pytorch", "lightning.pytorch", "LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES"};
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strstr(text, own[i]))
			reader_recognise(reader, READER_CERTAIN);
	if (strstr(text, "`Trainer.fit` stopped"))
		reader_completed(reader, true);
	if (strstr(text, "Restored all states from the checkpoint"))
		reader_flag(reader, LOG_RESUMED);
	/* The search provokes running out of memory and goes on with what fits. */
	if (strstr(text, "failed, trying batch size"))
		reader_flag(reader, LOG_OOM_HANDLED);
	if (strstr(text, "Finished batch size finder, will continue with full run using batch size"))
		reader_flag(reader, LOG_BATCH_SIZE_CHANGED);
}

static void line(struct reader *reader, const struct log_line *line)
{
	long epoch;
	struct progress_bar open_bar;
	struct field_set open_values;
	const struct progress_bar *bar = NULL;
	const struct field_set *set = NULL;
	if (read_epoch(line->text, &epoch)) {
		if ((bar = line_bar(line)) != NULL) {
			set = line_bar_values(line);
		} else if (bar_read_open(line->text, &open_bar)) {
			line_values_of_bar(line, &open_bar, &open_values);
			bar = &open_bar;
			set = &open_values;
		}
	}
	if (!bar) {
		if (reader->noticed)
			take_notice(reader, line);
		return;
	}
	if (strstr(bar->postfix, "v_num="))
		reader_recognise(reader, READER_CERTAIN);
	else if (reader->evidence < UNCERTAIN_MAX)
		reader_recognise(reader, 1);
	take_bar(reader, line, epoch, bar, set);
}

/* The bar's last drawing moved on before its values came. */
static void finish(struct reader *reader)
{
	struct state *state = reader->state;
	struct log_step *step = reader_last_step(reader);
	if (step && bar_is_stale(&state->bar) && step->step == state->last_step)
		step->loss.has = step->grad_norm.has = step->lr.has = false;
}

const struct reader_ops reader_lightning = {
	"lightning", anchors, notices, sizeof(struct state), line, finish, READER_TRAINER};

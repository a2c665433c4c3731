#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/line_parts_int.h"
#include "adapter/reader_dictionary_int.h"
#include "adapter/reader_hf_int.h"

static const struct field_rule record_rules[] = {
	{"loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"loss/policy_avg", FIELD_LOSS, FORM_NUMBER, 0}, /* TRL's PPO and RLOO */
	{"grad_norm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"learning_rate", FIELD_LR, FORM_NUMBER, 0},
	{"lr", FIELD_LR, FORM_NUMBER, 0},
	{"num_input_tokens_seen", FIELD_TOKENS_SEEN, FORM_NUMBER, 0},
	{"num_tokens", FIELD_TOKENS_SEEN, FORM_NUMBER, 0},   /* TRL */
	{"total_tokens", FIELD_TOKENS_SEEN, FORM_NUMBER, 0}, /* LLaMA-Factory's own file */
	/* LLaMA-Factory and transformers 4.56: over all devices, since the start */
	{"throughput", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"train_tokens_per_second", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"epoch", FIELD_EPOCH, FORM_NUMBER, 0},
	{"step", FIELD_STEP, FORM_NUMBER, 0},                  /* transformers 2.x, 3.x */
	{"current_steps", FIELD_STEP, FORM_NUMBER, 0},         /* LLaMA-Factory's own file */
	{"global_step/max_steps", FIELD_STEP, FORM_NUMBER, 0}, /* ms-swift: '10/120' */
	{"train_runtime", FIELD_RUNTIME_S, FORM_NUMBER, 0},
	{"train_loss", FIELD_MEAN_LOSS, FORM_NUMBER, 0},
	{"train_samples_per_second", FIELD_SAMPLES_PER_S, FORM_NUMBER, 0},
};

/* ---- whose log it is ---- */

static void recognise(struct reader *reader, unsigned weight)
{
	struct hf_state *state = reader->state;
	if (state->confirmed)
		reader_recognise(reader, weight);
	else
		state->unclaimed = MIN_OF(state->unclaimed + weight, 1000000u);
}

static void confirm(struct reader *reader)
{
	struct hf_state *state = reader->state;
	if (state->confirmed)
		return;
	state->confirmed = true;
	reader_recognise(reader, state->unclaimed + READER_CERTAIN);
}

static bool is_dialect_key(const struct hf_dialect *dialect, const struct dictionary_item *item)
{
	for (const char *const *key = dialect->keys; key && *key; key++) {
		if (**key != *item->key)
			continue;
		size_t length = strlen(*key);
		bool prefix = (*key)[length - 1] == '/';
		if (prefix ? item->key_length > length : item->key_length == length)
			if (strncmp(item->key, *key, length) == 0)
				return true;
	}
	return false;
}

/* ---- bars ---- */

/* The unit of the bar at p: of iterations, not of examples or bytes. */
static bool counts_iterations(const char *p)
{
	const char *rate = strchr(p, '[');
	const char *end = rate ? strchr(rate, ']') : NULL;
	const char *unit = rate ? strstr(rate, "it/s") : NULL;
	if (!unit && rate)
		unit = strstr(rate, "s/it");
	return unit && (!end || unit < end);
}

/* A bar of the Trainer has no description and counts iterations; those of downloads, of datasets and of other
 * loops have one or count something else. */
static bool read_training_bar(const struct log_line *line, const char *text, struct progress_bar *ret_bar)
{
	const char *digits = text;
	while (*digits == ' ')
		digits++;
	const char *p = skip_digits(digits);
	if (p == digits || !begins_with(p, "%|"))
		return false;
	if (text == line->text) {
		const struct progress_bar *bar = line_bar(line);
		if (!bar)
			return false;
		*ret_bar = *bar;
	} else if (!read_progress_bar(p, ret_bar)) {
		return false;
	}
	return *ret_bar->postfix == '\0' && counts_iterations(p);
}

/* ---- lines ---- */

static void take_summary(struct reader *reader, const struct field_set *set)
{
	fill_number(&reader->facts->train_runtime_s, set->values[FIELD_RUNTIME_S]);
	fill_number(&reader->facts->train_loss, set->values[FIELD_MEAN_LOSS]);
	fill_number(&reader->facts->train_samples_per_s, set->values[FIELD_SAMPLES_PER_S]);
	reader_completed(reader, true);
	recognise(reader, READER_CERTAIN);
}

static bool is_record(const struct field_set *set)
{
	return set->values[FIELD_LOSS].has &&
	       (set->values[FIELD_LR].has || set->values[FIELD_EPOCH].has || set->values[FIELD_STEP].has);
}

static void read_record(const char *p, struct line_record *ret_record)
{
	struct dictionary_item item;
	enum dictionary_result result;
	memset(ret_record, 0, sizeof(*ret_record));
	while ((result = dictionary_next(&p, &item)) == DICTIONARY_ITEM) {
		struct field field = {item.key, item.value, item.key_length};
		field_read(&field, record_rules, ARRAY_LEN(record_rules), &ret_record->set);
		/* fairseq prints "loss" and "epoch" too. */
		ret_record->foreign |= item_is(&item, "num_updates");
	}
	ret_record->end = result == DICTIONARY_END && !ret_record->set.torn ? p : NULL;
}

/* Whether the dictionary at p has a key that only the dialect prints. */
static bool has_dialect_key(const struct hf_dialect *dialect, const char *p)
{
	struct dictionary_item item;
	while (dialect->keys && dictionary_next(&p, &item) == DICTIONARY_ITEM)
		if (is_dialect_key(dialect, &item))
			return true;
	return false;
}

static bool begins_with_loss(const char *p)
{
	p += 1 + strspn(p + 1, " ");
	return begins_with(p + 1, "loss") && p[5] == *p;
}

/* What stands before a dictionary: nothing, a bar that was not cleared, or a logger's prefix. */
static bool is_logger_prefix(const struct log_line *line, const char *text, const char *end)
{
	struct progress_bar bar;
	const char *p = text + strspn(text, " ");
	if (p >= end)
		return false;
	return !(read_training_bar(line, text, &bar) && text + strcspn(text, "{") >= end);
}

static void take_record(
	struct reader *reader, const struct log_line *line, const struct field_set *set, bool logged)
{
	if (is_record(set)) {
		bool both = set->values[FIELD_EPOCH].has && set->values[FIELD_LR].has;
		recognise(reader, both ? READER_CERTAIN : 1);
		hf_take_record(reader, line, set, logged);
	} else if (set->values[FIELD_RUNTIME_S].has) {
		take_summary(reader, set);
	}
}

/* The bar that stands last before `end`; an earlier one was drawn over. */
static bool read_bar_before(
	const struct log_line *line, const char *text, const char *end, struct progress_bar *ret_bar)
{
	const char *last = NULL;
	for (const char *p = text; (p = memmem(p, (size_t)(end - p), "%|", 2)) != NULL; p++)
		last = p;
	if (!last)
		return false;
	while (last > text && is_digit(last[-1]))
		last--;
	/* "Map: 100%|" is not of training. */
	const char *before = last;
	while (before > text && before[-1] == ' ')
		before--;
	return (before == text || before[-1] == ']') && read_training_bar(line, last, ret_bar);
}

static void take_dictionaries(
	struct reader *reader, const struct hf_dialect *dialect, const struct log_line *line, const char *p)
{
	const struct hf_state *state = reader->state;
	struct progress_bar bar;
	const char *begin = line->text;
	for (; p; p = dictionary_begin(begin)) {
		if (p > begin && read_bar_before(line, begin, p, &bar))
			hf_take_bar(reader, line, &bar);
		struct line_record further;
		const struct line_record *record = &further;
		if (p == line_dictionary(line))
			record = line_record(line, read_record);
		else
			read_record(p, &further);
		if (!record->end) {
			if (begins_with_loss(p))
				hf_drop_record(reader, line);
			return;
		}
		if (!record->foreign) {
			if (!state->confirmed && has_dialect_key(dialect, p))
				confirm(reader);
			take_record(reader, line, &record->set, is_logger_prefix(line, begin, p));
		}
		begin = record->end;
	}
	if (read_training_bar(line, begin, &bar))
		hf_take_bar(reader, line, &bar);
}

/* "0:14:31.66" */
static bool read_clock(const char *text, double *ret_s)
{
	double hours, minutes, seconds;
	size_t used = read_number(text, &hours);
	if (!used || text[used] != ':')
		return false;
	text += used + 1;
	used = read_number(text, &minutes);
	if (!used || text[used] != ':' || !read_number(text + used + 1, &seconds))
		return false;
	*ret_s = hours * 3600.0 + minutes * 60.0 + seconds;
	return true;
}

static const char *behind(const char *text, const char *needle)
{
	const char *at = strstr(text, needle);
	return at ? at + strlen(needle) : NULL;
}

static long whole_number(const char *text)
{
	double value;
	long number = 0;
	return text && read_number(text, &value) && number_to_step(value, &number) ? number : 0;
}

static void note_start(struct hf_state *state)
{
	if (!state->counted)
		return;
	/* The job began again: what is counted begins anew. */
	state->counted = 0;
	state->resumed_at = 0;
	state->has_last = false;
}

static void take_notice(struct reader *reader, const char *text)
{
	struct hf_state *state = reader->state;
	const char *p;
	if (strstr(text, "[INFO|trainer.py:"))
		recognise(reader, READER_CERTAIN);
	if (strstr(text, "***** Running training *****"))
		note_start(state);
	if ((p = behind(text, "Total optimization steps = ")))
		state->announced_total = whole_number(p);
	if ((p = behind(text, "Continuing training from "))) {
		reader_flag(reader, LOG_RESUMED);
		p = behind(p, "global step ");
		state->resumed_at = p ? whole_number(p) : state->resumed_at;
	}
	if ((p = behind(text, "logging_steps=")) || (p = behind(text, "logging_steps: ")))
		state->logging_steps = whole_number(p);
	if ((p = behind(text, "TrainOutput(global_step="))) {
		state->end_step = whole_number(p);
		reader_completed(reader, true);
	}
	if (strstr(text, "***** train metrics *****") || strstr(text, "Training completed. Do not forget"))
		reader_completed(reader, true);
	double seconds;
	if ((p = behind(text, "  train_runtime ")) && (p = behind(p, "= ")) && read_clock(p, &seconds))
		fill_value(&reader->facts->train_runtime_s, seconds);
}

/* A bar of optimizer steps that DeepSpeed writes into: what the Trainer looks like before it has logged
 * anything. Bars alone could be anybody's. */
static void recognise_bars(struct reader *reader, const char *text)
{
	struct hf_state *state = reader->state;
	if (state->bars_recognised || state->bar_moves < 2 || state->has_last)
		return;
	if (strstr(text, "deepspeed")) {
		recognise(reader, READER_CERTAIN);
		state->bars_recognised = true;
	}
}

static void look_for_words(struct reader *reader, const struct hf_dialect *dialect, const char *text)
{
	struct hf_state *state = reader->state;
	if (!dialect->keys && !dialect->words)
		state->confirmed = true;
	if (!reader->noticed)
		return;
	for (const char *const *word = dialect->words; word && *word && !state->confirmed; word++)
		if (strstr(text, *word))
			confirm(reader);
}

void hf_line(struct reader *reader, const struct hf_dialect *dialect, const struct log_line *line)
{
	struct hf_state *state = reader->state;
	if (!state->confirmed && state->n_records >= dialect->shows_within && dialect->shows_within)
		return;
	if (!state->confirmed)
		look_for_words(reader, dialect, line->text);
	const char *dictionary = line_dictionary(line);
	bool has_bar = dictionary != line->text && line_percent(line);
	struct progress_bar bar;
	if (!dictionary && has_bar && read_training_bar(line, line->text, &bar))
		hf_take_bar(reader, line, &bar);
	else if (dictionary != line->text && !has_bar && reader->noticed)
		take_notice(reader, line->text); /* "TrainOutput(global_step=3, metrics={...})" is both */
	if (dictionary)
		take_dictionaries(reader, dialect, line, dictionary);
	recognise_bars(reader, line->text);
}

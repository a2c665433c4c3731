/*
 * fairseq and metaseq: what train_inner prints every log_interval updates, by its three progress bars. The
 * lines of "train" and "valid" are of whole epochs.
 *
 *   ... | INFO | train_inner | {"epoch": 1, "update": 0.01, "loss": "9.8", "wps": "10000", "num_updates":
 * "100", ...}
 *   ... | INFO | train_inner | epoch 001:    100 / 1000 loss=9.8, ppl=891.4, wps=10000, num_updates=100, ...
 *   | epoch 001:    100 / 1000 loss=9.8, ppl=891.4, wps=10000, num_updates=100, ... (0.8) epoch 001:  10%|#
 * | 100/1000 [01:40<15:00,  1.0it/s, loss=9.8, ..., num_updates=100, ...]
 *
 * wps is tokens per second over all workers; ups is smoothed and the time of no update.
 */
#include "base/base.h"

#include <string.h>

#include "adapter/reader_bar_int.h"
#include "adapter/reader_dictionary_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {
	"train_inner", "num_updates", "fairseq", "metaseq", "done training in", NULL};

static const struct field_syntax syntax = {", ", '='};
static const struct field_rule rules[] = {
	{"num_updates", FIELD_STEP, FORM_NUMBER, 0},
	{"loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"gnorm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"lr", FIELD_LR, FORM_NUMBER, 0},
	{"wps", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
};

struct state {
	long last_step;
};

/* False where it is broken. */
static bool read_json(const char *p, struct field_set *ret_set)
{
	memset(ret_set, 0, sizeof(*ret_set));
	struct dictionary_item item;
	enum dictionary_result result;
	while ((result = dictionary_next(&p, &item)) == DICTIONARY_ITEM) {
		struct field field = {item.key, item.value, item.key_length};
		field_read(&field, rules, ARRAY_LEN(rules), ret_set);
	}
	return result == DICTIONARY_END;
}

static void take_set(
	struct reader *reader, const struct log_line *line, const struct field_set *set, bool broken)
{
	struct state *state = reader->state;
	long step;
	if (!fields_step(set, &step) || !(set->values[FIELD_LOSS].has || broken))
		return;
	reader_recognise(reader, READER_CERTAIN);
	if (broken || set->torn || line->torn) {
		if (!line->unended)
			reader_damaged(reader, step);
		return;
	}
	if (set->values[FIELD_TOKENS_PER_S].has)
		reader->facts->tokens_per_s_scope = LOG_SCOPE_GLOBAL;
	/* A bar is drawn again and again. */
	struct log_step *known =
		strstr(line->text, "%|") && step == state->last_step ? reader_last_step(reader) : NULL;
	fields_store(set, known ? known : reader_step(reader, step, line));
	state->last_step = step;
}

/* "100 / 1000 loss=9.8, ...": where the pairs begin. */
static const char *pairs_of(const char *text)
{
	const char *slash = strstr(text, " / ");
	if (!slash)
		return NULL;
	slash += 3;
	slash += strspn(slash, "0123456789");
	return *slash == ' ' ? slash + 1 : NULL;
}

static bool take_update(struct reader *reader, const struct log_line *line)
{
	struct field_set set;
	struct progress_bar bar;
	const char *p = dictionary_begin(line->text);
	if (p) {
		bool whole = read_json(p, &set);
		take_set(reader, line, &set, !whole);
		return true;
	}
	if (!strstr(line->text, "num_updates="))
		return false;
	if (strstr(line->text, "%|") && read_progress_bar(line->text, &bar))
		p = bar.postfix;
	else
		p = pairs_of(line->text);
	if (p) {
		fields_take(p, &syntax, rules, ARRAY_LEN(rules), &set);
		take_set(reader, line, &set, false);
	}
	return p != NULL;
}

static void take_notice(struct reader *reader, const char *text)
{
	static const char done[] = "done training in ";
	const char *p = strstr(text, done);
	double number;
	if (strstr(text, "| fairseq") || strstr(text, "| metaseq") || strstr(text, "fairseq_cli"))
		reader_recognise(reader, READER_CERTAIN);
	if (p && read_number(p + sizeof(done) - 1, &number)) {
		fill_value(&reader->facts->train_runtime_s, number);
		reader_completed(reader, true);
	}
	/* "Loaded checkpoint checkpoint_last.pt (epoch 5 @ 1000 updates)" */
	p = strstr(text, "oaded checkpoint ") ? strstr(text, " @ ") : NULL;
	if (p && read_number(p + 3, &number) && number > 0.0)
		reader_flag(reader, LOG_RESUMED);
}

static void line(struct reader *reader, const struct log_line *line)
{
	if (!take_update(reader, line))
		take_notice(reader, line->text);
}

const struct reader_ops reader_fairseq = {
	"fairseq", anchors, NULL, sizeof(struct state), line, NULL, READER_TRAINER};

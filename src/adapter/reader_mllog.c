/*
 * MLPerf training results: one event a line. They count samples, not updates ("step" included), and most have
 * no loss of training at all.
 *
 *   :::MLLOG {"namespace": "", "time_ms": 1, "event_type": "POINT_IN_TIME", "key": "train_loss",
 * "value": 1.36, "metadata": {"file": "..", "lineno": 1, "samples_count": 432, "lr": 0.0002}}
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_dictionary_int.h"
#include "adapter/reader_fields_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {":::mllog", NULL};

static const struct field_rule rules[] = {
	{"samples_count", FIELD_STEP, FORM_NUMBER, 0},
	{"step", FIELD_STEP, FORM_NUMBER, 0},
	{"train_loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"reduced_train_loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"lr", FIELD_LR, FORM_NUMBER, 0},
	{"throughput", FIELD_SAMPLES_PER_S, FORM_NUMBER, 0},
	{"train_step_time", FIELD_STEP_TIME_S, FORM_NUMBER, 0},
};

struct state {
	double samples_per_update; /* 0 = not said yet */
};

struct mllog_event {
	struct dictionary_item key, value;
	struct field_set set; /* of the metadata, and of a value that is a dictionary */
	bool succeeded;
};

static void read_nested(const char *p, struct mllog_event *event)
{
	struct dictionary_item item;
	while (*p == '{' || *p == ',') {
		if (dictionary_next(&p, &item) != DICTIONARY_ITEM)
			return;
		struct field field = {item.key, item.value, item.key_length};
		field_read(&field, rules, ARRAY_LEN(rules), &event->set);
		if (item_is(&item, "status"))
			event->succeeded = item.value_length == 7 && begins_with(item.value, "success");
	}
}

static bool read_event(const char *p, struct mllog_event *ret_event)
{
	memset(ret_event, 0, sizeof(*ret_event));
	struct dictionary_item item;
	enum dictionary_result result;
	while ((result = dictionary_next(&p, &item)) == DICTIONARY_ITEM) {
		if (item_is(&item, "key"))
			ret_event->key = item;
		else if (item_is(&item, "value"))
			ret_event->value = item;
		if ((item_is(&item, "metadata") || item_is(&item, "value")) && *item.value == '{')
			read_nested(item.value, ret_event);
	}
	return result == DICTIONARY_END && ret_event->key.value;
}

static bool is_event(const struct mllog_event *event, const char *key)
{
	return event->key.value_length == strlen(key) &&
	       strncmp(event->key.value, key, event->key.value_length) == 0;
}

static void take_loss(struct reader *reader, const struct log_line *line, struct mllog_event *event)
{
	struct state *state = reader->state;
	if (is_event(event, "train_loss") && event->value.value)
		event->set.values[FIELD_LOSS] = item_number(&event->value);
	double samples = event->set.values[FIELD_STEP].value;
	long step;
	if (!event->set.values[FIELD_LOSS].has || !event->set.values[FIELD_STEP].has ||
		!state->samples_per_update)
		return;
	if (!number_to_step(samples / state->samples_per_update, &step))
		return;
	fields_store(&event->set, reader_step(reader, step, line));
}

static void take_batch_size(struct state *state, const struct mllog_event *event)
{
	struct opt_number samples = event->value.value ? item_number(&event->value) : (struct opt_number){0};
	if (samples.has && samples.value > 0.0)
		state->samples_per_update = samples.value;
}

static void line(struct reader *reader, const struct log_line *line)
{
	struct state *state = reader->state;
	const char *p = strstr(line->text, ":::MLLOG");
	p = p ? dictionary_begin(p) : NULL;
	if (!p)
		return;
	reader_recognise(reader, READER_CERTAIN);
	struct mllog_event event;
	if (!read_event(p, &event))
		return;
	if (is_event(&event, "global_batch_size"))
		take_batch_size(state, &event);
	else if (is_event(&event, "run_stop"))
		reader_completed(reader, event.succeeded);
	else if (is_event(&event, "train_loss") || is_event(&event, "tracked_stats"))
		take_loss(reader, line, &event);
}

/* A trainer below it knows more. */
const struct reader_ops reader_mllog = {
	"mllog", anchors, NULL, sizeof(struct state), line, NULL, READER_ENGINE};

/*
 * Composer's console logger: a heading and a line for each metric.
 *
 *   [batch=2/20]:                           (or [epoch=1][batch=2/20]:, [token=65536/1000000]:)
 *   	 Train time/batch: 1
 *   	 Train throughput/batches_per_sec: 0.5000
 *   	 Train memory/peak_reserved_mem: 42.9497
 *   	 Train loss/train/total: 11.5000
 *
 * "time/batch" counts from 0. Memory is in 1e9 bytes, rates are over all devices unless they say "device".
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_fields_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {"[batch=", "[epoch=", "[token=", "[sample=", "[iteration=",
	"[eval batch=", "train time/", "train loss/", "train memory/", "train throughput/", "train l2_norm/",
	"train lr-", "train optimizer/", "train grad", "composer_version:", NULL};

static const struct field_rule rules[] = {
	{"time/batch", FIELD_ITERATION, FORM_NUMBER, 0}, {"loss/train/total", FIELD_LOSS, FORM_NUMBER, 0},
	{"loss/train", FIELD_LOSS, FORM_NUMBER, 0}, /* 0.8 */
	{"l2_norm/grad/global", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"grad_l2_norm/step", FIELD_GRAD_NORM, FORM_NUMBER, 0}, /* 0.8 */
	{"throughput/batches_per_sec", FIELD_STEP_TIME_S, FORM_RECIPROCAL, 0},
	{"throughput/samples_per_sec", FIELD_SAMPLES_PER_S, FORM_NUMBER, 0},
	{"throughput/tokens_per_sec", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"throughput/device/tokens_per_sec", FIELD_DEVICE_TOKENS_PER_S, FORM_NUMBER, 0},
	{"throughput/device/flops_per_sec", FIELD_TFLOPS, FORM_NUMBER, -12},
	{"throughput/device/mfu", FIELD_MFU_PERCENT, FORM_NUMBER, 2},
	{"memory/peak_reserved_mem", FIELD_MEM_BYTES, FORM_GB, 0},
	{"memory/reserved_mem", FIELD_MEM_BYTES, FORM_GB, 0}, /* 0.10 */
};

struct state {
	bool in_record; /* a heading of training has been seen */
	bool numbered, stored;
	long step;
};

static bool heading_count(const char **position, const char *name, long *ret_count, long *ret_total)
{
	const char *p = *position;
	double count, total = 0.0;
	size_t length = strlen(name);
	if (*p != '[' || strncmp(p + 1, name, length) != 0 || p[length + 1] != '=')
		return false;
	p += length + 2;
	length = read_number(p, &count);
	p += length;
	if (!length || !number_to_step(count, ret_count))
		return false;
	if (*p == '/') {
		length = read_number(p + 1, &total);
		p += length + 1;
	}
	if (*p != ']')
		return false;
	*ret_total = 0;
	if (!number_to_step(total, ret_total))
		return false;
	*position = p + 1;
	return true;
}

/* The rest of the line behind a heading; NULL = it is none. */
static const char *take_heading(struct state *state, const char *p)
{
	long epoch = 0, count, total;
	if (begins_with(p, "[Eval batch=")) {
		state->in_record = false;
		return "";
	}
	bool has_epoch = heading_count(&p, "epoch", &epoch, &total);
	if (heading_count(&p, "batch", &count, &total)) {
		/* With an epoch the batch is one of it. */
		state->numbered = !has_epoch || total > 0 || epoch <= 1;
		state->step = has_epoch && epoch > 1 ? step_sum(count, epoch - 1, total) : count;
	} else if (has_epoch || heading_count(&p, "token", &count, &total) ||
		   heading_count(&p, "sample", &count, &total) ||
		   heading_count(&p, "iteration", &count, &total)) {
		state->numbered = false;
	} else {
		return NULL;
	}
	state->in_record = true;
	state->stored = false;
	return *p == ':' ? p + 1 : p;
}

static bool is_lr(const struct field *field)
{
	return (field->key_length > 3 && begins_with(field->key, "lr-")) ||
	       (field->key_length > 3 && begins_with(field->key + field->key_length - 3, "/lr"));
}

/* PyTorch reserves device memory in multiples of 2 MiB (CUDACachingAllocator: kSmallBuffer, kRoundLarge), and
 * the 5 digits that Composer keeps (callbacks/memory_monitor.py) tell below 100 GB which one it was. */
static double exact_reserved(double bytes)
{
	const double block = 2.0 * 1048576.0;
	double half_of_last_digit = bytes > 0.0 ? 0.5 * pow(10.0, floor(log10(bytes)) - 4.0) : 0.0;
	double multiple = round(bytes / block) * block;
	bool told = half_of_last_digit < block / 2.0 && fabs(multiple - bytes) <= half_of_last_digit;
	return told ? multiple : bytes;
}

static void store(struct reader *reader, const struct log_line *line, struct field_set *set)
{
	struct state *state = reader->state;
	struct log_summary *facts = reader->facts;
	struct opt_number per_device = set->values[FIELD_DEVICE_TOKENS_PER_S];
	if (set->values[FIELD_TOKENS_PER_S].has) {
		facts->tokens_per_s_scope = LOG_SCOPE_GLOBAL;
	} else if (per_device.has && facts->tokens_per_s_scope != LOG_SCOPE_GLOBAL) {
		set->values[FIELD_TOKENS_PER_S] = per_device;
		facts->tokens_per_s_scope = LOG_SCOPE_DEVICE;
	}
	if (set->values[FIELD_MEM_BYTES].has) {
		set->values[FIELD_MEM_BYTES].value = exact_reserved(set->values[FIELD_MEM_BYTES].value);
		facts->mem_kind = "reserved";
	}
	struct log_step *step = state->stored ? reader_add_to_step(reader, state->step, line)
					      : reader_step(reader, state->step, line);
	fields_store(set, step);
	state->stored = true;
}

static bool is_of_step(const struct field_set *set)
{
	for (int slot = 0; slot < N_FIELDS_OF_STEP; slot++)
		if (set->values[slot].has)
			return true;
	return set->values[FIELD_DEVICE_TOKENS_PER_S].has;
}

/* p is behind "Train ". */
static void take_metric(struct reader *reader, const struct log_line *line, const char *p)
{
	struct state *state = reader->state;
	const char *colon = p;
	while (*colon && !(colon[0] == ':' && colon[1] == ' '))
		colon++;
	if (!*colon)
		return;
	struct field field = {p, colon + 2, (size_t)(colon - p)};
	struct field_set set = {0};
	bool torn;
	field_read(&field, rules, ARRAY_LEN(rules), &set);
	if (is_lr(&field))
		set.values[FIELD_LR].has =
			field_value(field.value, FORM_NUMBER, 0, &set.values[FIELD_LR].value, &torn);
	struct opt_number batch = set.values[FIELD_ITERATION];
	if (batch.has && !state->numbered && number_to_step(batch.value + 1.0, &state->step))
		state->numbered = true;
	if (!state->numbered || set.torn || line->torn)
		return;
	if (is_of_step(&set))
		store(reader, line, &set);
}

static void line(struct reader *reader, const struct log_line *line)
{
	struct state *state = reader->state;
	const char *p = skip_blanks(line->text);
	if (*p == '[') {
		p = take_heading(state, p);
		if (!p)
			return;
		if (state->in_record)
			reader_recognise(reader, 1);
	}
	if (begins_with(p, "composer_version:"))
		reader_recognise(reader, READER_CERTAIN);
	for (; (p = find_first(p, "Train ")) != NULL; p += 6) {
		if (p > line->text && p[-1] != ' ' && p[-1] != '\t')
			continue;
		if (!state->in_record)
			return;
		reader_recognise(reader, READER_CERTAIN);
		take_metric(reader, line, p + 6);
	}
}

const struct reader_ops reader_composer = {
	"composer", anchors, NULL, sizeof(struct state), line, NULL, READER_TRAINER};

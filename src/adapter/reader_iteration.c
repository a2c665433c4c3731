#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/reader_iteration_int.h"

static const struct field_rule rules[] = {
	{"lm loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"lm_loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"grad norm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"grad_norm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"elapsed time per iteration (ms)", FIELD_STEP_TIME_S, FORM_NUMBER, -3},
	{"elapsed time per iteration (s)", FIELD_STEP_TIME_S, FORM_NUMBER, 0},
	{"elapsed_time_per_iteration_ms", FIELD_STEP_TIME_S, FORM_NUMBER, -3},
	{"learning rate", FIELD_LR, FORM_NUMBER, 0},
	{"learning_rate", FIELD_LR, FORM_NUMBER, 0},
	{"throughput per GPU (TFLOP/s/GPU)", FIELD_TFLOPS, FORM_NUMBER, 0},
	{"tokens per gpu per second (tgs)", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"tokens_per_gpu_per_second_tgs", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"samples/sec", FIELD_SAMPLES_PER_S, FORM_NUMBER, 0},
	{"samples per second", FIELD_SAMPLES_PER_S, FORM_NUMBER, 0},
	{"samples_per_second", FIELD_SAMPLES_PER_S, FORM_NUMBER, 0},
};

static const struct {
	const char *key;
	size_t offset;
} counters[] = {
	{"number of skipped iterations", offsetof(struct iteration_line, skipped)},
	{"number_of_skipped_iterations", offsetof(struct iteration_line, skipped)},
	{"number of nan iterations", offsetof(struct iteration_line, nan_updates)},
	{"number_of_nan_iterations", offsetof(struct iteration_line, nan_updates)},
	{"global batch size", offsetof(struct iteration_line, batch_size)},
	{"global_batch_size", offsetof(struct iteration_line, batch_size)},
	{"actual seqlen", offsetof(struct iteration_line, seq_len)},
	{"actual_seqlen", offsetof(struct iteration_line, seq_len)},
};

static bool take_count(const char **p, long *ret_count)
{
	while (**p == ' ' || **p == '=')
		(*p)++;
	if (!isdigit((unsigned char)**p))
		return false;
	char *end;
	*ret_count = strtol(*p, &end, 10);
	*p = end;
	return true;
}

/* "iteration       10/   50000 |" */
static const char *take_head(const char *text, struct iteration_line *line)
{
	for (const char *at = text; (at = strstr(at, "iteration")) != NULL; at++) {
		const char *p = at + strlen("iteration");
		if (!take_count(&p, &line->step) || *p++ != '/' || !take_count(&p, &line->total))
			continue;
		while (*p == ' ')
			p++;
		if (*p == '|')
			return at;
	}
	return NULL;
}

/* ".530118] " before the head; seconds alone before 0.16. */
static bool has_microseconds(const char *text, const char *head)
{
	if (head - text < 9 || head[-1] != ' ' || head[-2] != ']' || head[-9] != '.')
		return false;
	for (int i = 3; i < 9; i++)
		if (!isdigit((unsigned char)head[-i]))
			return false;
	return true;
}

static void read_field(const struct field *field, struct iteration_line *line)
{
	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		struct opt_number *slot = (struct opt_number *)((char *)line + counters[i].offset);
		if (!field_is(field, counters[i].key))
			continue;
		slot->has = read_number(field->value, &slot->value) > 0;
		return;
	}
	field_read(field, rules, ARRAY_LEN(rules), &line->set);
}

/* Every field is followed by a bar: a record that another writer cut, or the end of the log, is not. */
static bool ends_with_bar(const char *text)
{
	size_t n = strlen(text);
	while (n > 0 && text[n - 1] == ' ')
		n--;
	return n > 0 && text[n - 1] == '|';
}

bool iteration_line_read(const char *text, struct iteration_line *ret_line, long *ret_torn_step)
{
	struct iteration_line line = {.total = 0};
	const char *head = take_head(text, &line);
	*ret_torn_step = -1;
	if (!head)
		return false;
	line.microseconds = has_microseconds(text, head);
	/* The time stamp before the head has colons of its own. */
	const char *from = strstr(text, "samples/sec:");
	from = from && from < head ? from : head;
	struct field_syntax syntax = {"|", strstr(text, "iteration=") ? '=' : ':'};
	struct field field;
	for (const char *p = from; field_next(&p, &syntax, &field);)
		read_field(&field, &line);
	if (line.set.torn || !ends_with_bar(text) || !line.set.values[FIELD_STEP_TIME_S].has) {
		*ret_torn_step = line.step;
		return false;
	}
	*ret_line = line;
	return true;
}

static void note_step(struct iteration_lines *lines, const struct iteration_line *iteration)
{
	long gap = iteration->step - lines->last;
	if (!lines->any)
		lines->first = iteration->step;
	else if (gap > 0 && !lines->first_gap)
		lines->first_gap = gap;
	else if (gap > 0 && (!lines->shortest || gap < lines->shortest))
		lines->shortest = gap;
	lines->any = true;
	lines->microseconds |= iteration->microseconds;
	lines->last = iteration->step;
	if (iteration->skipped.has)
		lines->skipped += iteration->skipped.value;
}

static bool is_dead(const struct iteration_line *iteration)
{
	struct opt_number norm = iteration->set.values[FIELD_GRAD_NORM];
	if (iteration->nan_updates.has && iteration->nan_updates.value > 0.0)
		return true;
	if (norm.has)
		return !isfinite(norm.value);
	return iteration->skipped.has && iteration->skipped.value == 0.0;
}

struct log_step *iteration_step(struct reader *reader, struct iteration_lines *lines,
	const struct iteration_line *iteration, const struct log_line *line)
{
	struct log_step *s = reader_step(reader, iteration->step, line);
	bool is_new = !s->step_time_s.has;
	fields_store(&iteration->set, s);
	if (!s->loss.has && is_dead(iteration))
		fill_value(&s->loss, NAN);
	fill_number(&s->skipped_updates, iteration->skipped);
	if (is_new)
		note_step(lines, iteration);
	return s;
}

long iteration_interval(const struct iteration_lines *lines)
{
	if (lines->shortest)
		return lines->shortest;
	if (!lines->first_gap)
		return 1;
	/* Since 0.16 the first update is printed whatever the interval. */
	return lines->microseconds && lines->first == 1 && lines->first_gap > 1 ? lines->last
										: lines->first_gap;
}

bool iteration_settle_skipped(struct reader *reader, const struct iteration_lines *lines)
{
	struct log_summary *facts = reader->facts;
	if (lines->skipped > 0.0)
		return true;
	for (size_t i = 0; i < facts->n_steps; i++)
		facts->steps[i].skipped_updates.has = false;
	return false;
}

bool iteration_memory_line(struct reader *reader, const char *text)
{
	static const struct {
		const char *key, *kind;
	} kinds[] = {{"max reserved", "reserved"}, {"max cached", "cached(reserved)"}};
	enum { MIB = 1024 * 1024 };
	if (!strstr(text, "memory (MB)") || !strstr(text, "iterations"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct opt_number mib = number_of(text, kinds[i].key);
		if (!mib.has)
			continue;
		reader_peak_memory(reader, mib.value * MIB, kinds[i].kind);
		return true;
	}
	return false;
}

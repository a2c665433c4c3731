/*
 * torchtune's recipes: epoch, step over all epochs and loss are the description of the bar, the rest is what
 * a metric logger to the terminal or a file adds.
 *
 *   1|2|Loss: 1.4822021722793579:  67%|######   | 2/3 [00:09<00:04,  4.20s/it]
 *   Step 2 | loss:1.482 lr:2e-05 tokens_per_second_per_gpu:1234.5 peak_memory_alloc:12.5 ... grad_norm:1.2
 *   	GPU peak memory reserved: 13.00 GiB
 */
#include "base/base.h"

#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_fields_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {"|loss: ", " | loss:", "peak memory ", "torchtune", NULL};
static const char *const notices[] = {"peak memory ", "torchtune", NULL};

static const struct field_syntax syntax = {" ", ':'};
static const struct field_rule rules[] = {
	{"loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"grad_norm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"lr", FIELD_LR, FORM_NUMBER, 0},
	{"time_per_step_s", FIELD_STEP_TIME_S, FORM_NUMBER, 0},
	{"tokens_per_second_per_gpu", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"peak_memory_reserved", FIELD_MEM_BYTES, FORM_GIB, 0},
	{"peak_memory_alloc", FIELD_MEM_ALLOCATED_BYTES, FORM_GIB, 0},
};

struct state {
	bool begun;
	long last_step; /* that the description showed */
};

/* "1|12|Loss: " that ends at `loss`: the step. */
static bool step_before(const char *text, const char *loss, long *ret_step)
{
	const char *step = loss;
	while (step > text && is_digit(step[-1]))
		step--;
	if (step == loss || step == text || step[-1] != '|' || loss - step > 12)
		return false;
	const char *epoch = step - 1;
	if (epoch == text || !is_digit(epoch[-1]))
		return false;
	*ret_step = 0;
	for (; is_digit(*step); step++)
		*ret_step = *ret_step * 10 + (*step - '0');
	return true;
}

static void take_description(struct reader *reader, const struct log_line *line, const char *bar)
{
	struct state *state = reader->state;
	long step;
	double loss;
	if (!step_before(line->text, bar, &step))
		return;
	reader_recognise(reader, READER_CERTAIN);
	if (state->begun && step == state->last_step)
		return;
	const char *number = bar + strlen("|Loss:");
	size_t length = read_number(number, &loss);
	/* tqdm puts a colon behind its description; a value that anything else follows was cut. */
	if (!length || (number[length] != ':' && number[length] != '\0') || line->torn) {
		if (!line->unended)
			reader_damaged(reader, step);
		return;
	}
	state->begun = true;
	state->last_step = step;
	fill_value(&reader_step(reader, step, line)->loss, loss);
}

static void take_metrics(struct reader *reader, const struct log_line *line)
{
	const char *p = line->text + strspn(line->text, " ");
	double number;
	long step;
	if (!begins_with(p, "Step "))
		return;
	size_t length = read_number(p + 5, &number);
	p += 5 + length;
	if (!length || !number_to_step(number, &step) || !begins_with(p + strspn(p, " "), "| "))
		return;
	struct field_set set;
	fields_take(strchr(p, '|') + 1, &syntax, rules, ARRAY_LEN(rules), &set);
	if (!set.values[FIELD_LOSS].has)
		return;
	reader_recognise(reader, READER_CERTAIN);
	if (set.torn || line->torn) {
		reader_damaged(reader, step);
		return;
	}
	struct log_summary *facts = reader->facts;
	fields_choose_memory(&set, facts);
	if (set.values[FIELD_TOKENS_PER_S].has)
		facts->tokens_per_s_scope = LOG_SCOPE_DEVICE;
	/* The full digits of the logger are not those of the bar, which is drawn first. */
	fields_store(&set, reader_add_to_step(reader, step, line));
}

/* "GPU peak memory alloc: 12.50 GiB" (0.3), "XPU peak memory allocation: 12.50 GiB" (0.6) */
static void take_memory(struct reader *reader, const char *text)
{
	static const struct {
		const char *name, *kind;
	} kinds[] = {{"peak memory reserved: ", "reserved"}, {"peak memory alloc: ", "allocated"},
		{"peak memory allocation: ", "allocated"}};
	double bytes;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *p = strstr(text, kinds[i].name);
		if (p && read_memory(p + strlen(kinds[i].name), true, &bytes)) {
			reader_peak_memory(reader, bytes, kinds[i].kind);
			reader_recognise(reader, 1);
		}
	}
}

static void line(struct reader *reader, const struct log_line *line)
{
	const char *bar = strstr(line->text, "|Loss: ");
	if (bar)
		take_description(reader, line, bar);
	else if (reader->noticed && strstr(line->text, "peak memory "))
		take_memory(reader, line->text);
	else
		take_metrics(reader, line);
	if (reader->noticed && strstr(line->text, "torchtune"))
		reader_recognise(reader, READER_CERTAIN);
}

const struct reader_ops reader_torchtune = {
	"torchtune", anchors, notices, sizeof(struct state), line, NULL, READER_TRAINER};

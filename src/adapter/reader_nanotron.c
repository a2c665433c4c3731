/*
 * Nanotron's LoggerWriter: pairs between bars, numbers with three digits and K, M, B for powers of 1000,
 * bytes among them:
 *
 *   2023   iteration: 1 / 100 | consumed_samples: 32 | elapsed_time_per_iteration_ms: 819.2 | tokens_per_sec:
 *          1.600000E+05 | ... | lm_loss: 1.120000E+01 | lr: 3.000E-06 | ... | grad_norm: 3.120
 *   2024   iteration: 1 / 100 | consumed_tokens: 131K | elapsed_time_per_iteration_ms: 20.5K | ... |
 *          cuda_max_memory_reserved: 60.5G
 *   2025   iteration: 1 / 100 | consumed_tokens: 131K | time_per_iteration_ms: 20.5K | ...
 */
#include "base/base.h"

#include <string.h>

#include "adapter/reader_fields_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {"| consumed_tokens:", "| consumed_samples:", "tokens_per_sec_per_gpu:",
	"peak reserved", "[start training]", "nanotron", NULL};

static const struct field_syntax syntax = {" | ", ':'};
static const struct field_rule rules[] = {
	{"iteration", FIELD_STEP, FORM_NUMBER, 0},
	{"lm_loss", FIELD_LOSS, FORM_HUMAN, 0},
	{"grad_norm", FIELD_GRAD_NORM, FORM_HUMAN, 0},
	{"time_per_iteration_ms", FIELD_STEP_TIME_S, FORM_HUMAN, -3},
	{"elapsed_time_per_iteration_ms", FIELD_STEP_TIME_S, FORM_HUMAN, -3},
	{"tokens_per_sec", FIELD_TOKENS_PER_S, FORM_HUMAN, 0},
	{"lr", FIELD_LR, FORM_HUMAN, 0},
	{"cuda_max_memory_reserved", FIELD_MEM_BYTES, FORM_HUMAN, 0},
};

enum { HUMAN_DIGITS = 3 };

static void take_step(struct reader *reader, const struct log_line *line, const char *p)
{
	struct log_summary *facts = reader->facts;
	struct field_set set;
	fields_take(p, &syntax, rules, ARRAY_LEN(rules), &set);
	long step;
	if (!fields_step(&set, &step) || !set.values[FIELD_TOKENS_PER_S].has)
		return;
	reader_recognise(reader, READER_CERTAIN);
	if (set.torn || line->torn) {
		reader_damaged(reader, step);
		return;
	}
	if (strstr(p, "| consumed_tokens:"))
		fill_value(&facts->value_precision_digits, HUMAN_DIGITS);
	facts->tokens_per_s_scope = LOG_SCOPE_GLOBAL;
	if (set.values[FIELD_MEM_BYTES].has)
		facts->mem_kind = "reserved";
	fields_store(&set, reader_step(reader, step, line));
}

/* "Memory usage: 22000.00MiB. Peak allocated: 51200.00MiB Peak reserved: 56320.00MiB", the colons not in
 * every version. */
static void take_memory(struct reader *reader, const char *text, const char *name, const char *kind)
{
	const char *p = strstr(text, name);
	double bytes;
	if (!p)
		return;
	p += strlen(name);
	p += *p == ':';
	if (read_memory(p, true, &bytes))
		reader_peak_memory(reader, bytes, kind);
}

static void take_start(struct reader *reader, const char *text)
{
	struct opt_number first = number_of(text, "start_iteration_step");
	if (first.has && first.value > 0.0)
		reader_flag(reader, LOG_RESUMED);
	fill_number(&reader->facts->global_batch, number_of(text, "global_batch_size"));
	fill_number(&reader->facts->seq_len, number_of(text, "sequence_length"));
	reader_recognise(reader, READER_CERTAIN);
}

static void line(struct reader *reader, const struct log_line *line)
{
	const char *p = strstr(line->text, "iteration: ");
	if (p && strstr(p, "lm_loss"))
		take_step(reader, line, p);
	else if (strstr(line->text, "[Start training]"))
		take_start(reader, line->text);
	if (strstr(line->text, "Memory usage: ")) {
		take_memory(reader, line->text, "Peak reserved", "reserved");
		take_memory(reader, line->text, "Peak allocated", "allocated");
	}
}

const struct reader_ops reader_nanotron = {"nanotron", anchors, NULL, 0, line, NULL, READER_TRAINER};

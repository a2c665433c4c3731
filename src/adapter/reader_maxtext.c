/*
 * MaxText's metric logger; steps count from 0, rates are per device:
 *
 *   2023  completed step: 1, seconds: 8.693, TFLOP/s: 1.731, loss: 9.206
 *   2024  completed step: 0, seconds: 36.240, TFLOP/s/device: 28.510, loss: 1.966
 *   2025  completed step: 0, seconds: 25.600, TFLOP/s/device: 0.861, Tokens/s/device: 160.000, total_weights:
 *         32768, loss: 12.205, lm_loss: 12.205, perplexity: 199785.586
 *   2026  also "[Rampup Batch Size Phase], completed step: 0, seconds: ..., total_weights: ..." and
 * "completed profiler activation/deactivation step: 5, total_weights: ..." without a time
 */
#include "base/base.h"

#include <string.h>

#include "adapter/reader_fields_int.h"
#include "adapter/reader_int.h"

static const char *const anchors[] = {"completed step: ", "profiler activation/deactivation step: ",
	"max_utils.py", "metric_logger.py", "maxtext", NULL};

static const struct field_syntax syntax = {", ", ':'};
static const struct field_rule rules[] = {
	{"completed step", FIELD_STEP, FORM_NUMBER, 0},
	{"completed profiler activation/deactivation step", FIELD_STEP, FORM_NUMBER, 0},
	{"loss", FIELD_LOSS, FORM_NUMBER, 0},
	{"grad_norm", FIELD_GRAD_NORM, FORM_NUMBER, 0},
	{"seconds", FIELD_STEP_TIME_S, FORM_NUMBER, 0},
	{"Tokens/s/device", FIELD_TOKENS_PER_S, FORM_NUMBER, 0},
	{"TFLOP/s/device", FIELD_TFLOPS, FORM_NUMBER, 0},
};

static void take_step(struct reader *reader, const struct log_line *line, const char *p)
{
	struct field_set set;
	fields_take(p, &syntax, rules, ARRAY_LEN(rules), &set);
	long step;
	if (!fields_step(&set, &step))
		return;
	reader_recognise(reader, READER_CERTAIN);
	bool cut = !set.values[FIELD_LOSS].has && !strstr(p, "loss:");
	if (set.torn || line->torn || cut) {
		reader_damaged(reader, step);
		return;
	}
	reader->facts->step_base = (struct opt_number){true, 0.0};
	if (set.values[FIELD_TOKENS_PER_S].has)
		reader->facts->tokens_per_s_scope = LOG_SCOPE_DEVICE;
	fields_store(&set, reader_step(reader, step, line));
}

static void line(struct reader *reader, const struct log_line *line)
{
	const char *p = strstr(line->text, "completed step: ");
	if (!p)
		p = strstr(line->text, "completed profiler activation/deactivation step: ");
	if (p)
		take_step(reader, line, p);
	else if (strstr(line->text, "max_utils.py:") || strstr(line->text, "metric_logger.py:") ||
		 strcasestr(line->text, "maxtext"))
		reader_recognise(reader, READER_CERTAIN);
}

const struct reader_ops reader_maxtext = {"maxtext", anchors, NULL, 0, line, NULL, READER_TRAINER};

/* Megatron-LM, from 1.0 to Core 0.17. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/reader_iteration_int.h"

struct megatron {
	struct iteration_lines lines;
	struct opt_number seq_len; /* of the arguments that it prints at the start */
	bool began;                /* the log reaches back to the start of the program */
};

/* Lines without steps that only Megatron and its descendants print. */
static const char *const headings[] = {"> initializing torch distributed",
	"> initializing tensor model parallel", "> initializing model parallel",
	"[before the start of training step]", "> finished creating GPT datasets",
	"Theoretical memory footprints", "(min, max) time across ranks (ms)", "/megatron/",
	"> building train,"};

static void read_heading(struct reader *reader, struct megatron *m, const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(headings); i++)
		if (strstr(text, headings[i])) {
			reader_recognise(reader, 1);
			m->began |= headings[i][0] == '[' || headings[i][0] == '>';
			return;
		}
}

/* "  seq_length ...................................... 4096" */
static bool read_argument(struct reader *reader, struct megatron *m, const char *text)
{
	const char *p = strstr(text, "seq_length ....");
	double value;
	if (!p)
		return false;
	p += strlen("seq_length ");
	p += strspn(p, ".");
	if (read_number(p, &value) && value > 0.0) {
		fill_value(&m->seq_len, value);
		reader->facts->seq_len = m->seq_len;
	}
	return true;
}

/* A line says how many samples an update has; the tokens of one that stands for several updates are not said.
 */
static void add_tokens(
	struct log_step *step, const struct iteration_line *iteration, const struct megatron *m)
{
	struct opt_number length = iteration->seq_len.has ? iteration->seq_len : m->seq_len;
	if (iteration->batch_size.has && length.has)
		step->tokens = (struct opt_number){true, iteration->batch_size.value * length.value};
}

/* "  successfully loaded checkpoint from /ckpt [ t 0, p 0 ] at iteration 100" */
static bool read_resume(struct reader *reader, const char *text)
{
	const char *p = strstr(text, "successfully loaded checkpoint");
	p = p ? strstr(p, "at iteration ") : NULL;
	double iteration;
	if (!p)
		return false;
	if (read_number(p + strlen("at iteration "), &iteration) && iteration > 0.0)
		reader_flag(reader, LOG_RESUMED);
	return true;
}

static bool read_end(struct reader *reader, const char *text)
{
	if (strstr(text, "[after training is done]")) {
		reader_completed(reader, true);
		return true;
	}
	/* --exit-duration-in-mins; --exit-interval is "exiting program at iteration 4". */
	const char *after = strstr(text, "exiting program after ");
	double minutes;
	if (!after || !read_number(after + strlen("exiting program after "), &minutes))
		return false;
	reader_flag(reader, LOG_SHORT_RUN);
	reader_completed(reader, false);
	return true;
}

/* The DeepSpeed fork's; GPT-NeoX's. */
static bool is_relatives(const char *text)
{
	return strstr(text, "consumed tokens:") || strstr(text, "consumed_tokens=") ||
	       strstr(text, "samples/sec:");
}

static void megatron_line(struct reader *reader, const struct log_line *line)
{
	struct megatron *m = reader->state;
	struct iteration_line iteration;
	long torn;
	if (reader->noticed && is_relatives(line->text))
		return;
	if (iteration_line_read(line->text, &iteration, &torn)) {
		add_tokens(iteration_step(reader, &m->lines, &iteration, line), &iteration, m);
		reader_recognise(reader, READER_CERTAIN);
	} else if (torn >= 0) {
		reader_damaged(reader, torn);
	} else if (iteration_memory_line(reader, line->text)) {
		reader_recognise(reader, 1);
	} else if (!read_argument(reader, m, line->text) && !read_end(reader, line->text) &&
		   !read_resume(reader, line->text)) {
		read_heading(reader, m, line->text);
	}
}

/* Differences of printed decimals carry binary noise far behind their last digit. */
static double without_noise(double value)
{
	char text[40];
	snprintf(text, sizeof(text), "%.10g", value);
	return strtod(text, NULL);
}

static struct opt_number split_back(struct opt_number mean, struct opt_number first)
{
	if (!mean.has || !first.has)
		return (struct opt_number){false, NAN};
	return (struct opt_number){true, without_noise(2.0 * mean.value - first.value)};
}

/* From Core 0.16 on the first update is always printed and does not reset the accumulators: loss and time of
 * the next line are a mean that holds the first update once more. Gradient norm and learning rate are not
 * averaged. */
static void settle_windows(struct reader *reader, const struct megatron *m)
{
	struct log_summary *facts = reader->facts;
	long first = m->lines.first;
	if (!m->lines.microseconds || !m->lines.first_gap || (first != 1 && !m->began))
		return;
	reader_flag(reader, LOG_FIRST_LINE_OVERLAPS);
	if (iteration_interval(&m->lines) != 1)
		return;
	const struct log_step *one = NULL;
	for (size_t i = 0; i < facts->n_steps; i++) {
		struct log_step *s = &facts->steps[i];
		one = s->step == first ? s : one;
		s->window_first = s->window_last = s->step;
		if (s->step != first + 1)
			continue;
		s->window_first = first;
		if (!one || one->skipped_updates.value > 0.0 || s->skipped_updates.value > 0.0)
			continue;
		s->corrected_loss = split_back(s->loss, one->loss);
		s->corrected_step_time_s = split_back(s->step_time_s, one->step_time_s);
	}
}

static void megatron_finish(struct reader *reader)
{
	struct megatron *m = reader->state;
	struct log_summary *facts = reader->facts;
	if (!m->lines.any)
		return;
	long interval = iteration_interval(&m->lines);
	facts->log_interval = (struct opt_number){true, (double)interval};
	settle_windows(reader, m);
	if (!iteration_settle_skipped(reader, &m->lines))
		return;
	reader_flag(reader, LOG_OVERFLOW_SKIPS);
	/* A log that begins later does not say how many were skipped before. */
	if (m->lines.first <= interval)
		facts->optimizer_steps = (struct opt_number){true, (double)m->lines.last - m->lines.skipped};
}

static const char *const anchors[] = {"elapsed time per iteration", "memory (mb)", "seq_length ....",
	"> initializing torch distributed", "> initializing tensor model parallel",
	"> initializing model parallel", "before the start of training step",
	"> finished creating gpt datasets", "theoretical memory footprints", "time across ranks (ms)",
	"/megatron/", "> building train,", "after training is done", "successfully loaded checkpoint",
	"exiting program after", NULL};
static const char *const notices[] = {"consumed tokens:", "consumed_tokens=", "samples/sec:", NULL};

const struct reader_ops reader_megatron = {"megatron", anchors, notices, sizeof(struct megatron),
	megatron_line, megatron_finish, READER_TRAINER};

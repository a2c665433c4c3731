/* nanoGPT: "iter 2: loss 10.9412, time 491.52ms, mfu 33.91%". Its "step 0: train loss .., val loss .." lines
 * are evaluations. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_fields_int.h"

static bool read_iteration(struct reader *reader, const struct log_line *line)
{
	const char *p = find_first(line->text, "iter ");
	double number, loss, time_s, mfu;
	long step;
	if (!p)
		return false;
	size_t length = read_number(p + 5, &number);
	if (!length || !number_to_step(number, &step))
		return false;
	p += 5 + length;
	if (!begins_with(p, ": loss "))
		return false;
	length = read_number(p + 7, &loss);
	const char *time = p + 7 + length;
	bool whole = length && begins_with(time, ", time ");
	length = whole ? read_number_scaled(time + 7, -3, &time_s) : 0;
	if (!length || !begins_with(time + 7 + length, "ms") || line->torn) {
		/* Half of one, or any other loop's line that begins alike. */
		if (reader->evidence >= READER_CERTAIN)
			reader_damaged(reader, step);
		return false;
	}
	struct log_step *s = reader_step(reader, step, line);
	fill_value(&s->loss, loss);
	fill_value(&s->step_time_s, time_s);
	/* Until it has been measured, -100%. */
	const char *utilisation = strstr(time, "mfu ");
	if (utilisation && read_number(utilisation + 4, &mfu) && mfu >= 0.0)
		fill_value(&s->mfu_percent, mfu);
	return true;
}

static void nanogpt_line(struct reader *reader, const struct log_line *line)
{
	static const char header[] = "tokens per iteration will be:";
	double tokens;
	if (begins_with(line->text, header)) {
		if (read_number(line->text + sizeof(header) - 1, &tokens))
			fill_value(&reader->facts->tokens_per_update, tokens);
		reader_recognise(reader, READER_CERTAIN);
	} else if (read_iteration(reader, line) ||
		   strstr(line->text, "compiling the model... (takes a ~minute)")) {
		reader_recognise(reader, READER_CERTAIN);
	} else if (strstr(line->text, "num decayed parameter tensors")) {
		reader_recognise(reader, 1);
	}
}

static void nanogpt_finish(struct reader *reader)
{
	struct log_summary *facts = reader->facts;
	if (facts->n_steps == 0) {
		facts->tokens_per_update.has = false;
		return;
	}
	facts->step_base = (struct opt_number){true, 0.0};
	if (!facts->tokens_per_update.has)
		return;
	facts->tokens_per_s_scope = LOG_SCOPE_GLOBAL;
	facts->tokens_per_s_derived = true;
	for (size_t i = 0; i < facts->n_steps; i++) {
		struct log_step *s = &facts->steps[i];
		/* The time is printed with two digits of a millisecond: more than one decimal would be noise.
		 */
		if (s->step_time_s.has && s->step_time_s.value > 0.0)
			fill_value(&s->tokens_per_s,
				round(facts->tokens_per_update.value / s->step_time_s.value * 10.0) / 10.0);
	}
}

static const char *const anchors[] = {"tokens per iteration will be:", ": loss ",
	"compiling the model... (takes a", "num decayed parameter tensors", NULL};

const struct reader_ops reader_nanogpt = {
	"nanogpt", anchors, NULL, 0, nanogpt_line, nanogpt_finish, READER_TRAINER};

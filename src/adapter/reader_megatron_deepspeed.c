/* Megatron-DeepSpeed (Microsoft, BigScience, Argonne): Megatron's line with consumed tokens, and DeepSpeed's
 * own lines around it, which reader_deepspeed.c reads. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/reader_iteration_int.h"

struct megatron_deepspeed {
	struct iteration_lines lines;
};

/* Devices: what all of them process in a second over what one does. */
static void note_world_size(struct reader *reader, const struct iteration_line *iteration)
{
	struct opt_number per_device = iteration->set.values[FIELD_TOKENS_PER_S];
	struct opt_number step_time = iteration->set.values[FIELD_STEP_TIME_S];
	if (!per_device.has || !iteration->batch_size.has || !iteration->seq_len.has)
		return;
	double devices =
		iteration->batch_size.value * iteration->seq_len.value / (step_time.value * per_device.value);
	if (isfinite(devices) && devices >= 0.9 && fabs(devices - round(devices)) < 0.02 * devices)
		fill_value(&reader->facts->world_size, round(devices));
}

static void mds_line(struct reader *reader, const struct log_line *line)
{
	struct megatron_deepspeed *m = reader->state;
	struct iteration_line iteration;
	long torn;
	if (!reader->noticed || iteration_memory_line(reader, line->text) ||
		(!strstr(line->text, "consumed tokens:") && !strstr(line->text, "consumed_tokens=")))
		return;
	if (iteration_line_read(line->text, &iteration, &torn)) {
		iteration_step(reader, &m->lines, &iteration, line);
		reader_recognise(reader, READER_CERTAIN);
		note_world_size(reader, &iteration);
		if (iteration.set.values[FIELD_TOKENS_PER_S].has)
			reader->facts->tokens_per_s_scope = LOG_SCOPE_DEVICE;
	} else if (torn >= 0) {
		reader_damaged(reader, torn);
	}
}

static void mds_finish(struct reader *reader)
{
	struct megatron_deepspeed *m = reader->state;
	struct log_summary *facts = reader->facts;
	if (!m->lines.any)
		return;
	long interval = iteration_interval(&m->lines);
	facts->log_interval = (struct opt_number){true, (double)interval};
	if (!iteration_settle_skipped(reader, &m->lines))
		return;
	reader_flag(reader, LOG_OVERFLOW_SKIPS);
	if (m->lines.first <= interval)
		facts->optimizer_steps = (struct opt_number){true, (double)m->lines.last - m->lines.skipped};
}

static const char *const anchors[] = {
	"elapsed time per iteration", "elapsed_time_per_iteration", "memory (mb)", NULL};
static const char *const notices[] = {"memory (mb)", "consumed tokens:", "consumed_tokens=", NULL};

const struct reader_ops reader_megatron_deepspeed = {"megatron-deepspeed", anchors, notices,
	sizeof(struct megatron_deepspeed), mds_line, mds_finish, READER_DIALECT};

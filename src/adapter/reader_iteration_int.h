/* The " iteration 10/ 500 | consumed samples: 640 | ..." line that Megatron-LM, its DeepSpeed fork and
 * GPT-NeoX share, and their memory report. */
#ifndef INFRARSI_ADAPTER_READER_ITERATION_INT_H
#define INFRARSI_ADAPTER_READER_ITERATION_INT_H

#include "adapter/reader_fields_int.h"
#include "base/base.h"

struct iteration_line {
	long step, total;
	struct field_set set; /* of the step's record */
	struct opt_number skipped, nan_updates, batch_size, seq_len;
	bool microseconds; /* in its time stamp: Megatron Core 0.16 and later */
};

/* False when the line is none, or so torn that it does not parse; ret_torn_step is then its step, or -1. */
bool iteration_line_read(const char *text, struct iteration_line *ret_line, long *ret_torn_step);

/* What the lines of a log say together. */
struct iteration_lines {
	long first, last;
	long shortest, first_gap; /* between the steps of lines that follow each other; 0 = none yet */
	double skipped;
	bool any, microseconds, from_start;
};
/* The record of the line: what every dialect takes over. A loss that is absent where none was skipped is NaN:
 * these programs print it only "if avg > 0.0". */
struct log_step *iteration_step(struct reader *reader, struct iteration_lines *lines,
	const struct iteration_line *iteration, const struct log_line *line);
/* Updates from line to line; 1 where there is one line only. */
long iteration_interval(const struct iteration_lines *lines);
/* The counter of skipped updates stays on the steps only where one was skipped. True when one was. */
bool iteration_settle_skipped(struct reader *reader, const struct iteration_lines *lines);

/* "[Rank 0] (after 10 iterations) memory (MB) | ... | max reserved: 23552.0": MB is MiB. */
bool iteration_memory_line(struct reader *reader, const char *text);

#endif

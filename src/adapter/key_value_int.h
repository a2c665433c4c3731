/* Step lines of training loops of one's own, in the three styles that people write: "step=10 loss=2.1",
 * "step: 10 | loss: 2.1 | grad norm: 0.5", "step 10 loss 2.1". Internal to adapter/. */
#ifndef INFRARSI_ADAPTER_KEY_VALUE_INT_H
#define INFRARSI_ADAPTER_KEY_VALUE_INT_H

#include "adapter/reader_int.h"
#include "base/base.h"

enum key_value_slot {
	KEY_STEP,
	KEY_LOSS,
	KEY_GRAD_NORM,
	KEY_LR,
	KEY_STEP_TIME_S,
	KEY_TOKENS,
	KEY_TOKENS_PER_S,
	KEY_TOKENS_SEEN,
	KEY_SAMPLES_PER_S,
	KEY_MEM_BYTES,
	KEY_MFU_PERCENT,
	N_KEY_SLOTS
};

struct key_value_line {
	struct opt_number values[N_KEY_SLOTS];
	unsigned known;          /* 1 << slot of what was found, with a number or without */
	int n_known, n_assigned; /* of them, with '=' or ':' */
	const char *mem_kind;
	bool step_equals; /* "step=10", not "step: 10" */
	bool evaluation;  /* "val loss 2.1", "eval step=10"; val_loss=2.1 beside the loss is no matter */
	bool torn;        /* other text stands directly behind a number, or the step is there twice */
	bool continues;   /* begins with the rest of a number: the end of a torn line */
};

void key_value_read(const char *text, struct key_value_line *ret_line);

#endif

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

enum unit_kind { UNIT_NONE, UNIT_MILLI, UNIT_MEGA, UNIT_GIGA };

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

/* How a line is written: what stands before its numbers. The next one mostly is as the last one was, and is
 * then not taken apart again. All zeros at first. */
enum { LINE_FORM_MAX = 16, LEAD_SIZE = 32 };
struct key_form {
	const struct known_key *key;
	enum unit_kind unit;   /* between the key and the number */
	bool assigned, equals; /* with '=' or ':'; with '=' */
};
struct line_form {
	struct {
		struct key_form form;
		bool evaluation; /* a word of the lead says so */
		size_t length;   /* of the lead; 0 = not known */
		char lead[LEAD_SIZE];
	} pairs[LINE_FORM_MAX];
};

void key_value_read(const char *text, struct line_form *form, struct key_value_line *ret_line);

/* ---- between key_value.c and key_value_keys.c ---- */

enum { KEY_SIZE = 24 }; /* of the longest known */

/* Lower case, with _ for blanks and dashes; "train/" before a name is taken off, "train_" before the loss. */
struct known_key {
	char key[KEY_SIZE];
	enum key_value_slot slot;
	enum unit_kind unit; /* that the name says */
	const char *mem_kind;
};

struct word {
	const char *text;
	size_t length;
};
/* Which key the word is; before: the word directly before it. NULL = none. */
const struct known_key *key_of(struct word before, struct word w, bool equals);
bool is_evaluation_word(struct word w);

#endif

/*
 * The "key: value" pairs of a step line, read in one pass by a table of the format:
 *
 *     static const struct field_syntax syntax = {" | ", ':'};
 *     static const struct field_rule rules[] = {{"lm_loss", FIELD_LOSS, FORM_NUMBER, 0}, ...};
 *     struct field_set set;
 *     fields_take(text, &syntax, rules, ARRAY_LEN(rules), &set);
 *     fields_store(&set, reader_step(reader, step, line));
 *
 * Where two keys of a line fill one slot, the rule further up in the table wins.
 */
#ifndef INFRARSI_ADAPTER_READER_FIELDS_INT_H
#define INFRARSI_ADAPTER_READER_FIELDS_INT_H

#include "adapter/reader_int.h"
#include "base/base.h"

struct field_syntax {
	const char *separator; /* between pairs */
	char assign;           /* between key and value */
};

struct field {
	const char *key, *value;
	size_t key_length;
};

/* The next pair at *position, which is moved behind it; false = no more. Text without the assigning character
 * is passed over. */
bool field_next(const char **position, const struct field_syntax *syntax, struct field *ret_field);
bool field_is(const struct field *field, const char *key);

enum field_slot {
	FIELD_LOSS,
	FIELD_GRAD_NORM,
	FIELD_STEP_TIME_S,
	FIELD_TOKENS_PER_S,
	FIELD_MEM_BYTES,
	FIELD_LR,
	FIELD_SAMPLES_PER_S,
	FIELD_TOKENS_SEEN,
	FIELD_TFLOPS,
	FIELD_MFU_PERCENT,
	N_FIELDS_OF_STEP,
	/* Not of a step's record. */
	FIELD_STEP = N_FIELDS_OF_STEP,
	FIELD_ITERATION, /* micro-batches, or steps by another count */
	FIELD_EPOCH,
	FIELD_MEM_ALLOCATED_BYTES,
	FIELD_DEVICE_TOKENS_PER_S,
	FIELD_RUNTIME_S, /* of the whole training */
	FIELD_MEAN_LOSS, /* of the whole training */
	N_FIELDS,
};

enum field_form {
	FORM_NUMBER,     /* times ten to the power of `power` */
	FORM_HUMAN,      /* 131K, 20.5M; ditto */
	FORM_RECIPROCAL, /* 1 / number */
	FORM_MEMORY_GIB, /* a unit is written; KB, MB, GB count 1024 */
	FORM_GIB,        /* a plain number of GiB */
	FORM_GB,         /* a plain number of 1e9 bytes */
};

struct field_rule {
	const char *key;
	enum field_slot slot;
	enum field_form form;
	int power;
};

struct field_set {
	struct opt_number values[N_FIELDS];
	unsigned char rank[N_FIELDS]; /* of the rule that filled the slot, from 1 */
	bool torn;                    /* other text stands directly behind a number that was asked for */
};

void fields_take(const char *text, const struct field_syntax *syntax, const struct field_rule *rules,
	size_t n_rules, struct field_set *ret_set);
/* One pair; for lines that are walked with field_next(). */
void field_read(
	const struct field *field, const struct field_rule *rules, size_t n_rules, struct field_set *set);
/* A value by its form, and whether what follows it can follow it. 0 = there is no number. */
size_t field_value(const char *text, enum field_form form, int power, double *ret_value, bool *ret_torn);
/* Fills what the record lacks; of memory the larger amount is kept. */
void fields_store(const struct field_set *set, struct log_step *step);
/* Replaces what the set holds. */
void fields_replace(const struct field_set *set, struct log_step *step);
/* Reserved memory where a line has it, else allocated, and notes which it is: not both in one log. */
void fields_choose_memory(struct field_set *set, struct log_summary *facts);
/* The step number of the set; false when it has none that a step can have. */
bool fields_step(const struct field_set *set, long *ret_step);
bool number_to_step(double number, long *ret_step);
/* a + b * c, for numbers of steps; held below the largest one that is believed. */
long step_sum(long a, long b, long c);

#endif

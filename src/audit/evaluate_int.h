/* Between evaluate.c, which knows what names and calls are worth, and evaluate_parse.c, which reads
 * expressions. */
#ifndef INFRARSI_AUDIT_EVALUATE_INT_H
#define INFRARSI_AUDIT_EVALUATE_INT_H

#include "audit/evaluate.h"

enum {
	EVALUATION_DEPTH_CAP = 24, /* of definitions */
	EVALUATION_ARGUMENTS_CAP = 4,
	EVALUATION_NAME_CAP = 120,
};

/* False where it cannot be told. */
bool evaluation_name(struct evaluation *e, const char *name, struct place place, long *ret_value);
bool evaluation_call(struct evaluation *e, const char *name, const long *values, size_t n, struct place place,
	long *ret_value);
/* A number for what the source does not explain. */
long evaluation_free_value(const struct evaluation *e, const char *name);
/* The source defines a function of that name. */
bool evaluation_defines(const struct evaluation *e, const char *name);

#endif

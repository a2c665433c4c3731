/*
 * How fast stored evidence is read and judged again. A measurement is a row of the table in verify.c: adding
 * one is adding a file and a row.
 */
#ifndef INFRARSI_BENCH_VERIFY_H
#define INFRARSI_BENCH_VERIFY_H

#include "base/base.h"
#include "base/err.h"

struct shape {
	int receipts, updates;
	const char *scratch; /* an empty folder, absolute */
};

struct measurement {
	const char *name, *unit; /* of `amount` in a second: "receipts/s" */
	/* Done once, not timed. *ret_context is handed to the others. */
	enum err_code (*prepare)(const struct shape *shape, void **ret_context, struct err *reterr);
	/* Timed. *ret_amount: how much was done. */
	enum err_code (*run)(void *context, double *ret_amount, struct err *reterr);
	void (*release)(void *context);
	double target_s; /* for the whole of it; 0 = none */
};

extern const struct measurement read_and_judge, read_alone, judge_alone;

#endif

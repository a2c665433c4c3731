/*
 * What the passes of a loop read and write, and when they may run beside each other.
 *
 *     struct c_body body;
 *     if (!c_read_body(r, &loop, BODY_ROWS, &body))
 *         rewrite_refuse(r, loop.loop, body.why);
 *     condition = c_disjoint(r, &body);
 *
 * A pass may write variables of its own, sums, and of each array only what belongs to it: x[i], or the row
 * x[i * width + j] with j below width. Pointers that could lead to the same memory are told apart when the
 * program runs, by the condition. Values of different types do not share memory, as the language has it.
 */
#ifndef INFRARSI_CODEMOD_C_BODY_H
#define INFRARSI_CODEMOD_C_BODY_H

#include "codemod/c_code.h"

enum { BODY_ACCESSES = 8, BODY_NAMES = 4 };

enum body_kind {
	BODY_LANES, /* one loop without others in it: passes are lanes of a vector */
	BODY_ROWS   /* loops may be inside: passes are shared out among threads */
};

struct c_access {
	const char *base;
	struct c_name name;
	bool is_written;
	const char *width; /* elements of each pass: "1", or a row's; NULL = somewhere */
};

struct c_body {
	struct c_loop loop;
	enum body_kind kind;
	struct c_access accesses[BODY_ACCESSES];
	int n_accesses;
	const char *sums[BODY_NAMES]; /* float or double variables that are only added to */
	const char *sum_types[BODY_NAMES];
	int n_sums;
	const char *counters[BODY_NAMES]; /* of inner loops, declared outside: each pass needs its own */
	int n_counters;
	int n_writes, n_loops, n_calls; /* calls that are no single instruction */
	bool is_unstable;
	const char *why; /* it cannot be told */
};

bool c_read_body(struct rewrite *r, const struct c_loop *loop, enum body_kind kind, struct c_body *ret_body);
/* The condition under which passes do not meet; "" = always, NULL = none can be written. */
const char *c_disjoint(struct rewrite *r, const struct c_body *body);

/* A value that a write to float or double memory cannot change: no element, no float behind a pointer. */
bool c_is_stable(struct rewrite *r, TSNode expression);
/* "i, j" */
const char *c_join(struct rewrite *r, const char *const *names, int n);

#endif

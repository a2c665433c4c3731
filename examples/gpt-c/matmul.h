/*
 * Products of activations and weights, in three implementations chosen by --matmul.
 *
 * Activations are rows x in (or rows x out), weights in x out, all row-major and dense.  The scratch arena is left as
 * it was found.
 */
#ifndef MATMUL_H
#define MATMUL_H

#include "arena.h"

typedef void matmul_function(struct arena *scratch, float *result, const float *left, const float *right, int rows,
			     int in, int out);

struct matmul {
	const char *name;
	int row_multiple;                 /* rows must be a multiple of this */
	matmul_function *forward;         /* result[rows][out]  = activations[rows][in] * weights[in][out] */
	matmul_function *input_gradient;  /* result[rows][in]   = gradient[rows][out] * transposed weights[in][out] */
	matmul_function *weight_gradient; /* result[in][out]   += transposed activations[rows][in] * gradient[rows][out] */
};

/* The table is ended by a NULL name.  NULL when nothing has that name in this build. */
extern const struct matmul matmul_table[];
const struct matmul *matmul_find(const char *name);

#endif

#include "matmul.h"

#include "vector.h"

#include <string.h>

#ifndef WITHOUT_BLAS
#include <cblas.h>
#endif

/* ---- textbook: three loops, the innermost along memory, rows shared out among threads ---- */

static void textbook_forward(struct arena *scratch, float *result, const float *left, const float *right, int rows,
			     int in, int out)
{
	int row, i, o;

	(void)scratch;
#pragma omp parallel for private(i, o)
	for (row = 0; row < rows; row++) {
		const float *x = left + (size_t)row * in;
		float *y = result + (size_t)row * out;

		for (o = 0; o < out; o++)
			y[o] = 0;
		for (i = 0; i < in; i++)
			add_scaled(y, x[i], right + (size_t)i * out, out);
	}
}

static void textbook_input_gradient(struct arena *scratch, float *result, const float *left, const float *right,
				    int rows, int in, int out)
{
	int row, i;

	(void)scratch;
#pragma omp parallel for private(i)
	for (row = 0; row < rows; row++)
		for (i = 0; i < in; i++)
			result[(size_t)row * in + i] = dot(left + (size_t)row * out, right + (size_t)i * out, out);
}

static void textbook_weight_gradient(struct arena *scratch, float *result, const float *left, const float *right,
				     int rows, int in, int out)
{
	int row, i;

	(void)scratch;
#pragma omp parallel for private(row)
	for (i = 0; i < in; i++)
		for (row = 0; row < rows; row++)
			add_scaled(result + (size_t)i * out, left[(size_t)row * in + i], right + (size_t)row * out, out);
}

/* ---- blocked: a tile of the result stays in registers ---- */

#define TILE_ROWS 4
#define TILE_COLUMNS 8

/* Eight neighbours, at any address that is good for a float; the compiler maps them to whatever vectors there are. */
typedef float lanes __attribute__((vector_size(TILE_COLUMNS * sizeof(float)), aligned(sizeof(float)), may_alias));

struct strided {
	const float *at;
	size_t row, step; /* distance between rows of the tile, and between steps of the sum */
};

/* result[4][8] (+)= sum over depth of left[4][depth] * right[depth][8]. */
static void tile_multiply(float *result, size_t result_row, struct strided left, const float *right, size_t right_step,
			  int depth, int accumulate)
{
	const float *a0 = left.at, *a1 = a0 + left.row, *a2 = a1 + left.row, *a3 = a2 + left.row;
	lanes *r0 = (lanes *)result, *r1 = (lanes *)(result + result_row);
	lanes *r2 = (lanes *)(result + 2 * result_row), *r3 = (lanes *)(result + 3 * result_row);
	lanes sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
	int k;

	for (k = 0; k < depth; k++) {
		lanes b = *(const lanes *)(right + k * right_step);
		size_t at = k * left.step;

		sum0 += a0[at] * b;
		sum1 += a1[at] * b;
		sum2 += a2[at] * b;
		sum3 += a3[at] * b;
	}
	if (accumulate) {
		sum0 += *r0;
		sum1 += *r1;
		sum2 += *r2;
		sum3 += *r3;
	}
	*r0 = sum0;
	*r1 = sum1;
	*r2 = sum2;
	*r3 = sum3;
}

static void blocked_multiply(float *result, struct strided left, const float *right, int rows, int depth, int columns,
			     int accumulate)
{
	int row, column;

#pragma omp parallel for collapse(2)
	for (row = 0; row < rows; row += TILE_ROWS)
		for (column = 0; column < columns; column += TILE_COLUMNS) {
			struct strided tile = {left.at + row * left.row, left.row, left.step};

			tile_multiply(result + (size_t)row * columns + column, columns, tile, right + column, columns,
				      depth, accumulate);
		}
}

static void blocked_forward(struct arena *scratch, float *result, const float *left, const float *right, int rows,
			    int in, int out)
{
	struct strided x = {left, in, 1};

	(void)scratch;
	blocked_multiply(result, x, right, rows, in, out, 0);
}

/* The tile wants rows of the right factor, so the weights are transposed first. */
static void blocked_input_gradient(struct arena *scratch, float *result, const float *left, const float *right,
				   int rows, int in, int out)
{
	size_t mark = arena_mark(scratch);
	float *transposed = arena_floats(scratch, (size_t)in * out, "transposed weights");
	struct strided dy = {left, out, 1};
	int i, o;

#pragma omp parallel for private(i)
	for (o = 0; o < out; o++)
		for (i = 0; i < in; i++)
			transposed[(size_t)o * in + i] = right[(size_t)i * out + o];
	blocked_multiply(result, dy, transposed, rows, out, in, 0);
	arena_release(scratch, mark);
}

static void blocked_weight_gradient(struct arena *scratch, float *result, const float *left, const float *right,
				    int rows, int in, int out)
{
	struct strided x = {left, 1, in};

	(void)scratch;
	blocked_multiply(result, x, right, in, rows, out, 1);
}

/* ---- blas ---- */

#ifndef WITHOUT_BLAS
static void blas_forward(struct arena *scratch, float *result, const float *left, const float *right, int rows, int in,
			 int out)
{
	(void)scratch;
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, out, in, 1.0f, left, in, right, out, 0.0f, result,
		    out);
}

static void blas_input_gradient(struct arena *scratch, float *result, const float *left, const float *right, int rows,
				int in, int out)
{
	(void)scratch;
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, in, out, 1.0f, left, out, right, out, 0.0f, result,
		    in);
}

static void blas_weight_gradient(struct arena *scratch, float *result, const float *left, const float *right, int rows,
				 int in, int out)
{
	(void)scratch;
	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, in, out, rows, 1.0f, left, in, right, out, 1.0f, result,
		    out);
}
#endif

const struct matmul matmul_table[] = {
	{"textbook", 1, textbook_forward, textbook_input_gradient, textbook_weight_gradient},
	{"blocked", TILE_ROWS, blocked_forward, blocked_input_gradient, blocked_weight_gradient},
#ifndef WITHOUT_BLAS
	{"blas", 1, blas_forward, blas_input_gradient, blas_weight_gradient},
#endif
	{NULL, 0, NULL, NULL, NULL},
};

const struct matmul *matmul_find(const char *name)
{
	const struct matmul *entry;

	for (entry = matmul_table; entry->name; entry++)
		if (!strcmp(entry->name, name))
			return entry;
	return NULL;
}

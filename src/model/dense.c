#include "base/base.h"

#include <math.h>
#include <string.h>

#include "model/dense.h"

double dot(const double *a, const double *b, int n)
{
	double part[4] = {0, 0, 0, 0};
	int i = 0;
	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			part[k] += a[i + k] * b[i + k];
	for (; i < n; i++)
		part[0] += a[i] * b[i];
	return (part[0] + part[1]) + (part[2] + part[3]);
}

bool cholesky(double *a, int n)
{
	for (int i = 0; i < n; i++) {
		double *row = a + (size_t)i * (size_t)n;
		for (int j = 0; j < i; j++) {
			const double *other = a + (size_t)j * (size_t)n;
			row[j] = (row[j] - dot(row, other, j)) / other[j];
		}
		double pivot = row[i] - dot(row, row, i);
		if (!(pivot > 0) || !isfinite(pivot))
			return false;
		row[i] = sqrt(pivot);
	}
	return true;
}

bool cholesky_with_jitter(const double *a, int n, double jitter, double jitter_max, double *l)
{
	/* 1.5: multiplying by ten may land a rounding error above jitter_max. */
	while (jitter <= 1.5 * jitter_max) {
		memcpy(l, a, (size_t)n * (size_t)n * sizeof(*l));
		for (int i = 0; i < n; i++)
			l[(size_t)i * (size_t)n + (size_t)i] += jitter;
		if (cholesky(l, n))
			return true;
		jitter *= 10;
	}
	return false;
}

void solve_lower(const double *l, int n, double *x)
{
	for (int i = 0; i < n; i++) {
		const double *row = l + (size_t)i * (size_t)n;
		x[i] = (x[i] - dot(row, x, i)) / row[i];
	}
}

void solve_lower_transposed(const double *l, int n, double *x)
{
	for (int i = n - 1; i >= 0; i--) {
		x[i] /= l[(size_t)i * (size_t)n + (size_t)i];
		/* Row by row, so that memory is walked in order. */
		const double *row = l + (size_t)i * (size_t)n;
		for (int j = 0; j < i; j++)
			x[j] -= row[j] * x[i];
	}
}

enum { BLOCK = 32 }; /* columns solved together: 500 rows of them stay in a core's cache */

/* A constant count and no aliasing: compilers vectorise it, with the same result for each element. */
static void subtract_block(double *restrict x, const double *restrict y, double factor)
{
	for (int k = 0; k < BLOCK; k++)
		x[k] -= factor * y[k];
}

static void subtract_some(double *restrict x, const double *restrict y, double factor, size_t n)
{
	for (size_t k = 0; k < n; k++)
		x[k] -= factor * y[k];
}

void solve_lower_many(const double *l, int n, double *x, size_t m)
{
	for (size_t first = 0; first < m; first += BLOCK) {
		size_t width = MIN_OF((size_t)BLOCK, m - first);
		for (int i = 0; i < n; i++) {
			const double *row = l + (size_t)i * (size_t)n;
			double *xi = x + (size_t)i * m + first;
			for (int j = 0; j < i; j++) {
				const double *xj = x + (size_t)j * m + first;
				if (width == BLOCK)
					subtract_block(xi, xj, row[j]);
				else
					subtract_some(xi, xj, row[j], width);
			}
			for (size_t k = 0; k < width; k++)
				xi[k] /= row[i];
		}
	}
}

void transpose(const double *from, size_t rows, size_t columns, double *to)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++)
			to[j * rows + i] = from[i * columns + j];
}

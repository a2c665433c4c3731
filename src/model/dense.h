/*
 * Dense linear algebra in plain C, so that a decision is the same on every machine. Matrices are square,
 * row-major, n x n; only the lower triangle is read and written.
 */
#ifndef INFRARSI_MODEL_DENSE_H
#define INFRARSI_MODEL_DENSE_H

#include "base/base.h"

/* A = L L', L over A. False when a pivot is not positive; A is then spoilt. */
bool cholesky(double *a, int n);
/* L of (A + jitter I) into l; on a failing pivot the jitter grows tenfold, up to jitter_max. False beyond. */
bool cholesky_with_jitter(const double *a, int n, double jitter, double jitter_max, double *l);
void solve_lower(const double *l, int n, double *x);            /* x := L^-1 x */
void solve_lower_transposed(const double *l, int n, double *x); /* x := L'^-1 x */
/* L^-1 X for the `m` columns of X: n x m, row-major. */
void solve_lower_many(const double *l, int n, double *x, size_t m);
/* Summed in four interleaved parts, always in the same order. */
double dot(const double *a, const double *b, int n);
/* to := from transposed; from is rows x columns. */
void transpose(const double *from, size_t rows, size_t columns, double *to);

#endif

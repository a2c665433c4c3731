/*
 * How well predictions agree with what was measured.
 *
 *     double tau = rank_correlation(predicted, measured, n);
 *     slope_through_origin(predicted, measured, measured_sd, n, &share, &share_sd);
 */
#ifndef INFRARSI_STATS_AGREEMENT_H
#define INFRARSI_STATS_AGREEMENT_H

#include "base/base.h"

/* Kendall's tau-b, -1 to 1: of all pairs that neither side ties, those in the same order less those in the
 * opposite one, with its correction for ties. NAN below 3 points and where all of one side are equal. */
double rank_correlation(const double *x, const double *y, size_t n);

/* y = slope * x by weighted least squares, weights 1/sd^2. The slope's sd follows from the sds, and is
 * widened where the points scatter more than those say. NAN both where no x differs from 0. */
void slope_through_origin(
	const double *x, const double *y, const double *sd, size_t n, double *ret_slope, double *ret_sd);

#endif

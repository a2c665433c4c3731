/*
 * The normal distribution far into its tails (CONTROLLER section 3). Arguments below -1e6 count as -1e6.
 */
#ifndef INFRARSI_MODEL_NORMAL_TAIL_H
#define INFRARSI_MODEL_NORMAL_TAIL_H

#include "base/base.h"

double normal_log_cdf(double t); /* ln Phi(t) */
double normal_hazard(double t);  /* phi(t) / Phi(t) */
double normal_cdf(double t);
double normal_log_pdf(double t);
/* ln(Phi(b) - Phi(a)) for a < b, by a difference on the tail that holds the mass. */
double normal_log_interval(double a, double b);

#endif

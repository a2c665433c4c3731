/* The arithmetic of the tree-structured Parzen estimator as Optuna 3 has it for categorical parameters. */
#ifndef INFRARSI_SEARCH_STRATEGY_TPE_H
#define INFRARSI_SEARCH_STRATEGY_TPE_H

#include "base/base.h"

/* How many of n trials count as good: min(ceil(n / 10), 25). */
size_t tpe_good(size_t n);
/* Probability of each setting given the `n` seen, oldest first: a mixture of one kernel per trial, which has
 * 1 + w at its own setting and w elsewhere (normalised; w = prior weight 1 / number of kernels), and a
 * uniform one for the prior. Beyond 25 trials the oldest kernels weigh less: a ramp from 1/n to 1. */
void tpe_parzen(const int *seen, size_t n, int n_settings, double *ret_p);

#endif

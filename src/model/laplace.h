/*
 * Gaussian latent values seen through exact, one-sided or interval readings: Laplace's approximation around
 * the mode that damped Newton steps find in the dual form (CONTROLLER section 3; Rasmussen and Williams 2006,
 * algorithms 3.1 and 3.2). Every likelihood is log-concave: there is one mode.
 *
 *     laplace_init(&p, room, noise_sd);
 *     laplace_add(&p, READ_AT_LEAST, low, 0);
 *     fill p.prior_mean and p.kernel (n x n, both triangles, the jitter on its diagonal included)
 *     if (laplace_find_mode(&p))
 *             mean = prior mean + dot(k, p.slope, p.n); variance = prior variance - |L^-1 W^1/2 k|^2
 *     laplace_release(&p);
 *
 * The fields from `dual` on are results.
 */
#ifndef INFRARSI_MODEL_LAPLACE_H
#define INFRARSI_MODEL_LAPLACE_H

#include "base/base.h"

enum reading { READ_EXACT, READ_AT_LEAST, READ_AT_MOST, READ_BETWEEN };

struct laplace_row {
	enum reading reading;
	double low, high; /* the exact value and either bound are `low` */
};

struct laplace {
	int n;
	double noise_sd;
	struct laplace_row *row;
	double *kernel, *prior_mean;
	double *dual, *mode;       /* a and f of the recipe */
	double *slope, *curvature; /* first and negative second derivative of ln likelihood at the mode */
	double *lower;             /* Cholesky factor of B = I + W^1/2 K W^1/2 */
	/* psi - sum of ln diag L - n_exact ln sigma: comparable between kernels of the same readings. */
	double log_evidence;
};

void laplace_init(struct laplace *p, size_t room, double noise_sd);
void laplace_add(struct laplace *p, enum reading reading, double low, double high);
/* False: the readings are no finite numbers. */
bool laplace_find_mode(struct laplace *p);
/* k := L^-1 W^1/2 k; returns |k|^2 afterwards: what the readings take from the prior variance. */
double laplace_whiten(const struct laplace *p, double *k);
void laplace_release(struct laplace *p);

#endif

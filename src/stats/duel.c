#include "base/base.h"

#include <math.h>

#include "stats/noise.h"

/* The chance, over all finalists of one campaign, that a change without effect is delivered. */
static const double false_promotion = 0.005;

int duel_pairs_wanted(double sigma_pair)
{
	return sigma_pair < 0.002 ? 2 : 4;
}

static double squared_deviations(const double *x, size_t n, double mean)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

/* The pooled sigma may fall below sigma_pair, also below its floors, when the pairs happen to agree: the t
 * quantile at nu already prices that, and raising sigma as well would cost power for nothing. The calibrated
 * value stays the floor of the decision through the margin. (exp(2 sigma_pair) - 1 as a gain is
 * 2 sigma_pair as a ln ratio.) */
void duel_judge(const struct duel_input *in, struct duel_result *ret_result)
{
	struct duel_result r = {.pairs = (int)in->n_pairs};
	double reference_dof = in->reference_runs > 1 ? in->reference_runs - 1 : 0;
	double pair_dof = in->n_pairs > 1 ? (double)(in->n_pairs - 1) : 0;
	r.gain_ln = mean_of(in->pair_ln, in->n_pairs);
	r.nu = reference_dof + pair_dof;
	if (!isfinite(r.gain_ln) || r.nu < 1 || !(in->sigma_pair >= 0) || in->finalists_allowed < 1) {
		r.low_ln = -INFINITY;
		r.high_ln = INFINITY;
		r.sigma = INFINITY;
		r.threshold_ln = INFINITY;
		*ret_result = r;
		return;
	}
	double squares = reference_dof * in->sigma_pair * in->sigma_pair +
			 squared_deviations(in->pair_ln, in->n_pairs, r.gain_ln);
	r.sigma = sqrt(squares / r.nu);
	double standard_error = r.sigma / sqrt((double)in->n_pairs);
	double reach = student_t_quantile(0.975, r.nu) * standard_error;
	r.low_ln = r.gain_ln - reach;
	r.high_ln = r.gain_ln + reach;
	double t = student_t_quantile(1 - false_promotion / in->finalists_allowed, r.nu);
	r.threshold_ln = fmax(t * standard_error, 2 * in->sigma_pair);
	r.delivered = r.gain_ln > r.threshold_ln;
	*ret_result = r;
}

#include "base/base.h"

#include <math.h>

#include "search/worth.h"

static double normal_cdf(double x)
{
	return 0.5 * erfc(-x / M_SQRT2);
}

double worth_improvement(double mean_ln, double sd_ln, double incumbent_ln)
{
	double strike = exp(-incumbent_ln);
	if (!(sd_ln > 0))
		return fmax(strike - exp(-mean_ln), 0);
	double d = (mean_ln - incumbent_ln) / sd_ln;
	/* Far below the incumbent the two products are almost equal, and their difference may round below 0.
	 */
	return fmax(strike * normal_cdf(d) - exp(-mean_ln + 0.5 * sd_ln * sd_ln) * normal_cdf(d - sd_ln), 0);
}

double worth_of(const struct decision *d)
{
	if (!isfinite(d->mean_ln) || !isfinite(d->sd_ln) || !isfinite(d->incumbent_ln))
		return NAN;
	return d->p_fits * d->p_ok * worth_improvement(d->mean_ln, d->sd_ln, d->incumbent_ln);
}

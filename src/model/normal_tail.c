#include "base/base.h"

#include <cerf.h>
#include <math.h>

#include "model/normal_tail.h"

#define T_LOWEST (-1e6)

static const double half_log_two_pi = 0.91893853320467274178;

double normal_log_pdf(double t)
{
	return -0.5 * t * t - half_log_two_pi;
}

double normal_log_cdf(double t)
{
	if (t >= 0)
		return log1p(-0.5 * erfc(t * M_SQRT1_2));
	t = fmax(t, T_LOWEST);
	return -0.5 * t * t + log(0.5 * erfcx(-t * M_SQRT1_2));
}

double normal_hazard(double t)
{
	if (t >= 0)
		return exp(normal_log_pdf(t) - normal_log_cdf(t));
	t = fmax(t, T_LOWEST);
	/* sqrt(2/pi) */
	return 0.79788456080286535588 / erfcx(-t * M_SQRT1_2);
}

double normal_cdf(double t)
{
	return 0.5 * erfc(-t * M_SQRT1_2);
}

double normal_log_interval(double a, double b)
{
	double larger, smaller;
	if (a > 0) {
		larger = normal_log_cdf(-a);
		smaller = normal_log_cdf(-b);
	} else {
		larger = normal_log_cdf(b);
		smaller = normal_log_cdf(a);
	}
	return larger + log1p(-exp(smaller - larger));
}

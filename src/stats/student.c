/* Student's t distribution by the incomplete beta function:
 * P(T > t) = I_x(nu/2, 1/2) / 2 with x = nu / (nu + t^2), t >= 0 (DLMF 8.17). */
#include "base/base.h"

#include <math.h>

#include "stats/noise.h"

/* ln B(a, 1/2). For large a the difference of two lgamma() would lose its digits: there the expansion of
 * ln(Gamma(a + 1/2) / Gamma(a)) (Tricomi and Erdelyi 1951) is exact to rounding. */
static double ln_beta_half(double a)
{
	static const double ln_gamma_half = 0.57236494292470008707; /* ln sqrt(pi) */
	if (a < 20) {
		int sign;
		return ln_gamma_half + lgamma_r(a, &sign) - lgamma_r(a + 0.5, &sign);
	}
	double v = 1 / (a * a);
	double series = (1.0 / 8 - v * (1.0 / 192 - v * (1.0 / 640 - v * 17.0 / 14336))) / a;
	return ln_gamma_half - 0.5 * log(a) + series;
}

/* The continued fraction of I_x(a, b) (DLMF 8.17.22) by Lentz's method; converges for
 * x < (a + 1) / (a + b + 2) in about sqrt(max(a, b)) terms. */
static double beta_fraction(double x, double a, double b)
{
	static const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1);
	d = 1 / (fabs(d) < tiny ? tiny : d);
	double value = d;
	for (int m = 1; m < 100000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double change = 1;
		for (int k = 0; k < 2; k++) {
			double term = k == 0 ? even : odd;
			d = 1 + term * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + term / c;
			c = fabs(c) < tiny ? tiny : c;
			value *= c * d;
			change = c * d;
		}
		if (fabs(change - 1) < 1e-16)
			break;
	}
	return value;
}

/* P(T > t) for t >= 0, to a relative 1e-13. */
static double upper_tail(double t, double nu)
{
	if (t == 0)
		return 0.5;
	double a = nu / 2, b = 0.5;
	double ln_ratio = 2 * log(t) - log(nu); /* of t^2 to nu; the ratio itself may overflow */
	double ratio = exp(ln_ratio);
	double ln_x = ln_ratio > 35 ? -ln_ratio : -log1p(ratio);
	double x = exp(ln_x), y = exp(ln_ratio + ln_x);
	double front = exp(a * ln_x + b * (ln_ratio + ln_x) - ln_beta_half(a));
	if (x < (a + 1) / (a + b + 2))
		return 0.5 * front * beta_fraction(x, a, b) / a;
	return 0.5 * (1 - front * beta_fraction(y, b, a) / b);
}

static double density(double t, double nu)
{
	return exp(-ln_beta_half(nu / 2) - 0.5 * log(nu) - 0.5 * (nu + 1) * log1p(t * t / nu));
}

double student_t_cdf(double t, double nu)
{
	if (isnan(t) || !(nu > 0) || isinf(nu))
		return NAN;
	if (isinf(t))
		return t > 0 ? 1 : 0;
	double tail = upper_tail(fabs(t), nu);
	return t > 0 ? 1 - tail : tail;
}

/* The t >= 0 with P(T > t) = tail. Newton on ln P, which is concave in t, inside a bracket that bisects where
 * a step leaves it. */
static double upper_quantile(double tail, double nu)
{
	double low = 0, high = 1;
	while (upper_tail(high, nu) > tail) {
		low = high;
		high *= 2;
		if (isinf(high))
			return INFINITY;
	}
	double t = 0.5 * (low + high);
	for (int i = 0; i < 200; i++) {
		double p = upper_tail(t, nu);
		if (p > tail)
			low = t;
		else
			high = t;
		double next = t + p / density(t, nu) * log(p / tail);
		if (!(next > low && next < high))
			next = 0.5 * (low + high);
		double moved = fabs(next - t);
		t = next;
		if (moved <= 4e-16 * t)
			break;
	}
	return t;
}

double student_t_quantile(double p, double nu)
{
	if (!(p >= 0 && p <= 1) || !(nu > 0) || isinf(nu))
		return NAN;
	if (p == 0 || p == 1)
		return p == 0 ? -INFINITY : INFINITY;
	if (p == 0.5)
		return 0;
	return p < 0.5 ? -upper_quantile(p, nu) : upper_quantile(1 - p, nu);
}

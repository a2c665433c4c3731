#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/dense.h"
#include "model/laplace.h"
#include "model/normal_tail.h"

enum { MAX_NEWTON_STEPS = 50, MAX_HALVINGS = 13 /* 2^-13: 1e-4 */ };

void laplace_init(struct laplace *p, size_t room, double noise_sd)
{
	size_t n = room + 1;
	*p = (struct laplace){.noise_sd = noise_sd};
	p->row = xcalloc(n, sizeof(*p->row));
	p->kernel = xcalloc(n * n, sizeof(double));
	p->lower = xcalloc(n * n, sizeof(double));
	double **vectors[] = {&p->prior_mean, &p->dual, &p->mode, &p->slope, &p->curvature};
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
		*vectors[i] = xcalloc(n, sizeof(double));
}

void laplace_release(struct laplace *p)
{
	void *arrays[] = {
		p->row, p->kernel, p->lower, p->prior_mean, p->dual, p->mode, p->slope, p->curvature};
	for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
		free(arrays[i]);
	*p = (struct laplace){0};
}

void laplace_add(struct laplace *p, enum reading reading, double low, double high)
{
	p->row[p->n++] = (struct laplace_row){reading, low, high};
}

/* ------------------------------------------------------------- likelihood */

struct likelihood {
	double log, slope, curvature;
};

static struct likelihood exact_likelihood(const struct laplace_row *row, double f, double sd)
{
	double r = (row->low - f) / sd;
	return (struct likelihood){-0.5 * r * r, r / sd, 1 / (sd * sd)};
}

static struct likelihood at_least_likelihood(const struct laplace_row *row, double f, double sd)
{
	double t = (f - row->low) / sd;
	double h = normal_hazard(t);
	return (struct likelihood){normal_log_cdf(t), h / sd, h * (h + t) / (sd * sd)};
}

static struct likelihood at_most_likelihood(const struct laplace_row *row, double f, double sd)
{
	double t = (row->low - f) / sd;
	double h = normal_hazard(t);
	return (struct likelihood){normal_log_cdf(t), -h / sd, h * (h + t) / (sd * sd)};
}

static struct likelihood between_likelihood(const struct laplace_row *row, double f, double sd)
{
	double a = (row->low - f) / sd, b = (row->high - f) / sd;
	double log_mass = normal_log_interval(a, b);
	double pa = exp(normal_log_pdf(a) - log_mass), pb = exp(normal_log_pdf(b) - log_mass);
	double difference = pa - pb;
	return (struct likelihood){
		log_mass, difference / sd, (difference * difference - (a * pa - b * pb)) / (sd * sd)};
}

static struct likelihood (*const likelihood_of[])(const struct laplace_row *row, double f, double sd) = {
	[READ_EXACT] = exact_likelihood,
	[READ_AT_LEAST] = at_least_likelihood,
	[READ_AT_MOST] = at_most_likelihood,
	[READ_BETWEEN] = between_likelihood,
};

/* ------------------------------------------------------------- Newton */

/* psi = ln likelihood - a'(f - m0)/2 at the dual point a; fills f and the derivatives. */
static double evaluate(struct laplace *p, const double *dual)
{
	int n = p->n;
	double psi = 0;
	for (int i = 0; i < n; i++) {
		double change = dot(p->kernel + (size_t)i * (size_t)n, dual, n);
		p->mode[i] = p->prior_mean[i] + change;
		struct likelihood l = likelihood_of[p->row[i].reading](&p->row[i], p->mode[i], p->noise_sd);
		p->slope[i] = l.slope;
		p->curvature[i] = fmax(l.curvature, 1e-12 / (p->noise_sd * p->noise_sd));
		psi += l.log - 0.5 * dual[i] * change;
	}
	return psi;
}

static bool factorise(struct laplace *p)
{
	size_t n = (size_t)p->n;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			p->lower[i * n + j] = (i == j) + sqrt(p->curvature[i]) * p->kernel[i * n + j] *
								 sqrt(p->curvature[j]);
	return cholesky(p->lower, p->n);
}

/* a+ = b - W^1/2 B^-1 W^1/2 K b, b = W(f - m0) + g. */
static void newton_target(const struct laplace *p, double *b, double *ret_target)
{
	int n = p->n;
	for (int i = 0; i < n; i++)
		b[i] = p->curvature[i] * (p->mode[i] - p->prior_mean[i]) + p->slope[i];
	for (int i = 0; i < n; i++)
		ret_target[i] = sqrt(p->curvature[i]) * dot(p->kernel + (size_t)i * (size_t)n, b, n);
	solve_lower(p->lower, n, ret_target);
	solve_lower_transposed(p->lower, n, ret_target);
	for (int i = 0; i < n; i++)
		ret_target[i] = b[i] - sqrt(p->curvature[i]) * ret_target[i];
}

/* Halves the step while psi decreases; returns the new psi. */
static double line_search(struct laplace *p, double psi, const double *target, double *trial)
{
	double reached = psi;
	for (int halvings = 0; halvings <= MAX_HALVINGS; halvings++) {
		double step = ldexp(1, -halvings);
		for (int i = 0; i < p->n; i++)
			trial[i] = p->dual[i] + step * (target[i] - p->dual[i]);
		reached = evaluate(p, trial);
		if (reached >= psi)
			break;
	}
	memcpy(p->dual, trial, (size_t)p->n * sizeof(*trial));
	return reached;
}

static double evidence_of(const struct laplace *p, double psi)
{
	double evidence = psi;
	for (int i = 0; i < p->n; i++) {
		evidence -= log(p->lower[(size_t)i * (size_t)p->n + (size_t)i]);
		if (p->row[i].reading == READ_EXACT)
			evidence -= log(p->noise_sd);
	}
	return evidence;
}

bool laplace_find_mode(struct laplace *p)
{
	size_t n = (size_t)p->n;
	CLEANUP(free_ptr) double *b = xcalloc(n + 1, sizeof(*b));
	CLEANUP(free_ptr) double *target = xcalloc(n + 1, sizeof(*target));
	CLEANUP(free_ptr) double *trial = xcalloc(n + 1, sizeof(*trial));
	memset(p->dual, 0, n * sizeof(*p->dual));
	double psi = evaluate(p, p->dual);
	for (int step = 0; step < MAX_NEWTON_STEPS; step++) {
		if (!factorise(p))
			return false;
		newton_target(p, b, target);
		double before = psi;
		psi = line_search(p, psi, target, trial);
		if (fabs(psi - before) < 1e-8 * (1 + fabs(psi)))
			break;
	}
	if (!isfinite(psi) || !factorise(p))
		return false;
	p->log_evidence = evidence_of(p, psi);
	return true;
}

double laplace_whiten(const struct laplace *p, double *k)
{
	for (int i = 0; i < p->n; i++)
		k[i] *= sqrt(p->curvature[i]);
	solve_lower(p->lower, p->n, k);
	return dot(k, k, p->n);
}

/*
 * Rule R3: peak memory as a linear model with exact, right-censored and interval observations, by the Laplace
 * approximation around the mode that dual Newton steps find (CONTROLLER section 3; Rasmussen and Williams
 * 2006, algorithms 3.1 and 3.2). Inside, the unit is the device's capacity.
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/columns.h"
#include "model/dense.h"
#include "model/models.h"
#include "model/normal_tail.h"

static const double noise_sd = 0.02, kernel_jitter = 1e-9;
enum { MAX_NEWTON_STEPS = 50 };
/* Levers in which a configuration may differ from the anchor (below) and still be reckoned from it. */
enum { NEAR = 4 };

enum reading { READ_EXACT, READ_AT_LEAST, READ_BETWEEN };

struct memory_row {
	const int *setting; /* NULL = the reference */
	enum reading reading;
	double low, high; /* the exact value and the lower bound are `low` */
};

struct memory_model {
	struct columns columns;
	double unit_bytes; /* 0 = nothing limits memory: no model */
	double limit;      /* min(C, cap) */
	double base_mean, base_sd;
	double *mean, *variance; /* prior of each column */
	int n_rows;
	struct memory_row *row;
	double *kernel;            /* n x n, full */
	double *prior_mean;        /* of each row */
	double *dual, *peak;       /* a and f of the recipe; n */
	double *slope, *curvature; /* first and negative second derivative of ln likelihood at the mode */
	double *lower;             /* Cholesky factor of B = I + W^1/2 K W^1/2 */
	double *v;        /* L^-1 W^1/2 k_d of each column and, last, of the base; (n_columns + 1) x n */
	double *shift;    /* posterior mean - prior mean, of each column and of the base behind them */
	double *whitened; /* scratch of the prediction in progress */
	int *anchor;      /* whitened covariances of one configuration: its neighbours' differ little */
	double *anchor_whitened;
};

/* ------------------------------------------------------------- prior and rows */

static void fill_prior(struct memory_model *m)
{
	for (int j = 0; j < m->columns.n_columns; j++) {
		const struct lever_prior *p =
			&m->columns.levers[m->columns.lever[j]].prior[m->columns.setting[j]];
		double declared = p->declared_bytes / m->unit_bytes;
		double sd = fmax(0.04, 0.5 * fabs(declared));
		if (p->experienced)
			sd = p->memory_sd_bytes > 0 ? p->memory_sd_bytes / m->unit_bytes
						    : fmax(0.02, 0.3 * fabs(declared));
		m->mean[j] = declared;
		m->variance[j] = sd * sd;
	}
}

static void add_row(struct memory_model *m, const int *setting, enum reading reading, double low, double high)
{
	m->row[m->n_rows++] = (struct memory_row){setting, reading, low, high};
}

/* An out-of-memory failure whose message shows more free than it asked for is fragmentation: no bound. */
static void add_out_of_memory(struct memory_model *m, const int *setting, double shortfall_bytes)
{
	double shortfall = isnan(shortfall_bytes) ? 0 : shortfall_bytes / m->unit_bytes;
	if (shortfall >= 0)
		add_row(m, setting, READ_AT_LEAST, 1 + shortfall, 0);
}

static void add_reference(struct memory_model *m, const struct model_input *in)
{
	if (in->reference_runs == 0) {
		m->base_mean = 1.1;
		m->base_sd = 0.15;
		add_out_of_memory(m, NULL, in->reference_shortfall_bytes);
	} else if (isnan(in->reference_peak_bytes)) {
		/* Nothing is known but that it fits: a wide prior, cut at the capacity. */
		m->base_mean = 0.7;
		m->base_sd = 0.2;
		add_row(m, NULL, READ_BETWEEN, 0, 1);
	} else {
		m->base_mean = in->reference_peak_bytes / m->unit_bytes;
		m->base_sd = 0.005;
	}
}

static void add_observation(struct memory_model *m, const struct observation *o)
{
	bool finished = o->status == OBSERVED_OK || o->status == OBSERVED_INVALID;
	if (o->status == OBSERVED_OOM)
		add_out_of_memory(m, o->setting, o->shortfall_bytes);
	else if (finished && !isnan(o->peak_bytes))
		add_row(m, o->setting, READ_EXACT, o->peak_bytes / m->unit_bytes, 0);
	else if (o->thrash)
		add_row(m, o->setting, READ_BETWEEN, 0.9, 1);
}

static int row_setting(const struct memory_model *m, const struct memory_row *row, int lever)
{
	return row->setting ? row->setting[lever] : m->columns.levers[lever].reference;
}

static void fill_kernel(struct memory_model *m)
{
	size_t n = (size_t)m->n_rows;
	for (size_t i = 0; i < n; i++) {
		m->prior_mean[i] = m->base_mean;
		for (int l = 0; l < m->columns.n_levers; l++) {
			int column = columns_of(&m->columns, l, row_setting(m, &m->row[i], l));
			m->prior_mean[i] += column < 0 ? 0 : m->mean[column];
		}
		for (size_t j = 0; j <= i; j++) {
			double sum = m->base_sd * m->base_sd;
			for (int l = 0; l < m->columns.n_levers; l++) {
				int setting = row_setting(m, &m->row[i], l);
				int column = columns_of(&m->columns, l, setting);
				if (column >= 0 && setting == row_setting(m, &m->row[j], l))
					sum += m->variance[column];
			}
			m->kernel[i * n + j] = m->kernel[j * n + i] = sum;
		}
		m->kernel[i * n + i] += kernel_jitter;
	}
}

/* ------------------------------------------------------------- likelihood */

struct likelihood {
	double log, slope, curvature;
};

static struct likelihood exact_likelihood(const struct memory_row *row, double f)
{
	double r = (row->low - f) / noise_sd;
	return (struct likelihood){-0.5 * r * r, r / noise_sd, 1 / (noise_sd * noise_sd)};
}

static struct likelihood at_least_likelihood(const struct memory_row *row, double f)
{
	double t = (f - row->low) / noise_sd;
	double h = normal_hazard(t);
	return (struct likelihood){normal_log_cdf(t), h / noise_sd, h * (h + t) / (noise_sd * noise_sd)};
}

static struct likelihood between_likelihood(const struct memory_row *row, double f)
{
	double a = (row->low - f) / noise_sd, b = (row->high - f) / noise_sd;
	double log_mass = normal_log_interval(a, b);
	double pa = exp(normal_log_pdf(a) - log_mass), pb = exp(normal_log_pdf(b) - log_mass);
	double difference = pa - pb;
	return (struct likelihood){log_mass, difference / noise_sd,
		(difference * difference - (a * pa - b * pb)) / (noise_sd * noise_sd)};
}

static struct likelihood (*const likelihood_of[])(const struct memory_row *row, double f) = {
	[READ_EXACT] = exact_likelihood,
	[READ_AT_LEAST] = at_least_likelihood,
	[READ_BETWEEN] = between_likelihood,
};

/* psi = ln likelihood - a'(f - m0)/2 at the dual point a; fills f and the derivatives. */
static double evaluate(struct memory_model *m, const double *dual)
{
	int n = m->n_rows;
	double psi = 0;
	for (int i = 0; i < n; i++) {
		double change = dot(m->kernel + (size_t)i * (size_t)n, dual, n);
		m->peak[i] = m->prior_mean[i] + change;
		struct likelihood p = likelihood_of[m->row[i].reading](&m->row[i], m->peak[i]);
		m->slope[i] = p.slope;
		m->curvature[i] = fmax(p.curvature, 1e-12 / (noise_sd * noise_sd));
		psi += p.log - 0.5 * dual[i] * change;
	}
	return psi;
}

static bool factorise(struct memory_model *m)
{
	size_t n = (size_t)m->n_rows;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			m->lower[i * n + j] = (i == j) + sqrt(m->curvature[i]) * m->kernel[i * n + j] *
								 sqrt(m->curvature[j]);
	return cholesky(m->lower, m->n_rows);
}

/* a+ = b - W^1/2 B^-1 W^1/2 K b, b = W(f - m0) + g. */
static void newton_target(const struct memory_model *m, double *b, double *ret_target)
{
	int n = m->n_rows;
	for (int i = 0; i < n; i++)
		b[i] = m->curvature[i] * (m->peak[i] - m->prior_mean[i]) + m->slope[i];
	for (int i = 0; i < n; i++)
		ret_target[i] = sqrt(m->curvature[i]) * dot(m->kernel + (size_t)i * (size_t)n, b, n);
	solve_lower(m->lower, n, ret_target);
	solve_lower_transposed(m->lower, n, ret_target);
	for (int i = 0; i < n; i++)
		ret_target[i] = b[i] - sqrt(m->curvature[i]) * ret_target[i];
}

/* Halves the step while psi decreases, down to 2^-13 (1e-4); returns the new psi. */
static double line_search(struct memory_model *m, double psi, const double *target, double *trial)
{
	double reached = psi;
	for (int halvings = 0; halvings <= 13; halvings++) {
		double step = ldexp(1, -halvings);
		for (int i = 0; i < m->n_rows; i++)
			trial[i] = m->dual[i] + step * (target[i] - m->dual[i]);
		reached = evaluate(m, trial);
		if (reached >= psi)
			break;
	}
	memcpy(m->dual, trial, (size_t)m->n_rows * sizeof(*trial));
	return reached;
}

static bool find_mode(struct memory_model *m)
{
	size_t n = (size_t)m->n_rows;
	CLEANUP(free_ptr) double *b = xcalloc(n + 1, sizeof(*b));
	CLEANUP(free_ptr) double *target = xcalloc(n + 1, sizeof(*target));
	CLEANUP(free_ptr) double *trial = xcalloc(n + 1, sizeof(*trial));
	double psi = evaluate(m, m->dual);
	for (int step = 0; step < MAX_NEWTON_STEPS; step++) {
		if (!factorise(m))
			return false;
		newton_target(m, b, target);
		double before = psi;
		psi = line_search(m, psi, target, trial);
		if (fabs(psi - before) < 1e-8 * (1 + fabs(psi)))
			break;
	}
	return isfinite(psi) && factorise(m);
}

/* ------------------------------------------------------------- fit and predict */

static void fill_posterior(struct memory_model *m)
{
	size_t n = (size_t)m->n_rows;
	int n_columns = m->columns.n_columns;
	size_t width = (size_t)n_columns + 1;
	CLEANUP(free_ptr) double *v = xcalloc(n * width + 1, sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		double root = sqrt(m->curvature[i]), base_variance = m->base_sd * m->base_sd;
		for (int l = 0; l < m->columns.n_levers; l++) {
			int d = columns_of(&m->columns, l, row_setting(m, &m->row[i], l));
			if (d < 0)
				continue;
			v[i * width + (size_t)d] = root * m->variance[d];
			m->shift[d] += m->variance[d] * m->slope[i];
		}
		v[i * width + (size_t)n_columns] = root * base_variance;
		m->shift[n_columns] += base_variance * m->slope[i];
	}
	solve_lower_many(m->lower, m->n_rows, v, width);
	transpose(v, n, width, m->v);
}

/* The reference is the first anchor: only the base is behind it. */
static void set_anchor_at_reference(struct memory_model *m)
{
	for (int l = 0; l < m->columns.n_levers; l++)
		m->anchor[l] = m->columns.levers[l].reference;
	memcpy(m->anchor_whitened, m->v + (size_t)m->columns.n_columns * (size_t)m->n_rows,
		(size_t)m->n_rows * sizeof(double));
}

static void allocate(struct memory_model *m, size_t n_observations)
{
	size_t n = n_observations + 1, columns = (size_t)m->columns.n_columns + 1;
	m->mean = xcalloc(columns, sizeof(double));
	m->variance = xcalloc(columns, sizeof(double));
	m->shift = xcalloc(columns, sizeof(double));
	m->row = xcalloc(n, sizeof(*m->row));
	m->kernel = xcalloc(n * n, sizeof(double));
	m->lower = xcalloc(n * n, sizeof(double));
	double **vectors[] = {&m->prior_mean, &m->dual, &m->peak, &m->slope, &m->curvature,
		&m->anchor_whitened, &m->whitened};
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
		*vectors[i] = xcalloc(n, sizeof(double));
	m->v = xcalloc(n * columns, sizeof(double));
	m->anchor = xcalloc((size_t)m->columns.n_levers + 1, sizeof(*m->anchor));
}

enum err_code memory_model_fit(
	const struct model_input *in, struct memory_model **ret_model, struct err *reterr)
{
	struct memory_model *m = xcalloc(1, sizeof(*m));
	double limit = fmin(in->capacity_bytes, in->memory_cap_bytes);
	columns_init(&m->columns, in->levers, in->n_levers);
	if (isfinite(limit)) {
		m->unit_bytes = isfinite(in->capacity_bytes) ? in->capacity_bytes : limit;
		m->limit = limit / m->unit_bytes;
		allocate(m, in->n_observations);
		fill_prior(m);
		add_reference(m, in);
		for (size_t i = 0; i < in->n_observations; i++)
			add_observation(m, &in->observations[i]);
		fill_kernel(m);
		if (!find_mode(m)) {
			memory_model_free(m);
			return err_set(reterr, ERR_FAILED,
				"memory model: the memory readings are not finite numbers");
		}
		fill_posterior(m);
		set_anchor_at_reference(m);
	}
	*ret_model = m;
	return OK;
}

void memory_model_free(struct memory_model *m)
{
	if (!m)
		return;
	columns_release(&m->columns);
	void *arrays[] = {m->mean, m->variance, m->shift, m->row, m->kernel, m->lower, m->prior_mean, m->dual,
		m->peak, m->slope, m->curvature, m->v, m->whitened, m->anchor, m->anchor_whitened};
	for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
		free(arrays[i]);
	free(m);
}

static void add_column(const struct memory_model *m, int column, double sign, double *whitened)
{
	if (column < 0)
		return;
	const double *v = m->v + (size_t)column * (size_t)m->n_rows;
	for (int i = 0; i < m->n_rows; i++)
		whitened[i] += sign * v[i];
}

static void add_change(const struct memory_model *m, const int *from, const int *to, double *whitened)
{
	for (int l = 0; l < m->columns.n_levers; l++) {
		if (from[l] == to[l])
			continue;
		add_column(m, columns_of(&m->columns, l, to[l]), 1, whitened);
		add_column(m, columns_of(&m->columns, l, from[l]), -1, whitened);
	}
}

/* L^-1 W^1/2 k of the configuration, from the anchor where that is near; a far one becomes the anchor. */
static void whiten(struct memory_model *m, const int *setting)
{
	size_t n = (size_t)m->n_rows;
	if (settings_apart(setting, m->anchor, m->columns.n_levers) > NEAR) {
		set_anchor_at_reference(m);
		add_change(m, m->anchor, setting, m->anchor_whitened);
		memcpy(m->anchor, setting, (size_t)m->columns.n_levers * sizeof(*m->anchor));
	}
	memcpy(m->whitened, m->anchor_whitened, n * sizeof(double));
	add_change(m, m->anchor, setting, m->whitened);
}

void memory_model_predict(struct memory_model *m, const int *setting, double *ret_peak_bytes,
	double *ret_sd_bytes, double *ret_p_fits)
{
	if (m->unit_bytes == 0) {
		*ret_peak_bytes = *ret_sd_bytes = NAN;
		*ret_p_fits = 1;
		return;
	}
	double mean = m->base_mean + m->shift[m->columns.n_columns];
	double variance = m->base_sd * m->base_sd;
	for (int l = 0; l < m->columns.n_levers; l++) {
		int d = columns_of(&m->columns, l, setting[l]);
		if (d < 0)
			continue;
		mean += m->mean[d] + m->shift[d];
		variance += m->variance[d];
	}
	whiten(m, setting);
	variance = fmax(variance - dot(m->whitened, m->whitened, m->n_rows), 0);
	*ret_peak_bytes = mean * m->unit_bytes;
	*ret_sd_bytes = sqrt(variance) * m->unit_bytes;
	*ret_p_fits = normal_cdf((m->limit - mean) / sqrt(variance + noise_sd * noise_sd));
}

void memory_model_setting(
	const struct memory_model *m, int lever, int setting, double *ret_mean_bytes, double *ret_sd_bytes)
{
	int d = columns_of(&m->columns, lever, setting);
	if (m->unit_bytes == 0 || d < 0) {
		*ret_mean_bytes = *ret_sd_bytes = m->unit_bytes == 0 ? NAN : 0;
		return;
	}
	const double *v = m->v + (size_t)d * (size_t)m->n_rows;
	*ret_mean_bytes = (m->mean[d] + m->shift[d]) * m->unit_bytes;
	*ret_sd_bytes = sqrt(fmax(m->variance[d] - dot(v, v, m->n_rows), 0)) * m->unit_bytes;
}

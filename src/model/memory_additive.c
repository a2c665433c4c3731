/* Rule R3: peak memory as a linear model. Inside, the unit is the device's capacity. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/columns.h"
#include "model/dense.h"
#include "model/laplace.h"
#include "model/memory_int.h"
#include "model/normal_tail.h"

static const double noise_sd = 0.02, kernel_jitter = 1e-9;
/* Levers in which a configuration may differ from the anchor (below) and still be reckoned from it. */
enum { NEAR = 4 };

struct memory_additive {
	struct columns columns;
	double unit_bytes;
	double limit; /* min(C, cap) */
	double base_mean, base_sd;
	double *mean, *variance; /* prior of each column */
	struct laplace laplace;
	const int **row_setting; /* NULL = the reference */
	double *v;        /* L^-1 W^1/2 k_d of each column and, last, of the base; (n_columns + 1) x n */
	double *shift;    /* posterior mean - prior mean, of each column and of the base behind them */
	double *whitened; /* scratch of the prediction in progress */
	int *anchor;      /* whitened covariances of one configuration: its neighbours' differ little */
	double *anchor_whitened;
};

/* ------------------------------------------------------------- prior and rows */

static void fill_prior(struct memory_additive *m)
{
	for (int j = 0; j < m->columns.n_columns; j++) {
		const struct lever_prior *p =
			&m->columns.levers[m->columns.lever[j]].prior[m->columns.setting[j]];
		double sd = memory_prior_sd_bytes(p, m->unit_bytes) / m->unit_bytes;
		m->mean[j] = p->declared_bytes / m->unit_bytes;
		m->variance[j] = sd * sd;
	}
}

static void add_row(struct memory_additive *m, const int *setting, struct memory_reading r)
{
	if (!r.known)
		return;
	m->row_setting[m->laplace.n] = setting;
	enum reading reading = r.is_bound ? READ_AT_LEAST : r.is_range ? READ_BETWEEN : READ_EXACT;
	laplace_add(&m->laplace, reading, r.low, 1);
}

static void add_reference(struct memory_additive *m, const struct model_input *in)
{
	if (in->reference_runs == 0) {
		m->base_mean = 1.1;
		m->base_sd = 0.15;
		add_row(m, NULL, memory_out_of_memory(in->reference_shortfall_bytes, m->unit_bytes));
	} else if (isnan(in->reference_peak_bytes)) {
		/* Nothing is known but that it fits: a wide prior, cut at the capacity. */
		m->base_mean = 0.7;
		m->base_sd = 0.2;
		add_row(m, NULL, (struct memory_reading){.known = true, .is_range = true, .low = 0});
	} else {
		m->base_mean = in->reference_peak_bytes / m->unit_bytes;
		m->base_sd = 0.005;
	}
}

static int setting_of_row(const struct memory_additive *m, size_t row, int lever)
{
	const int *setting = m->row_setting[row];
	return setting ? setting[lever] : m->columns.levers[lever].reference;
}

static void fill_kernel(struct memory_additive *m)
{
	size_t n = (size_t)m->laplace.n;
	double *kernel = m->laplace.kernel;
	for (size_t i = 0; i < n; i++) {
		double mean = m->base_mean;
		for (int l = 0; l < m->columns.n_levers; l++) {
			int column = columns_of(&m->columns, l, setting_of_row(m, i, l));
			mean += column < 0 ? 0 : m->mean[column];
		}
		m->laplace.prior_mean[i] = mean;
		for (size_t j = 0; j <= i; j++) {
			double sum = m->base_sd * m->base_sd;
			for (int l = 0; l < m->columns.n_levers; l++) {
				int setting = setting_of_row(m, i, l);
				int column = columns_of(&m->columns, l, setting);
				if (column >= 0 && setting == setting_of_row(m, j, l))
					sum += m->variance[column];
			}
			kernel[i * n + j] = kernel[j * n + i] = sum;
		}
		kernel[i * n + i] += kernel_jitter;
	}
}

/* ------------------------------------------------------------- fit and predict */

static void fill_posterior(struct memory_additive *m)
{
	const struct laplace *p = &m->laplace;
	size_t n = (size_t)p->n;
	int n_columns = m->columns.n_columns;
	size_t width = (size_t)n_columns + 1;
	CLEANUP(free_ptr) double *v = xcalloc(n * width + 1, sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		double root = sqrt(p->curvature[i]), base_variance = m->base_sd * m->base_sd;
		for (int l = 0; l < m->columns.n_levers; l++) {
			int d = columns_of(&m->columns, l, setting_of_row(m, i, l));
			if (d < 0)
				continue;
			v[i * width + (size_t)d] = root * m->variance[d];
			m->shift[d] += m->variance[d] * p->slope[i];
		}
		v[i * width + (size_t)n_columns] = root * base_variance;
		m->shift[n_columns] += base_variance * p->slope[i];
	}
	solve_lower_many(p->lower, p->n, v, width);
	transpose(v, n, width, m->v);
}

/* The reference is the first anchor: only the base is behind it. */
static void set_anchor_at_reference(struct memory_additive *m)
{
	for (int l = 0; l < m->columns.n_levers; l++)
		m->anchor[l] = m->columns.levers[l].reference;
	memcpy(m->anchor_whitened, m->v + (size_t)m->columns.n_columns * (size_t)m->laplace.n,
		(size_t)m->laplace.n * sizeof(double));
}

static void allocate(struct memory_additive *m, size_t n_observations)
{
	size_t n = n_observations + 2, columns = (size_t)m->columns.n_columns + 1;
	laplace_init(&m->laplace, n_observations + 1, noise_sd);
	m->mean = xcalloc(columns, sizeof(double));
	m->variance = xcalloc(columns, sizeof(double));
	m->shift = xcalloc(columns, sizeof(double));
	m->row_setting = xcalloc(n, sizeof(*m->row_setting));
	m->anchor_whitened = xcalloc(n, sizeof(double));
	m->whitened = xcalloc(n, sizeof(double));
	m->v = xcalloc(n * columns, sizeof(double));
	m->anchor = xcalloc((size_t)m->columns.n_levers + 1, sizeof(*m->anchor));
}

enum err_code memory_additive_fit(
	const struct model_input *in, struct memory_additive **ret_model, struct err *reterr)
{
	struct memory_additive *m = xcalloc(1, sizeof(*m));
	double limit = fmin(in->capacity_bytes, in->memory_cap_bytes);
	columns_init(&m->columns, in->levers, in->n_levers);
	m->unit_bytes = isfinite(in->capacity_bytes) ? in->capacity_bytes : limit;
	m->limit = limit / m->unit_bytes;
	allocate(m, in->n_observations);
	fill_prior(m);
	add_reference(m, in);
	for (size_t i = 0; i < in->n_observations; i++)
		add_row(m, in->observations[i].setting,
			memory_reading_of(&in->observations[i], m->unit_bytes));
	fill_kernel(m);
	if (!laplace_find_mode(&m->laplace)) {
		memory_additive_free(m);
		return err_set(
			reterr, ERR_FAILED, "memory model: the memory readings are not finite numbers");
	}
	fill_posterior(m);
	set_anchor_at_reference(m);
	*ret_model = m;
	return OK;
}

void memory_additive_free(struct memory_additive *m)
{
	if (!m)
		return;
	columns_release(&m->columns);
	laplace_release(&m->laplace);
	void *arrays[] = {m->mean, m->variance, m->shift, m->row_setting, m->v, m->whitened, m->anchor,
		m->anchor_whitened};
	for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
		free(arrays[i]);
	free(m);
}

static void add_column(const struct memory_additive *m, int column, double sign, double *whitened)
{
	if (column < 0)
		return;
	const double *v = m->v + (size_t)column * (size_t)m->laplace.n;
	for (int i = 0; i < m->laplace.n; i++)
		whitened[i] += sign * v[i];
}

static void add_change(const struct memory_additive *m, const int *from, const int *to, double *whitened)
{
	for (int l = 0; l < m->columns.n_levers; l++) {
		if (from[l] == to[l])
			continue;
		add_column(m, columns_of(&m->columns, l, to[l]), 1, whitened);
		add_column(m, columns_of(&m->columns, l, from[l]), -1, whitened);
	}
}

/* L^-1 W^1/2 k of the configuration, from the anchor where that is near; a far one becomes the anchor. */
static void whiten(struct memory_additive *m, const int *setting)
{
	if (settings_apart(setting, m->anchor, m->columns.n_levers) > NEAR) {
		set_anchor_at_reference(m);
		add_change(m, m->anchor, setting, m->anchor_whitened);
		memcpy(m->anchor, setting, (size_t)m->columns.n_levers * sizeof(*m->anchor));
	}
	memcpy(m->whitened, m->anchor_whitened, (size_t)m->laplace.n * sizeof(double));
	add_change(m, m->anchor, setting, m->whitened);
}

struct memory_belief memory_additive_predict(struct memory_additive *m, const int *setting)
{
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
	variance = fmax(variance - dot(m->whitened, m->whitened, m->laplace.n), 0);
	return (struct memory_belief){mean * m->unit_bytes, sqrt(variance) * m->unit_bytes,
		normal_cdf((m->limit - mean) / sqrt(variance + noise_sd * noise_sd))};
}

struct memory_belief memory_additive_setting(const struct memory_additive *m, int lever, int setting)
{
	int d = columns_of(&m->columns, lever, setting);
	if (d < 0)
		return (struct memory_belief){0, 0, 1};
	const double *v = m->v + (size_t)d * (size_t)m->laplace.n;
	double variance = fmax(m->variance[d] - dot(v, v, m->laplace.n), 0);
	return (struct memory_belief){
		(m->mean[d] + m->shift[d]) * m->unit_bytes, sqrt(variance) * m->unit_bytes, 1};
}

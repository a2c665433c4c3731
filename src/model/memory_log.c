/*
 * The ledger on ln memory (CONTROLLER section 10.1). A configuration's mean is ln of what is declared for it:
 * the reference's peak plus its settings' bytes. Around that, a Gaussian process over the knobs' axes, and,
 * for every setting that declares bytes or an uncertainty of them and every patch, R3's own deviation,
 * linearised at the mean: d ln m = d bytes / m. A task that declares nothing and has no patch has the first
 * part alone.
 *
 * The scales are those of the largest evidence on a small grid.
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/columns.h"
#include "model/dense.h"
#include "model/laplace.h"
#include "model/memory_int.h"
#include "model/memory_kernel.h"
#include "model/memory_shape.h"
#include "model/normal_tail.h"

static const double noise_sd_ln = 0.15, declared_noise_sd_ln = 0.03, kernel_jitter = 1e-8, pairs_per_r = 0.4;
static const double base_sd_ln = 0.05, base_sd_unfit_ln = 1.0, base_sd_unread_ln = 0.3, unread_share = 0.7;
/* What declared savings may leave of the reference's peak. */
static const double smallest_share = 0.1;
/* With a mean that knows the shape, deviations may also be this much smaller. */
static const double shaped_factor = 0.3, shaped_below_l = 0.5;
static const double grid_l[] = {0.2, 0.4, 0.7}, grid_r[] = {0.05, 0.15, 0.4};
/* The latest readings: a prediction costs n^2. */
enum { ROWS_MAX = 96 };

struct memory_log {
	struct axes axes;
	struct columns columns;
	struct memory_frame frame;
	struct memory_shape *shape; /* NULL = none */
	double unit_bytes, limit;
	double base_share, base_sd_ln; /* of the reference; in units */
	bool is_shaped, declares;
	double *own_variance; /* of each column, in units^2; 0 = the axes account for it */
	struct memory_scales scales;
	double noise_sd_ln;
	struct laplace laplace;
	const int **row_setting; /* n */
	struct row_table table;  /* the kernel's terms and, last, the own variances in common */
	double *places;          /* rows x n_levers */
	double *row_share;       /* declared units of each row */
	int *reference;
	double *whitened; /* scratch */
};

/* ------------------------------------------------------------- prior */

static bool declares_bytes(const struct model_input *in)
{
	for (int l = 0; l < in->n_levers; l++)
		for (int s = 0; s < in->levers[l].n_settings; s++)
			if (s != in->levers[l].reference && in->levers[l].prior[s].declared_bytes != 0)
				return true;
	return false;
}

/* Siblings' own runs say more than effects that were averaged over them. */
static double declared_of(const struct memory_log *m, const struct lever_prior *p)
{
	return m->shape && p->experienced ? 0 : p->declared_bytes / m->unit_bytes;
}

static void fill_prior(struct memory_log *m, bool declares)
{
	const struct columns *c = &m->columns;
	for (int j = 0; j < c->n_columns; j++) {
		const struct lever *lever = &c->levers[c->lever[j]];
		const struct lever_prior *p = &lever->prior[c->setting[j]];
		bool is_category = m->frame.role[c->lever[j]] != MEMORY_NUMBER;
		bool is_uncertain = !p->experienced && p->memory_sd_bytes > 0;
		if (declared_of(m, p) == 0 && !is_uncertain && !lever->is_patch && !(declares && is_category))
			continue;
		double sd = memory_prior_sd_bytes(p, m->unit_bytes) / m->unit_bytes;
		m->own_variance[j] = sd * sd;
	}
	for (int l = 0; l < c->n_levers; l++)
		if (m->frame.role[l] == MEMORY_CATEGORY && (declares || c->levers[l].is_patch))
			m->frame.role[l] = MEMORY_NO_PART;
}

static double declared_share(const struct memory_log *m, const int *setting)
{
	double share = m->base_share;
	for (int l = 0; l < m->columns.n_levers; l++)
		if (setting[l] != m->reference[l])
			share += declared_of(m, &m->columns.levers[l].prior[setting[l]]);
	return fmax(share, smallest_share * m->base_share);
}

static double mean_ln(const struct memory_log *m, const int *setting, double share)
{
	return log(share) + (m->shape ? memory_shape_ln(m->shape, setting) : 0);
}

static double own_variance(const struct memory_log *m, const int *setting)
{
	double sum = 0;
	for (int l = 0; l < m->columns.n_levers; l++) {
		int column = columns_of(&m->columns, l, setting[l]);
		sum += column < 0 ? 0 : m->own_variance[column];
	}
	return sum;
}

/* ------------------------------------------------------------- rows */

static void add_row(struct memory_log *m, const int *setting, struct memory_reading r)
{
	if (!r.known)
		return;
	int n = m->laplace.n;
	m->row_setting[n] = setting;
	m->row_share[n] = declared_share(m, setting);
	for (int l = 0; l < m->frame.n_levers; l++)
		m->places[(size_t)n * (size_t)m->frame.n_levers + (size_t)l] =
			memory_place(&m->frame, l, setting[l]);
	enum reading reading = r.is_bound ? READ_AT_LEAST : r.is_range ? READ_BETWEEN : READ_EXACT;
	laplace_add(&m->laplace, reading, log(r.low), 0);
}

static void add_reference(struct memory_log *m, const struct model_input *in)
{
	if (in->reference_runs == 0)
		add_row(m, m->reference, memory_out_of_memory(in->reference_shortfall_bytes, m->unit_bytes));
	else if (isnan(in->reference_peak_bytes))
		add_row(m, m->reference,
			(struct memory_reading){.known = true, .is_range = true, .low = smallest_share});
	else
		add_row(m, m->reference,
			(struct memory_reading){
				.known = true, .low = in->reference_peak_bytes / m->unit_bytes});
}

static void choose_base(struct memory_log *m, const struct model_input *in)
{
	m->base_share = in->reference_peak_bytes / m->unit_bytes;
	m->base_sd_ln = base_sd_ln;
	if (in->reference_runs == 0) {
		m->base_share = 1;
		m->base_sd_ln = base_sd_unfit_ln;
	} else if (!(m->base_share > 0)) {
		m->base_share = unread_share;
		m->base_sd_ln = base_sd_unread_ln;
	}
}

static void add_observations(struct memory_log *m, const struct model_input *in)
{
	size_t first = in->n_observations, known = 1;
	while (first > 0 && known < ROWS_MAX)
		known += memory_reading_of(&in->observations[--first], m->unit_bytes).known;
	for (size_t i = first; i < in->n_observations; i++)
		add_row(m, in->observations[i].setting,
			memory_reading_of(&in->observations[i], m->unit_bytes));
}

static void fill_table(struct memory_log *m)
{
	const struct columns *c = &m->columns;
	row_table_init(&m->table, c->levers, c->n_levers, m->laplace.n, ALIKE_TERMS + 1);
	for (int i = 0; i < m->laplace.n; i++) {
		memory_fill_row(&m->frame, &m->table, i, m->places + (size_t)i * (size_t)m->frame.n_levers);
		for (int l = 0; l < c->n_levers; l++) {
			int setting = m->row_setting[i][l], column = columns_of(c, l, setting);
			*row_table_at(&m->table, ALIKE_TERMS, l, setting, i) =
				column < 0 ? 0 : m->own_variance[column];
		}
	}
}

/* ------------------------------------------------------------- fit */

static void fill_kernel(
	struct memory_log *m, const struct alike *alike, const double *own, const struct memory_scales *s)
{
	size_t n = (size_t)m->laplace.n;
	double *kernel = m->laplace.kernel;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= i; j++)
			kernel[i * n + j] = kernel[j * n + i] =
				memory_covariance(s, &alike[i * n + j]) + own[i * n + j];
		kernel[i * n + i] += kernel_jitter;
	}
}

/* Keeps the scales where their evidence is the largest so far. */
static void try_scales(struct memory_log *m, const struct alike *alike, const double *own,
	struct memory_scales s, double noise, double *best)
{
	s.b = m->base_sd_ln;
	s.p = pairs_per_r * s.r;
	m->laplace.noise_sd = noise;
	fill_kernel(m, alike, own, &s);
	if (!laplace_find_mode(&m->laplace) || m->laplace.log_evidence <= *best)
		return;
	*best = m->laplace.log_evidence;
	m->scales = s;
	m->noise_sd_ln = noise;
}

static void try_grid(
	struct memory_log *m, const struct alike *alike, const double *own, double noise, double *best)
{
	for (size_t i = 0; i < ARRAY_LEN(grid_l); i++)
		for (size_t k = 0; k < ARRAY_LEN(grid_r); k++) {
			struct memory_scales s = {.l = grid_l[i], .r = grid_r[k]};
			try_scales(m, alike, own, s, noise, best);
			if (!m->is_shaped || grid_l[i] >= shaped_below_l)
				continue;
			s = (struct memory_scales){.l = shaped_factor * s.l, .r = shaped_factor * s.r};
			try_scales(m, alike, own, s, noise, best);
		}
}

static bool fit_scales(struct memory_log *m)
{
	size_t n = (size_t)m->laplace.n;
	CLEANUP(free_ptr) struct alike *alike = xcalloc(n * n + 1, sizeof(*alike));
	CLEANUP(free_ptr) double *own = xcalloc(n * n + 1, sizeof(*own));
	double best = -INFINITY;
	for (size_t i = 0; i < n; i++) {
		m->laplace.prior_mean[i] = mean_ln(m, m->row_setting[i], m->row_share[i]);
		row_table_sum(&m->table, m->row_setting[i]);
		for (size_t j = 0; j <= i; j++) {
			alike[i * n + j] = memory_alike_row(&m->table, (int)j);
			own[i * n + j] = m->table.sum[ALIKE_TERMS][j] / (m->row_share[i] * m->row_share[j]);
		}
	}
	if (m->declares)
		try_grid(m, alike, own, declared_noise_sd_ln, &best);
	try_grid(m, alike, own, noise_sd_ln, &best);
	m->laplace.noise_sd = m->noise_sd_ln;
	fill_kernel(m, alike, own, &m->scales);
	return isfinite(best) && laplace_find_mode(&m->laplace);
}

static void allocate(struct memory_log *m, const struct model_input *in)
{
	size_t rows = ROWS_MAX + 1;
	columns_init(&m->columns, in->levers, in->n_levers);
	memory_frame_init(&m->frame, in, &m->axes, true);
	laplace_init(&m->laplace, rows, noise_sd_ln);
	m->own_variance = xcalloc((size_t)m->columns.n_columns + 1, sizeof(double));
	m->row_setting = xcalloc(rows, sizeof(*m->row_setting));
	m->places = xcalloc(rows * ((size_t)in->n_levers + 1), sizeof(*m->places));
	m->row_share = xcalloc(rows, sizeof(double));
	m->whitened = xcalloc(rows, sizeof(double));
	m->reference = xcalloc((size_t)in->n_levers + 1, sizeof(int));
	for (int l = 0; l < in->n_levers; l++)
		m->reference[l] = in->levers[l].reference;
}

enum err_code memory_log_fit_take(
	const struct model_input *in, struct axes *axes, struct memory_log **ret_model, struct err *reterr)
{
	struct memory_log *m = xcalloc(1, sizeof(*m));
	double limit = fmin(in->capacity_bytes, in->memory_cap_bytes);
	m->axes = *axes;
	*axes = (struct axes){0};
	m->unit_bytes = isfinite(in->capacity_bytes) ? in->capacity_bytes : limit;
	m->limit = limit / m->unit_bytes;
	allocate(m, in);
	m->shape = memory_shape_fit(in, &m->axes);
	m->declares = declares_bytes(in) && !m->shape;
	m->is_shaped = m->declares || m->shape;
	fill_prior(m, m->declares);
	choose_base(m, in);
	add_reference(m, in);
	add_observations(m, in);
	fill_table(m);
	if (!fit_scales(m)) {
		memory_log_free(m);
		return err_set(
			reterr, ERR_FAILED, "memory model: the memory readings are not finite numbers");
	}
	*ret_model = m;
	return OK;
}

void memory_log_free(struct memory_log *m)
{
	if (!m)
		return;
	row_table_release(&m->table);
	memory_shape_free(m->shape);
	memory_frame_release(&m->frame);
	columns_release(&m->columns);
	laplace_release(&m->laplace);
	axes_release(&m->axes);
	void *arrays[] = {
		m->own_variance, m->row_setting, m->places, m->row_share, m->whitened, m->reference};
	for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
		free(arrays[i]);
	free(m);
}

/* ------------------------------------------------------------- predict */

static double prior_variance(const struct memory_log *m, const int *setting, double share)
{
	struct alike itself = {0};
	for (int l = 0; l < m->frame.n_levers; l++) {
		double place = memory_place(&m->frame, l, setting[l]);
		bool is_number = m->frame.role[l] == MEMORY_NUMBER;
		itself.product += is_number ? place * place : 0;
		itself.product_sq += is_number ? place * place * place * place : 0;
		itself.near += is_number;
		itself.equal += m->frame.role[l] == MEMORY_CATEGORY && setting[l] != m->reference[l];
	}
	return memory_covariance(&m->scales, &itself) + own_variance(m, setting) / (share * share);
}

static void predict_ln(struct memory_log *m, const int *setting, double *ret_mean, double *ret_variance)
{
	double share = declared_share(m, setting), mean = mean_ln(m, setting, share);
	row_table_sum(&m->table, setting);
	for (int i = 0; i < m->laplace.n; i++) {
		struct alike alike = memory_alike_row(&m->table, i);
		m->whitened[i] = memory_covariance(&m->scales, &alike) +
				 m->table.sum[ALIKE_TERMS][i] / (m->row_share[i] * share);
		mean += m->whitened[i] * m->laplace.slope[i];
	}
	double variance = prior_variance(m, setting, share);
	*ret_mean = mean;
	*ret_variance = fmax(variance - laplace_whiten(&m->laplace, m->whitened), 0);
}

struct memory_belief memory_log_predict(struct memory_log *m, const int *setting)
{
	double mean, variance;
	predict_ln(m, setting, &mean, &variance);
	double peak = exp(mean) * m->unit_bytes;
	return (struct memory_belief){peak, peak * sqrt(variance),
		normal_cdf((log(m->limit) - mean) / sqrt(variance + m->noise_sd_ln * m->noise_sd_ln))};
}

struct memory_belief memory_log_setting(struct memory_log *m, int lever, int setting)
{
	if (setting == m->reference[lever])
		return (struct memory_belief){0, 0, 1};
	CLEANUP(free_ptr) int *changed = xcalloc((size_t)m->columns.n_levers, sizeof(*changed));
	memcpy(changed, m->reference, (size_t)m->columns.n_levers * sizeof(*changed));
	changed[lever] = setting;
	struct memory_belief with = memory_log_predict(m, changed);
	struct memory_belief without = memory_log_predict(m, m->reference);
	return (struct memory_belief){with.peak_bytes - without.peak_bytes, with.sd_bytes, 1};
}

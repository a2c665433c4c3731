/*
 * Rules R1 and R2 and the structured kernel: a Gaussian process on ln speed-up with covariance
 *
 *     K = Phi S Phi' + s2 [w1 single + w2 pair + w3 product] + nugget + noise
 *
 * in dual form, the bracket pinned to 0 at the configuration where y = 0. s2, the weights and the metric are
 * hyperparameters on a grid, s2 = 0 among them; fits whose evidence is near the best are averaged.
 *
 * Fit: A = K over the runs = L L'. For s2 = 0 there is kept per column d: v_d = L^-1 Phi S e_d, so that a
 * candidate with m changed columns costs O(m n); with structure it costs O(n^2).
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/dense.h"
#include "model/models.h"
#include "model/time_model_int.h"

static const double jitter_first = 1e-10, jitter_last = 1e-4;
/* The grid: s2 in units of the variance of y, and how it is split. */
static const double scale_grid[] = {0.7, 2}, smallest_variance = 0.1 * 0.1;
static const struct {
	double single, pair, product;
} split_grid[] = {{1, 0, 0.15}, {0.6, 0.4, 0.1}, {0.3, 0.4, 0.4}, {0.1, 0.2, 0.8}};
static const struct metric metric_grid[METRICS] = {{1, false}, {3, false}, {1, true}, {3, true}};
/* Structure has to be asked for: with no data there is none. */
static const double structure_prior_ln = -4, averaged_nats = 2.5;
enum { STRUCTURED_ROWS_MAX = 200 };

/* ------------------------------------------------------------- linear part */

static struct point row_point(const struct time_model *m, int row)
{
	return time_basis_row_point(&m->basis, row);
}

static void fill_rows(struct time_model *m, double *phi, double *residual)
{
	struct time_basis *b = &m->basis;
	for (int i = 0; i < m->n_rows; i++) {
		double *row = phi + (size_t)i * (size_t)b->n_features;
		int n = time_basis_list(b, b->base, row_point(m, i));
		residual[i] = time_basis_row(b, i)->gain_ln - b->base_gain;
		for (int k = 0; k < n; k++) {
			row[b->list[k].column] = b->list[k].value;
			residual[i] -= b->list[k].value * b->mean[b->list[k].column];
		}
	}
}

/* scaled: Phi S. */
static void fill_covariance(const struct time_model *m, const double *phi, const double *scaled, double *a)
{
	const struct model_input *in = m->basis.in;
	size_t n = (size_t)m->n_rows, f = (size_t)m->basis.n_features;
	double run_variance = in->sigma_pair * in->sigma_pair / 2;
	double shared_reference = run_variance / MAX_OF(in->reference_runs, 1);
	for (size_t i = 0; i < n; i++) {
		const struct observation *oi = time_basis_row(&m->basis, (int)i);
		bool at_base = same_settings(oi->setting, m->basis.base.setting, in->n_levers);
		for (size_t j = 0; j <= i; j++) {
			const struct observation *oj = time_basis_row(&m->basis, (int)j);
			double sum = shared_reference + dot(scaled + i * f, phi + j * f, (int)f);
			if (!at_base && same_settings(oi->setting, oj->setting, in->n_levers))
				sum += time_nugget_variance;
			a[i * n + j] = sum;
		}
		a[i * n + i] += run_variance + oi->extra_sd_ln * oi->extra_sd_ln;
	}
}

/* ------------------------------------------------------------- structure */

static void prepare_metric(struct time_model *m, int metric)
{
	int n = m->n_rows;
	const struct structure *s = &m->structure;
	struct row_table *t = &m->table[metric];
	row_table_init(t, m->basis.in->levers, m->basis.in->n_levers, n + 1, LIKENESS_TERMS);
	m->to_base[metric] = xcalloc((size_t)n + 1, sizeof(struct likeness));
	m->pinned[metric] = xcalloc((size_t)n + 1, sizeof(struct likeness));
	for (int i = 0; i < n; i++)
		structure_fill_row(s, metric_grid[metric], t, i, row_point(m, i).setting);
	structure_fill_row(s, metric_grid[metric], t, n, m->basis.base.setting);
	row_table_sum(t, m->basis.base.setting);
	for (int i = 0; i < n; i++)
		m->to_base[metric][i] = structure_likeness(s, t, i);
}

static void release_metric(struct time_model *m, int metric)
{
	row_table_release(&m->table[metric]);
	free(m->to_base[metric]);
	free(m->pinned[metric]);
	m->to_base[metric] = m->pinned[metric] = NULL;
}

/* ------------------------------------------------------------- fits */

static void fit_release(struct fit *f)
{
	free(f->lower);
	free(f->alpha);
	*f = (struct fit){0};
}

/* -r' A^-1 r / 2 - sum of ln diag L; alpha = A^-1 r. False: not positive definite. */
static bool condition(struct fit *f, int n, const double *a, const double *residual)
{
	size_t size = (size_t)n;
	f->lower = xcalloc(size * size + 1, sizeof(*f->lower));
	f->alpha = xcalloc(size + 1, sizeof(*f->alpha));
	if (!cholesky_with_jitter(a, n, jitter_first, jitter_last, f->lower))
		return false;
	memcpy(f->alpha, residual, size * sizeof(*residual));
	solve_lower(f->lower, n, f->alpha);
	f->log_evidence = -0.5 * dot(f->alpha, f->alpha, n);
	for (size_t i = 0; i < size; i++)
		f->log_evidence -= log(f->lower[i * size + i]);
	solve_lower_transposed(f->lower, n, f->alpha);
	return true;
}

/* Keeps the best, best first; the first of equals stays before the later. */
static void keep(struct time_model *m, struct fit *f, int most)
{
	int at = m->n_fits;
	while (at > 0 && f->log_evidence > m->fit[at - 1].log_evidence)
		at--;
	if (at >= most) {
		fit_release(f);
		return;
	}
	if (m->n_fits == most)
		fit_release(&m->fit[--m->n_fits]);
	memmove(&m->fit[at + 1], &m->fit[at], (size_t)(m->n_fits - at) * sizeof(*f));
	m->fit[at] = *f;
	m->n_fits++;
}

static double variance_of_gains(const struct time_model *m)
{
	double sum = 0, sum_sq = 0, n = m->n_rows + 1; /* the base, at 0, is one of them */
	for (int i = 0; i < m->n_rows; i++) {
		double y = time_basis_row(&m->basis, i)->gain_ln - m->basis.base_gain;
		sum += y;
		sum_sq += y * y;
	}
	return fmax(sum_sq / n - sum / n * (sum / n), smallest_variance);
}

static void try_structure(
	struct time_model *m, int metric, const double *linear, const double *residual, int most)
{
	size_t n = (size_t)m->n_rows;
	CLEANUP(free_ptr) struct likeness *between = xcalloc(n * n + 1, sizeof(*between));
	CLEANUP(free_ptr) double *a = xcalloc(n * n + 1, sizeof(*a));
	double variance = variance_of_gains(m);
	for (size_t i = 0; i < n; i++)
		(void)time_fill_pinned(m, metric, row_point(m, (int)i).setting, (int)i + 1, between + i * n);
	for (size_t s = 0; s < ARRAY_LEN(scale_grid); s++)
		for (size_t w = 0; w < ARRAY_LEN(split_grid); w++) {
			struct fit f = {.s2 = scale_grid[s] * variance,
				.split = {split_grid[w].single, split_grid[w].pair, split_grid[w].product},
				.metric = metric};
			for (size_t i = 0; i < n; i++)
				for (size_t j = 0; j <= i; j++)
					a[i * n + j] =
						linear[i * n + j] + time_structured(&f, &between[i * n + j]);
			if (condition(&f, m->n_rows, a, residual)) {
				f.log_evidence += structure_prior_ln;
				keep(m, &f, most);
			} else
				fit_release(&f);
		}
}

/* A prediction with structure costs n^2 a fit. */
static int fits_allowed(const struct time_model *m)
{
	if (m->structure.n_parts == 0 || m->n_rows > STRUCTURED_ROWS_MAX)
		return 1;
	return m->n_rows <= 64 ? FITS_MAX : m->n_rows <= 128 ? 3 : 1;
}

static void weigh(struct time_model *m)
{
	double sum = 0, best = m->fit[0].log_evidence;
	while (m->n_fits > 1 && m->fit[m->n_fits - 1].log_evidence < best - averaged_nats)
		fit_release(&m->fit[--m->n_fits]);
	m->plain = -1;
	for (int i = 0; i < m->n_fits; i++) {
		m->fit[i].weight = exp(m->fit[i].log_evidence - best);
		sum += m->fit[i].weight;
		if (m->fit[i].s2 == 0)
			m->plain = i;
		else
			m->metric_used[m->fit[i].metric] = true;
	}
	for (int i = 0; i < m->n_fits; i++)
		m->fit[i].weight /= sum;
	for (int metric = 0; metric < METRICS; metric++)
		if (!m->metric_used[metric])
			release_metric(m, metric);
}

static enum err_code fit_all(
	struct time_model *m, const double *linear, const double *residual, struct err *reterr)
{
	struct fit plain = {0};
	if (!condition(&plain, m->n_rows, linear, residual)) {
		fit_release(&plain);
		return err_set(reterr, ERR_FAILED,
			"time model: the covariance of %d runs is not positive definite", m->n_rows);
	}
	int most = fits_allowed(m);
	keep(m, &plain, most);
	for (int metric = 0; metric < METRICS; metric++) {
		/* Without numbers both kinds of distance are ranks. */
		bool is_repeated = metric_grid[metric].in_doublings && m->structure.axes.n_numbers == 0;
		if (m->structure.n_parts == 0 || m->n_rows > STRUCTURED_ROWS_MAX || is_repeated)
			continue;
		prepare_metric(m, metric);
		try_structure(m, metric, linear, residual, most);
	}
	weigh(m);
	return OK;
}

/* What only the plain fit can keep: posterior of every column, whitened covariances. */
static void fill_plain(struct time_model *m, double *scaled)
{
	size_t n = (size_t)m->n_rows, f = (size_t)m->basis.n_features;
	const struct fit *plain = &m->fit[m->plain];
	for (size_t i = 0; i < n * f; i++)
		m->shift[i % f] += scaled[i] * plain->alpha[i / f];
	solve_lower_many(plain->lower, m->n_rows, scaled, f);
	transpose(scaled, n, f, m->v);
}

static enum err_code condition_on_rows(struct time_model *m, struct err *reterr)
{
	size_t n = (size_t)m->n_rows, f = (size_t)m->basis.n_features;
	CLEANUP(free_ptr) double *phi = xcalloc(n * f + 1, sizeof(*phi));
	CLEANUP(free_ptr) double *scaled = xcalloc(n * f + 1, sizeof(*scaled));
	CLEANUP(free_ptr) double *a = xcalloc(n * n + 1, sizeof(*a));
	CLEANUP(free_ptr) double *residual = xcalloc(n + 1, sizeof(*residual));
	fill_rows(m, phi, residual);
	for (size_t i = 0; i < n * f; i++)
		scaled[i] = phi[i] * m->basis.variance[i % f];
	fill_covariance(m, phi, scaled, a);
	TRY(fit_all(m, a, residual, reterr));
	transpose(scaled, n, f, m->covariance);
	if (m->plain >= 0)
		fill_plain(m, scaled);
	return OK;
}

static void allocate(struct time_model *m)
{
	size_t n = (size_t)m->n_rows + 1, f = (size_t)m->basis.n_features;
	m->covariance = xcalloc(n * f, sizeof(double));
	m->v = xcalloc(n * f, sizeof(double));
	m->shift = xcalloc(f, sizeof(double));
	m->row_hash = xcalloc(n, sizeof(*m->row_hash));
	for (int i = 0; i < m->n_rows; i++)
		m->row_hash[i] = settings_hash(row_point(m, i).setting, m->basis.columns.n_levers);
	double **vectors[] = {&m->whitened, &m->k, &m->k_fit, &m->anchor_whitened, &m->anchor_k};
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
		*vectors[i] = xcalloc(n, sizeof(double));
	m->anchor = xcalloc((size_t)m->basis.columns.n_levers + 1, sizeof(*m->anchor));
}

enum err_code time_model_fit(const struct model_input *in, struct time_model **ret_model, struct err *reterr)
{
	struct time_model *m = xcalloc(1, sizeof(*m));
	time_basis_init(&m->basis, in);
	structure_init(&m->structure, in->levers, in->n_levers);
	m->n_rows = m->basis.n_rows;
	allocate(m);
	if (in->n_levers)
		memcpy(m->anchor, m->basis.base.setting, (size_t)in->n_levers * sizeof(*m->anchor));
	m->anchor_thrash = m->basis.base.thrash;
	enum err_code code = condition_on_rows(m, reterr);
	if (code != OK) {
		time_model_free(m);
		return code;
	}
	*ret_model = m;
	return OK;
}

void time_model_free(struct time_model *m)
{
	if (!m)
		return;
	for (int i = 0; i < m->n_fits; i++)
		fit_release(&m->fit[i]);
	for (int metric = 0; metric < METRICS; metric++)
		release_metric(m, metric);
	structure_release(&m->structure);
	time_basis_release(&m->basis);
	void *arrays[] = {m->row_hash, m->covariance, m->shift, m->v, m->whitened, m->k, m->k_fit,
		m->anchor_whitened, m->anchor_k, m->anchor};
	for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
		free(arrays[i]);
	free(m);
}

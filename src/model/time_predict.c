/* What the fitted time model says: of a configuration, of one setting, of what was declared. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/dense.h"
#include "model/time_model_int.h"

const double time_nugget_variance = 0.02 * 0.02;

/* Levers in which a configuration may differ from the anchor and still be reckoned from it. */
enum { NEAR = 4 };

/* ------------------------------------------------------------- structure */

static struct likeness pin(struct likeness both, struct likeness a_base, struct likeness b_base)
{
	return (struct likeness){both.single - a_base.single - b_base.single + 1,
		both.pair - a_base.pair - b_base.pair + 1,
		both.product - a_base.product - b_base.product + 1};
}

struct likeness time_fill_pinned(
	struct time_model *m, int metric, const int *setting, int n_rows, struct likeness *ret_pinned)
{
	const struct structure *s = &m->structure;
	struct row_table *t = &m->table[metric];
	row_table_sum(t, setting);
	struct likeness to_base = structure_likeness(s, t, m->n_rows);
	for (int i = 0; i < n_rows; i++)
		ret_pinned[i] = pin(structure_likeness(s, t, i), m->to_base[metric][i], to_base);
	return to_base;
}

/* ------------------------------------------------------------- a configuration */

static void add_columns(const struct time_model *m, const double *by_column, int n_features, double *sum)
{
	int n = m->n_rows;
	for (int k = 0; k < n_features; k++) {
		const double *v = by_column + (size_t)m->basis.list[k].column * (size_t)n;
		for (int i = 0; i < n; i++)
			sum[i] += m->basis.list[k].value * v[i];
	}
}

/* Covariances of the point with the rows, plain and whitened, from the anchor where that is near; a far point
 * becomes the anchor. */
static void fill_linear(struct time_model *m, struct point point)
{
	size_t bytes = (size_t)m->n_rows * sizeof(double), n_levers = (size_t)m->basis.columns.n_levers;
	bool with_structure = m->plain != 0 || m->n_fits > 1;
	if (settings_apart(point.setting, m->anchor, m->basis.columns.n_levers) > NEAR) {
		int n = time_basis_list(&m->basis, m->basis.base, point);
		memset(m->anchor_whitened, 0, bytes);
		memset(m->anchor_k, 0, bytes);
		add_columns(m, m->v, n, m->anchor_whitened);
		if (with_structure)
			add_columns(m, m->covariance, n, m->anchor_k);
		memcpy(m->anchor, point.setting, n_levers * sizeof(*m->anchor));
		m->anchor_thrash = point.thrash;
	}
	struct point anchor = {m->anchor, m->anchor_thrash};
	int n = time_basis_list(&m->basis, anchor, point);
	memcpy(m->whitened, m->anchor_whitened, bytes);
	memcpy(m->k, m->anchor_k, bytes);
	add_columns(m, m->v, n, m->whitened);
	if (with_structure)
		add_columns(m, m->covariance, n, m->k);
}

struct belief {
	double mean, variance;
};

/* The covariance of a candidate's own nugget with the rows, into k_fit; false: it has not been run. */
static bool fill_nugget(struct time_model *m, const int *setting)
{
	bool any = false;
	memset(m->k_fit, 0, (size_t)m->n_rows * sizeof(double));
	for (int i = 0; i < m->n_rows; i++)
		if (same_settings(
			    time_basis_row(&m->basis, i)->setting, setting, m->basis.columns.n_levers)) {
			m->k_fit[i] = time_nugget_variance;
			any = true;
		}
	return any;
}

static struct belief predict_plain(struct time_model *m, const int *setting, int n_features, bool has_nugget)
{
	const struct fit *f = &m->fit[m->plain];
	struct belief b = {0, 0};
	for (int k = 0; k < n_features; k++)
		b.mean += m->basis.list[k].value * m->shift[m->basis.list[k].column];
	if (has_nugget && fill_nugget(m, setting)) {
		b.mean += dot(m->k_fit, f->alpha, m->n_rows);
		solve_lower(f->lower, m->n_rows, m->k_fit);
		for (int i = 0; i < m->n_rows; i++)
			m->whitened[i] += m->k_fit[i];
	}
	b.variance = -dot(m->whitened, m->whitened, m->n_rows);
	return b;
}

static struct belief predict_structured(struct time_model *m, const struct fit *f, const int *setting,
	struct likeness to_base, bool has_nugget)
{
	memset(m->k_fit, 0, (size_t)m->n_rows * sizeof(double));
	if (has_nugget)
		(void)fill_nugget(m, setting);
	for (int i = 0; i < m->n_rows; i++)
		m->k_fit[i] += m->k[i] + time_structured(f, &m->pinned[f->metric][i]);
	struct likeness equal = {1, 1, 1}, itself = pin(equal, to_base, to_base);
	struct belief b = {dot(m->k_fit, f->alpha, m->n_rows), time_structured(f, &itself)};
	solve_lower(f->lower, m->n_rows, m->k_fit);
	b.variance -= dot(m->k_fit, m->k_fit, m->n_rows);
	return b;
}

/* Moments of the mixture of all fits, on top of a common prior mean and variance. */
static struct belief mix(
	struct time_model *m, const int *setting, int n_features, bool has_nugget, struct belief prior)
{
	struct likeness to_base[METRICS] = {{0}};
	double mean = 0, square = 0;
	for (int metric = 0; metric < METRICS; metric++)
		if (m->metric_used[metric])
			to_base[metric] = time_fill_pinned(m, metric, setting, m->n_rows, m->pinned[metric]);
	for (int i = 0; i < m->n_fits; i++) {
		const struct fit *f = &m->fit[i];
		struct belief b = f->s2 == 0
					  ? predict_plain(m, setting, n_features, has_nugget)
					  : predict_structured(m, f, setting, to_base[f->metric], has_nugget);
		mean += f->weight * b.mean;
		square += f->weight * (fmax(prior.variance + b.variance, 0) + b.mean * b.mean);
	}
	return (struct belief){prior.mean + mean, fmax(square - mean * mean, 0)};
}

/* Of the first n features in the basis' list. */
static struct belief prior_of_list(const struct time_basis *b, int n_features)
{
	struct belief prior = {0, 0};
	for (int k = 0; k < n_features; k++) {
		double value = b->list[k].value;
		prior.mean += value * b->mean[b->list[k].column];
		prior.variance += value * value * b->variance[b->list[k].column];
	}
	return prior;
}

void time_model_predict(struct time_model *m, const int *setting, double predicted_peak_bytes,
	double *ret_mean, double *ret_sd)
{
	struct time_basis *b = &m->basis;
	struct point point = time_basis_point(b, setting, predicted_peak_bytes);
	fill_linear(m, point);
	int n_features = time_basis_list(b, b->base, point);
	struct belief prior = prior_of_list(b, n_features);
	bool has_nugget = !same_settings(setting, b->base.setting, b->columns.n_levers);
	prior.variance += has_nugget ? time_nugget_variance : 0;
	struct belief belief = mix(m, setting, n_features, has_nugget, prior);
	*ret_mean = belief.mean;
	*ret_sd = sqrt(belief.variance);
}

/* Posterior of the first n features in the basis' list; what is structured is that of `setting`. */
static struct belief believe(
	struct time_model *m, const int *setting, int n_features, struct belief *ret_prior)
{
	const struct time_basis *b = &m->basis;
	size_t bytes = (size_t)m->n_rows * sizeof(double);
	memset(m->whitened, 0, bytes);
	memset(m->k, 0, bytes);
	add_columns(m, m->v, n_features, m->whitened);
	add_columns(m, m->covariance, n_features, m->k);
	*ret_prior = prior_of_list(b, n_features);
	return mix(m, setting, n_features, false, *ret_prior);
}

static int *changed_from(const struct time_model *m, const int *from, int lever, int setting)
{
	size_t n_levers = (size_t)m->basis.columns.n_levers;
	int *changed = xcalloc(n_levers, sizeof(*changed));
	memcpy(changed, from, n_levers * sizeof(*changed));
	changed[lever] = setting;
	return changed;
}

void time_model_setting(struct time_model *m, int lever, int setting, double *ret_mean, double *ret_sd)
{
	struct time_basis *b = &m->basis;
	int d = columns_of(&b->columns, lever, setting);
	if (d < 0) {
		*ret_mean = *ret_sd = 0;
		return;
	}
	CLEANUP(free_ptr) int *changed = changed_from(m, b->reference, lever, setting);
	struct belief prior;
	b->list[0] = (struct feature){d, 1};
	struct belief belief = believe(m, changed, 1, &prior);
	*ret_mean = belief.mean;
	*ret_sd = sqrt(belief.variance);
}

static struct belief_change change_of(struct belief prior, struct belief now)
{
	return (struct belief_change){prior.mean, sqrt(prior.variance), now.mean, sqrt(now.variance)};
}

void time_model_effect(struct time_model *m, int lever, int setting, struct belief_change *ret_gain)
{
	struct time_basis *b = &m->basis;
	CLEANUP(free_ptr) int *changed = changed_from(m, b->base.setting, lever, setting);
	int n = time_basis_list(b, b->base, (struct point){changed, b->base.thrash});
	struct belief prior, now = believe(m, changed, n, &prior);
	*ret_gain = change_of(prior, now);
}

void time_model_declared_share(
	struct time_model *m, int source, bool of_patches, struct belief_change *ret_share)
{
	struct time_basis *b = &m->basis;
	struct belief prior;
	int column = time_basis_slope_column(b, source, of_patches);
	*ret_share = (struct belief_change){0};
	if (column < 0)
		return;
	b->list[0] = (struct feature){column, 1};
	struct belief now = believe(m, b->base.setting, 1, &prior);
	*ret_share = change_of(prior, now);
	ret_share->prior_mean += time_basis_declared_share;
	ret_share->mean += time_basis_declared_share;
}

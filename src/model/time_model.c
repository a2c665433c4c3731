/*
 * Rules R1 and R2: a Gaussian linear model of ln speed-up in dual form. The features of a candidate are taken
 * relative to those of the run that defines y = 0: the reference, or, where the reference does not fit, the
 * first valid run.
 *
 * Fit: A = Phi S Phi' + nugget + noise = L L'. Kept per column d: v_d = L^-1 Phi S e_d, so that a candidate
 * with m changed columns costs O(m n).
 */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/columns.h"
#include "model/dense.h"
#include "model/models.h"

static const double nugget_variance = 0.02 * 0.02; /* what one configuration adds to the features */
static const double jitter_first = 1e-10, jitter_last = 1e-4;

/* Levers in which a configuration may differ from the anchor (below) and still be reckoned from it. */
enum { NEAR = 4 };

/* Features behind the settings and the declared pairs. */
enum shared_feature { PATCH_SLOPE, THRASH, KNOB_SLOPE, COUNT, N_SHARED };

static const struct {
	double mean, sd;
} shared_prior[N_SHARED] = {
	[PATCH_SLOPE] = {0, 0.4},
	[THRASH] = {-0.05, 0.1},
	[KNOB_SLOPE] = {0, 0.4},
	[COUNT] = {0, 0.02},
};

struct feature {
	int column;
	double value;
};

struct time_model {
	const struct model_input *in;
	struct columns columns;
	int n_features, n_rows;
	int *row;             /* observation index of each row; n_rows */
	const int *base;      /* settings at which y = 0 */
	int base_observation; /* the provisional reference; -1 = the reference itself or none */
	int *reference;       /* n_levers */
	double base_thrash, base_gain;
	double *mean, *variance; /* prior; n_features */
	double *shift;           /* posterior mean - prior mean; n_features */
	double *v;               /* n_features x n_rows */
	double *alpha, *lower;   /* n_rows; n_rows x n_rows */
	struct feature *list;    /* scratch of the prediction in progress */
	double *whitened;        /* the same; n_rows */
	/* Whitened covariances of one configuration: those of its neighbours differ in a few columns. */
	int *anchor;
	double anchor_thrash;
	double *anchor_whitened;
};

static double thrash_of(const struct model_input *in, double peak_bytes)
{
	double fill = peak_bytes / in->capacity_bytes;
	return fill > 0.9 ? (fill - 0.9) / 0.1 : 0; /* also 0 where either is unknown */
}

static double observed_thrash(const struct model_input *in, const struct observation *o)
{
	if (isnan(o->peak_bytes) && o->thrash)
		return 0.5; /* the middle of [0.9C, C] */
	return thrash_of(in, o->peak_bytes);
}

static void setting_prior(const struct lever *lever, int setting, double *ret_mean, double *ret_sd)
{
	const struct lever_prior *p = &lever->prior[setting];
	if (p->experienced) {
		*ret_mean = p->mean_ln;
		*ret_sd = p->sd_ln;
		return;
	}
	double predicted = fabs(p->predicted_gain_ln);
	double sd = lever->is_patch ? fmax(0.03, 0.15 * predicted) : fmax(0.05, 0.5 * predicted);
	*ret_mean = fmin(0.3 * p->predicted_gain_ln, p->amdahl_cap_ln);
	*ret_sd = fmin(fmax(0.6 * p->amdahl_cap_ln, 0.003), sd);
}

static void fill_prior(struct time_model *m)
{
	const struct columns *c = &m->columns;
	for (int j = 0; j < c->n_columns; j++) {
		double sd;
		setting_prior(&c->levers[c->lever[j]], c->setting[j], &m->mean[j], &sd);
		m->variance[j] = sd * sd;
	}
	int next = c->n_columns;
	for (size_t p = 0; p < m->in->n_declared_pairs; p++, next++)
		m->variance[next] = 0.06 * 0.06;
	for (int s = 0; s < N_SHARED; s++, next++) {
		m->mean[next] = shared_prior[s].mean;
		m->variance[next] = shared_prior[s].sd * shared_prior[s].sd;
	}
}

static bool pair_is_on(const struct lever_pair *p, const int *setting)
{
	return setting[p->lever_a] == p->setting_a && setting[p->lever_b] == p->setting_b;
}

/* Adds one setting, with sign, to the feature list and to the shared sums. */
static int add_setting(const struct time_model *m, int lever, int setting, double sign, double *shared, int n)
{
	int column = columns_of(&m->columns, lever, setting);
	if (column < 0)
		return n;
	const struct lever *l = &m->in->levers[lever];
	const struct lever_prior *p = &l->prior[setting];
	m->list[n++] = (struct feature){column, sign};
	shared[COUNT] += sign;
	if (!p->experienced)
		shared[l->is_patch ? PATCH_SLOPE : KNOB_SLOPE] += sign * p->predicted_gain_ln;
	return n;
}

struct point {
	const int *setting;
	double thrash;
};

/* Non-zero entries of phi(to) - phi(from), into m->list. */
static int list_features(const struct time_model *m, struct point from, struct point to)
{
	double shared[N_SHARED] = {[THRASH] = to.thrash - from.thrash};
	int n = 0;
	for (int l = 0; l < m->columns.n_levers; l++) {
		if (to.setting[l] == from.setting[l])
			continue;
		n = add_setting(m, l, to.setting[l], 1, shared, n);
		n = add_setting(m, l, from.setting[l], -1, shared, n);
	}
	for (size_t p = 0; p < m->in->n_declared_pairs; p++) {
		const struct lever_pair *pair = &m->in->declared_pairs[p];
		int change = (int)pair_is_on(pair, to.setting) - (int)pair_is_on(pair, from.setting);
		if (change)
			m->list[n++] = (struct feature){m->columns.n_columns + (int)p, change};
	}
	int first = m->columns.n_columns + (int)m->in->n_declared_pairs;
	for (int s = 0; s < N_SHARED; s++)
		if (shared[s] != 0)
			m->list[n++] = (struct feature){first + s, shared[s]};
	return n;
}

static struct point base_point(const struct time_model *m)
{
	return (struct point){m->base, m->base_thrash};
}

static void choose_base(struct time_model *m)
{
	const struct model_input *in = m->in;
	m->base = m->reference;
	m->base_observation = -1;
	m->base_thrash = thrash_of(in, in->reference_peak_bytes);
	if (in->reference_runs > 0)
		return;
	for (size_t i = 0; i < in->n_observations; i++) {
		const struct observation *o = &in->observations[i];
		if (!o->has_gain || !o->incumbent_allowed)
			continue;
		m->base = o->setting;
		m->base_thrash = observed_thrash(in, o);
		m->base_gain = o->gain_ln;
		m->base_observation = (int)i;
		return;
	}
}

static void choose_rows(struct time_model *m)
{
	const struct model_input *in = m->in;
	if (in->reference_runs == 0 && m->base_observation < 0)
		return; /* step times without anything to compare them with */
	for (size_t i = 0; i < in->n_observations; i++)
		if (in->observations[i].has_gain && (int)i != m->base_observation)
			m->row[m->n_rows++] = (int)i;
}

/* scaled: Phi S. */
static void fill_covariance(struct time_model *m, const double *phi, const double *scaled, double *a)
{
	const struct model_input *in = m->in;
	size_t n = (size_t)m->n_rows, f = (size_t)m->n_features;
	double run_variance = in->sigma_pair * in->sigma_pair / 2;
	double shared_reference = run_variance / MAX_OF(in->reference_runs, 1);
	for (size_t i = 0; i < n; i++) {
		const struct observation *oi = &in->observations[m->row[i]];
		bool at_base = same_settings(oi->setting, m->base, in->n_levers);
		for (size_t j = 0; j <= i; j++) {
			const struct observation *oj = &in->observations[m->row[j]];
			double sum = shared_reference + dot(scaled + i * f, phi + j * f, m->n_features);
			if (!at_base && same_settings(oi->setting, oj->setting, in->n_levers))
				sum += nugget_variance;
			a[i * n + j] = sum;
		}
		a[i * n + i] += run_variance + oi->extra_sd_ln * oi->extra_sd_ln;
	}
}

static void fill_rows(struct time_model *m, double *phi, double *residual)
{
	const struct model_input *in = m->in;
	for (int i = 0; i < m->n_rows; i++) {
		const struct observation *o = &in->observations[m->row[i]];
		double *row = phi + (size_t)i * (size_t)m->n_features;
		int n = list_features(m, base_point(m), (struct point){o->setting, observed_thrash(in, o)});
		residual[i] = o->gain_ln - m->base_gain;
		for (int k = 0; k < n; k++) {
			row[m->list[k].column] = m->list[k].value;
			residual[i] -= m->list[k].value * m->mean[m->list[k].column];
		}
	}
}

static enum err_code condition_on_rows(struct time_model *m, struct err *reterr)
{
	size_t n = (size_t)m->n_rows, f = (size_t)m->n_features;
	CLEANUP(free_ptr) double *phi = xcalloc(n * f + 1, sizeof(*phi));
	CLEANUP(free_ptr) double *scaled = xcalloc(n * f + 1, sizeof(*scaled));
	CLEANUP(free_ptr) double *a = xcalloc(n * n + 1, sizeof(*a));
	m->lower = xcalloc(n * n + 1, sizeof(*m->lower));
	m->alpha = xcalloc(n + 1, sizeof(*m->alpha));
	m->whitened = xcalloc(n + 1, sizeof(*m->whitened));
	m->anchor_whitened = xcalloc(n + 1, sizeof(*m->anchor_whitened));
	m->v = xcalloc(n * f + 1, sizeof(*m->v));
	fill_rows(m, phi, m->alpha);
	for (size_t i = 0; i < n * f; i++)
		scaled[i] = phi[i] * m->variance[i % f];
	fill_covariance(m, phi, scaled, a);
	if (!cholesky_with_jitter(a, m->n_rows, jitter_first, jitter_last, m->lower))
		return err_set(reterr, ERR_FAILED,
			"time model: the covariance of %d runs is not positive definite", m->n_rows);
	solve_lower(m->lower, m->n_rows, m->alpha);
	solve_lower_transposed(m->lower, m->n_rows, m->alpha);
	for (size_t i = 0; i < n * f; i++)
		m->shift[i % f] += scaled[i] * m->alpha[i / f];
	solve_lower_many(m->lower, m->n_rows, scaled, f);
	transpose(scaled, n, f, m->v);
	return OK;
}

enum err_code time_model_fit(const struct model_input *in, struct time_model **ret_model, struct err *reterr)
{
	struct time_model *m = xcalloc(1, sizeof(*m));
	m->in = in;
	columns_init(&m->columns, in->levers, in->n_levers);
	m->n_features = m->columns.n_columns + (int)in->n_declared_pairs + N_SHARED;
	m->mean = xcalloc((size_t)m->n_features, sizeof(*m->mean));
	m->variance = xcalloc((size_t)m->n_features, sizeof(*m->variance));
	m->shift = xcalloc((size_t)m->n_features, sizeof(*m->shift));
	m->row = xcalloc(in->n_observations + 1, sizeof(*m->row));
	m->reference = xcalloc((size_t)in->n_levers + 1, sizeof(*m->reference));
	/* A lever adds at most its old and its new setting. */
	m->list = xcalloc((size_t)(2 * in->n_levers + N_SHARED) + in->n_declared_pairs, sizeof(*m->list));
	for (int l = 0; l < in->n_levers; l++)
		m->reference[l] = in->levers[l].reference;
	fill_prior(m);
	choose_base(m);
	m->anchor = xcalloc((size_t)in->n_levers + 1, sizeof(*m->anchor));
	if (in->n_levers)
		memcpy(m->anchor, m->base, (size_t)in->n_levers * sizeof(*m->anchor));
	m->anchor_thrash = m->base_thrash;
	choose_rows(m);
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
	columns_release(&m->columns);
	free(m->row);
	free(m->reference);
	free(m->mean);
	free(m->variance);
	free(m->shift);
	free(m->v);
	free(m->alpha);
	free(m->lower);
	free(m->list);
	free(m->anchor);
	free(m->anchor_whitened);
	free(m->whitened);
	free(m);
}

/* The candidate's own nugget, where it has been run: adds to the mean and to the whitened covariances. */
static double add_nugget(const struct time_model *m, const int *setting)
{
	int n = m->n_rows, n_same = 0;
	double mean = 0;
	CLEANUP(free_ptr) double *k = NULL;
	for (int i = 0; i < n; i++) {
		if (!same_settings(m->in->observations[m->row[i]].setting, setting, m->columns.n_levers))
			continue;
		if (!n_same++)
			k = xcalloc((size_t)n, sizeof(*k));
		k[i] = nugget_variance;
		mean += nugget_variance * m->alpha[i];
	}
	if (n_same) {
		solve_lower(m->lower, n, k);
		for (int i = 0; i < n; i++)
			m->whitened[i] += k[i];
	}
	return mean;
}

static void add_whitened(const struct time_model *m, int n_features, double *whitened)
{
	int n = m->n_rows;
	for (int k = 0; k < n_features; k++) {
		const double *v = m->v + (size_t)m->list[k].column * (size_t)n;
		for (int i = 0; i < n; i++)
			whitened[i] += m->list[k].value * v[i];
	}
}

/* L^-1 Phi S phi' of the point, from the anchor where that is near; a far point becomes the anchor. */
static void whiten(struct time_model *m, struct point point)
{
	size_t n = (size_t)m->n_rows, n_levers = (size_t)m->columns.n_levers;
	if (settings_apart(point.setting, m->anchor, m->columns.n_levers) > NEAR) {
		memset(m->anchor_whitened, 0, n * sizeof(double));
		add_whitened(m, list_features(m, base_point(m), point), m->anchor_whitened);
		memcpy(m->anchor, point.setting, n_levers * sizeof(*m->anchor));
		m->anchor_thrash = point.thrash;
	}
	memcpy(m->whitened, m->anchor_whitened, n * sizeof(double));
	struct point anchor = {m->anchor, m->anchor_thrash};
	add_whitened(m, list_features(m, anchor, point), m->whitened);
}

void time_model_predict(struct time_model *m, const int *setting, double predicted_peak_bytes,
	double *ret_mean, double *ret_sd)
{
	struct point point = {setting, thrash_of(m->in, predicted_peak_bytes)};
	double mean = 0, variance = 0;
	whiten(m, point);
	int n_features = list_features(m, base_point(m), point);
	for (int k = 0; k < n_features; k++) {
		int d = m->list[k].column;
		mean += m->list[k].value * (m->mean[d] + m->shift[d]);
		variance += m->list[k].value * m->list[k].value * m->variance[d];
	}
	if (!same_settings(setting, m->base, m->columns.n_levers)) {
		variance += nugget_variance;
		mean += add_nugget(m, setting);
	}
	variance -= dot(m->whitened, m->whitened, m->n_rows);
	*ret_mean = mean;
	*ret_sd = sqrt(fmax(variance, 0));
}

void time_model_setting(const struct time_model *m, int lever, int setting, double *ret_mean, double *ret_sd)
{
	int d = columns_of(&m->columns, lever, setting);
	if (d < 0) {
		*ret_mean = *ret_sd = 0;
		return;
	}
	const double *v = m->v + (size_t)d * (size_t)m->n_rows;
	*ret_mean = m->mean[d] + m->shift[d];
	*ret_sd = sqrt(fmax(m->variance[d] - dot(v, v, m->n_rows), 0));
}

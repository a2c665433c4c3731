#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/failure_field.h"
#include "model/laplace.h"
#include "model/normal_tail.h"
#include "model/time_structure.h"

static const double prior_mean = 1.5, constant_variance = 1, kernel_jitter = 1e-8;
static const double single_part = 0.4, pair_part = 0.3, product_part = 0.4, linear_part = 0.5;
static const double scale_grid[] = {1, 4, 10};
static const struct metric metric = {2, true};
/* The latest runs: a prediction costs n^2. */
enum { ROWS_MAX = 96 };

struct failure_field {
	const struct model_input *in;
	struct structure structure;
	double **
		u; /* by lever: of every setting from the reference's, in sds of the axis; NULL without one */
	int *reference;
	double scale;
	struct laplace laplace;
	const int **row_setting;
	struct row_table table; /* likeness and, last, the linear product */
	double *k;              /* scratch */
};

/* ------------------------------------------------------------- which tasks */

static bool has_memory_readings(const struct model_input *in)
{
	return isfinite(fmin(in->capacity_bytes, in->memory_cap_bytes)) &&
	       (in->reference_runs == 0 || !isnan(in->reference_peak_bytes));
}

static bool is_numeric_task(const struct model_input *in, const struct structure *s)
{
	int n_choices = 0;
	for (int l = 0; l < in->n_levers; l++)
		n_choices += in->levers[l].n_settings > 1;
	return 2 * s->axes.n_numbers >= n_choices && s->axes.n_numbers > 0;
}

/* ------------------------------------------------------------- kernel */

static void fill_places(struct failure_field *f)
{
	const struct structure *s = &f->structure;
	f->u = xcalloc((size_t)s->n_levers + 1, sizeof(*f->u));
	for (int l = 0; l < s->n_levers; l++) {
		const struct axis *axis = &s->axes.axis[l];
		int n = axis->n_settings;
		double sum = 0, sum_sq = 0;
		if (axis->kind != AXIS_NUMBER)
			continue;
		for (int i = 0; i < n; i++) {
			sum += axis->u[i];
			sum_sq += axis->u[i] * axis->u[i];
		}
		double sd = sqrt(sum_sq / n - sum / n * (sum / n));
		f->u[l] = xcalloc((size_t)n, sizeof(double));
		for (int i = 0; i < n; i++)
			f->u[l][i] = (axis->u[i] - axis->u[f->reference[l]]) / sd;
	}
}

static double linear_share(const struct failure_field *f, int lever, int a, int b)
{
	if (!f->structure.is_part[lever])
		return 0;
	if (f->u[lever])
		return f->u[lever][a] * f->u[lever][b];
	return a == b && a != f->reference[lever];
}

static double covariance(const struct failure_field *f, const struct likeness *l, double linear)
{
	return f->scale * (single_part * l->single + pair_part * l->pair + product_part * l->product +
				  linear_part * linear / f->structure.n_parts) +
	       constant_variance;
}

/* After row_table_sum(). */
static double covariance_with_row(const struct failure_field *f, int row)
{
	struct likeness l = structure_likeness(&f->structure, &f->table, row);
	return covariance(f, &l, f->table.sum[LIKENESS_TERMS][row]);
}

/* ------------------------------------------------------------- fit and predict */

static void add_row(struct failure_field *f, const int *setting, bool passed)
{
	f->row_setting[f->laplace.n] = setting;
	laplace_add(&f->laplace, passed ? READ_AT_LEAST : READ_AT_MOST, 0, 0);
}

/* Out of memory is the memory ledger's matter. */
static void add_rows(struct failure_field *f)
{
	const struct model_input *in = f->in;
	size_t first = in->n_observations, known = 1;
	while (first > 0 && known < ROWS_MAX)
		known += in->observations[--first].status != OBSERVED_OOM;
	if (in->reference_runs > 0)
		add_row(f, f->reference, true);
	for (size_t i = first; i < in->n_observations; i++)
		if (in->observations[i].status != OBSERVED_OOM)
			add_row(f, in->observations[i].setting, in->observations[i].status == OBSERVED_OK);
}

static void fill_table(struct failure_field *f)
{
	const struct model_input *in = f->in;
	row_table_init(&f->table, in->levers, in->n_levers, f->laplace.n, LIKENESS_TERMS + 1);
	for (int i = 0; i < f->laplace.n; i++) {
		const int *setting = f->row_setting[i];
		structure_fill_row(&f->structure, metric, &f->table, i, setting);
		for (int l = 0; l < in->n_levers; l++)
			for (int to = 0; to < in->levers[l].n_settings; to++)
				*row_table_at(&f->table, LIKENESS_TERMS, l, to, i) =
					linear_share(f, l, setting[l], to);
	}
}

static bool fit_scale(struct failure_field *f, double scale)
{
	size_t n = (size_t)f->laplace.n;
	f->scale = scale;
	for (size_t i = 0; i < n; i++) {
		f->laplace.prior_mean[i] = prior_mean;
		row_table_sum(&f->table, f->row_setting[i]);
		for (size_t j = 0; j <= i; j++)
			f->laplace.kernel[i * n + j] = f->laplace.kernel[j * n + i] =
				covariance_with_row(f, (int)j);
		f->laplace.kernel[i * n + i] += kernel_jitter;
	}
	return laplace_find_mode(&f->laplace);
}

static bool fit(struct failure_field *f)
{
	double best = -INFINITY, best_scale = scale_grid[0];
	for (size_t i = 0; i < ARRAY_LEN(scale_grid); i++)
		if (fit_scale(f, scale_grid[i]) && f->laplace.log_evidence > best) {
			best = f->laplace.log_evidence;
			best_scale = scale_grid[i];
		}
	return fit_scale(f, best_scale);
}

struct failure_field *failure_field_fit(const struct model_input *in)
{
	struct failure_field *f = xcalloc(1, sizeof(*f));
	f->in = in;
	structure_init(&f->structure, in->levers, in->n_levers);
	if (!has_memory_readings(in) || !is_numeric_task(in, &f->structure)) {
		failure_field_free(f);
		return NULL;
	}
	f->reference = xcalloc((size_t)in->n_levers + 1, sizeof(*f->reference));
	for (int l = 0; l < in->n_levers; l++)
		f->reference[l] = in->levers[l].reference;
	f->row_setting = xcalloc(ROWS_MAX + 1, sizeof(*f->row_setting));
	f->k = xcalloc(ROWS_MAX + 1, sizeof(*f->k));
	laplace_init(&f->laplace, ROWS_MAX + 1, 1);
	fill_places(f);
	add_rows(f);
	fill_table(f);
	if (!fit(f)) {
		failure_field_free(f);
		return NULL;
	}
	return f;
}

void failure_field_free(struct failure_field *f)
{
	if (!f)
		return;
	for (int l = 0; f->u && l < f->structure.n_levers; l++)
		free(f->u[l]);
	row_table_release(&f->table);
	laplace_release(&f->laplace);
	structure_release(&f->structure);
	free(f->row_setting);
	free(f->k);
	free(f->u);
	free(f->reference);
	free(f);
}

double failure_field_p_ok(struct failure_field *f, const int *setting)
{
	double mean = prior_mean, itself = 0;
	row_table_sum(&f->table, setting);
	for (int i = 0; i < f->laplace.n; i++) {
		f->k[i] = covariance_with_row(f, i);
		mean += f->k[i] * f->laplace.slope[i];
	}
	for (int l = 0; l < f->in->n_levers; l++)
		itself += linear_share(f, l, setting[l], setting[l]);
	struct likeness equal = {1, 1, 1};
	double variance = covariance(f, &equal, itself);
	variance = fmax(variance - laplace_whiten(&f->laplace, f->k), 0);
	return normal_cdf(mean / sqrt(1 + variance));
}

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/dense.h"
#include "model/laplace.h"
#include "model/memory_kernel.h"
#include "model/memory_shape.h"

static const struct memory_scales scales = {.b = 0.5, .l = 0.5, .p = 0.08, .r = 0.2};
static const double level_variance = 1.0, noise_sd_ln = 0.1, kernel_jitter = 1e-8;
enum { RUNS_EACH = 40, SIBLINGS = 3, RUNS = RUNS_EACH * SIBLINGS };

struct memory_shape {
	struct memory_frame frame;
	struct laplace laplace;
	struct row_table table;
	double *places; /* RUNS x n_levers */
	int *sibling;   /* n */
	int n_points;
	double reference_ln;
};

static double *places_of(const struct memory_shape *s, size_t run)
{
	return s->places + run * (size_t)s->frame.n_levers;
}

static void add_run(struct memory_shape *s, const struct sibling_run *run)
{
	double *places = places_of(s, (size_t)s->n_points);
	for (int l = 0; l < s->frame.n_levers; l++)
		places[l] = memory_place_value(&s->frame, l, run->value[l]);
	if (run->out_of_memory)
		laplace_add(&s->laplace, READ_AT_LEAST, log(run->capacity_bytes), 0);
	else
		laplace_add(&s->laplace, READ_EXACT, log(run->peak_bytes), 0);
	s->sibling[s->n_points++] = run->sibling;
}

static bool is_usable(const struct sibling_run *run)
{
	double bytes = run->out_of_memory ? run->capacity_bytes : run->peak_bytes;
	return run->sibling >= 0 && run->sibling < SIBLINGS && bytes > 0 && isfinite(bytes);
}

/* The first runs of each sibling, as they come. */
static void add_runs(struct memory_shape *s, const struct model_input *in)
{
	int taken[SIBLINGS] = {0};
	for (size_t i = 0; i < in->n_sibling_runs; i++) {
		const struct sibling_run *run = &in->sibling_runs[i];
		if (is_usable(run) && taken[run->sibling]++ < RUNS_EACH)
			add_run(s, run);
	}
}

static void fill_kernel(struct memory_shape *s)
{
	size_t n = (size_t)s->n_points;
	double mean = 0;
	int n_exact = 0;
	for (size_t i = 0; i < n; i++) {
		bool is_exact = s->laplace.row[i].reading == READ_EXACT;
		mean += is_exact ? s->laplace.row[i].low : 0;
		n_exact += is_exact;
		for (size_t j = 0; j <= i; j++) {
			struct alike alike = memory_alike(&s->frame, places_of(s, i), places_of(s, j));
			double k = memory_covariance(&scales, &alike);
			if (s->sibling[i] == s->sibling[j])
				k += level_variance;
			s->laplace.kernel[i * n + j] = s->laplace.kernel[j * n + i] = k;
		}
		s->laplace.kernel[i * n + i] += kernel_jitter;
	}
	for (size_t i = 0; i < n; i++)
		s->laplace.prior_mean[i] = mean / MAX_OF(n_exact, 1);
}

static double shift_ln(struct memory_shape *s, const int *setting)
{
	double sum = 0;
	row_table_sum(&s->table, setting);
	for (int i = 0; i < s->n_points; i++) {
		struct alike alike = memory_alike_row(&s->table, i);
		sum += memory_covariance(&scales, &alike) * s->laplace.slope[i];
	}
	return sum;
}

static bool has_exact(const struct memory_shape *s)
{
	for (int i = 0; i < s->n_points; i++)
		if (s->laplace.row[i].reading == READ_EXACT)
			return true;
	return false;
}

struct memory_shape *memory_shape_fit(const struct model_input *in, const struct axes *axes)
{
	if (in->n_sibling_runs == 0)
		return NULL;
	struct memory_shape *s = xcalloc(1, sizeof(*s));
	memory_frame_init(&s->frame, in, axes, false);
	laplace_init(&s->laplace, RUNS, noise_sd_ln);
	s->places = xcalloc(RUNS * ((size_t)in->n_levers + 1), sizeof(*s->places));
	s->sibling = xcalloc(RUNS, sizeof(*s->sibling));
	add_runs(s, in);
	fill_kernel(s);
	if (!has_exact(s) || !laplace_find_mode(&s->laplace)) {
		memory_shape_free(s);
		return NULL;
	}
	row_table_init(&s->table, in->levers, in->n_levers, s->n_points, ALIKE_TERMS);
	for (int i = 0; i < s->n_points; i++)
		memory_fill_row(&s->frame, &s->table, i, places_of(s, (size_t)i));
	CLEANUP(free_ptr) int *reference = xcalloc((size_t)in->n_levers + 1, sizeof(*reference));
	for (int l = 0; l < in->n_levers; l++)
		reference[l] = in->levers[l].reference;
	s->reference_ln = shift_ln(s, reference);
	return s;
}

void memory_shape_free(struct memory_shape *s)
{
	if (!s)
		return;
	row_table_release(&s->table);
	free(s->places);
	free(s->sibling);
	laplace_release(&s->laplace);
	memory_frame_release(&s->frame);
	free(s);
}

double memory_shape_ln(struct memory_shape *s, const int *setting)
{
	return shift_ln(s, setting) - s->reference_ln;
}

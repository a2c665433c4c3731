#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/time_basis.h"

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

const double time_basis_declared_share = 0.3;

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

/* Of what nothing is declared: sd 7% of a knob's setting, 6% of a patch. Wider than CONTROLLER R1's 5% and
 * 3%, which lose on our own landscapes (docs/search.md). */
static void setting_prior(const struct lever *lever, int setting, double *ret_mean, double *ret_sd)
{
	const struct lever_prior *p = &lever->prior[setting];
	if (p->experienced) {
		*ret_mean = p->mean_ln;
		*ret_sd = p->sd_ln;
		return;
	}
	double predicted = fabs(p->predicted_gain_ln);
	double sd = lever->is_patch ? fmax(0.06, 0.15 * predicted) : fmax(0.07, 0.5 * predicted);
	*ret_mean = fmin(time_basis_declared_share * p->predicted_gain_ln, p->amdahl_cap_ln);
	*ret_sd = fmin(fmax(0.6 * p->amdahl_cap_ln, 0.003), sd);
}

static void fill_prior(struct time_basis *b)
{
	const struct columns *c = &b->columns;
	for (int j = 0; j < c->n_columns; j++) {
		double sd;
		setting_prior(&c->levers[c->lever[j]], c->setting[j], &b->mean[j], &sd);
		b->variance[j] = sd * sd;
	}
	int next = c->n_columns;
	for (size_t p = 0; p < b->in->n_declared_pairs; p++, next++)
		b->variance[next] = 0.06 * 0.06;
	for (int s = 0; s < N_SHARED; s++, next++) {
		bool is_slope = s == PATCH_SLOPE || s == KNOB_SLOPE;
		double sd = is_slope && b->in->keep_predictions ? 0 : shared_prior[s].sd;
		b->mean[next] = shared_prior[s].mean;
		b->variance[next] = sd * sd;
	}
}

static bool pair_is_on(const struct lever_pair *p, const int *setting)
{
	return setting[p->lever_a] == p->setting_a && setting[p->lever_b] == p->setting_b;
}

/* Adds one setting, with sign, to the feature list and to the shared sums. */
static int add_setting(const struct time_basis *b, int lever, int setting, double sign, double *shared, int n)
{
	int column = columns_of(&b->columns, lever, setting);
	if (column < 0)
		return n;
	const struct lever *l = &b->in->levers[lever];
	const struct lever_prior *p = &l->prior[setting];
	b->list[n++] = (struct feature){column, sign};
	shared[COUNT] += sign;
	if (!p->experienced)
		shared[l->is_patch ? PATCH_SLOPE : KNOB_SLOPE] += sign * p->predicted_gain_ln;
	return n;
}

int time_basis_list(const struct time_basis *b, struct point from, struct point to)
{
	double shared[N_SHARED] = {[THRASH] = to.thrash - from.thrash};
	int n = 0;
	for (int l = 0; l < b->columns.n_levers; l++) {
		if (to.setting[l] == from.setting[l])
			continue;
		n = add_setting(b, l, to.setting[l], 1, shared, n);
		n = add_setting(b, l, from.setting[l], -1, shared, n);
	}
	for (size_t p = 0; p < b->in->n_declared_pairs; p++) {
		const struct lever_pair *pair = &b->in->declared_pairs[p];
		int change = (int)pair_is_on(pair, to.setting) - (int)pair_is_on(pair, from.setting);
		if (change)
			b->list[n++] = (struct feature){b->columns.n_columns + (int)p, change};
	}
	int first = b->columns.n_columns + (int)b->in->n_declared_pairs;
	for (int s = 0; s < N_SHARED; s++)
		if (shared[s] != 0)
			b->list[n++] = (struct feature){first + s, shared[s]};
	return n;
}

int time_basis_slope_column(const struct time_basis *b, bool of_patches)
{
	int first_shared = b->columns.n_columns + (int)b->in->n_declared_pairs;
	return first_shared + (of_patches ? PATCH_SLOPE : KNOB_SLOPE);
}

struct point time_basis_point(const struct time_basis *b, const int *setting, double predicted_peak_bytes)
{
	return (struct point){setting, thrash_of(b->in, predicted_peak_bytes)};
}

const struct observation *time_basis_row(const struct time_basis *b, int row)
{
	return &b->in->observations[b->row[row]];
}

struct point time_basis_row_point(const struct time_basis *b, int row)
{
	const struct observation *o = time_basis_row(b, row);
	return (struct point){o->setting, observed_thrash(b->in, o)};
}

/* The observation that defines y = 0; -1 = the reference itself or none. */
static int choose_base(struct time_basis *b)
{
	const struct model_input *in = b->in;
	b->base = (struct point){b->reference, thrash_of(in, in->reference_peak_bytes)};
	if (in->reference_runs > 0)
		return -1;
	for (size_t i = 0; i < in->n_observations; i++) {
		const struct observation *o = &in->observations[i];
		if (!o->has_gain || !o->incumbent_allowed)
			continue;
		b->base = (struct point){o->setting, observed_thrash(in, o)};
		b->base_gain = o->gain_ln;
		return (int)i;
	}
	return -1;
}

static void choose_rows(struct time_basis *b, int base_observation)
{
	const struct model_input *in = b->in;
	if (in->reference_runs == 0 && base_observation < 0)
		return; /* step times without anything to compare them with */
	for (size_t i = 0; i < in->n_observations; i++)
		if (in->observations[i].has_gain && (int)i != base_observation)
			b->row[b->n_rows++] = (int)i;
}

void time_basis_init(struct time_basis *b, const struct model_input *in)
{
	*b = (struct time_basis){.in = in};
	columns_init(&b->columns, in->levers, in->n_levers);
	b->n_features = b->columns.n_columns + (int)in->n_declared_pairs + N_SHARED;
	b->mean = xcalloc((size_t)b->n_features, sizeof(*b->mean));
	b->variance = xcalloc((size_t)b->n_features, sizeof(*b->variance));
	b->row = xcalloc(in->n_observations + 1, sizeof(*b->row));
	b->reference = xcalloc((size_t)in->n_levers + 1, sizeof(*b->reference));
	/* A lever adds at most its old and its new setting. */
	b->list = xcalloc((size_t)(2 * in->n_levers + N_SHARED) + in->n_declared_pairs, sizeof(*b->list));
	for (int l = 0; l < in->n_levers; l++)
		b->reference[l] = in->levers[l].reference;
	fill_prior(b);
	choose_rows(b, choose_base(b));
}

void time_basis_release(struct time_basis *b)
{
	columns_release(&b->columns);
	free(b->mean);
	free(b->variance);
	free(b->row);
	free(b->reference);
	free(b->list);
	*b = (struct time_basis){0};
}

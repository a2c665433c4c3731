#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/time_basis.h"

/* Features behind the settings and the declared pairs. Behind them a proposer that predicts something has two
 * slopes of its own, of patches and of knobs, in the order of the proposers' numbers. */
enum shared_feature { PATCH_SLOPE, THRASH, KNOB_SLOPE, COUNT, N_SHARED };
enum { NO_SLOPE = -1, SLOPES_EACH = 2 };

static const struct {
	double mean, sd;
} shared_prior[N_SHARED] = {
	[PATCH_SLOPE] = {0, 0.4},
	[THRASH] = {-0.05, 0.1},
	[KNOB_SLOPE] = {0, 0.4},
	[COUNT] = {0, 0.02},
};

const double time_basis_declared_share = 0.3;
/*
 * A prediction p with a declared sd d: of the gain that it speaks of a share comes true, a priori 0.3 +- 0.4
 * (the mean above, the slope's sd). If the two are independent the product's variance is (0.4 p)^2, which the
 * slope column has, and (0.3^2 + 0.4^2) d^2 beside it: an sd of 0.5 d. It is the half that a knob's usual sd
 * allows of its prediction: d = |p| is what is assumed of one who says nothing.
 */
static const double declared_sd_share = 0.5;

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
	double usual_sd = lever->is_patch ? fmax(0.06, 0.15 * predicted) : fmax(0.07, 0.5 * predicted);
	double sd = fmax(usual_sd, declared_sd_share * p->predicted_sd_ln);
	*ret_mean = fmin(time_basis_declared_share * p->predicted_gain_ln, p->amdahl_cap_ln);
	*ret_sd = fmin(fmax(0.6 * p->amdahl_cap_ln, 0.003), sd);
}

/* ------------------------------------------------------------- slopes */

static const struct lever_prior *prior_of_column(const struct time_basis *b, int column)
{
	return &b->in->levers[b->columns.lever[column]].prior[b->columns.setting[column]];
}

/* Index among the shared features. */
static int slope_of(const struct time_basis *b, int source, bool of_patches)
{
	if (source == 0)
		return of_patches ? PATCH_SLOPE : KNOB_SLOPE;
	for (int k = 0; k < b->n_proposers; k++)
		if (b->proposer[k] == source)
			return N_SHARED + SLOPES_EACH * k + (of_patches ? 0 : 1);
	return NO_SLOPE;
}

/* Into the list of proposers, which is in order. */
static void add_proposer(struct time_basis *b, int source)
{
	int at = b->n_proposers;
	if (slope_of(b, source, false) != NO_SLOPE)
		return;
	for (; at > 0 && b->proposer[at - 1] > source; at--)
		b->proposer[at] = b->proposer[at - 1];
	b->proposer[at] = source;
	b->n_proposers++;
}

static void find_slopes(struct time_basis *b)
{
	int n = b->columns.n_columns;
	b->proposer = xcalloc((size_t)n + 1, sizeof(*b->proposer));
	b->slope = xcalloc((size_t)n + 1, sizeof(*b->slope));
	for (int j = 0; j < n; j++) {
		const struct lever_prior *p = prior_of_column(b, j);
		if (!p->experienced && p->predicted_gain_ln != 0)
			add_proposer(b, p->source);
	}
	for (int j = 0; j < n; j++) {
		const struct lever_prior *p = prior_of_column(b, j);
		bool is_patch = b->in->levers[b->columns.lever[j]].is_patch;
		b->slope[j] = p->experienced ? NO_SLOPE : slope_of(b, p->source, is_patch);
	}
	b->n_shared = N_SHARED + SLOPES_EACH * b->n_proposers;
	b->shared = xcalloc((size_t)b->n_shared, sizeof(*b->shared));
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
	for (int s = 0; s < b->n_shared; s++, next++) {
		enum shared_feature kind = s < N_SHARED ? (enum shared_feature)s : KNOB_SLOPE;
		bool is_slope = kind == PATCH_SLOPE || kind == KNOB_SLOPE;
		double sd = is_slope && b->in->keep_predictions ? 0 : shared_prior[kind].sd;
		b->mean[next] = shared_prior[kind].mean;
		b->variance[next] = sd * sd;
	}
}

static bool pair_is_on(const struct lever_pair *p, const int *setting)
{
	return setting[p->lever_a] == p->setting_a && setting[p->lever_b] == p->setting_b;
}

/* Adds one setting, with sign, to the feature list and to the shared sums. */
static int add_setting(const struct time_basis *b, int lever, int setting, double sign, int n)
{
	int column = columns_of(&b->columns, lever, setting);
	if (column < 0)
		return n;
	b->list[n++] = (struct feature){column, sign};
	b->shared[COUNT] += sign;
	if (b->slope[column] != NO_SLOPE)
		b->shared[b->slope[column]] += sign * b->in->levers[lever].prior[setting].predicted_gain_ln;
	return n;
}

int time_basis_list(const struct time_basis *b, struct point from, struct point to)
{
	int n = 0;
	memset(b->shared, 0, (size_t)b->n_shared * sizeof(*b->shared));
	b->shared[THRASH] = to.thrash - from.thrash;
	for (int l = 0; l < b->columns.n_levers; l++) {
		if (to.setting[l] == from.setting[l])
			continue;
		n = add_setting(b, l, to.setting[l], 1, n);
		n = add_setting(b, l, from.setting[l], -1, n);
	}
	for (size_t p = 0; p < b->in->n_declared_pairs; p++) {
		const struct lever_pair *pair = &b->in->declared_pairs[p];
		int change = (int)pair_is_on(pair, to.setting) - (int)pair_is_on(pair, from.setting);
		if (change)
			b->list[n++] = (struct feature){b->columns.n_columns + (int)p, change};
	}
	int first = b->columns.n_columns + (int)b->in->n_declared_pairs;
	for (int s = 0; s < b->n_shared; s++)
		if (b->shared[s] != 0)
			b->list[n++] = (struct feature){first + s, b->shared[s]};
	return n;
}

int time_basis_slope_column(const struct time_basis *b, int source, bool of_patches)
{
	int slope = slope_of(b, source, of_patches);
	return slope == NO_SLOPE ? -1 : b->columns.n_columns + (int)b->in->n_declared_pairs + slope;
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
	find_slopes(b);
	b->n_features = b->columns.n_columns + (int)in->n_declared_pairs + b->n_shared;
	b->mean = xcalloc((size_t)b->n_features, sizeof(*b->mean));
	b->variance = xcalloc((size_t)b->n_features, sizeof(*b->variance));
	b->row = xcalloc(in->n_observations + 1, sizeof(*b->row));
	b->reference = xcalloc((size_t)in->n_levers + 1, sizeof(*b->reference));
	/* A lever adds at most its old and its new setting. */
	b->list = xcalloc((size_t)(2 * in->n_levers + b->n_shared) + in->n_declared_pairs, sizeof(*b->list));
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
	free(b->proposer);
	free(b->slope);
	free(b->shared);
	*b = (struct time_basis){0};
}

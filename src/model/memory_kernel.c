#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/memory_kernel.h"

static const double near_length = 1.5, product_length = 3;
static const double differing_factor_ln = -0.91629073187415506518; /* ln 0.4 */

void memory_frame_init(
	struct memory_frame *f, const struct model_input *in, const struct axes *axes, bool is_relative)
{
	size_t n = (size_t)in->n_levers + 1;
	*f = (struct memory_frame){.levers = in->levers, .n_levers = in->n_levers, .axes = axes};
	f->role = xcalloc(n, sizeof(*f->role));
	f->origin = xcalloc(n, sizeof(*f->origin));
	for (int l = 0; l < in->n_levers; l++) {
		const struct axis *axis = &axes->axis[l];
		bool is_number = axis->kind == AXIS_NUMBER;
		f->role[l] = is_number ? MEMORY_NUMBER : MEMORY_CATEGORY;
		f->origin[l] = is_number && is_relative ? axis->u[in->levers[l].reference] : 0;
	}
}

void memory_frame_release(struct memory_frame *f)
{
	free(f->role);
	free(f->origin);
	*f = (struct memory_frame){0};
}

double memory_place(const struct memory_frame *f, int lever, int setting)
{
	return f->role[lever] == MEMORY_NUMBER ? f->axes->axis[lever].u[setting] - f->origin[lever] : setting;
}

double memory_place_value(const struct memory_frame *f, int lever, double value)
{
	if (f->role[lever] != MEMORY_NUMBER)
		return value;
	return axis_place(&f->axes->axis[lever], value) - f->origin[lever];
}

struct alike memory_share(const struct memory_frame *f, int lever, double a, double b)
{
	if (f->role[lever] == MEMORY_NO_PART)
		return (struct alike){0};
	if (f->role[lever] == MEMORY_NUMBER) {
		double product = a * b, apart = a - b;
		double scaled = apart / near_length;
		return (struct alike){.product = product,
			.product_sq = product * product,
			.near = exp(-0.5 * scaled * scaled),
			.distance_sq = apart * apart};
	}
	if (a == b)
		return (struct alike){.equal = a != f->levers[lever].reference};
	return (struct alike){.distance_sq = -2 * product_length * product_length * differing_factor_ln};
}

struct alike memory_alike(const struct memory_frame *f, const double *places_a, const double *places_b)
{
	struct alike sum = {0};
	for (int l = 0; l < f->n_levers; l++) {
		struct alike share = memory_share(f, l, places_a[l], places_b[l]);
		sum.product += share.product;
		sum.product_sq += share.product_sq;
		sum.equal += share.equal;
		sum.near += share.near;
		sum.distance_sq += share.distance_sq;
	}
	return sum;
}

void memory_fill_row(const struct memory_frame *f, struct row_table *t, int row, const double *places)
{
	for (int l = 0; l < f->n_levers; l++) {
		for (int s = 0; s < f->levers[l].n_settings; s++) {
			struct alike share = memory_share(f, l, places[l], memory_place(f, l, s));
			*row_table_at(t, 0, l, s, row) = share.product;
			*row_table_at(t, 1, l, s, row) = share.product_sq;
			*row_table_at(t, 2, l, s, row) = share.equal;
			*row_table_at(t, 3, l, s, row) = share.near;
			*row_table_at(t, 4, l, s, row) = share.distance_sq;
		}
	}
}

struct alike memory_alike_row(const struct row_table *t, int row)
{
	return (struct alike){t->sum[0][row], t->sum[1][row], t->sum[2][row], t->sum[3][row], t->sum[4][row]};
}

double memory_covariance(const struct memory_scales *s, const struct alike *a)
{
	double pairs = (a->product * a->product - a->product_sq) / 2 + a->equal * a->product;
	double together = exp(-0.5 * a->distance_sq / (product_length * product_length));
	return s->b * s->b + s->l * s->l * (a->product + a->equal) + s->p * s->p * pairs +
	       s->r * s->r * (a->near + together);
}

#include "base/base.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/time_structure.h"

/* In the product no knob alone makes two configurations strangers, and many knobs together do so no faster
 * than three. */
static const double factor_least_ln = -1.5, product_knobs = 3;

void structure_init(struct structure *s, const struct lever *levers, int n_levers)
{
	size_t n = (size_t)n_levers + 1;
	*s = (struct structure){.levers = levers, .n_levers = n_levers};
	axes_init(&s->axes, levers, n_levers);
	s->is_part = xcalloc(n, sizeof(*s->is_part));
	for (int l = 0; l < n_levers; l++) {
		bool has_choice = !levers[l].is_patch && levers[l].n_settings > 1;
		s->is_part[l] = has_choice && s->axes.n_ordered > 0;
		s->n_parts += s->is_part[l];
	}
}

void structure_release(struct structure *s)
{
	axes_release(&s->axes);
	free(s->is_part);
	*s = (struct structure){0};
}

static double kappa_of(const struct structure *s, int lever, int a, int b, struct metric metric)
{
	const struct axis *axis = &s->axes.axis[lever];
	if (axis->kind == AXIS_NONE)
		return a == b;
	if (axis->kind == AXIS_NUMBER && metric.in_doublings)
		return exp(-fabs(axis->u[a] - axis->u[b]) / (metric.length * fmax(0.5, axis->range / 4)));
	return exp(-abs(a - b) / (metric.length * fmax(1, axis->n_settings / 4.0)));
}

void structure_fill_row(
	const struct structure *s, struct metric metric, struct row_table *t, int row, const int *setting)
{
	double weight = fmin(1, product_knobs / MAX_OF(s->n_parts, 1));
	for (int l = 0; l < s->n_levers; l++) {
		for (int to = 0; to < s->levers[l].n_settings && s->is_part[l]; to++) {
			double kappa = kappa_of(s, l, setting[l], to, metric);
			*row_table_at(t, 0, l, to, row) = kappa;
			*row_table_at(t, 1, l, to, row) = kappa * kappa;
			*row_table_at(t, 2, l, to, row) =
				weight * (kappa > 0 ? fmax(log(kappa), factor_least_ln) : factor_least_ln);
		}
	}
}

struct likeness structure_likeness(const struct structure *s, const struct row_table *t, int row)
{
	double sum = t->sum[0][row], k = s->n_parts;
	return (struct likeness){.single = sum / k,
		.pair = k > 1 ? (sum * sum - t->sum[1][row]) / (k * (k - 1)) : 0,
		.product = exp(t->sum[2][row])};
}

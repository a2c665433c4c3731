/*
 * How alike two configurations are for time, over knobs whose settings lie on an axis and the other knobs
 * beside them (CONTROLLER sections 8 and 10.5): of each knob kappa = exp(-distance), 1 or 0 for categories;
 * from these the mean of kappa, the mean of kappa_i kappa_j over pairs, and a product over all. A task
 * without an axis has no structure.
 */
#ifndef INFRARSI_MODEL_TIME_STRUCTURE_H
#define INFRARSI_MODEL_TIME_STRUCTURE_H

#include "base/base.h"
#include "model/axes.h"
#include "model/models.h"
#include "model/row_table.h"

/* Of a distance: |Dlog2| / (length max(1/2, range/4)) on number axes, else |Drank| / (length max(1, n/4)). */
struct metric {
	double length;
	bool in_doublings;
};

struct likeness {
	double single, pair, product; /* each 1 for equal configurations */
};

struct structure {
	const struct lever *levers;
	int n_levers, n_parts; /* parts: the knobs that count; 0 = the task has no knob with an axis */
	struct axes axes;
	bool *is_part;
};

void structure_init(struct structure *s, const struct lever *levers, int n_levers);
void structure_release(struct structure *s);

/* The terms that structure_fill_row() fills, and structure_likeness() reads after row_table_sum(). */
enum { LIKENESS_TERMS = 3 };
void structure_fill_row(
	const struct structure *s, struct metric metric, struct row_table *t, int row, const int *setting);
struct likeness structure_likeness(const struct structure *s, const struct row_table *t, int row);

#endif

/*
 * Rule R1: what a configuration is made of for the time model. Features are one-hot settings, declared
 * enabling pairs, and shared columns (slopes of what was predicted, for each who predicted it; thrash,
 * count), taken relative to those of the run that defines y = 0: the reference, or, where the reference does
 * not fit, the first valid run.
 */
#ifndef INFRARSI_MODEL_TIME_BASIS_H
#define INFRARSI_MODEL_TIME_BASIS_H

#include "base/base.h"
#include "model/columns.h"
#include "model/models.h"

struct feature {
	int column;
	double value;
};

struct point {
	const int *setting;
	double thrash;
};

struct time_basis {
	const struct model_input *in;
	struct columns columns;
	int n_features;
	double *mean, *variance; /* prior; n_features */
	struct point base;       /* where y = 0 */
	double base_gain;
	int *reference; /* n_levers */
	int n_rows;
	int *row; /* observation index of each row */
	/* Sources beside the task (0) that predict something, ascending: only they have columns. */
	int n_proposers, *proposer;
	int n_shared, *slope; /* of each setting's column: its slope among the shared ones, or none */
	struct feature *list; /* scratch */
	double *shared;       /* scratch; n_shared */
};

void time_basis_init(struct time_basis *b, const struct model_input *in);
void time_basis_release(struct time_basis *b);
const struct observation *time_basis_row(const struct time_basis *b, int row);
struct point time_basis_point(const struct time_basis *b, const int *setting, double predicted_peak_bytes);
struct point time_basis_row_point(const struct time_basis *b, int row);
/* Non-zero entries of phi(to) - phi(from), into b->list; returns their number. */
int time_basis_list(const struct time_basis *b, struct point from, struct point to);
/* The column of the sum of a source's predictions, over knobs or over patches; -1 = it has none. */
int time_basis_slope_column(const struct time_basis *b, int source, bool of_patches);
/* The mean of a setting's prior is this share of what is declared. */
extern const double time_basis_declared_share;

#endif

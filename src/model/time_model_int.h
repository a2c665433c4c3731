/* The time model's two halves: fitting it (time_model.c) and asking it (time_predict.c). */
#ifndef INFRARSI_MODEL_TIME_MODEL_INT_H
#define INFRARSI_MODEL_TIME_MODEL_INT_H

#include "base/base.h"
#include "model/columns.h"
#include "model/models.h"
#include "model/row_table.h"
#include "model/time_basis.h"
#include "model/time_structure.h"

enum { FITS_MAX = 8, METRICS = 4 };

extern const double time_nugget_variance; /* what one configuration adds to the features */

struct fit {
	double s2;
	struct likeness split;
	int metric;
	double log_evidence, weight;
	double *lower, *alpha; /* n x n, n */
};

struct time_model {
	struct time_basis basis;
	struct structure structure;
	int n_rows, n_fits;
	uint64_t *row_hash; /* of the rows' settings */
	struct fit fit[FITS_MAX];
	int plain;          /* the fit without structure; -1 = it is not among them */
	double *covariance; /* Phi S e_d by column: n_features x n_rows */
	double *shift,
		*v; /* of the plain fit: posterior mean - prior mean, n_features; n_features x n_rows */
	bool metric_used[METRICS];
	struct row_table table[METRICS];   /* likeness with the rows and, last, with the base */
	struct likeness *to_base[METRICS]; /* of the rows; NULL = the metric is not used */
	/* Scratch: whitened (plain fit) and plain covariances of the prediction in progress; those of one
	 * configuration, the anchor, from which its neighbours' differ in a few columns. */
	double *whitened, *k, *k_fit, *anchor_whitened, *anchor_k;
	struct likeness *pinned[METRICS];
	int *anchor;
	double anchor_thrash;
};

/* The structured covariance under one fit. */
static inline double time_structured(const struct fit *f, const struct likeness *l)
{
	return f->s2 *
	       (f->split.single * l->single + f->split.pair * l->pair + f->split.product * l->product);
}

/* Pinned likeness of a configuration with the rows; returns that with the base, which is not pinned. */
struct likeness time_fill_pinned(
	struct time_model *m, int metric, const int *setting, int n_rows, struct likeness *ret_pinned);

#endif

/*
 * Sums over levers between one configuration and every row of a model, where each lever adds what depends on
 * its own two settings alone. A configuration that differs in few levers from the one before (the anchor)
 * costs O(rows) for each of them.
 *
 *     row_table_init(&t, levers, n_levers, n_rows, n_terms);
 *     *row_table_at(&t, term, lever, setting, row) = share;        for all of them; 0 where not set
 *     row_table_sum(&t, setting);
 *     use t.sum[term][row]
 *     row_table_release(&t);
 */
#ifndef INFRARSI_MODEL_ROW_TABLE_H
#define INFRARSI_MODEL_ROW_TABLE_H

#include "base/base.h"
#include "model/models.h"

enum { ROW_TERMS = 6 };

struct row_table {
	int n_levers, n_rows, n_terms;
	int *first_id;            /* of each lever's settings */
	double *share[ROW_TERMS]; /* by setting, then row */
	double *sum[ROW_TERMS];
	double *anchor_sum[ROW_TERMS];
	int *anchor;
	bool has_anchor;
};

void row_table_init(struct row_table *t, const struct lever *levers, int n_levers, int n_rows, int n_terms);
void row_table_release(struct row_table *t);
void row_table_sum(struct row_table *t, const int *setting);

static inline double *row_table_at(struct row_table *t, int term, int lever, int setting, int row)
{
	size_t id = (size_t)t->first_id[lever] + (size_t)setting;
	return &t->share[term][id * (size_t)t->n_rows + (size_t)row];
}

#endif

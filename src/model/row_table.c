#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/columns.h"
#include "model/row_table.h"

/* Levers in which a configuration may differ from the anchor and still be reckoned from it. */
enum { NEAR = 4 };

void row_table_init(struct row_table *t, const struct lever *levers, int n_levers, int n_rows, int n_terms)
{
	size_t rows = (size_t)n_rows + 1;
	int n_ids = 0;
	*t = (struct row_table){.n_levers = n_levers, .n_rows = n_rows, .n_terms = n_terms};
	t->first_id = xcalloc((size_t)n_levers + 1, sizeof(*t->first_id));
	t->anchor = xcalloc((size_t)n_levers + 1, sizeof(*t->anchor));
	for (int l = 0; l < n_levers; l++) {
		t->first_id[l] = n_ids;
		n_ids += levers[l].n_settings;
	}
	for (int k = 0; k < n_terms; k++) {
		t->share[k] = xcalloc((size_t)n_ids * (size_t)n_rows + 1, sizeof(double));
		t->sum[k] = xcalloc(rows, sizeof(double));
		t->anchor_sum[k] = xcalloc(rows, sizeof(double));
	}
}

void row_table_release(struct row_table *t)
{
	for (int k = 0; k < t->n_terms; k++) {
		free(t->share[k]);
		free(t->sum[k]);
		free(t->anchor_sum[k]);
	}
	free(t->first_id);
	free(t->anchor);
	*t = (struct row_table){0};
}

static void add(double *restrict sum, const double *restrict share, int n)
{
	for (int i = 0; i < n; i++)
		sum[i] += share[i];
}

static void exchange(double *restrict sum, const double *restrict out, const double *restrict in, int n)
{
	for (int i = 0; i < n; i++)
		sum[i] += in[i] - out[i];
}

static void set_anchor(struct row_table *t, const int *setting)
{
	for (int k = 0; k < t->n_terms; k++) {
		memset(t->anchor_sum[k], 0, (size_t)t->n_rows * sizeof(double));
		for (int l = 0; l < t->n_levers; l++)
			add(t->anchor_sum[k], row_table_at(t, k, l, setting[l], 0), t->n_rows);
	}
	memcpy(t->anchor, setting, (size_t)t->n_levers * sizeof(*t->anchor));
	t->has_anchor = true;
}

void row_table_sum(struct row_table *t, const int *setting)
{
	if (t->n_levers && (!t->has_anchor || settings_apart(setting, t->anchor, t->n_levers) > NEAR))
		set_anchor(t, setting);
	for (int k = 0; k < t->n_terms; k++)
		memcpy(t->sum[k], t->anchor_sum[k], (size_t)t->n_rows * sizeof(double));
	for (int l = 0; l < t->n_levers; l++)
		for (int k = 0; setting[l] != t->anchor[l] && k < t->n_terms; k++)
			exchange(t->sum[k], row_table_at(t, k, l, t->anchor[l], 0),
				row_table_at(t, k, l, setting[l], 0), t->n_rows);
}

/* Which columns are levers, and where a configuration is in the table. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/strbuf.h"
#include "model/columns.h"
#include "simulate/surface_int.h"

/* What a framework works out itself is the first to be left to it. */
static const char *const derived_names[] = {
	"grad_acc", "grad_accum", "gradient_accumulation_steps", "gas", "dp", "data_parallel"};
static const double residual_limit = 1e-9;

static bool is_usually_derived(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(derived_names); i++)
		if (strcmp(name, derived_names[i]) == 0)
			return true;
	return false;
}

/* ln of a column in every row, less the mean; false where it has no logarithm or does not vary. */
static bool log_column(const struct surface *s, int column, double *ret)
{
	const struct column *c = &s->columns[column];
	double sum = 0;
	if (!c->is_numeric || c->n_values < 2 || !(c->number[0] > 0))
		return false;
	for (size_t i = 0; i < s->n_rows; i++) {
		ret[i] = log(c->number[s->rows[i].value[column]]);
		sum += ret[i];
	}
	for (size_t i = 0; i < s->n_rows; i++)
		ret[i] -= sum / (double)s->n_rows;
	return true;
}

static double product(const double *a, const double *b, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Gram-Schmidt against the columns that stay; what is left, relative to what was there. Twice, for accuracy.
 */
static double residual(double *column, double **kept, int n_kept, size_t n_rows)
{
	double before = product(column, column, n_rows);
	for (int pass = 0; pass < 2; pass++)
		for (int k = 0; k < n_kept; k++) {
			double part = product(column, kept[k], n_rows);
			for (size_t i = 0; i < n_rows; i++)
				column[i] -= part * kept[k][i];
		}
	return sqrt(product(column, column, n_rows) / before);
}

/* A column that is a product of powers of the others in every row is set by them. Too few rows prove nothing.
 */
static void find_derived(struct arena *arena, struct surface *s)
{
	double **kept = arena_array(arena, (size_t)s->n_columns, sizeof(*kept));
	int n_kept = 0;
	if (s->n_rows < 4 * (size_t)s->n_columns)
		return;
	for (int pass = 0; pass < 2; pass++)
		for (int k = 0; k < s->n_columns; k++) {
			if (is_usually_derived(s->columns[k].name) != (pass == 1))
				continue;
			double *column = arena_array(arena, s->n_rows, sizeof(double));
			if (!log_column(s, k, column))
				continue;
			if (residual(column, kept, n_kept, s->n_rows) < residual_limit) {
				s->columns[k].is_derived = true;
				continue;
			}
			double norm = sqrt(product(column, column, s->n_rows));
			for (size_t i = 0; i < s->n_rows; i++)
				column[i] /= norm;
			kept[n_kept++] = column;
		}
}

static void give_settings(struct arena *arena, struct surface *s)
{
	for (int k = 0; k < s->n_columns; k++)
		s->n_levers += !s->columns[k].is_derived;
	int *all = arena_array(arena, s->n_rows * (size_t)s->n_levers, sizeof(*all));
	for (size_t i = 0; i < s->n_rows; i++) {
		s->rows[i].setting = all;
		for (int k = 0; k < s->n_columns; k++)
			if (!s->columns[k].is_derived)
				*all++ = s->rows[i].value[k];
	}
}

static size_t slot_of(const struct surface *s, const int *setting)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (int l = 0; l < s->n_levers; l++)
		h = (h ^ (uint64_t)(unsigned)setting[l]) * UINT64_C(0x100000001b3);
	size_t i = (size_t)(h ^ h >> 32) & (s->n_slots - 1);
	while (s->slot[i] && !same_settings(s->rows[s->slot[i] - 1].setting, setting, s->n_levers))
		i = (i + 1) & (s->n_slots - 1);
	return i;
}

enum err_code surface_build_levers(
	const char *path, struct arena *arena, struct surface *s, struct err *reterr)
{
	find_derived(arena, s);
	give_settings(arena, s);
	for (s->n_slots = 16; s->n_slots < 2 * s->n_rows;)
		s->n_slots *= 2;
	s->slot = arena_array(arena, s->n_slots, sizeof(*s->slot));
	for (size_t i = 0; i < s->n_rows; i++) {
		size_t at = slot_of(s, s->rows[i].setting);
		if (s->slot[at])
			return err_set_at(reterr, ERR_INPUT, path, s->rows[i].line, 1,
				"expected every configuration once; this is that of line %d",
				s->rows[s->slot[at] - 1].line);
		s->slot[at] = i + 1;
	}
	return OK;
}

const struct surface_row *surface_find(const struct surface *s, const int *setting)
{
	size_t row = s->slot[slot_of(s, setting)];
	return row ? &s->rows[row - 1] : NULL;
}

/* Between the parts of a surface: the table (surface_csv.c), its levers (surface_levers.c), what it answers
 * (surface.c), what its siblings teach (surface_learn.c). */
#ifndef INFRARSI_SIMULATE_SURFACE_INT_H
#define INFRARSI_SIMULATE_SURFACE_INT_H

#include "base/base.h"
#include "simulate/surface.h"

enum row_status { ROW_OK, ROW_OOM, ROW_COMPILE_FAIL, ROW_RUNTIME_FAIL };

struct column {
	const char *name;
	const char **text; /* of its values, ascending where all are numbers */
	double *number;    /* NAN in all where one is none */
	int n_values;
	bool is_numeric;
	bool is_derived;
};

struct surface_row {
	const int *value;   /* by column */
	const int *setting; /* by lever: the columns that are not derived */
	double time_s, peak_bytes;
	enum row_status status;
	int line;
};

struct surface {
	struct column *columns;
	int n_columns, n_levers;
	struct surface_row *rows;
	size_t n_rows;
	size_t *slot; /* hash table over settings: row + 1; 0 = free */
	size_t n_slots;
	double reference_time_s;
};

extern const struct job_kind surface_kind;

struct surface_defaults {
	struct arena arena;
	size_t n;
	const char **names;
	const char ***values; /* texts in the order of the columns */
	size_t *n_values;
};

/* Fills columns and rows (values only), sorts the columns' values. */
enum err_code surface_read_table(const char *path, const char *text, size_t length, struct arena *arena,
	struct surface *ret_surface, struct err *reterr) MUST_CHECK;
/* Finds derived columns, gives every row its settings, and indexes them. ERR_INPUT where two rows are the
 * same configuration. */
enum err_code surface_build_levers(
	const char *path, struct arena *arena, struct surface *s, struct err *reterr) MUST_CHECK;
/* NULL = it was not measured. */
const struct surface_row *surface_find(const struct surface *s, const int *setting);

#endif

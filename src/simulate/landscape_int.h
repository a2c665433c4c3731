/* Between landscape_read.c, which fills it, and landscape.c, which evaluates it. */
#ifndef INFRARSI_SIMULATE_LANDSCAPE_INT_H
#define INFRARSI_SIMULATE_LANDSCAPE_INT_H

#include "base/base.h"
#include "simulate/job.h"

#define LANDSCAPE_GIB 1073741824.0

struct term {
	int lever, setting;
};

struct interaction { /* all terms present: adds these */
	struct term *terms;
	size_t n_terms;
	double gain_ln, bytes;
};

struct conflict {
	struct term *terms;
	size_t n_terms;
	enum job_end end;
};

struct landscape {
	int *first_id;           /* of each lever: settings of all levers in one row */
	double *gain_ln, *bytes; /* by id */
	double reference_peak_bytes, thrash_ln;
	struct interaction *interactions;
	size_t n_interactions;
	struct conflict *conflicts;
	size_t n_conflicts;
};

extern const struct job_kind landscape_kind;

#endif

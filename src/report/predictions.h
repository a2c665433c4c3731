/*
 * Who predicted what and what was measured, for the files of report/. Where nobody predicted or suggested
 * anything and nobody was asked there are no rows, and no text says anything of it.
 *
 *     CLEANUP(arena_release) struct arena arena = ARENA_INIT;
 *     struct predictions p = predictions_of(state, &arena);
 *     ... p.calibration.rows ...
 */
#ifndef INFRARSI_REPORT_PREDICTIONS_H
#define INFRARSI_REPORT_PREDICTIONS_H

#include <jansson.h>

#include "base/memory.h"
#include "report/report.h"
#include "state/calibration.h"

#define CALIBRATION_PICTURE "calibration.svg"

struct predictions {
	const struct state *state;
	struct calibration calibration; /* empty after a failure */
	const char *failure;            /* why nothing could be worked out; "" = it could */
	size_t n_measured;
};

/* In the arena, which outlives it. */
struct predictions predictions_of(const struct state *s, struct arena *arena);
/* "algorithm=quick, cache=on (trial 3)"; not escaped. */
void describe_prediction(const struct state *s, const struct prediction *p, struct strbuf *text);
/* "+12%", "-3.1%", "14x". */
void add_percent(struct strbuf *text, double gain_ln);
/* The section of REPORT.md. */
void add_predictions(const struct state *s, struct strbuf *text);
/* An array (docs/formats.md section 8), or NULL where there is nothing to say. */
json_t *predictions_json(const struct state *s);

#endif

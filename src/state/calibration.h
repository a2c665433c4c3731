/*
 * Who predicted what, and what was measured. A pure function of the state.
 *
 *     struct calibration c;
 *     TRY(calibration_form(&state, &arena, &c, reterr));
 *     ... c.rows[i].rank_correlation, c.predictions[k].measured_ln ...
 *
 * A prediction is what somebody expected before the first measurement; of one that was replaced, what stood
 * then. What is said afterwards is none.
 *
 * A configuration is held against its duel, where there was one, else against its trial. A setting or a patch
 * seldom runs alone: it is held against its effect as the time model has it (search/beliefs.h), fitted as if
 * nobody had predicted anything and nothing were known of this effect: against the model's usual belief,
 * which begins with what was predicted, a prediction would be measured by itself.
 *
 * All is in the arena, and borrows from the state. Gains are ln ratios against the reference.
 */
#ifndef INFRARSI_STATE_CALIBRATION_H
#define INFRARSI_STATE_CALIBRATION_H

#include "base/base.h"
#include "base/memory.h"
#include "state/state.h"

enum predicted_what { PREDICTED_CONFIGURATION, PREDICTED_PATCH, PREDICTED_SETTING, N_PREDICTED_WHATS };
extern const char *const predicted_what_names[N_PREDICTED_WHATS];
enum measured_by { MEASURED_NOT, MEASURED_TRIAL, MEASURED_DUEL, MEASURED_MODEL, N_MEASURED_BYS };
extern const char *const measured_by_names[N_MEASURED_BYS];

struct prediction {
	enum predicted_what what;
	int source;                        /* as in struct lever_prior; 0 = the task and its patch folders */
	const struct candidate *candidate; /* of a configuration */
	int lever, setting;                /* of a setting or a patch */
	double gain_ln, sd_ln;             /* as predicted; sd NAN = none given */
	const char *reason;                /* "" = none given */
	enum measured_by measured_by;
	double measured_ln, measured_sd_ln;
	int trial; /* a configuration's own, else the first that timed it; 0 = none */
};

struct calibration_row { /* of one source */
	int source;
	const struct proposer_record *record; /* NULL: of the task */
	int n_predictions, n_measured;
	double rank_correlation;  /* of predicted and measured; NAN as in stats/agreement.h */
	double share, share_sd;   /* of a predicted gain that came true; NAN = unknown */
	double mean_abs_error_ln; /* NAN = nothing was measured */
	int n_intervals, n_hits;  /* predictions with an sd that were measured, and those within 95% */
	int n_suggested, n_run;   /* configurations, and those whose trial ended */
	int n_failed;             /* of those: out of memory, crashed, hung, invalid */
};

struct calibration {
	struct prediction *predictions; /* by source, then as they were made */
	size_t n_predictions;
	struct calibration_row *rows; /* of who predicted or suggested something or was asked, by source */
	size_t n_rows;
};

/* The quantile of a 95% interval, in sd of a normal distribution. */
extern const double calibration_interval_sd;

enum err_code calibration_form(const struct state *s, struct arena *arena,
	struct calibration *ret_calibration, struct err *reterr) MUST_CHECK;

#endif

/* What an early stop of the next trial is held against. */
#include "base/base.h"

#include <math.h>

#include "base/memory.h"
#include "stats/early_stop.h"
#include "state/state.h"

/* The incumbent's gain is the model's belief or what it measured, whichever is less: nothing is stopped for
 * being behind a hope. */
static enum err_code incumbent_gain_ln(const struct state *s, double *ret_gain_ln, struct err *reterr)
{
	int trial;
	double believed_ln;
	TRY(state_incumbent(s, &trial, &believed_ln, reterr));
	*ret_gain_ln = trial < 0 ? 0 : fmin(believed_ln, s->trials[trial].run.gain_ln);
	return OK;
}

/* From runs of the reference with so many at once. */
static void calibrate(
	const struct execution *runs, size_t n_runs, int at_once, struct early_stop_terms *terms)
{
	CLEANUP(free_ptr) struct run_times *times = xcalloc(n_runs + 1, sizeof(*times));
	size_t n = 0;
	for (size_t i = 0; i < n_runs; i++)
		if (runs[i].verdict.valid && runs[i].has_time && runs[i].at_once == at_once)
			times[n++] = (struct run_times){runs[i].step_s, runs[i].n_steps};
	early_stop_calibrate(times, n, terms);
}

/* Beside other trials everything has its own time and its own noise: that of the reference on the same slot.
 * Where none was measured nothing is stopped. */
static void take_slot(const struct state *s, const char *slot, int at_once, struct early_stop_terms *terms)
{
	const struct slot_base *base = state_slot_base(s, slot, at_once);
	if (!base || !isfinite(base->sigma_pair)) {
		terms->reference_runs = 0;
		return;
	}
	terms->incumbent_s *= base->mean_s / s->noise.mean_s;
	terms->sigma_pair = fmax(s->noise.sigma_pair, base->sigma_pair);
	terms->reference_runs = MIN_OF(s->noise.runs, base->runs);
	calibrate(s->slot_runs, s->n_slot_runs, at_once, terms);
}

enum err_code state_early_stop_terms(const struct state *s, const char *slot, int at_once,
	struct early_stop_terms *ret_terms, struct err *reterr)
{
	double gain_ln;
	if (!s->has_noise)
		return err_set(reterr, ERR_STATE, "the reference has not been measured yet");
	TRY(incumbent_gain_ln(s, &gain_ln, reterr));
	*ret_terms = (struct early_stop_terms){.incumbent_s = s->noise.mean_s * exp(-gain_ln),
		.gate_ln = s->noise.gate,
		.sigma_pair = s->noise.sigma_pair,
		.reference_runs = s->noise.runs};
	calibrate(s->references, s->n_references, 1, ret_terms);
	if (at_once > 1)
		take_slot(s, slot, at_once, ret_terms);
	return OK;
}

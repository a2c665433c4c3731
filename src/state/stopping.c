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

static void calibrate(const struct state *s, struct early_stop_terms *terms)
{
	CLEANUP(free_ptr) struct run_times *times = xcalloc(s->n_references + 1, sizeof(*times));
	size_t n = 0;
	for (size_t i = 0; i < s->n_references; i++)
		if (s->references[i].verdict.valid && s->references[i].has_time)
			times[n++] = (struct run_times){s->references[i].step_s, s->references[i].n_steps};
	early_stop_calibrate(times, n, terms);
}

enum err_code state_early_stop_terms(
	const struct state *s, struct early_stop_terms *ret_terms, struct err *reterr)
{
	double gain_ln;
	if (!s->has_noise)
		return err_set(reterr, ERR_STATE, "the reference has not been measured yet");
	TRY(incumbent_gain_ln(s, &gain_ln, reterr));
	*ret_terms = (struct early_stop_terms){.incumbent_s = s->noise.mean_s * exp(-gain_ln),
		.gate_ln = s->noise.gate,
		.sigma_pair = s->noise.sigma_pair,
		.reference_runs = s->noise.runs};
	calibrate(s, ret_terms);
	return OK;
}

/*
 * Trials that run beside each other. Each is compared with the reference as it ran on the same devices while
 * as many others ran: what the slots do to each other is then in both, and cancels.
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "state/state_int.h"

static bool is_usable(const struct execution *run)
{
	return run->verdict.valid && run->has_time;
}

static struct slot_base *find_base(const struct state *s, const char *slot, int at_once)
{
	for (size_t i = 0; i < s->n_slot_bases; i++)
		if (s->slot_bases[i].at_once == at_once && strcmp(s->slot_bases[i].slot, slot) == 0)
			return &s->slot_bases[i];
	return NULL;
}

const struct slot_base *state_slot_base(const struct state *s, const char *slot, int at_once)
{
	return find_base(s, slot, at_once);
}

double state_reference_s(const struct state *s, const struct execution *run)
{
	if (run->at_once <= 1)
		return s->has_noise ? s->noise.mean_s : NAN;
	const struct slot_base *base = find_base(s, run->slot, run->at_once);
	return base ? base->mean_s : NAN;
}

/* mean_s holds the sum of the ln means until all are in. */
static void collect(struct state *s)
{
	s->slot_bases = arena_array(&s->arena, s->n_slot_runs, sizeof(*s->slot_bases));
	for (size_t i = 0; i < s->n_slot_runs; i++) {
		const struct execution *run = &s->slot_runs[i];
		if (!is_usable(run))
			continue;
		struct slot_base *base = find_base(s, run->slot, run->at_once);
		if (!base) {
			base = &s->slot_bases[s->n_slot_bases++];
			*base = (struct slot_base){.slot = run->slot, .at_once = run->at_once};
		}
		base->runs++;
		base->mean_s += log(run->time_s);
	}
	for (size_t i = 0; i < s->n_slot_bases; i++)
		s->slot_bases[i].mean_s = exp(s->slot_bases[i].mean_s / s->slot_bases[i].runs);
}

/* As noise_estimate() has it: sqrt(2) times the sd of a run, here around the mean of its own slot, and no
 * less than what the runs show within themselves. */
static enum err_code pooled_sigma(const struct state *s, int at_once, double *ret_sigma, struct err *reterr)
{
	CLEANUP(free_ptr) struct run_times *times = xcalloc(s->n_slot_runs + 1, sizeof(*times));
	struct noise within;
	size_t n = 0;
	double squares = 0, freedom = 0;
	for (size_t i = 0; i < s->n_slot_bases; i++)
		freedom += s->slot_bases[i].at_once == at_once ? s->slot_bases[i].runs - 1 : 0;
	for (size_t i = 0; i < s->n_slot_runs; i++) {
		const struct execution *run = &s->slot_runs[i];
		if (!is_usable(run) || run->at_once != at_once)
			continue;
		double off = log(run->time_s / find_base(s, run->slot, at_once)->mean_s);
		squares += off * off;
		times[n++] = (struct run_times){run->step_s, run->n_steps};
	}
	*ret_sigma = NAN;
	if (n < 2 || freedom < 1)
		return OK;
	TRY(noise_estimate(times, n, &within, reterr));
	*ret_sigma = fmax(sqrt(2 * squares / freedom), fmax(within.half_floor, within.white_floor));
	return OK;
}

enum err_code slots_calibrate(struct state *s, struct err *reterr)
{
	collect(s);
	for (size_t i = 0; i < s->n_slot_bases; i++)
		TRY(pooled_sigma(s, s->slot_bases[i].at_once, &s->slot_bases[i].sigma_pair, reterr));
	return OK;
}

/* A single run's own variance there is sigma^2/2 in place of what the models take it for, and the slot's base
 * is a mean of so many such runs. */
double slots_extra_sd_ln(const struct state *s, const struct execution *run)
{
	const struct slot_base *base = run->at_once > 1 ? find_base(s, run->slot, run->at_once) : NULL;
	if (!base)
		return 0;
	double alone = s->noise.sigma_pair, here = fmax(base->sigma_pair, alone);
	return sqrt((here * here - alone * alone) / 2 + here * here / (2 * base->runs));
}

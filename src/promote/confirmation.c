/*
 * The winner over more updates than the contract's, against the reference over as many: what is too slow to
 * show in a short run (a loss that drifts, work that was put off, a machine that throttles).
 *
 * Two long runs of the reference, for how far it differs from itself is what its losses and times are held
 * against, then one of the winner. Its gain g over the mean of both has at most the noise of one pair, sigma
 * of the duel with its nu degrees of freedom. With d the duel's gain over n pairs, t = t_{0.975, nu} and the
 * gate within which the search takes gains for equal, it is
 *
 *     held     where g > 0 and g >= d - max(t sqrt(1 + 1/n) sigma, gate): no evidence of less that matters
 *
 *     smaller  else, where g - t sigma > 0: less than the duel's, and faster; then g is what is delivered
 *
 *     refused  else, or where the run is not valid against the long references.
 *
 * Nothing that the duel did not deliver is delivered by it, so the duel's chance of error stays as it is.
 */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "promote/promotion_int.h"
#include "stats/noise.h"

bool confirmation_wanted(const struct state *s, int updates, struct promotion_step *step)
{
	const struct duel *d = state_winner(s);
	const struct confirmation *before = d ? &d->confirmation : NULL;
	if (!d || updates <= 0 || (before->outcome != CONFIRMATION_NONE && before->updates >= updates))
		return false;
	step->kind = PROMOTION_CONFIRM;
	step->finalist = d->finalist;
	step->trial = d->trial;
	step->updates = updates;
	return true;
}

static double reference_ln(const struct confirmation *c)
{
	double sum = 0;
	for (size_t i = 0; i < c->n_references; i++)
		sum += log(c->references[i].time_s);
	return sum / (double)c->n_references;
}

static void measure(const struct duel *d, double gate_ln, struct confirmation *c)
{
	double t = student_t_quantile(0.975, d->result.nu), sigma = d->result.sigma;
	c->gain_ln = reference_ln(c) - log(c->candidate.time_s);
	c->low_ln = c->gain_ln - t * sigma;
	c->high_ln = c->gain_ln + t * sigma;
	double least = d->result.gain_ln - fmax(t * sqrt(1 + 1.0 / d->result.pairs) * sigma, gate_ln);
	c->outcome = c->gain_ln > 0 && c->gain_ln >= least ? CONFIRMATION_HELD
		     : c->low_ln > 0                       ? CONFIRMATION_SMALLER
							   : CONFIRMATION_REFUSED;
	if (c->outcome == CONFIRMATION_REFUSED)
		c->reason = "not faster beyond noise";
}

static const struct trial *trial_numbered(const struct state *s, int number)
{
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].number == number)
			return &s->trials[i];
	return NULL;
}

/* The first review that nobody has accepted; NULL = none. */
static const char *held_by(const struct trial *t, const struct verdict *v)
{
	for (int i = 0; i < v->n_reviews; i++) {
		struct verdict one = {.n_reviews = 1};
		memcpy(one.reviews[0], v->reviews[i], sizeof(one.reviews[0]));
		if (trial_is_held(t, &one))
			return v->reviews[i];
	}
	return NULL;
}

static void judge(const struct state *s, const struct duel *d, struct promotion_step *step)
{
	struct confirmation c = d->open;
	const struct verdict *v = &d->open.candidate.verdict;
	if (c.n_references < LONGER_REFERENCES) {
		c.outcome = CONFIRMATION_IMPOSSIBLE;
		c.reason = "the reference does not pass over that many updates";
	} else if (!is_usable(&c.candidate)) {
		c.outcome = CONFIRMATION_REFUSED;
		c.reason = v->primary >= 0 ? v->items[v->primary].reason : "no usable step times";
	} else {
		measure(d, s->noise.gate, &c);
		const char *held = held_by(trial_numbered(s, d->trial), v);
		if (held) {
			c.outcome = CONFIRMATION_REFUSED;
			c.reason = held;
		}
	}
	step->kind = PROMOTION_CONFIRMED;
	step->confirmation = c;
}

void confirmation_next(const struct state *s, struct promotion_step *step)
{
	const struct duel *d = state_winner(s);
	const struct confirmation *c = &d->open;
	bool has_references = c->n_references == LONGER_REFERENCES;
	step->finalist = d->finalist;
	step->trial = d->trial;
	step->updates = c->updates;
	step->is_candidate_side = has_references;
	step->pair = (int)c->n_references;
	if (has_run(&c->candidate) || (!has_references && c->reference_failures > REFERENCE_RETRIES))
		judge(s, d, step);
	else
		step->kind = PROMOTION_LENGTHEN;
}

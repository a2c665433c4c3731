/*
 * The winner over more updates than the contract's, beside the reference over as many: what is too slow to
 * show in a short run (a loss that drifts, memory that grows, work that was put off, a machine that
 * throttles).
 *
 * One pair of long runs. Its gain g has the noise of one pair, sigma of the duel with its nu degrees of
 * freedom: held     g >= d - t sqrt(1 + 1/n) sigma, d the duel's gain over n pairs: no evidence of less
 *   smaller  else, and g - t sigma > 0: less than the duel's, and faster; then g is what is delivered
 *   refused  else, or the run is not valid against the long reference
 * with t = t_{0.975, nu}. Nothing that the duel did not deliver is delivered by it, so the duel's chance of
 * error stays as it is.
 */
#include "base/base.h"

#include <math.h>

#include "promote/promotion_int.h"
#include "stats/noise.h"

bool confirmation_wanted(const struct state *s, int updates, struct promotion_step *step)
{
	const struct duel *d = state_winner(s);
	if (!d || updates <= 0 || d->confirmation.updates == updates)
		return false;
	step->kind = PROMOTION_CONFIRM;
	step->finalist = d->finalist;
	step->trial = d->trial;
	step->updates = updates;
	return true;
}

static void measure(const struct duel *d, struct confirmation *c)
{
	double t = student_t_quantile(0.975, d->result.nu), sigma = d->result.sigma;
	c->gain_ln = log(c->reference.time_s / c->candidate.time_s);
	c->low_ln = c->gain_ln - t * sigma;
	c->high_ln = c->gain_ln + t * sigma;
	double least = d->result.gain_ln - t * sqrt(1 + 1.0 / d->result.pairs) * sigma;
	c->outcome = c->gain_ln >= least ? CONFIRMATION_HELD
		     : c->low_ln > 0     ? CONFIRMATION_SMALLER
					 : CONFIRMATION_REFUSED;
	if (c->outcome == CONFIRMATION_REFUSED)
		c->reason = "not faster beyond noise";
}

static bool was_reviewed(const struct state *s, int trial)
{
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].number == trial)
			return s->trials[i].reviewed;
	return false;
}

static void judge(const struct state *s, const struct duel *d, struct promotion_step *step)
{
	struct confirmation c = d->confirmation;
	const struct verdict *v = &d->confirmation.candidate.verdict;
	if (!has_run(&c.reference)) {
		c.outcome = CONFIRMATION_IMPOSSIBLE;
		c.reason = "the reference does not pass over that many updates";
	} else if (!is_usable(&c.candidate)) {
		c.outcome = CONFIRMATION_REFUSED;
		c.reason = v->primary >= 0 ? v->items[v->primary].reason : "no usable step times";
	} else {
		measure(d, &c);
		if (v->n_reviews > 0 && !was_reviewed(s, d->trial)) {
			c.outcome = CONFIRMATION_REFUSED;
			c.reason = v->reviews[0];
		}
	}
	step->kind = PROMOTION_CONFIRMED;
	step->confirmation = c;
}

void confirmation_next(const struct state *s, struct promotion_step *step)
{
	const struct duel *d = state_winner(s);
	const struct confirmation *c = &d->confirmation;
	step->finalist = d->finalist;
	step->trial = d->trial;
	step->updates = c->updates;
	step->is_candidate_side = has_run(&c->reference);
	if (has_run(&c->candidate) || (!has_run(&c->reference) && c->reference_failures > REFERENCE_RETRIES))
		judge(s, d, step);
	else
		step->kind = PROMOTION_LENGTHEN;
}

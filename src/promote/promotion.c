#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "promote/promotion_int.h"
#include "stats/noise.h"

static bool was_finalist(const struct state *s, const struct trial *t)
{
	if (t->lost_duel)
		return true;
	for (size_t d = 0; d < s->n_duels; d++)
		if (s->duels[d].trial == t->number)
			return true;
	return false;
}

/* The trial re-tested next: the best by posterior mean that has not been a finalist yet; NULL = none. */
static enum err_code next_finalist(const struct state *s, const struct trial **ret_trial, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	size_t room = s->n_trials + 1, count = 0;
	int *order = arena_array(&arena, room, sizeof(int));
	enum err_code code = search_finalists(&s->search, room, order, &count, reterr);
	const struct trial *chosen = NULL;
	for (size_t i = 0; i < count && code == OK && !chosen; i++) {
		const struct trial *t = &s->trials[s->observation_trial[order[i]]];
		if (s->has_standing && t->number == s->standing.trial)
			break; /* what comes behind it is not believed better */
		if (!was_finalist(s, t) && !state_waits_for_review(s, t))
			chosen = t;
	}
	arena_release(&arena);
	if (code == OK)
		*ret_trial = chosen;
	return code;
}

/* Two gains over the same reference, each the mean of its pairs (DESIGN section 10: the interval's quantile).
 */
static bool is_better(const struct duel *now_duel, const struct duel *before_duel)
{
	const struct duel_result *now = &now_duel->result, *before = &before_duel->result;
	double variance = now->sigma * now->sigma / duel_gain_pairs(now_duel) +
			  before->sigma * before->sigma / duel_gain_pairs(before_duel);
	double nu = fmin(now->nu, before->nu);
	return duel_gain(now_duel).ln - duel_gain(before_duel).ln >
	       student_t_quantile(0.975, nu) * sqrt(variance);
}

static bool takes_over(const struct state *s, const struct duel *d)
{
	if (!d || !d->valid || !d->result.delivered)
		return false;
	return !s->has_standing || is_better(d, &s->standing);
}

bool has_run(const struct execution *run)
{
	return run->receipt_path != NULL;
}

bool is_usable(const struct execution *run)
{
	return run->has_time && run->verdict.valid;
}

/* The side that runs next; even pairs begin with the reference, odd ones with the candidate. */
static bool next_side(const struct duel *d, struct promotion_step *step)
{
	for (size_t p = 0; p < d->n_pairs; p++)
		for (int k = 0; k < 2; k++) {
			bool candidate_side = (k == 1) != (p % 2 == 1);
			const struct execution *run =
				candidate_side ? &d->candidate_runs[p] : &d->reference_runs[p];
			if (has_run(run))
				continue;
			step->kind = PROMOTION_EXECUTE;
			step->finalist = d->finalist;
			step->trial = d->trial;
			step->pair = (int)p;
			step->is_candidate_side = candidate_side;
			return true;
		}
	return false;
}

static bool candidate_failed(const struct duel *d)
{
	for (size_t p = 0; p < d->n_pairs; p++)
		if (has_run(&d->candidate_runs[p]) && !is_usable(&d->candidate_runs[p]))
			return true;
	return false;
}

/* Promotion that is carried out anew gets half of the chance for error each time, so that all of a campaign's
 * promotions together stay below twice the 0.5% of one. */
static int finalists_priced(const struct state *s)
{
	enum { HALVINGS_MAX = 20 };
	return FINALISTS_ALLOWED << MIN_OF(s->n_promotions_before, HALVINGS_MAX);
}

static void judge(const struct state *s, const struct duel *d, struct promotion_step *step)
{
	struct arena arena = ARENA_INIT;
	double *pair_ln = arena_array(&arena, d->n_pairs, sizeof(double));
	size_t n = 0;
	for (size_t p = 0; p < d->n_pairs; p++)
		if (is_usable(&d->candidate_runs[p]) && has_run(&d->reference_runs[p]))
			pair_ln[n++] = log(d->reference_runs[p].time_s / d->candidate_runs[p].time_s);
	step->kind = PROMOTION_JUDGE;
	step->finalist = d->finalist;
	step->trial = d->trial;
	step->valid = n == d->n_pairs;
	step->result = (struct duel_result){.pairs = (int)n};
	if (step->valid) {
		struct duel_input input = {.pair_ln = pair_ln,
			.n_pairs = n,
			.reference_runs = s->noise.runs,
			.sigma_pair = s->noise.sigma_pair,
			.finalists_allowed = finalists_priced(s)};
		duel_judge(&input, &step->result);
	}
	arena_release(&arena);
}

static enum err_code open_or_conclude(
	const struct state *s, int confirm_updates, struct promotion_step *step, struct err *reterr)
{
	const struct duel *last = s->n_duels ? &s->duels[s->n_duels - 1] : NULL;
	const struct trial *finalist = NULL;
	bool delivered = takes_over(s, last);
	if (delivered && confirmation_wanted(s, confirm_updates, step))
		return OK;
	if (!delivered && s->n_duels < FINALISTS_ALLOWED)
		TRY(next_finalist(s, &finalist, reterr));
	if (!finalist) {
		step->kind = PROMOTION_CONCLUDE;
		step->delivered_finalist = delivered ? last->finalist : 0;
		return OK;
	}
	step->kind = PROMOTION_OPEN;
	step->finalist = (int)s->n_duels + 1;
	step->trial = finalist->number;
	step->pairs = duel_pairs_wanted(s->noise.sigma_pair);
	step->claimed_ln = finalist->run.gain_ln;
	return OK;
}

enum err_code promotion_next(
	const struct state *s, int confirm_updates, struct promotion_step *ret_step, struct err *reterr)
{
	struct promotion_step step = {0};
	const struct duel *open = s->n_duels ? &s->duels[s->n_duels - 1] : NULL;
	if (s->confirming)
		confirmation_next(s, &step);
	else if (s->finished) {
		if (!confirmation_wanted(s, confirm_updates, &step))
			step.kind = PROMOTION_OVER;
	} else if (!open || open->finished)
		TRY(open_or_conclude(s, confirm_updates, &step, reterr));
	else if (candidate_failed(open) || open->reference_failures > REFERENCE_RETRIES ||
		 !next_side(open, &step))
		judge(s, open, &step);
	*ret_step = step;
	return OK;
}

/* Runs of duels, and what a promotion that was reopened leaves standing. */
#include "base/base.h"

#include <math.h>

#include "base/memory.h"
#include "state/state_int.h"

static void assign_run(struct duel *duel, const struct execution *run)
{
	if (run->finalist != duel->finalist || run->pair < 0 || (size_t)run->pair >= duel->n_pairs)
		return;
	if (run->is_candidate_side)
		duel->candidate_runs[run->pair] = *run;
	else if (run->has_time && run->verdict.valid)
		duel->reference_runs[run->pair] = *run;
	else
		duel->reference_failures++;
}

void duel_take_runs(struct arena *arena, struct duel *duel, const struct execution *runs, size_t n_runs)
{
	duel->reference_runs = arena_array(arena, duel->n_pairs, sizeof(struct execution));
	duel->candidate_runs = arena_array(arena, duel->n_pairs, sizeof(struct execution));
	for (size_t i = 0; i < n_runs; i++)
		assign_run(duel, &runs[i]);
}

void duel_set_gains(struct duel *duel, double reference_s)
{
	for (size_t p = 0; p < duel->n_pairs; p++) {
		struct execution *const runs[] = {&duel->reference_runs[p], &duel->candidate_runs[p]};
		for (size_t k = 0; k < ARRAY_LEN(runs); k++)
			if (runs[k]->has_time)
				runs[k]->gain_ln = log(reference_s / runs[k]->time_s);
	}
}

/* Measured in a duel, validly and with nothing to review, and not what was delivered. */
static bool had_its_chance(const struct state *s, const struct duel *d)
{
	const struct confirmation *c = &d->confirmation;
	if (!d->finished || !d->valid || d->verdict.n_reviews > 0)
		return false;
	if (c->outcome == CONFIRMATION_REFUSED && c->candidate.verdict.n_reviews > 0)
		return false;
	return !d->result.delivered || (s->finished && s->delivered_finalist != d->finalist);
}

/* The old duels are history, their cost stays. */
void duels_reopen(struct replay *r)
{
	struct state *s = r->s;
	for (size_t i = 0; i < s->n_duels; i++)
		if (had_its_chance(s, &s->duels[i]))
			r->trials[s->duels[i].trial - 1].lost_duel = true;
	if (s->finished && s->delivered_finalist) {
		s->has_standing = true;
		s->standing = s->duels[s->delivered_finalist - 1];
		s->standing.open = (struct confirmation){0};
		duel_take_runs(&s->arena, &s->standing, r->duel_runs, r->n_duel_runs);
	}
	s->standing.open = (struct confirmation){0};
	s->n_promotions_before += s->n_duels > 0;
	s->finished = false;
	s->delivered_finalist = 0;
	s->confirming = 0;
	s->n_duels = 0;
	r->n_duel_runs = 0;
}

const struct duel *state_delivered(const struct state *s)
{
	if (s->finished && s->delivered_finalist)
		return &s->duels[s->delivered_finalist - 1];
	return s->has_standing ? &s->standing : NULL;
}

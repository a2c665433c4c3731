/* Winners over more updates: what the ledger says of it, and what is delivered after it. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "state/state_int.h"

const char *const confirmation_names[N_CONFIRMATION_OUTCOMES] = {
	[CONFIRMATION_NONE] = "none",
	[CONFIRMATION_HELD] = "held",
	[CONFIRMATION_SMALLER] = "smaller",
	[CONFIRMATION_REFUSED] = "refused",
	[CONFIRMATION_IMPOSSIBLE] = "impossible",
};

struct gain duel_gain(const struct duel *d)
{
	const struct confirmation *c = &d->confirmation;
	if (c->outcome == CONFIRMATION_SMALLER)
		return (struct gain){c->gain_ln, c->low_ln, c->high_ln};
	return (struct gain){d->result.gain_ln, d->result.low_ln, d->result.high_ln};
}

int duel_gain_pairs(const struct duel *d)
{
	return d->confirmation.outcome == CONFIRMATION_SMALLER ? 1 : d->result.pairs;
}

enum { NO_WINNER = -2 }; /* else a finalist's number, or CONFIRMING_STANDING */

static int winner_number(const struct state *s)
{
	if (s->confirming)
		return s->confirming;
	if (s->finished && s->delivered_finalist)
		return s->delivered_finalist;
	/* Of two that were measured, an earlier one stands until the newer is proven better. */
	if (s->finished)
		return s->has_standing ? CONFIRMING_STANDING : NO_WINNER;
	const struct duel *last = s->n_duels ? &s->duels[s->n_duels - 1] : NULL;
	return last && last->finished && last->result.delivered ? last->finalist : NO_WINNER;
}

const struct duel *state_winner(const struct state *s)
{
	int number = winner_number(s);
	return number == CONFIRMING_STANDING ? &s->standing : number > 0 ? &s->duels[number - 1] : NULL;
}

static struct duel *winner(struct state *s)
{
	int number = winner_number(s);
	return number == CONFIRMING_STANDING ? &s->standing : number > 0 ? &s->duels[number - 1] : NULL;
}

enum err_code confirmation_wish(struct replay *r, const json_t *body, struct err *reterr)
{
	int updates;
	if (!count_of(body, "updates", &updates))
		return err_set(reterr, ERR_INPUT, "updates: expected an integer in 0 .. %d", COUNT_MAX);
	r->s->confirm_wanted = updates;
	return OK;
}

enum err_code confirmation_open(struct replay *r, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	int trial, updates, number = winner_number(s);
	struct duel *d = winner(s);
	if (!count_of(body, "trial", &trial) || !count_of(body, "updates", &updates) || updates < 1)
		return err_set(reterr, ERR_INPUT, "trial, updates: expected positive integers");
	if (s->confirming || !d || d->trial != trial)
		return err_set(reterr, ERR_INPUT,
			"trial %d: expected the winner, and none that is being confirmed", trial);
	s->confirming = number;
	d->open = (struct confirmation){
		.updates = updates, .gain_ln = NAN, .low_ln = NAN, .high_ln = NAN, .reason = ""};
	return OK;
}

void confirmation_take_run(struct state *s, const struct execution *run)
{
	struct duel *d = s->confirming ? winner(s) : NULL;
	if (!d)
		return;
	if (run->role == ROLE_CONFIRMATION)
		d->open.candidate = *run;
	else if (run->has_time && run->verdict.valid && d->open.n_references < LONGER_REFERENCES)
		d->open.references[d->open.n_references++] = *run;
	else
		d->open.reference_failures++;
}

static bool outcome_of(const json_t *body, enum confirmation_outcome *ret_outcome)
{
	const char *name = json_text_of(body, "outcome");
	for (int i = CONFIRMATION_HELD; i < N_CONFIRMATION_OUTCOMES; i++)
		if (strcmp(name, confirmation_names[i]) == 0) {
			*ret_outcome = (enum confirmation_outcome)i;
			return true;
		}
	return false;
}

/* The best of those that won a duel and were not proven better than the one that stood. */
static void let_next_stand(struct replay *r)
{
	struct state *s = r->s;
	const struct duel *best = NULL;
	for (size_t i = 0; i < s->n_duels; i++)
		if (s->duels[i].result.delivered &&
			(!best || duel_gain(&s->duels[i]).ln > duel_gain(best).ln))
			best = &s->duels[i];
	s->has_standing = best != NULL;
	if (!best)
		return;
	s->standing = *best;
	duel_take_runs(&s->arena, &s->standing, r->duel_runs, r->n_duel_runs);
}

/* Who does not hold is not delivered, and promotion goes on with the next. */
static void take_back(struct replay *r, struct duel *d)
{
	struct state *s = r->s;
	d->result.delivered = false;
	r->trials[d->trial - 1].lost_duel = true;
	s->delivered_finalist = 0;
	s->finished = false;
	if (d != &s->standing)
		return;
	s->has_withdrawn = true;
	s->withdrawn = *d;
	let_next_stand(r);
	s->finished = s->has_standing;
}

enum err_code confirmation_close(struct replay *r, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	struct duel *d = s->confirming ? winner(s) : NULL;
	struct confirmation *c = d ? &d->open : NULL;
	if (!c)
		return err_set(reterr, ERR_INPUT, "a confirmation's result without its beginning");
	if (!outcome_of(body, &c->outcome))
		return err_set(reterr, ERR_INPUT, "outcome: expected held, smaller, refused or impossible");
	c->gain_ln = json_number_of(body, "gain_ln");
	c->low_ln = json_number_of(body, "low_ln");
	c->high_ln = json_number_of(body, "high_ln");
	c->reason = arena_strdup(&s->arena, json_text_of(body, "reason"));
	if (c->outcome == CONFIRMATION_SMALLER &&
		!(c->low_ln > 0 && c->high_ln >= c->gain_ln && c->gain_ln >= c->low_ln))
		return err_set(reterr, ERR_INPUT,
			"gain_ln, low_ln, high_ln: expected a gain above 0 inside its interval");
	s->confirming = 0;
	bool refused = c->outcome == CONFIRMATION_REFUSED;
	/* What was found out before stays where more could not be. */
	if (c->outcome != CONFIRMATION_IMPOSSIBLE || d->confirmation.outcome == CONFIRMATION_NONE)
		d->confirmation = *c;
	d->open = (struct confirmation){0};
	if (refused)
		take_back(r, d);
	return OK;
}

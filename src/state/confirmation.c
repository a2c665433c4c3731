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

enum { NO_WINNER = -1, STANDING = 0 }; /* else the finalist's number */

static int winner_number(const struct state *s)
{
	if (s->confirming == CONFIRMING_STANDING)
		return STANDING;
	if (s->confirming == CONFIRMING_FINALIST)
		return (int)s->n_duels;
	if (s->finished && s->delivered_finalist)
		return s->delivered_finalist;
	/* Of two that were measured, an earlier one stands until the newer is proven better. */
	if (s->finished)
		return s->has_standing ? STANDING : NO_WINNER;
	const struct duel *last = s->n_duels ? &s->duels[s->n_duels - 1] : NULL;
	return last && last->finished && last->result.delivered ? last->finalist : NO_WINNER;
}

const struct duel *state_winner(const struct state *s)
{
	int number = winner_number(s);
	return number == STANDING ? &s->standing : number > 0 ? &s->duels[number - 1] : NULL;
}

static struct duel *winner(struct state *s)
{
	int number = winner_number(s);
	return number == STANDING ? &s->standing : number > 0 ? &s->duels[number - 1] : NULL;
}

enum err_code confirmation_open(struct replay *r, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	int trial, updates;
	struct duel *d = winner(s);
	if (!count_of(body, "trial", &trial) || !count_of(body, "updates", &updates) || updates < 1)
		return err_set(reterr, ERR_INPUT, "trial, updates: expected positive integers");
	if (s->confirming != CONFIRMING_NOBODY || !d || d->trial != trial)
		return err_set(reterr, ERR_INPUT,
			"trial %d: expected the winner, and none that is being confirmed", trial);
	s->confirming = d == &s->standing ? CONFIRMING_STANDING : CONFIRMING_FINALIST;
	d->confirmation = (struct confirmation){
		.updates = updates, .gain_ln = NAN, .low_ln = NAN, .high_ln = NAN, .reason = ""};
	return OK;
}

void confirmation_take_run(struct state *s, const struct execution *run)
{
	struct duel *d = s->confirming != CONFIRMING_NOBODY ? winner(s) : NULL;
	if (!d)
		return;
	if (run->role == ROLE_CONFIRMATION)
		d->confirmation.candidate = *run;
	else if (run->has_time && run->verdict.valid)
		d->confirmation.reference = *run;
	else
		d->confirmation.reference_failures++;
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

/* Who does not hold is not delivered, and promotion goes on with the next. */
static void take_back(struct replay *r, struct duel *d)
{
	struct state *s = r->s;
	d->result.delivered = false;
	/* What a person may accept gets another chance then. */
	if (d->confirmation.candidate.verdict.n_reviews == 0)
		r->trials[d->trial - 1].lost_duel = true;
	if (d == &s->standing)
		s->has_standing = false;
	s->finished = false;
	s->delivered_finalist = 0;
}

enum err_code confirmation_close(struct replay *r, const json_t *body, struct err *reterr)
{
	struct state *s = r->s;
	struct duel *d = s->confirming != CONFIRMING_NOBODY ? winner(s) : NULL;
	struct confirmation *c = d ? &d->confirmation : NULL;
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
	s->confirming = CONFIRMING_NOBODY;
	if (c->outcome == CONFIRMATION_REFUSED)
		take_back(r, d);
	return OK;
}

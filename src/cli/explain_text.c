/* `infrarsi explain` as text: the incumbent, the table of settings, failures, what would be tried next. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "cli/explain_print.h"
#include "spec/task.h"

enum { SUSPICIONS_SHOWN = 6, TRIALS_SHOWN = 8, SUSPECT_INDENT = 17, PROPOSER_COLUMNS = 16 };
/* Weaker suspicions are counted and not listed. */
static const double worth_showing = 0.05;

/* ------------------------------------------------------------- how it stands */

static void add_incumbent(const struct explanation *x, struct strbuf *text)
{
	const struct state *s = x->state;
	if (x->beliefs.incumbent < 0) {
		strbuf_addstr(text, "Incumbent  the reference: nothing valid is believed to be faster\n");
		return;
	}
	const struct trial *t = &s->trials[s->observation_trial[x->beliefs.incumbent]];
	CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
	candidate_describe(&t->candidate, NULL, &s->space, &what);
	strbuf_addf(text, "Incumbent  trial %d, ", t->number);
	explain_add_speedup(text, x->beliefs.incumbent_ln, x->beliefs.incumbent_sd_ln);
	strbuf_addf(text, ", measured %.2fx\n           ", exp(t->run.gain_ln));
	explain_add_wrapped(text, what.buf, 11);
}

static void add_trials(const struct state *s, struct strbuf *text)
{
	int by_status[N_TRIAL_STATUSES] = {0};
	const char *before = ": ";
	for (size_t i = 0; i < s->n_trials; i++)
		by_status[s->trials[i].status]++;
	strbuf_addf(text, "Trials     %d of %d", s->n_counted, s->task->budget.trials);
	for (int i = 0; i < N_TRIAL_STATUSES; i++)
		if (by_status[i]) {
			strbuf_addf(text, "%s%d %s", before, by_status[i], trial_status_names[i]);
			before = ", ";
		}
	strbuf_addf(text, "; noise sigma_pair %.2f%%\n", 100 * s->noise.sigma_pair);
}

static void add_forecasts(const struct state *s, struct strbuf *text)
{
	int known = 0, inside = 0;
	for (size_t i = 0; i < s->n_trials; i++) {
		double off = explain_off_sd(s, &s->trials[i]);
		known += isfinite(off);
		inside += fabs(off) <= explain_interval_sd;
	}
	if (known)
		strbuf_addf(text,
			"Forecasts  %d of %d measured gains were inside the 95%% interval predicted\n",
			inside, known);
}

/* proposer: NULL = the task itself declared it. */
static void add_share(
	const char *what, const char *proposer, const struct belief_change *share, struct strbuf *text)
{
	double half = explain_interval_sd * share->sd;
	if (!(share->sd > 0))
		return;
	strbuf_addf(text, "Declared   %s gain %.0f%% of what ", what, 100 * share->mean);
	if (proposer)
		explain_add_cut(text, proposer, PROPOSER_COLUMNS);
	strbuf_addf(text, "%s (95%% %.0f to %.0f); %.0f%% was assumed\n",
		proposer ? " predicts" : "is declared", 100 * (share->mean - half),
		100 * (share->mean + half), 100 * share->prior_mean);
}

static void add_shares(const struct explanation *x, struct strbuf *text)
{
	const struct beliefs *b = &x->beliefs;
	add_share("knobs", NULL, &b->knob_share, text);
	add_share("patches", NULL, &b->patch_share, text);
	for (size_t i = 0; i < b->n_proposers; i++) {
		const struct proposer_belief *p = &b->proposers[i];
		const char *name = state_source_name(x->state, p->source);
		add_share("knobs", name, &p->knob_share, text);
		add_share("patches", name, &p->patch_share, text);
	}
}

/* ------------------------------------------------------------- failures */

static void add_trial_numbers(const struct state *s, const int *observations, size_t n, struct strbuf *text)
{
	strbuf_addstr(text, n == 1 ? "trial" : "trials");
	for (size_t i = 0; i < MIN_OF(n, (size_t)TRIALS_SHOWN); i++)
		strbuf_addf(text, "%s%d", i ? ", " : " ", explain_trial_of(s, observations[i]));
	if (n > TRIALS_SHOWN)
		strbuf_addf(text, " and %zu more", n - TRIALS_SHOWN);
}

static void add_reason(const struct state *s, const struct suspicion_belief *b, struct strbuf *text)
{
	if (b->n_observations == 0) {
		strbuf_addstr(text, "a known conflict; not run here");
		return;
	}
	strbuf_addstr(text, "failed: ");
	add_trial_numbers(s, b->observations, b->n_observations, text);
	strbuf_addstr(text, b->suspicion.n == 1 ? "; never passed" : "; never passed together");
	if (b->suspicion.hinted)
		strbuf_addstr(text, "; named by a failure's text or as a known conflict");
	if (b->suspicion.banned)
		strbuf_addstr(text, "; nothing else is left to blame");
}

/* What the first failure said, or what rejected it, where that was not quoted just before. */
static void add_evidence(
	const struct state *s, const struct suspicion_belief *b, int *quoted, struct strbuf *text)
{
	if (b->n_observations == 0 || b->observations[0] == *quoted)
		return;
	*quoted = b->observations[0];
	const struct trial *t = &s->trials[s->observation_trial[*quoted]];
	bool has_said = t->run.evidence && *t->run.evidence;
	if (!has_said && t->run.verdict.primary < 0)
		return;
	strbuf_addf(text, "%*strial %d ", SUSPECT_INDENT, "", t->number);
	if (has_said) {
		strbuf_addstr(text, "said: ");
		explain_add_cut(text, t->run.evidence, EXPLAIN_COLUMNS - SUSPECT_INDENT - 18);
	} else {
		strbuf_addf(text, "was rejected by %s", item_infos[t->run.verdict.primary].name);
	}
	strbuf_addch(text, '\n');
}

static void add_suspicion(
	const struct state *s, const struct suspicion_belief *b, int *quoted, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
	strbuf_addf(text, "%.2f  ", b->suspicion.q);
	for (int i = 0; i < b->suspicion.n; i++) {
		strbuf_addstr(&what, i ? " x " : "");
		explain_add_setting(&what, s, b->suspicion.lever[i], b->suspicion.setting[i]);
	}
	strbuf_addf(&what, "%s  ", b->suspicion.banned ? "  banned" : "");
	add_reason(s, b, &what);
	explain_add_wrapped(text, what.buf, SUSPECT_INDENT);
	add_evidence(s, b, quoted, text);
}

static void add_suspicions(const struct explanation *x, struct strbuf *text)
{
	const struct beliefs *b = &x->beliefs;
	size_t shown = 0;
	int quoted = -1;
	while (shown < b->n_suspicions &&
		(x->show_all ||
			(shown < SUSPICIONS_SHOWN && b->suspicions[shown].suspicion.q >= worth_showing)))
		shown++;
	if (b->n_suspicions == 0)
		strbuf_addstr(text, "Suspected  nothing: no failure is left to explain\n");
	for (size_t i = 0; i < shown; i++) {
		strbuf_addstr(text, i ? "           " : "Suspected  ");
		add_suspicion(x->state, &b->suspicions[i], &quoted, text);
	}
	if (shown < b->n_suspicions)
		strbuf_addf(text, "%s%zu %s suspicions%s\n", shown ? "           " : "Suspected  ",
			b->n_suspicions - shown, shown ? "weaker" : "weak (under 0.05)",
			": infrarsi explain --all");
	if (b->n_transients) {
		strbuf_addstr(text, "Transient  ");
		add_trial_numbers(x->state, b->transients, b->n_transients, text);
		strbuf_addstr(text, ": every setting has passed elsewhere, so nothing is blamed\n");
	}
}

/* ------------------------------------------------------------- what is next */

static void add_next_numbers(const struct explanation *x, struct strbuf *text)
{
	const struct decision *d = &x->next;
	char a[UNIT_TEXT_SIZE], b[UNIT_TEXT_SIZE];
	struct score_terms terms = {.mean_ln = d->mean_ln,
		.sd_ln = d->sd_ln,
		.incumbent_ln = d->incumbent_ln,
		.p_fits = d->p_fits,
		.p_ok = d->p_ok,
		.caution = x->beliefs.caution};
	strbuf_addstr(text, "  expected ");
	explain_add_speedup(text, d->mean_ln, d->sd_ln);
	strbuf_addf(text, ", the incumbent %.2fx", exp(d->incumbent_ln));
	if (isfinite(d->predicted_peak_bytes))
		strbuf_addf(text, "; peak %s of %s", format_bytes(d->predicted_peak_bytes, a),
			format_bytes(fmin(x->state->search.model.capacity_bytes,
					     x->state->search.model.memory_cap_bytes),
				b));
	strbuf_addstr(text, "\n  score    ");
	explain_add_score(text, d->score, &terms);
}

static void add_candidate(const struct explanation *x, struct strbuf *text)
{
	const struct state *s = x->state;
	CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
	struct candidate candidate = {s->space.n_levers, x->next.setting};
	int base = x->next_is_recorded ? -1 : x->next.base_observation;
	const struct candidate *from = base < 0 ? NULL : &s->trials[s->observation_trial[base]].candidate;
	candidate_describe(&candidate, from, &s->space, &what);
	if (base >= 0)
		strbuf_addf(&what, " on trial %d", explain_trial_of(s, base));
	else
		strbuf_addstr(&what, " on the reference");
	strbuf_addstr(text, "Would try  ");
	explain_add_wrapped(text, what.buf, 11);
}

static int patches_on(const struct explanation *x)
{
	int base = x->next.base_observation;
	return explain_patches_on(x->state,
		base < 0 ? NULL : x->state->search.model.observations[base].setting, x->next.setting);
}

static void add_next(const struct explanation *x, struct strbuf *text)
{
	const struct state *s = x->state;
	const struct trial *last = s->n_trials ? &s->trials[s->n_trials - 1] : NULL;
	if (last && last->status == TRIAL_REGISTERED)
		strbuf_addf(text, "Running    trial %d; what follows does not know its end\n", last->number);
	if (!x->next.found) {
		strbuf_addstr(text, "Would try  nothing: every legal candidate has run\n");
		return;
	}
	add_candidate(x, text);
	if (x->next_is_recorded) {
		strbuf_addstr(text, "  why      decided before, and not begun: infrarsi run takes it up\n");
	} else {
		strbuf_addstr(text, "  why      ");
		explain_add_operators(text, "controller", x->next.operators, patches_on(x));
		add_next_numbers(x, text);
	}
	if (last && *last->strategy && strcmp(last->strategy, "controller") != 0) {
		strbuf_addf(text, "           this is the controller; trial %d was decided by the strategy ",
			last->number);
		explain_add_cut(text, last->strategy, 40);
		strbuf_addch(text, '\n');
	}
	if (*x->worth) {
		strbuf_addstr(text, "  worth    ");
		explain_add_wrapped(text, x->worth, 11);
	}
}

static void add_end(const struct explanation *x, struct strbuf *text)
{
	const struct state *s = x->state;
	CLEANUP(strbuf_release) struct strbuf next = STRBUF_INIT;
	bool may_run = x->next.found && !x->is_simulated;
	if (may_run && s->n_counted < s->task->budget.trials)
		strbuf_addstr(&next, "infrarsi run");
	else if (may_run)
		strbuf_addf(&next, "infrarsi run --trials %d, beyond the budget", s->n_counted + 1);
	else
		strbuf_addstr(&next, "infrarsi report");
	if (s->n_trials)
		strbuf_addf(&next, "    or  infrarsi explain --trial %d", s->trials[s->n_trials - 1].number);
	strbuf_addf(text, "Next: %s\n", next.buf);
}

void explain_text(const struct explanation *x, struct strbuf *text)
{
	if (x->is_simulated)
		strbuf_addstr(text, "Simulated  what the simulator told its search (priors, memory, what is "
				    "legal) is not kept "
				    "here\n");
	add_incumbent(x, text);
	add_trials(x->state, text);
	add_forecasts(x->state, text);
	add_shares(x, text);
	strbuf_addch(text, '\n');
	explain_table(x, text);
	strbuf_addch(text, '\n');
	add_suspicions(x, text);
	strbuf_addch(text, '\n');
	add_next(x, text);
	add_end(x, text);
}

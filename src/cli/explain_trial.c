/* `infrarsi explain --trial N` as text: what was decided and why, what it came to, how far off that was. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "cli/explain_print.h"
#include "spec/task.h"

/* ------------------------------------------------------------- the decision */

/* What was changed; NULL = the reference. */
static const struct trial *base_of(const struct state *s, const struct trial *t)
{
	bool is_trial = t->base_trial > 0 && (size_t)t->base_trial <= s->n_trials;
	return is_trial ? &s->trials[t->base_trial - 1] : NULL;
}

static void add_candidate(const struct state *s, const struct trial *t, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
	const struct trial *base = base_of(s, t);
	candidate_describe(&t->candidate, NULL, &s->space, &what);
	strbuf_addstr(text, "candidate  ");
	explain_add_wrapped(text, what.buf, 11);
	if (!base)
		return;
	strbuf_clear(&what);
	candidate_describe(&t->candidate, &base->candidate, &s->space, &what);
	strbuf_addf(&what, " on trial %d", base->number);
	strbuf_addstr(text, "changed    ");
	explain_add_wrapped(text, what.buf, 11);
}

static void add_decision(const struct state *s, const struct trial *t, struct strbuf *text)
{
	struct score_terms terms;
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	strbuf_addstr(text, "operators  ");
	const struct trial *base = base_of(s, t);
	explain_add_operators(text, t->strategy, *t->operators ? t->operators : "none recorded",
		explain_patches_on(s, base ? base->candidate.setting : NULL, t->candidate.setting));
	strbuf_addstr(text, "reason     ");
	strbuf_add_escaped(&reason, t->reason, strlen(t->reason));
	explain_add_wrapped(text, reason.buf, 11);
	if (!isfinite(t->score)) {
		strbuf_addstr(text, "score      none: the strategy ");
		strbuf_add_escaped(text, t->strategy, strlen(t->strategy));
		strbuf_addstr(text, " fits no model\n");
		return;
	}
	strbuf_addstr(text, "score      ");
	if (!explain_score_terms(s, t, &terms)) {
		strbuf_addf(text, "%.3g\n", t->score);
		return;
	}
	explain_add_score(text, t->score, &terms);
	strbuf_addf(text, "           the incumbent was believed at %.2fx\n", exp(t->incumbent_ln));
}

/* ------------------------------------------------------------- forecast and measurement */

static void add_line(struct strbuf *text, const char *what, const struct strbuf *forecast,
	const struct strbuf *measured, const char *off)
{
	strbuf_addf(text, "  %-8s %-28s ", what, forecast->buf);
	strbuf_addf(text, *off ? "%-20s %s\n" : "%s%s\n", measured->buf, off);
}

static void add_gain(const struct state *s, const struct trial *t, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf forecast = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf measured = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf off = STRBUF_INIT;
	double off_sd = explain_off_sd(s, t);
	if (isfinite(t->predicted_ln))
		explain_add_speedup(&forecast, t->predicted_ln, t->predicted_sd_ln);
	else
		strbuf_addstr(&forecast, "-");
	if (t->run.has_time && isfinite(t->run.gain_ln))
		strbuf_addf(&measured, "%.2fx", exp(t->run.gain_ln));
	else
		strbuf_addstr(&measured, "-");
	if (isfinite(off_sd))
		strbuf_addf(
			&off, "%+.1f sd%s", off_sd, fabs(off_sd) > explain_interval_sd ? ": a surprise" : "");
	add_line(text, "speed-up", &forecast, &measured, off.buf);
}

/* Out of memory is a lower bound, as the memory model reads it: with more free than was asked for it is none.
 */
static bool is_bound(const struct state *s, const struct trial *t)
{
	return t->status == TRIAL_OOM && isfinite(s->capacity_bytes) && !(t->run.shortfall_bytes < 0);
}

static void add_peak(const struct state *s, const struct trial *t, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf forecast = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf measured = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf off = STRBUF_INIT;
	char unit[UNIT_TEXT_SIZE];
	const struct observation *o = explain_observation_of(s, t);
	bool is_read = o && isfinite(o->peak_bytes);
	bool is_predicted = isfinite(t->predicted_peak_bytes) && t->predicted_peak_bytes > 0;
	double shortfall = isnan(t->run.shortfall_bytes) ? 0 : t->run.shortfall_bytes;
	strbuf_addstr(&forecast, is_predicted ? format_bytes(t->predicted_peak_bytes, unit) : "-");
	if (is_read)
		strbuf_addstr(&measured, format_bytes(o->peak_bytes, unit));
	else if (is_bound(s, t))
		strbuf_addf(&measured, "at least %s", format_bytes(s->capacity_bytes + shortfall, unit));
	else
		strbuf_addstr(&measured, "-");
	if (is_read && is_predicted)
		strbuf_addf(&off, "%+.1f%%", 100 * (o->peak_bytes / t->predicted_peak_bytes - 1));
	add_line(text, "peak", &forecast, &measured, off.buf);
}

/* How a forecast of an event came out. */
struct outcome {
	const char *ended; /* NULL: nothing is known of it */
	bool came_true;
};

/* A surprise: an end that was given less than 1 in 20. */
static void add_chance(const char *what, double p, const struct outcome *end, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf forecast = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf measured = STRBUF_INIT;
	double of_end = end->came_true ? p : 1 - p;
	if (isfinite(p))
		strbuf_addf(&forecast, "probability %.2f", p);
	else
		strbuf_addstr(&forecast, "-");
	strbuf_addstr(&measured, end->ended ? end->ended : "-");
	add_line(text, what, &forecast, &measured,
		end->ended && isfinite(p) && of_end < 0.05 ? "a surprise" : "");
}

/* P(fits) is against the smaller of capacity and cap, and nobody's where neither is known. */
static struct outcome memory_outcome(const struct state *s, const struct observation *o)
{
	const struct model_input *m = &s->search.model;
	double limit = fmin(m->capacity_bytes, m->memory_cap_bytes);
	if (!isfinite(limit))
		return (struct outcome){0};
	if (o->status == OBSERVED_OOM)
		return (struct outcome){"ran out of memory", false};
	if (!isfinite(o->peak_bytes))
		return (struct outcome){0};
	bool fits = o->peak_bytes <= limit, is_cap = m->memory_cap_bytes < m->capacity_bytes;
	return (struct outcome){fits ? "fitted" : is_cap ? "over the cap" : "over the capacity", fits};
}

/* P(runs) is the blame ledger's, which reads an observation's status: a run that only the cap rejects has
 * passed, and one that was stopped as slower and failed nothing else. */
static struct outcome run_outcome(const struct state *s, const struct trial *t, const struct observation *o)
{
	const struct model_input *m = &s->search.model;
	bool is_memory = isfinite(fmin(m->capacity_bytes, m->memory_cap_bytes));
	if (o->status == OBSERVED_OOM && is_memory)
		return (struct outcome){0};
	if (o->status == OBSERVED_OK)
		return (struct outcome){
			t->status == TRIAL_INVALID ? "ran" : trial_status_names[t->status], true};
	if (t->status == TRIAL_SLOWER)
		return (struct outcome){"slower and rejected", false};
	return (struct outcome){trial_status_names[t->status], false};
}

static void add_chances(const struct state *s, const struct trial *t, struct strbuf *text)
{
	const struct observation *o = explain_observation_of(s, t);
	struct outcome fits = {0}, runs = {0};
	if (o) {
		fits = memory_outcome(s, o);
		runs = run_outcome(s, t, o);
	}
	add_chance("fits", t->p_fits, &fits, text);
	add_chance("runs", t->p_ok, &runs, text);
}

/* ------------------------------------------------------------- all */

static void add_verdict(const struct trial *t, struct strbuf *text)
{
	const struct verdict *v = &t->run.verdict;
	strbuf_addf(text, "verdict    %s", trial_status_names[t->status]);
	if (t->run.receipt_path && v->primary >= 0) {
		strbuf_addf(text, ": L%d %s: ", item_infos[v->primary].layer, item_infos[v->primary].name);
		strbuf_add_escaped(text, v->items[v->primary].reason, strlen(v->items[v->primary].reason));
	} else if (*t->reason_text) {
		strbuf_addstr(text, ": ");
		strbuf_add_escaped(text, t->reason_text, strlen(t->reason_text));
	}
	strbuf_addch(text, '\n');
	if (t->run.receipt_path && t->status != TRIAL_VALID && *t->run.evidence) {
		strbuf_addstr(text, "said       ");
		explain_add_cut(text, t->run.evidence, EXPLAIN_COLUMNS - 11);
		strbuf_addch(text, '\n');
	}
}

void explain_trial_text(const struct state *s, const struct trial *t, struct strbuf *text)
{
	strbuf_addf(text, "trial %d  %s\n", t->number, trial_status_names[t->status]);
	add_candidate(s, t, text);
	add_decision(s, t, text);
	strbuf_addf(text, "           %-28s %-20s %s\n", "predicted", "measured", "off by");
	add_gain(s, t, text);
	add_peak(s, t, text);
	add_chances(s, t, text);
	add_verdict(t, text);
	strbuf_addf(text, "Next: infrarsi show %d    or  infrarsi explain\n", t->number);
}

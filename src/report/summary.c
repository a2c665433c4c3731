#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "report/report_int.h"
#include "spec/task.h"

static const double seconds_per_hour = 3600;

void bill_of(const struct state *s, struct bill *ret_bill)
{
	const struct cost *c = &s->cost;
	*ret_bill = (struct bill){0};
	for (size_t i = 0; i < s->n_trials; i++)
		ret_bill->by_status[s->trials[i].status]++;
	ret_bill->rejected = (int)s->n_refusals + ret_bill->by_status[TRIAL_OOM] +
			     ret_bill->by_status[TRIAL_CRASHED] + ret_bill->by_status[TRIAL_HUNG] +
			     ret_bill->by_status[TRIAL_INVALID] + ret_bill->by_status[TRIAL_SLOWER];
	/* A build holds the devices of its trial as long as it lasts. */
	double devices = (double)s->task->launch.nodes * s->task->launch.devices_per_node;
	ret_bill->total_s =
		c->reference_s + c->profile_s + c->search_s + c->promotion_s + c->build_s * devices;
}

const struct duel *delivered_duel(const struct state *s)
{
	return state_delivered(s);
}

void add_safe(struct strbuf *text, const char *value)
{
	strbuf_add_escaped(text, value, strlen(value));
}

void add_speedup(struct strbuf *text, double gain_ln, int decimals)
{
	if (isfinite(gain_ln))
		strbuf_addf(text, "%.*fx", decimals, exp(gain_ln));
	else
		strbuf_addch(text, '-');
}

void count_items(const struct verdict *v, struct strbuf *text)
{
	int counts[4] = {0};
	bool first = true;
	for (int i = 0; i < N_ITEMS; i++)
		counts[v->items[i].result]++;
	for (int r = 0; r < 4; r++) {
		if (!counts[r])
			continue;
		strbuf_addf(text, "%s%d %s", first ? "" : ", ", counts[r], item_result_names[r]);
		first = false;
	}
}

double payback_s(const struct state *s)
{
	const struct duel *d = delivered_duel(s);
	struct bill bill;
	bill_of(s, &bill);
	double devices = (double)s->task->launch.nodes * s->task->launch.devices_per_node;
	/* In t seconds of the faster training, exp(gain) * t of the old one is done: exp(gain) - 1 seconds
	 * saved a second. */
	return d ? bill.total_s / devices / expm1(duel_gain(d).ln) : NAN;
}

void report_delivered_line(const struct state *s, struct strbuf *text)
{
	const struct duel *d = delivered_duel(s);
	struct bill bill;
	bill_of(s, &bill);
	struct gain gain = d ? duel_gain(d) : (struct gain){0};
	strbuf_addf(text, "delivered: %.2fx ", exp(gain.ln));
	if (d)
		strbuf_addf(text, "(95%% interval %.2f to %.2f)", exp(gain.low_ln), exp(gain.high_ln));
	else
		strbuf_addstr(text, "(nothing was faster beyond noise and valid)");
	strbuf_addf(text, ", trials %d, rejected %d, device-hours %.3g\n", s->n_counted, bill.rejected,
		bill.total_s / seconds_per_hour);
}

static void add_shortfall(const struct state *s, const struct duel *d, struct strbuf *text)
{
	strbuf_addstr(text, "Not delivered: ");
	add_speedup(text, d->result.gain_ln, 3);
	if (d->result.delivered) {
		strbuf_addf(
			text, " measured, not proven better than trial %d, which stays\n", s->standing.trial);
		return;
	}
	if (d->result.gain_ln > d->result.threshold_ln) {
		strbuf_addstr(text, " measured, but the last run's verdict rejects it\n");
		return;
	}
	strbuf_addstr(text, " measured, more than ");
	add_speedup(text, d->result.threshold_ln, 3);
	strbuf_addstr(text, " is needed to be sure\n");
}

static void add_duel(const struct state *s, const struct duel *d, struct strbuf *text)
{
	double reference = 0, candidate = 0;
	size_t n = 0;
	for (size_t p = 0; p < d->n_pairs; p++) {
		if (!d->reference_runs[p].has_time || !d->candidate_runs[p].has_time)
			continue;
		reference += d->reference_runs[p].time_s;
		candidate += d->candidate_runs[p].time_s;
		n++;
	}
	strbuf_addf(text, "Final duel of trial %d (%zu order-swapped pairs): ", d->trial, d->n_pairs);
	if (n)
		strbuf_addf(text, "reference %.4f, candidate %.4f s/update\n", reference / (double)n,
			candidate / (double)n);
	else
		strbuf_addstr(text, "not completed\n");
	if (!d->valid)
		strbuf_addstr(text, "Not delivered: a re-run was not valid\n");
	else if (d->confirmation.outcome != CONFIRMATION_NONE)
		add_confirmation(s, d, add_safe, text);
	else if (!d->result.delivered || (s->finished && s->has_standing))
		add_shortfall(s, d, text);
}

void add_patch_reviews(const struct state *s, const struct trial *t, review_fn add, struct strbuf *text)
{
	for (size_t i = 0; i < s->space.n_patches; i++) {
		if (!t->candidate.setting[s->task->n_knobs + i] || !*s->patch_reviews[i])
			continue;
		strbuf_addstr(text, s->patch_accepted[i] ? "Reviewed: patch " : "To review: patch ");
		add(text, s->space.patches[i].name);
		strbuf_addstr(text, ": ");
		add(text, s->patch_reviews[i]);
		strbuf_addch(text, '\n');
	}
}

void add_standing(const struct state *s, struct strbuf *text)
{
	if (s->has_standing)
		add_confirmation(s, &s->standing, add_safe, text);
	if (s->has_standing)
		strbuf_addf(text, "Trial %d stands from an earlier promotion: %s.\n", s->standing.trial,
			s->finished ? "nothing was proven better since"
				    : "it stays until another is proven better, and promotion is not over");
}

static void add_outcome(const struct state *s, struct strbuf *text)
{
	const struct duel *d = delivered_duel(s);
	if (!d) {
		strbuf_addstr(text, s->finished ? "Delivered 1.00x: nothing was faster beyond noise and "
						  "valid; the reference stays.\n"
						: "Promotion has not been carried out yet.\n");
		return;
	}
	struct gain gain = duel_gain(d);
	strbuf_addf(text, "Delivered %.2fx (95%% interval %.2f to %.2f); claimed during search ",
		exp(gain.ln), exp(gain.low_ln), exp(gain.high_ln));
	add_speedup(text, d->claimed_ln, 2);
	strbuf_addstr(text, ".  16 items: ");
	count_items(&d->verdict, text);
	strbuf_addstr(text, ".\n");
	add_standing(s, text);
	for (int i = 0; i < d->verdict.n_reviews; i++) {
		strbuf_addstr(text, "To review: ");
		add_safe(text, d->verdict.reviews[i]);
		strbuf_addch(text, '\n');
	}
	const struct trial *t = trial_numbered(s, d->trial);
	if (t)
		add_patch_reviews(s, t, add_safe, text);
}

static bool ran_well(const struct state *s, size_t patch)
{
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].status == TRIAL_VALID &&
			s->trials[i].candidate.setting[s->task->n_knobs + patch])
			return true;
	return false;
}

/* What proposers who read the patch say of it. */
static void add_opinions(const struct state *s, size_t patch, struct strbuf *text)
{
	for (size_t i = 0; i < s->n_opinions; i++) {
		const struct opinion *o = &s->opinions[i];
		if (o->patch != patch)
			continue;
		strbuf_addstr(text, "  ");
		add_safe(text, state_source_name(s, o->source));
		strbuf_addf(text, " would %s it: ", o->accept ? "accept" : "reject");
		add_safe(text, o->reason);
		strbuf_addch(text, '\n');
	}
}

/* What was measured and may not be promoted before a person has looked at it. */
static void add_waiting(const struct state *s, struct strbuf *text)
{
	for (size_t i = 0; i < s->space.n_patches; i++) {
		if (!*s->patch_reviews[i] || s->patch_accepted[i] || !ran_well(s, i))
			continue;
		strbuf_addstr(text, "Waits for review: patch ");
		add_safe(text, s->space.patches[i].name);
		strbuf_addstr(text, " (");
		add_safe(text, s->patch_reviews[i]);
		strbuf_addstr(text, "). Read it, then  infrarsi audit --accept ");
		add_safe(text, s->space.patches[i].name);
		strbuf_addstr(text, "  and  infrarsi run\n");
		add_opinions(s, i, text);
	}
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		if (t->status != TRIAL_VALID || !trial_is_held(t, &t->run.verdict))
			continue;
		strbuf_addf(text, "Waits for review: trial %d (", t->number);
		add_safe(text, t->run.verdict.reviews[0]);
		strbuf_addf(text,
			"). Look at it (infrarsi show %d), then  infrarsi audit --accept %d  and  infrarsi "
			"run\n",
			t->number, t->number);
	}
}

void add_search_over(const struct state *s, review_fn add, struct strbuf *text)
{
	if (s->search_over.why == SEARCH_OVER_NONE)
		return;
	strbuf_addstr(text, "The search ended before its trials were used: ");
	add(text, s->search_over.text);
	strbuf_addstr(text, ".\n");
}

/* The others are in the bill, not in the number of trials. */
static bool uses_budget(enum trial_status status)
{
	return status != TRIAL_REGISTERED && status != TRIAL_INTERRUPTED && status != TRIAL_TRANSIENT;
}

static void add_cost(const struct state *s, struct strbuf *text)
{
	struct bill bill;
	char unit[UNIT_TEXT_SIZE];
	bool first = true;
	bill_of(s, &bill);
	strbuf_addf(text, "Cost: %d trial%s (", s->n_counted, s->n_counted == 1 ? "" : "s");
	for (int k = 0; k < N_TRIAL_STATUSES; k++) {
		if (!bill.by_status[k] || !uses_budget((enum trial_status)k))
			continue;
		strbuf_addf(text, "%s%d %s", first ? "" : ", ", bill.by_status[k], trial_status_names[k]);
		first = false;
	}
	strbuf_addf(text, "%s)", first ? "none" : "");
	for (int k = 0; k < N_TRIAL_STATUSES; k++)
		if (bill.by_status[k] && !uses_budget((enum trial_status)k))
			strbuf_addf(text, ", %d %s", bill.by_status[k], trial_status_names[k]);
	if (s->n_refusals)
		strbuf_addf(text, " and %zu candidate%s refused before running", s->n_refusals,
			s->n_refusals == 1 ? "" : "s");
	strbuf_addf(text, "; %.3g device-hours", bill.total_s / seconds_per_hour);
	if (isfinite(payback_s(s)))
		strbuf_addf(text, "; pays back after %s of training", format_duration(payback_s(s), unit));
	strbuf_addf(text,
		"\n      in device-seconds: reference %.1f, profile %.1f, search %.1f, promotion %.1f, "
		"builds %.1f\n",
		s->cost.reference_s, s->cost.profile_s, s->cost.search_s, s->cost.promotion_s,
		s->cost.build_s);
}

void report_summary(const struct state *s, struct strbuf *text)
{
	if (s->has_withdrawn)
		add_confirmation(s, &s->withdrawn, add_safe, text);
	for (size_t i = 0; i < s->n_duels; i++)
		if (s->duels[i].finished)
			add_duel(s, &s->duels[i], text);
	add_outcome(s, text);
	add_waiting(s, text);
	add_search_over(s, add_safe, text);
	add_cost(s, text);
	if (s->finished && delivered_duel(s))
		strbuf_addstr(text, "Next: infrarsi report    or    infrarsi apply --branch faster\n");
	else if (s->finished)
		strbuf_addstr(
			text, "Next: infrarsi report    or a larger budget:  infrarsi run --trials N\n");
	else
		strbuf_addstr(text, "Next: infrarsi run\n");
	if (s->finished)
		report_delivered_line(s, text);
}

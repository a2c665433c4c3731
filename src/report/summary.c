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
			     ret_bill->by_status[TRIAL_INVALID];
	/* A build holds the devices of its trial as long as it lasts. */
	double devices = (double)s->task->launch.nodes * s->task->launch.devices_per_node;
	ret_bill->total_s =
		c->reference_s + c->profile_s + c->search_s + c->promotion_s + c->build_s * devices;
}

const struct duel *delivered_duel(const struct state *s)
{
	return s->finished && s->delivered_finalist ? &s->duels[s->delivered_finalist - 1] : NULL;
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
	return d ? bill.total_s / devices / expm1(d->result.gain_ln) : NAN;
}

void report_delivered_line(const struct state *s, struct strbuf *text)
{
	const struct duel *d = delivered_duel(s);
	struct bill bill;
	bill_of(s, &bill);
	strbuf_addf(text, "delivered: %.2fx ", d ? exp(d->result.gain_ln) : 1.0);
	if (d)
		strbuf_addf(
			text, "(95%% interval %.2f to %.2f)", exp(d->result.low_ln), exp(d->result.high_ln));
	else
		strbuf_addstr(text, "(nothing was faster beyond noise and valid)");
	strbuf_addf(text, ", trials %d, rejected %d, device-hours %.3g\n", s->n_counted, bill.rejected,
		bill.total_s / seconds_per_hour);
}

static void add_duel(const struct duel *d, struct strbuf *text)
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
	else if (!d->result.delivered)
		strbuf_addf(text, "Not delivered: %.2fx measured, more than %.3fx is needed to be sure\n",
			exp(d->result.gain_ln), exp(d->result.threshold_ln));
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
	strbuf_addf(text,
		"Delivered %.2fx (95%% interval %.2f to %.2f); claimed during search %.2fx.  16 items: ",
		exp(d->result.gain_ln), exp(d->result.low_ln), exp(d->result.high_ln), exp(d->claimed_ln));
	count_items(&d->verdict, text);
	strbuf_addstr(text, ".\n");
	for (int i = 0; i < d->verdict.n_reviews; i++)
		strbuf_addf(text, "To review: %s\n", d->verdict.reviews[i]);
}

static void add_cost(const struct state *s, struct strbuf *text)
{
	struct bill bill;
	char unit[UNIT_TEXT_SIZE];
	bool first = true;
	bill_of(s, &bill);
	strbuf_addf(text, "Cost: %d trials (", s->n_counted);
	for (int k = 0; k < N_TRIAL_STATUSES; k++) {
		if (!bill.by_status[k])
			continue;
		strbuf_addf(text, "%s%d %s", first ? "" : ", ", bill.by_status[k], trial_status_names[k]);
		first = false;
	}
	strbuf_addf(text, "%s)", first ? "none" : "");
	if (s->n_refusals)
		strbuf_addf(text, " and %zu refused before they ran", s->n_refusals);
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
	for (size_t i = 0; i < s->n_duels; i++)
		if (s->duels[i].finished)
			add_duel(&s->duels[i], text);
	add_outcome(s, text);
	add_cost(s, text);
	if (delivered_duel(s))
		strbuf_addstr(text, "Next: infrarsi report    or    infrarsi apply --branch faster\n");
	else if (s->finished)
		strbuf_addstr(
			text, "Next: infrarsi report    or a larger budget:  infrarsi run --trials N\n");
	else
		strbuf_addstr(text, "Next: infrarsi run\n");
	if (s->finished)
		report_delivered_line(s, text);
}

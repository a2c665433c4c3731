/* REPORT.md: what a person reads who was not there. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "report/predictions.h"
#include "report/report_int.h"
#include "spec/task.h"

enum { CHART_COLUMNS = 50 };

static void add_cell(struct strbuf *text, const char *value)
{
	strbuf_add_markdown(text, value, strlen(value));
}

/* A code span around text that may hold backticks: one more of them than its longest run (CommonMark). */
static void add_code(struct strbuf *text, const char *value)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	size_t longest = 0, run = 0;
	strbuf_add_escaped(&safe, value, strlen(value));
	for (size_t i = 0; i < safe.len; i++) {
		run = safe.buf[i] == '`' ? run + 1 : 0;
		longest = MAX_OF(longest, run);
	}
	for (size_t i = 0; i <= longest; i++)
		strbuf_addch(text, '`');
	strbuf_addf(text, " %s ", safe.buf);
	for (size_t i = 0; i <= longest; i++)
		strbuf_addch(text, '`');
}

static void add_headline(const struct duel *d, struct strbuf *text)
{
	struct gain gain = duel_gain(d);
	strbuf_addf(text, "**%.2fx faster** (95%% interval %.2f to %.2f), measured ", exp(gain.ln),
		exp(gain.low_ln), exp(gain.high_ln));
	if (d->confirmation.outcome == CONFIRMATION_SMALLER)
		strbuf_addf(text, "over %d updates in a fresh run beside one of", d->confirmation.updates);
	else
		strbuf_addf(text, "in %d order-swapped pairs of fresh runs against", d->result.pairs);
	strbuf_addstr(text, " the untouched reference, on the harness's own clock. ");
}

static void add_head(const struct state *s, struct strbuf *text)
{
	const struct duel *d = delivered_duel(s);
	strbuf_addstr(text, "# InfraRSI report: ");
	add_cell(text, s->task->name);
	strbuf_addstr(text, "\n\n");
	if (d)
		add_headline(d, text);
	else if (s->finished)
		strbuf_addstr(text, "**1.00x**: nothing was faster beyond calibrated noise and valid. The "
				    "reference stays as it is. ");
	else
		strbuf_addstr(text, "The campaign is not over: promotion has not been carried out. ");
	strbuf_addf(text, "Campaign `%s`, begun ", s->campaign_id);
	add_cell(text, s->first_utc);
	strbuf_addstr(text, ", last entry ");
	add_cell(text, s->last_utc);
	strbuf_addstr(text, ".\n\n");
	if (s->has_standing) {
		add_standing(s, text);
		strbuf_addch(text, '\n');
	}
	strbuf_addstr(text, "    ");
	report_delivered_line(s, text);
	strbuf_addch(text, '\n');
}

static void add_claim(const struct state *s, const struct duel *d, const char *finalist, struct strbuf *text)
{
	const char *result = d->confirmation.outcome == CONFIRMATION_REFUSED ? "not over more updates"
			     : !d->result.delivered                          ? "not beyond noise"
			     : s->has_standing && d != &s->standing && s->finished
				     ? "faster, but not proven better than what was delivered before"
				     : "delivered";
	strbuf_addf(text, "| %s | %d | ", finalist, d->trial);
	add_speedup(text, d->claimed_ln, 3);
	strbuf_addstr(text, " | ");
	if (d->finished && d->valid)
		strbuf_addf(text, "%.3fx | %.3f to %.3f | %.3fx | %s |\n", exp(d->result.gain_ln),
			exp(d->result.low_ln), exp(d->result.high_ln), exp(d->result.threshold_ln), result);
	else
		strbuf_addf(
			text, "- | - | - | %s |\n", d->finished ? "a re-run was not valid" : "not finished");
}

static void add_pairs(const struct duel *d, const char *finalist, struct strbuf *text)
{
	strbuf_addf(text, "Pairs of finalist %s, s/update:", finalist);
	for (size_t p = 0; p < d->n_pairs; p++)
		if (d->reference_runs[p].has_time && d->candidate_runs[p].has_time)
			strbuf_addf(
				text, " %.4f/%.4f", d->reference_runs[p].time_s, d->candidate_runs[p].time_s);
	strbuf_addstr(text, " (reference/candidate).\n\n");
}

static void add_longer(const struct state *s, const struct duel *d, struct strbuf *text)
{
	const struct confirmation *c = &d->confirmation;
	if (c->outcome == CONFIRMATION_NONE)
		return;
	add_confirmation(s, d, add_cell, text);
	if (c->n_references && c->candidate.has_time) {
		strbuf_addf(text, "\nOver %d updates, s/update: references", c->updates);
		for (size_t i = 0; i < c->n_references; i++)
			strbuf_addf(text, " %.4f", c->references[i].time_s);
		strbuf_addf(text, ", winner %.4f.\n", c->candidate.time_s);
	}
	strbuf_addch(text, '\n');
}

/* The standing delivery of an earlier promotion comes first, then the duels of the last one. */
static void add_claims(const struct state *s, struct strbuf *text)
{
	if (!s->n_duels && !s->has_standing && !s->has_withdrawn)
		return;
	strbuf_addstr(text, "## Claimed and delivered\n\n| finalist | trial | claimed in search | measured "
			    "in the duel | 95% interval | "
			    "needed | result |\n|---|---|---|---|---|---|---|\n");
	if (s->has_standing)
		add_claim(s, &s->standing, "earlier", text);
	for (size_t i = 0; i < s->n_duels; i++) {
		char finalist[16];
		snprintf(finalist, sizeof(finalist), "%d", s->duels[i].finalist);
		add_claim(s, &s->duels[i], finalist, text);
	}
	strbuf_addstr(text, "\nThe best of several noisy measurements is too good on average (the winner's "
			    "curse); the duel is "
			    "measured anew and free of it.\n\n");
	if (s->has_withdrawn)
		add_longer(s, &s->withdrawn, text);
	if (s->has_standing) {
		add_pairs(&s->standing, "earlier", text);
		add_longer(s, &s->standing, text);
	}
	for (size_t i = 0; i < s->n_duels; i++) {
		char finalist[16];
		snprintf(finalist, sizeof(finalist), "%d", s->duels[i].finalist);
		add_pairs(&s->duels[i], finalist, text);
		add_longer(s, &s->duels[i], text);
	}
}

/* One line of an indented code block: a line break in a word would end the block. */
static void add_command(struct strbuf *text, const char *const *env, const char *const *argv)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	const char *const *const lists[] = {env, argv};
	strbuf_addstr(&line, env && env[0] ? "env" : "");
	for (size_t k = 0; k < ARRAY_LEN(lists); k++)
		for (size_t i = 0; lists[k] && lists[k][i]; i++) {
			strbuf_addstr(&line, line.len ? " " : "");
			strbuf_add_shell(&line, lists[k][i]);
		}
	strbuf_addstr(text, "    ");
	strbuf_add_escaped(text, line.buf, line.len);
	strbuf_addch(text, '\n');
}

static void add_changes(const struct state *s, const struct trial *t, struct strbuf *text)
{
	strbuf_addstr(text, "| what | reference | now |\n|---|---|---|\n");
	for (size_t i = 0; i < s->task->n_knobs; i++) {
		const struct knob *knob = &s->task->knobs[i];
		if ((size_t)t->candidate.setting[i] == knob->reference)
			continue;
		strbuf_addf(text, "| %s | ", knob->name);
		add_cell(text, knob->settings[knob->reference].text);
		strbuf_addstr(text, " | ");
		add_cell(text, knob->settings[t->candidate.setting[i]].text);
		strbuf_addstr(text, " |\n");
	}
	for (size_t i = 0; i < s->space.n_patches; i++) {
		const struct patch_lever *patch = &s->space.patches[i];
		if (!t->candidate.setting[s->task->n_knobs + i])
			continue;
		strbuf_addstr(text, "| patch ");
		add_cell(text, patch->name);
		strbuf_addstr(text, " | - | ");
		add_cell(text, patch->title && *patch->title ? patch->title : "applied");
		strbuf_addstr(text, " |\n");
	}
}

static void add_winner(const struct state *s, struct strbuf *text)
{
	const struct duel *d = delivered_duel(s);
	const struct trial *t = d ? trial_numbered(s, d->trial) : NULL;
	if (!t)
		return;
	struct arena arena = ARENA_INIT;
	struct resolved resolved = {0};
	strbuf_addf(text, "## The winner: trial %d\n\n", t->number);
	add_changes(s, t, text);
	strbuf_addch(text, '\n');
	add_patch_reviews(s, t, add_cell, text);
	strbuf_addstr(text, "\n## How to reproduce\n\n    infrarsi apply --branch faster     # patches and "
			    "run-fast.sh, as commits\n");
	if (space_resolve(&s->space, &t->candidate, &arena, &resolved, NULL) == OK) {
		strbuf_addstr(text, "\nor by hand");
		strbuf_addstr(text, ", the patches from `.infrarsi/patches/` applied:\n\n");
		if (resolved.build_argv)
			add_command(text, resolved.build_env, resolved.build_argv);
		add_command(text, resolved.env, resolved.argv);
	}
	strbuf_addstr(
		text, "\n`infrarsi verify` judges the stored receipts again, without running anything.\n\n");
	arena_release(&arena);
}

/* One bar a trial: a picture of the search that needs no viewer. */
static void add_chart(const struct state *s, struct strbuf *text)
{
	double largest = 1;
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].run.has_time && isfinite(exp(s->trials[i].run.gain_ln)))
			largest = fmax(largest, exp(s->trials[i].run.gain_ln));
	strbuf_addstr(text, "```\n");
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		strbuf_addf(text, "%3d ", t->number);
		if (!t->run.has_time || !isfinite(exp(t->run.gain_ln))) {
			strbuf_addf(text, "%s\n", trial_status_names[t->status]);
			continue;
		}
		double speedup = exp(t->run.gain_ln);
		int length = (int)lround(speedup / largest * CHART_COLUMNS);
		for (int k = 0; k < length; k++)
			strbuf_addch(text, t->status == TRIAL_VALID ? '#' : '.');
		strbuf_addf(text, " %.2fx%s\n", speedup,
			t->status == TRIAL_VALID    ? ""
			: t->status == TRIAL_SLOWER ? " (stopped early)"
						    : " (rejected)");
	}
	strbuf_addstr(text, "```\n\n");
}

static void add_trials(const struct state *s, struct strbuf *text)
{
	char unit[UNIT_TEXT_SIZE];
	strbuf_addstr(text, "## What was tried\n\n");
	if (s->n_trials)
		add_chart(s, text);
	strbuf_addstr(text, "| # | what changed | why | status | s/update | speed-up | memory "
			    "|\n|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
		candidate_describe(&t->candidate, NULL, &s->space, &what);
		strbuf_addf(text, "| %d | ", t->number);
		add_cell(text, what.buf);
		strbuf_addstr(text, " | ");
		add_cell(text, t->operators);
		strbuf_addf(text, " | %s | ", trial_status_names[t->status]);
		if (t->run.has_time)
			strbuf_addf(text, "%.4f | ", t->run.time_s);
		else
			strbuf_addstr(text, "- | ");
		add_speedup(text, t->run.gain_ln, 2);
		strbuf_addstr(text, " | ");
		bool has_peak = t->run.receipt_path && isfinite(t->run.peak_bytes);
		strbuf_addf(text, "%s |\n", has_peak ? format_bytes(t->run.peak_bytes, unit) : "-");
	}
	for (size_t i = 0; i < s->n_refusals; i++) {
		strbuf_addstr(text, "| - | patch ");
		add_cell(text, s->refusals[i].name);
		strbuf_addstr(text, " | - | refused by ");
		add_cell(text, s->refusals[i].by);
		strbuf_addstr(text, ": ");
		add_cell(text, s->refusals[i].reason);
		strbuf_addstr(text, " | - | - | - |\n");
	}
	strbuf_addch(text, '\n');
	add_clashes(s, "- ", add_cell, text);
	if (s->n_clashes)
		strbuf_addch(text, '\n');
}

static void add_failures(const struct state *s, struct strbuf *text)
{
	bool any = false;
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		if (t->status == TRIAL_VALID || t->status == TRIAL_REGISTERED)
			continue;
		if (!any)
			strbuf_addstr(text, "## What failed and why\n\n");
		any = true;
		const struct verdict *v = &t->run.verdict;
		strbuf_addf(text, "- **trial %d, %s.** ", t->number, trial_status_names[t->status]);
		if (t->run.receipt_path && v->primary >= 0) {
			strbuf_addf(
				text, "L%d %s: ", item_infos[v->primary].layer, item_infos[v->primary].name);
			add_cell(text, v->items[v->primary].reason);
		} else {
			add_cell(text, t->reason_text);
		}
		if (t->run.evidence && *t->run.evidence && t->status != TRIAL_SLOWER) {
			strbuf_addstr(text, ". The job said ");
			add_code(text, t->run.evidence);
		}
		if (t->run.log_path && *t->run.log_path) {
			strbuf_addstr(text, " (");
			add_cell(text, t->run.log_path);
			strbuf_addch(text, ')');
		}
		strbuf_addch(text, '\n');
	}
	if (any)
		strbuf_addch(text, '\n');
}

/* The delivered candidate's verdict; without one, that of the latest reference run, so that what is checkable
 * is seen. */
static void add_items(const struct state *s, struct strbuf *text)
{
	const struct duel *d = delivered_duel(s);
	const struct verdict *v = d ? &d->verdict : NULL;
	if (!v && s->n_references)
		v = &s->references[s->n_references - 1].verdict;
	if (!v)
		return;
	strbuf_addf(text,
		"## The 16 items: %s\n\n| layer | item | result | the numbers |\n|---|---|---|---|\n",
		d ? "the winner's last run" : "the reference's last run");
	for (int i = 0; i < N_ITEMS; i++) {
		strbuf_addf(text, "| L%d | %s | %s | ", item_infos[i].layer, item_infos[i].name,
			item_result_names[v->items[i].result]);
		add_cell(text, v->items[i].reason);
		strbuf_addstr(text, " |\n");
	}
	for (int i = 0; i < v->n_reviews; i++) {
		strbuf_addstr(text, "\nTo review: ");
		add_cell(text, v->reviews[i]);
		strbuf_addch(text, '\n');
	}
	strbuf_addch(text, '\n');
}

static void add_cost(const struct state *s, struct strbuf *text)
{
	struct bill bill;
	char unit[UNIT_TEXT_SIZE];
	const struct cost *c = &s->cost;
	bill_of(s, &bill);
	strbuf_addstr(text, "## What it cost\n\nEvery failed, rejected and aborted execution is in it.\n\n| "
			    "part | device-seconds |\n|---|---|\n");
	strbuf_addf(text,
		"| reference runs | %.1f |\n| profiling | %.1f |\n| search | %.1f |\n| promotion | %.1f |\n| "
		"builds | %.1f |\n",
		c->reference_s, c->profile_s, c->search_s, c->promotion_s, c->build_s);
	strbuf_addf(text, "| **together** | **%.1f** (%.3g device-hours) |\n\n", bill.total_s,
		bill.total_s / 3600);
	strbuf_addstr(text, "Trials: ");
	bool first = true;
	for (int k = 0; k < N_TRIAL_STATUSES; k++)
		if (bill.by_status[k]) {
			strbuf_addf(
				text, "%s%d %s", first ? "" : ", ", bill.by_status[k], trial_status_names[k]);
			first = false;
		}
	strbuf_addf(text, "%s; %zu refused before running.", first ? "none" : "", s->n_refusals);
	if (isfinite(payback_s(s)))
		strbuf_addf(text, " The cost is earned back after %s of the faster training.",
			format_duration(payback_s(s), unit));
	strbuf_addstr(text, "\n\n");
	add_search_over(s, add_cell, text);
	if (s->search_over.why != SEARCH_OVER_NONE)
		strbuf_addch(text, '\n');
}

static void add_setting(const struct state *s, struct strbuf *text)
{
	const struct noise *n = &s->noise;
	CLEANUP(json_decref_ptr) json_t *machine = json_loads(s->environment_json, 0, NULL);
	strbuf_addstr(text, "## Reference, noise, machine\n\n");
	if (s->has_noise)
		strbuf_addf(text,
			"Reference: %.4f s/update over %d runs, window %d..%d. sigma_pair %.3f%%: between "
			"runs %.3f%%, floors from within "
			"runs %.3f%% (halves) and %.3f%% (white noise).%s Effects above %.2f%% can be told "
			"apart.\n\n",
			n->mean_s, n->runs, s->task->contract.warmup + 1, s->task->contract.updates,
			100 * n->sigma_pair, 100 * n->between_runs, 100 * n->half_floor, 100 * n->white_floor,
			n->drifts ? " The reference drifts from run to run." : "", 100 * noise_detectable(n));
	if (machine) {
		strbuf_addstr(text, "Machine: ");
		add_cell(text, json_text_of(machine, "cpu"));
		strbuf_addf(text, ", %lld cores, kernel ", (long long)json_integer_of(machine, "cores"));
		add_cell(text, json_text_of(machine, "kernel"));
		strbuf_addstr(text, ". ");
	}
	strbuf_addf(
		text, "Reference source: snapshot commit `%s`, uncommitted changes included.\n\n", s->commit);
}

static void add_limits(const struct state *s, struct strbuf *text)
{
	strbuf_addstr(text, "## Limits\n\n");
	if (s->task->contract.eval_command.count == 0)
		strbuf_addstr(text, "- Loss is self-reported: the contract configures no evaluation, so a "
				    "patched job's own word for its "
				    "loss was taken, after the audit of every changed line.\n");
	strbuf_addf(text, "- Equality was checked over %d updates, not over a whole training.\n",
		s->task->contract.updates);
	strbuf_addstr(text, "- The speed-up is this machine's; another one wants its own campaign.\n");
}

void report_markdown(const struct state *s, struct strbuf *text)
{
	add_head(s, text);
	add_winner(s, text);
	add_claims(s, text);
	add_trials(s, text);
	add_predictions(s, text);
	add_failures(s, text);
	add_items(s, text);
	add_cost(s, text);
	add_setting(s, text);
	add_limits(s, text);
}

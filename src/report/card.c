/* One trial in full: its card when it went wrong, its details otherwise. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "report/report_int.h"
#include "spec/task.h"

static bool has_patch(const struct state *s, const struct trial *t)
{
	for (size_t i = s->task->n_knobs; i < s->space.n_levers; i++)
		if (t->candidate.setting[i] != (int)s->space.reference[i])
			return true;
	return false;
}

/* What a failure means for the search, in the words of the models (docs/search.md). */
static void add_meaning(const struct state *s, const struct trial *t, struct strbuf *text)
{
	char unit[UNIT_TEXT_SIZE];
	switch (t->status) {
	case TRIAL_OOM:
		strbuf_addstr(text, "the memory ledger learnt a lower bound");
		if (isfinite(t->run.shortfall_bytes))
			strbuf_addf(
				text, " (%s more than there is)", format_bytes(t->run.shortfall_bytes, unit));
		strbuf_addstr(text, "; no setting is banned");
		break;
	case TRIAL_CRASHED:
	case TRIAL_HUNG:
		strbuf_addstr(text,
			has_patch(s, t) ? "blamed on its patches first; the settings keep their standing"
					: "blamed on the smallest sets of settings that no other run clears");
		break;
	case TRIAL_INVALID:
		strbuf_addstr(text, "rejected: it can never be the winner");
		break;
	case TRIAL_SLOWER:
		strbuf_addstr(text, "stopped to save the rest of the run; its time counts with more noise, "
				    "and it can never "
				    "be the winner");
		break;
	case TRIAL_INTERRUPTED:
		strbuf_addstr(text, "nothing: it was not its fault; the candidate may be proposed again");
		break;
	case TRIAL_TRANSIENT:
		strbuf_addstr(text, "nothing: the host failed; the candidate may be proposed again");
		break;
	default:
		break;
	}
}

static void add_where(const struct trial *t, struct strbuf *text)
{
	const struct verdict *v = &t->run.verdict;
	if (v->primary >= 0) {
		strbuf_addf(text, "  L%d %s: ", item_infos[v->primary].layer, item_infos[v->primary].name);
		add_safe(text, v->items[v->primary].reason);
	} else if (*t->reason_text) {
		strbuf_addstr(text, "  ");
		add_safe(text, t->reason_text);
	}
}

void report_failure_card(const struct state *s, const struct trial *t, const char *dir, struct strbuf *text)
{
	if (t->status == TRIAL_VALID || t->status == TRIAL_REGISTERED)
		return;
	strbuf_addf(text, "trial %d  %s", t->number, trial_status_names[t->status]);
	add_where(t, text);
	strbuf_addch(text, '\n');
	if (t->run.log_path && *t->run.log_path) {
		const char *line =
			strncmp(t->run.evidence_source, "log:", 4) == 0 ? t->run.evidence_source + 3 : "";
		strbuf_addf(text, "         log    %s/", dir);
		add_safe(text, t->run.log_path);
		add_safe(text, line);
		strbuf_addch(text, '\n');
	}
	if (t->run.evidence && *t->run.evidence && t->status != TRIAL_SLOWER) {
		strbuf_addstr(text, "         said   ");
		add_safe(text, t->run.evidence);
		strbuf_addch(text, '\n');
	}
	strbuf_addstr(text, "         means  ");
	add_meaning(s, t, text);
	if (t->run.log_path)
		strbuf_addf(text,
			"\n         next   infrarsi show %d --log    or carry on: the search does\n",
			t->number);
	else
		strbuf_addstr(text, "\n         next   carry on: the search does\n");
}

static void add_prediction(const struct trial *t, struct strbuf *text)
{
	char unit[UNIT_TEXT_SIZE];
	if (*t->operators || *t->reason) {
		strbuf_addstr(text, "why        ");
		add_safe(text, t->operators);
		strbuf_addstr(text, ": ");
		add_safe(text, t->reason);
		strbuf_addch(text, '\n');
	}
	if (!isfinite(t->predicted_ln))
		return;
	strbuf_addf(text, "predicted  %s", format_speedup(t->predicted_ln, unit));
	strbuf_addf(text, " (up to %s), fits %.2f, runs %.2f\n",
		format_speedup(t->predicted_ln + 2 * t->predicted_sd_ln, unit), t->p_fits, t->p_ok);
}

static void add_measured(const struct state *s, const struct trial *t, struct strbuf *text)
{
	char unit[UNIT_TEXT_SIZE];
	if (t->run.has_time) {
		strbuf_addf(text, "measured   %.4f s/update (median %.4f), ", t->run.time_s, t->run.median_s);
		add_speedup(text, t->run.gain_ln, 2);
		strbuf_addf(text, " against %.4f; window %d..%d\n", state_reference_s(s, &t->run),
			s->task->contract.warmup + 1,
			t->status == TRIAL_SLOWER ? t->run.updates_seen : s->task->contract.updates);
	}
	if (t->run.at_once > 1) {
		strbuf_addf(text, "slot       one of %d at once, on ", t->run.at_once);
		strbuf_add_escaped(text, t->run.slot, strlen(t->run.slot));
		strbuf_addstr(text, "; the time it is held against was taken there\n");
	}
	if (isfinite(t->run.peak_bytes))
		strbuf_addf(text, "memory     %s at its peak\n", format_bytes(t->run.peak_bytes, unit));
	strbuf_addf(text, "cost       %.1f device-seconds, build %.1f s\n", t->device_s, t->run.build_s);
}

void report_trial_details(const struct state *s, const struct trial *t, const char *dir, struct strbuf *text)
{
	const struct verdict *v = &t->run.verdict;
	strbuf_addf(text, "trial %d  %s\n", t->number, trial_status_names[t->status]);
	strbuf_addstr(text, "candidate  ");
	candidate_describe(&t->candidate, NULL, &s->space, text);
	strbuf_addch(text, '\n');
	add_prediction(t, text);
	if (!t->run.receipt_path) {
		strbuf_addf(text, "cost       %.1f device-seconds\n", t->device_s);
		return;
	}
	add_measured(s, t, text);
	strbuf_addf(text, "receipt    %s/", dir);
	add_safe(text, t->run.receipt_path);
	strbuf_addf(text, "\nlog        %s/", dir);
	add_safe(text, t->run.log_path);
	strbuf_addstr(text, "\nverdict    ");
	count_items(v, text);
	strbuf_addch(text, '\n');
	for (int i = 0; i < N_ITEMS; i++) {
		strbuf_addf(text, "  L%d %-22s %-9s ", item_infos[i].layer, item_infos[i].name,
			item_result_names[v->items[i].result]);
		add_safe(text, v->items[i].reason);
		strbuf_addch(text, '\n');
	}
	for (int i = 0; i < v->n_reviews; i++) {
		strbuf_addstr(text, "  review: ");
		add_safe(text, v->reviews[i]);
		strbuf_addch(text, '\n');
	}
}

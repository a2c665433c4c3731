/* The table of trials: fixed columns, one row each, so that rows printed hours apart line up. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "report/report_int.h"
#include "spec/task.h"

enum { WHAT_COLUMNS = 58 };

const struct trial *trial_numbered(const struct state *s, int number)
{
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].number == number)
			return &s->trials[i];
	return NULL;
}

void describe_change(const struct state *s, const struct trial *t, struct strbuf *text)
{
	const struct trial *base = trial_numbered(s, t->base_trial);
	if (*t->operators)
		strbuf_addf(text, "%s: ", t->operators);
	candidate_describe(&t->candidate, base ? &base->candidate : NULL, &s->space, text);
	if (base)
		strbuf_addf(text, " on %d", base->number);
}

/* Text is ASCII but for names, whose escaped form may be UTF-8, and is cut between characters only. */
void add_column(struct strbuf *row, const char *text, size_t columns)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, text, strlen(text));
	if (safe.len <= columns) {
		strbuf_addf(row, "%-*s", (int)columns, safe.buf);
		return;
	}
	size_t keep = columns - 3;
	while (keep && ((unsigned char)safe.buf[keep] & 0xC0) == 0x80)
		keep--;
	strbuf_addf(row, "%.*s...", (int)keep, safe.buf);
}

void report_trial_header(struct strbuf *text)
{
	strbuf_addf(text, "  #  %-*s %7s %9s %8s %9s  %s\n", WHAT_COLUMNS, "what changed", "updates",
		"time/upd", "speed-up", "memory", "verdict");
}

static void add_memory(const struct trial *t, struct strbuf *row)
{
	char unit[UNIT_TEXT_SIZE], cell[UNIT_TEXT_SIZE + 1];
	if (t->status == TRIAL_OOM && isfinite(t->run.shortfall_bytes))
		snprintf(cell, sizeof(cell), "+%s", format_bytes(t->run.shortfall_bytes, unit));
	else if (isfinite(t->run.peak_bytes) && t->status != TRIAL_OOM)
		snprintf(cell, sizeof(cell), "%s", format_bytes(t->run.peak_bytes, unit));
	else
		snprintf(cell, sizeof(cell), "-");
	strbuf_addf(row, " %9s", cell);
}

static void add_oom(const struct state *s, const struct trial *t, struct strbuf *row)
{
	char needed[UNIT_TEXT_SIZE], device[UNIT_TEXT_SIZE];
	strbuf_addstr(row, "  oom");
	if (isfinite(t->run.shortfall_bytes) && isfinite(s->capacity_bytes))
		strbuf_addf(row, " (needs %s, device %s)",
			format_bytes(s->capacity_bytes + t->run.shortfall_bytes, needed),
			format_bytes(s->capacity_bytes, device));
}

/* What the job last said is the best short answer to "why". */
static void add_crash(const struct trial *t, struct strbuf *row)
{
	enum { SHOWN = 48 };
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT;
	strbuf_addf(row, "  %s",
		t->run.failure == FAILURE_COMPILE ? "build failed" : failure_class_names[t->run.failure]);
	if (!*t->run.evidence)
		return;
	strbuf_add_escaped(&said, t->run.evidence, strlen(t->run.evidence));
	size_t keep = MIN_OF(said.len, (size_t)SHOWN);
	while (keep && keep < said.len && ((unsigned char)said.buf[keep] & 0xC0) == 0x80)
		keep--;
	strbuf_addf(row, ": %.*s%s", (int)keep, said.buf, keep < said.len ? "..." : "");
}

static void add_verdict(const struct state *s, const struct trial *t, struct strbuf *row)
{
	const struct verdict *v = &t->run.verdict;
	switch (t->status) {
	case TRIAL_OOM:
		add_oom(s, t, row);
		break;
	case TRIAL_INVALID:
		strbuf_addf(row, "  invalid: %s",
			v->primary >= 0 ? item_infos[v->primary].name : "no step times");
		break;
	case TRIAL_CRASHED:
		add_crash(t, row);
		break;
	case TRIAL_SLOWER:
		strbuf_addstr(row, "  slower: stopped early");
		break;
	case TRIAL_HUNG:
		strbuf_addf(row, "  %s", failure_class_names[t->run.failure]);
		break;
	default:
		strbuf_addf(row, "  %s", trial_status_names[t->status]);
	}
	if (v->n_reviews && t->status == TRIAL_VALID)
		strbuf_addstr(row, ", to review");
}

void report_trial_row(const struct state *s, const struct trial *t, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
	char unit[UNIT_TEXT_SIZE], updates[32];
	describe_change(s, t, &what);
	strbuf_addf(text, "%3d  ", t->number);
	add_column(text, what.buf, WHAT_COLUMNS);
	snprintf(updates, sizeof(updates), "%d/%d", t->run.updates_seen, s->task->contract.updates);
	strbuf_addf(text, " %7s", updates);
	if (t->run.has_time && isfinite(t->run.gain_ln))
		strbuf_addf(text, " %9.4f %8s", t->run.time_s, format_speedup(t->run.gain_ln, unit));
	else if (t->run.has_time)
		strbuf_addf(text, " %9.4f %8s", t->run.time_s, "-");
	else
		strbuf_addf(text, " %9s %8s", "-", "-");
	add_memory(t, text);
	add_verdict(s, t, text);
	strbuf_addch(text, '\n');
}

void report_refusal_row(const struct refusal *r, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
	strbuf_addf(&what, "patch %s", r->name);
	strbuf_addstr(text, "  -  ");
	add_column(text, what.buf, WHAT_COLUMNS);
	strbuf_addf(text, " %7s %9s %8s %9s  refused by %s: ", "-", "-", "-", "-",
		strcmp(r->by, "audit") == 0 ? "audit" : "the patch check");
	strbuf_add_escaped(text, r->reason, strlen(r->reason));
	strbuf_addch(text, '\n');
}

void report_trials_table(const struct state *s, struct strbuf *text)
{
	report_trial_header(text);
	for (size_t i = 0; i < s->n_refusals; i++)
		report_refusal_row(&s->refusals[i], text);
	add_clashes(s, "  note: ", add_safe, text);
	for (size_t i = 0; i < s->n_trials; i++)
		report_trial_row(s, &s->trials[i], text);
}

/* pack.yaml: what a later campaign can learn from this one. People read, diff and share it, so every string
 * is quoted and nothing depends on the order in which things happened to be stored. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "report/report_int.h"
#include "spec/task.h"

enum { PACK_VERSION = 1 };

/* YAML's double-quoted style takes JSON's escapes; other control bytes become visible ones. */
static void add_quoted(struct strbuf *text, const char *value)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, value, strlen(value));
	strbuf_addch(text, '"');
	for (const char *p = safe.buf; *p; p++) {
		if (*p == '"' || *p == '\\')
			strbuf_addch(text, '\\');
		strbuf_addch(text, *p);
	}
	strbuf_addch(text, '"');
}

/* Readers of YAML 1.1 take a number with an exponent for one only where it has a point too. */
static void add_value(struct strbuf *text, double value)
{
	char buf[64];
	snprintf(buf, sizeof(buf), "%.6g", value);
	const char *exponent = strchr(buf, 'e');
	if (value == floor(value) && fabs(value) < 1e15)
		strbuf_addf(text, "%.0f", value);
	else if (exponent && !strchr(buf, '.'))
		strbuf_addf(text, "%.*s.0%s", (int)(exponent - buf), buf, exponent);
	else
		strbuf_addstr(text, buf);
}

static void add_number(struct strbuf *text, const char *key, double value)
{
	if (!isfinite(value))
		return;
	strbuf_addf(text, ", %s: ", key);
	add_value(text, value);
}

static void add_settings(const struct state *s, const struct candidate *c, struct strbuf *text)
{
	bool first = true;
	strbuf_addstr(text, "settings: {");
	for (size_t i = 0; i < s->task->n_knobs; i++) {
		const struct knob *knob = &s->task->knobs[i];
		strbuf_addstr(text, first ? "" : ", ");
		add_quoted(text, knob->name); /* a knob may be called "on" or "no" */
		strbuf_addstr(text, ": ");
		add_quoted(text, knob->settings[c->setting[i]].text);
		first = false;
	}
	strbuf_addstr(text, "}, patches: [");
	first = true;
	for (size_t i = 0; i < s->space.n_patches; i++) {
		if (!c->setting[s->task->n_knobs + i])
			continue;
		strbuf_addstr(text, first ? "" : ", ");
		add_quoted(text, s->space.patches[i].name);
		first = false;
	}
	strbuf_addch(text, ']');
}

static void add_environment(const struct state *s, struct strbuf *text)
{
	CLEANUP(json_decref_ptr) json_t *json = json_loads(s->environment_json, 0, NULL);
	const char *key;
	json_t *value;
	bool first = true;
	strbuf_addstr(text, "environment:");
	json_object_foreach(json, key, value)
	{
		if (!json_is_string(value) && !json_is_number(value))
			continue;
		strbuf_addstr(text, first ? "\n  " : "  ");
		first = false;
		add_quoted(text, key);
		strbuf_addstr(text, ": ");
		if (json_is_string(value))
			add_quoted(text, json_string_value(value));
		else
			add_value(text, json_number_value(value));
		strbuf_addch(text, '\n');
	}
	strbuf_addstr(text, first ? " {}\n" : "");
}

static void add_observations(const struct state *s, struct strbuf *text)
{
	bool first = true;
	strbuf_addstr(text, "observations:");
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		if (t->status != TRIAL_VALID)
			continue;
		strbuf_addf(text, "%s  - {trial: %d, ", first ? "\n" : "", t->number);
		first = false;
		add_settings(s, &t->candidate, text);
		add_number(text, "time_s", t->run.time_s);
		add_number(text, "gain_ln", t->run.gain_ln);
		add_number(text, "peak_bytes", t->run.peak_bytes);
		strbuf_addstr(text, "}\n");
	}
	strbuf_addstr(text, first ? " []\n" : "");
}

static void add_constraints(const struct state *s, struct strbuf *text)
{
	bool first = true;
	strbuf_addstr(text, "constraints:");
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		if (t->status != TRIAL_OOM && t->status != TRIAL_CRASHED && t->status != TRIAL_HUNG &&
			t->status != TRIAL_INVALID)
			continue;
		const struct verdict *v = &t->run.verdict;
		strbuf_addf(text, "%s  - {trial: %d, kind: %s, ", first ? "\n" : "", t->number,
			trial_status_names[t->status]);
		first = false;
		add_settings(s, &t->candidate, text);
		add_number(text, "shortfall_bytes", t->run.shortfall_bytes);
		strbuf_addstr(text, ", reason: ");
		add_quoted(text, *t->run.evidence  ? t->run.evidence
				 : v->primary >= 0 ? v->items[v->primary].reason
						   : "");
		strbuf_addstr(text, "}\n");
	}
	strbuf_addstr(text, first ? " []\n" : "");
}

void report_pack_yaml(const struct state *s, struct strbuf *text)
{
	const struct duel *d = delivered_duel(s);
	strbuf_addf(text,
		"# What this campaign learnt. Times in seconds per update, memory in bytes, gains as ln "
		"ratios.\n"
		"version: %d\ncampaign: ",
		PACK_VERSION);
	add_quoted(text, s->campaign_id);
	strbuf_addstr(text, "\ntask: ");
	add_quoted(text, s->task->name);
	strbuf_addstr(text, "\nstack: ");
	add_quoted(text, s->task->stack);
	strbuf_addch(text, '\n');
	add_environment(s, text);
	if (s->has_noise) {
		strbuf_addf(text, "reference: {runs: %d", s->noise.runs);
		add_number(text, "time_s", s->noise.mean_s);
		add_number(text, "sigma_pair", s->noise.sigma_pair);
		add_number(text, "peak_bytes", s->reference_peak_bytes);
		strbuf_addstr(text, "}\n");
	}
	if (d) {
		strbuf_addf(text, "delivered: {trial: %d, pairs: %d", d->trial, duel_gain_pairs(d));
		struct gain gain = duel_gain(d);
		add_number(text, "gain_ln", gain.ln);
		add_number(text, "low_ln", gain.low_ln);
		add_number(text, "high_ln", gain.high_ln);
		strbuf_addstr(text, "}\n");
	}
	add_observations(s, text);
	add_constraints(s, text);
}

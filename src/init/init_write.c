#include "base/base.h"

#include <string.h>

#include "base/strbuf.h"
#include "init/init_int.h"

struct writer {
	struct proposal *p;
	struct strbuf *out;
};

/* A double-quoted YAML scalar. */
static void add_quoted(struct strbuf *out, const char *text)
{
	strbuf_addch(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			strbuf_addch(out, '\\');
		strbuf_addch(out, *text);
	}
	strbuf_addch(out, '"');
}

/* Bare where YAML reads it back as the same text and nobody could take it for something else. */
static void add_scalar(struct strbuf *out, const char *text)
{
	static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "null"};
	bool is_bare = *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
	bool is_number = *text && text[strspn(text, "0123456789")] == '\0';
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		is_bare &= strcmp(text, words[i]) != 0;
	if (is_bare && (is_number || !(*text >= '0' && *text <= '9')))
		strbuf_addstr(out, text);
	else
		add_quoted(out, text);
}

static void add_comment(struct writer *w, const char *indent, const char *text)
{
	strbuf_addf(w->out, "%s# ", indent);
	strbuf_add_escaped(w->out, text, strlen(text));
	strbuf_addch(w->out, '\n');
}

static void add_ask(struct writer *w, const char *indent, const char *question)
{
	w->p->asks++;
	strbuf_addf(w->out, "%s# ASK: ", indent);
	strbuf_add_escaped(w->out, question, strlen(question));
	strbuf_addch(w->out, '\n');
}

static void add_words(struct writer *w, const struct proposed_words *words, const char *indent)
{
	strbuf_addch(w->out, '[');
	for (size_t i = 0; i < words->count; i++) {
		if (i)
			strbuf_addstr(w->out, words->items[i].starts_line ? ",\n" : ", ");
		if (i && words->items[i].starts_line)
			strbuf_addstr(w->out, indent);
		add_quoted(w->out, words->items[i].text);
	}
	strbuf_addstr(w->out, "]\n");
}

static void write_launch(struct writer *w)
{
	struct proposal *p = w->p;
	if (p->build.count) {
		strbuf_addstr(w->out, "\nbuild: ");
		add_words(w, &p->build, "    ");
	}
	strbuf_addstr(w->out, "\nlaunch:\n");
	add_comment(w, "  ", p->launch_where);
	strbuf_addstr(w->out, "  command: ");
	add_words(w, &p->command, "    ");
	if (p->n_env)
		strbuf_addstr(w->out, "  env:\n");
	for (size_t i = 0; i < p->n_env; i++) {
		if (p->env[i].comment)
			add_comment(w, "    ", p->env[i].comment);
		strbuf_addf(w->out, "    %s: ", p->env[i].name);
		add_quoted(w->out, p->env[i].value);
		strbuf_addch(w->out, '\n');
	}
	if (p->devices > 1)
		strbuf_addf(w->out, "  devices_per_node: %d\n", p->devices);
	strbuf_addstr(w->out, "  timeout: 20m\n");
}

static void write_number(
	struct writer *w, const char *key, const struct proposed_number *n, const char *question)
{
	if (n->value <= 0) {
		add_ask(w, "  ", question);
		strbuf_addf(w->out, "  # %s: 1\n", key);
		return;
	}
	add_ask(w, "  ", question);
	if (n->comment)
		add_comment(w, "  ", n->comment);
	strbuf_addf(w->out, "  %s: %.0f\n", key, n->value);
}

static void write_files(struct writer *w, const char *key, const struct proposed_files *files)
{
	if (!files->count) {
		strbuf_addf(w->out, "  %s: []\n", key);
		return;
	}
	strbuf_addf(w->out, "  %s:\n", key);
	for (size_t i = 0; i < files->count; i++) {
		strbuf_addstr(w->out, "    - ");
		add_quoted(w->out, files->items[i].pattern);
		if (files->items[i].reason)
			strbuf_addf(w->out, "  # %s", files->items[i].reason);
		strbuf_addch(w->out, '\n');
	}
}

static void write_contract(struct writer *w)
{
	struct proposal *p = w->p;
	strbuf_addstr(w->out, "\n# What must not change. Every trial is held to it.\ncontract:\n");
	if (p->updates.comment)
		add_comment(w, "  ", p->updates.comment);
	else
		add_comment(
			w, "  ", "no option sets the number of updates: the job must run exactly this many");
	add_ask(w, "  ", "are 30 updates, the first 10 not measured, enough to see the job's usual speed?");
	strbuf_addstr(w->out, "  updates: 30\n  warmup: 10\n");
	write_number(w, "global_batch", &p->global_batch, "is this the number of sequences of one update?");
	write_number(w, "seq_len", &p->seq_len, "is this the number of tokens of one sequence?");
	if (p->has_accumulation)
		strbuf_addf(w->out, "  invariants: [\"micro_batch * grad_accum%s == global_batch\"]\n",
			p->devices > 1 ? " * data_parallel" : "");
	add_ask(w, "  ", "how far may the loss move? 3% of its mean over the window is usual for short runs");
	strbuf_addstr(w->out, "  loss: {tolerance: 3%, rule: window_mean}\n  grad_norm: {tolerance: 3%}\n");
	if (p->precision)
		strbuf_addf(w->out,
			"  # What the job uses today; a longer list lets candidates use it too.\n  "
			"precision: [%s]\n",
			p->precision);
	add_ask(w, "  ", "how much memory may a trial use?");
	if (p->memory_cap_mib.value > 0) {
		add_comment(w, "  ", p->memory_cap_mib.comment);
		strbuf_addf(w->out, "  memory_cap: %.0fMiB\n", p->memory_cap_mib.value);
	} else {
		strbuf_addstr(w->out, "  # memory_cap: 8GiB\n");
	}
	strbuf_addstr(w->out, "  # Hashed into infrarsi.lock; no patch may touch them.\n");
	write_files(w, "frozen_files", &p->frozen);
	strbuf_addstr(w->out, "  # What a patch may change.\n");
	write_files(w, "editable_files", &p->editable);
}

static void add_list(struct strbuf *out, const char *comma_separated)
{
	strbuf_addstr(out, "[");
	for (const char *p = comma_separated; *p; p++) {
		strbuf_addch(out, *p);
		if (*p == ',')
			strbuf_addch(out, ' ');
	}
	strbuf_addstr(out, "]");
}

static void write_priors(struct writer *w, const struct proposed_knob *knob)
{
	bool first = true;
	for (size_t i = 0; i < knob->n_settings; i++) {
		if (!knob->settings[i].prior)
			continue;
		strbuf_addstr(w->out, first ? ",\n     prior: {" : ", ");
		add_scalar(w->out, knob->settings[i].text);
		strbuf_addf(w->out, ": {speedup: %s}", knob->settings[i].prior);
		first = false;
	}
	if (!first)
		strbuf_addstr(w->out, "}");
}

static void write_knob_fields(struct writer *w, const struct proposed_knob *knob)
{
	strbuf_addf(w->out, "  - {name: %s, values: [", knob->name);
	for (size_t i = 0; i < knob->n_settings; i++) {
		strbuf_addstr(w->out, i ? ", " : "");
		add_scalar(w->out, knob->settings[i].text);
	}
	strbuf_addstr(w->out, "], reference: ");
	add_scalar(w->out, knob->settings[knob->reference].text);
	strbuf_addstr(w->out, knob->ordered ? ", ordered: true" : "");
	if (knob->flag_on) {
		strbuf_addstr(w->out, ", flag: {\"on\": ");
		add_quoted(w->out, knob->flag_on);
		strbuf_addstr(w->out, ", \"off\": \"\"}");
	}
	if (knob->mechanism)
		strbuf_addf(w->out, ",\n     mechanism: %s", knob->mechanism);
	if (knob->phases) {
		strbuf_addstr(w->out, ", phases: ");
		add_list(w->out, knob->phases);
	}
	write_priors(w, knob);
	strbuf_addstr(w->out, "}\n");
}

/* A knob that waits for an answer: the same text, every line of it a comment. */
static void write_switched_off(struct writer *w, const struct proposed_knob *knob)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct writer inner = {w->p, &text};
	write_knob_fields(&inner, knob);
	for (const char *p = text.buf; *p;) {
		size_t n = strcspn(p, "\n");
		strbuf_addf(w->out, "  # %.*s\n", (int)(n > 2 ? n - 2 : 0), p + MIN_OF(n, (size_t)2));
		p += n + (p[n] == '\n');
	}
}

static void write_knobs(struct writer *w)
{
	const struct proposal *p = w->p;
	strbuf_addstr(w->out, "\n# What may change. `reference` is what the job does today.\nknobs:");
	bool has_any = false;
	for (size_t i = 0; i < p->n_knobs; i++)
		has_any |= !p->knobs[i].is_switched_off;
	strbuf_addstr(w->out, has_any ? "\n" : " []\n");
	for (size_t i = 0; i < p->n_knobs; i++) {
		const struct proposed_knob *knob = &p->knobs[i];
		add_comment(w, "  ", knob->comment);
		if (knob->prior_source) {
			strbuf_addf(w->out, "  # prior: %s\n", knob->prior_source);
		}
		if (knob->ask)
			add_ask(w, "  ", knob->ask);
		if (knob->is_switched_off)
			write_switched_off(w, knob);
		else
			write_knob_fields(w, knob);
	}
	if (p->has_accumulation)
		strbuf_addf(w->out, "derived: {grad_accum: \"global_batch // %s\"}\n",
			p->devices > 1 ? "(micro_batch * data_parallel)" : "micro_batch");
}

/* The codemods read what a patch may change, which for a job of this kind is C. The other kinds stand there
 * as comments: which of them there is, nobody but the owner knows. */
static void write_proposers(struct writer *w)
{
	static const char *const others[] = {
		"{kind: openai, base_url: \"http://127.0.0.1:8000/v1\", model: NAME}   # a server of your "
		"own",
		"{kind: anthropic, model: NAME, key_env: ANTHROPIC_API_KEY, price: {in: USD, out: USD}, "
		"budget: "
		"{usd: 5}}",
		"{kind: command, command: [\"python3\", \"./agent.py\"]}   # a program of yours",
		"{kind: replay, file: answers.jsonl}   # answers on record",
	};
	const struct proposal *p = w->p;
	bool has_sources = p->editable.count > 0;
	const char *list = has_sources || p->patches_dir ? "" : "# ";
	strbuf_addf(w->out,
		"\n# Where changes beside the knobs come from. Whatever they propose is held to the "
		"contract, "
		"too.\n%sproposers:\n",
		list);
	if (has_sources)
		strbuf_addstr(w->out,
			"  - {kind: catalogue}   # known rewrites of the editable files; needs nothing\n");
	if (p->patches_dir)
		strbuf_addf(w->out, "  - {kind: patches, dir: %s}\n", p->patches_dir);
	else
		strbuf_addstr(w->out, "  # - {kind: patches, dir: patches}   # a folder of diffs to try\n");
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		strbuf_addf(w->out, "  # - %s\n", others[i]);
	strbuf_addch(w->out, '\n');
}

static void write_rest(struct writer *w)
{
	const struct proposal *p = w->p;
	write_proposers(w);
	strbuf_addstr(w->out, "budget: {trials: 17}\n");
	if (p->n_notes)
		strbuf_addstr(w->out, "\n# Seen and left alone:\n");
	for (size_t i = 0; i < p->n_notes; i++)
		add_comment(w, "", p->notes[i]);
}

void init_write(struct proposal *p, struct strbuf *yaml)
{
	struct writer w = {p, yaml};
	p->asks = 0;
	strbuf_addf(yaml, "# The task: what may change to make this job faster, and what must not. Written "
			  "by infrarsi init from what\n"
			  "# it found; yours from here on. Lines marked ASK need your answer. All fields: "
			  "docs/task-file.md\n"
			  "version: 1\nname: ");
	add_quoted(yaml, p->name);
	strbuf_addch(yaml, '\n');
	add_comment(&w, "", arena_printf(p->arena, "%s, found in %s", p->stack_text, p->stack_where));
	if (p->needs_hook)
		add_ask(&w, "",
			"does the job report its updates? A dozen lines with infrarsi_hook do it (README, "
			"\"On your job\")");
	strbuf_addf(yaml, "stack: %s\n", p->stack);
	write_launch(&w);
	write_contract(&w);
	write_knobs(&w);
	write_rest(&w);
}

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "campaign/stages.h"
#include "cli/cli.h"

struct doctor_values {
	int runs, seed;
	bool start_over, hurry;
};

static void add_machine(const struct doctor_result *r, struct strbuf *text)
{
	char unit[UNIT_TEXT_SIZE];
	strbuf_addf(text, "Machine    %d cores, %s", r->machine.cores, r->machine.cpu);
	if (r->machine.features[0])
		strbuf_addf(text, " (%s)", r->machine.features);
	strbuf_addf(text, ", %s", format_bytes(r->machine.memory_bytes, unit));
	if (r->has_probe)
		strbuf_addf(text, "\n           GEMM peak %.0f GFLOP/s, memory %.1f GB/s",
			r->probe.peak_flops / 1e9, r->probe.bandwidth_bytes_per_s / 1e9);
	strbuf_addch(text, '\n');
}

static void add_references(const struct campaign *c, struct strbuf *text)
{
	const struct state *s = &c->state;
	int shown = 0;
	strbuf_addstr(text, "Reference ");
	for (size_t i = 0; i < s->n_references; i++)
		if (s->references[i].verdict.valid && s->references[i].has_time) {
			strbuf_addf(text, " %.4f", s->references[i].time_s);
			shown++;
		}
	strbuf_addf(text, " s/update (%d runs)    window %d..%d\n", shown, c->task.contract.warmup + 1,
		c->task.contract.updates);
}

static void add_noise(const struct noise *n, struct strbuf *text)
{
	strbuf_addf(text,
		"Noise      sigma_pair %.2f%%  (between runs %.2f, halves %.2f, white %.2f; pooled as in the "
		"paper %.2f): effects above %.1f%% can be told apart\n",
		100 * n->sigma_pair, 100 * n->between_runs, 100 * n->half_floor, 100 * n->white_floor,
		100 * n->pooled_paper, 100 * noise_detectable(n));
	if (n->drifts)
		strbuf_addf(text,
			"           drifts by %+.2f%% a run: the machine is changing under the job\n",
			100 * n->drift_ln_per_run);
	if (n->n_stalls == 0)
		return;
	strbuf_addstr(text, "           stalls at updates");
	for (int i = 0; i < n->n_stalls; i++)
		strbuf_addf(text, "%s %d", i ? "," : "", n->stall_updates[i]);
	if (n->stall_period)
		strbuf_addf(text, " (every %d)", n->stall_period);
	strbuf_addstr(text, " of the window\n");
}

static void add_phases(const struct doctor_result *r, struct strbuf *text)
{
	strbuf_addstr(text, "Phases     ");
	if (r->has_phases) {
		for (int p = 0; p < N_PHASES; p++)
			if (r->shares[p] > 0)
				strbuf_addf(text, "%s %.0f%%  ", phase_names[p], 100 * r->shares[p]);
		strbuf_addf(text, "other %.0f%%", 100 * r->other_share);
	} else {
		strbuf_addstr(text, "not reported by the job");
	}
	if (isfinite(r->mfu))
		strbuf_addf(text, "      MFU %.1f%%", 100 * r->mfu);
	strbuf_addch(text, '\n');
	if (!r->has_phases)
		return;
	strbuf_addstr(text, "Headroom  ");
	for (int p = 0; p < N_PHASES; p++)
		if (r->shares[p] >= 0.005)
			strbuf_addf(text, " without %s %.2fx%s", phase_names[p],
				1 / (1 - MIN_OF(r->shares[p], 0.99)), p + 1 < N_PHASES ? " " : "");
	strbuf_addstr(text, " at most\n");
}

static void add_patches(const struct state *s, struct strbuf *text)
{
	size_t waiting = 0;
	if (s->space.n_patches + s->n_refusals == 0)
		return;
	for (size_t i = 0; i < s->space.n_patches; i++)
		waiting += *s->patch_reviews[i] && !s->patch_accepted[i];
	strbuf_addf(text, "Patches    %zu clean, %zu to review, %zu refused\n", s->space.n_patches - waiting,
		waiting, s->n_refusals);
	for (size_t i = 0; i < s->space.n_patches; i++) {
		if (!*s->patch_reviews[i] || s->patch_accepted[i])
			continue;
		const char *name = s->space.patches[i].name;
		strbuf_addstr(text, "           ");
		strbuf_add_escaped(text, name, strlen(name));
		strbuf_addstr(text, ": ");
		strbuf_add_escaped(text, s->patch_reviews[i], strlen(s->patch_reviews[i]));
		strbuf_addstr(text, "; read it, then  infrarsi audit --accept ");
		strbuf_add_escaped(text, name, strlen(name));
		strbuf_addch(text, '\n');
	}
	for (size_t i = 0; i < s->n_refusals; i++) {
		const struct refusal *r = &s->refusals[i];
		strbuf_addstr(text, "           ");
		strbuf_add_escaped(text, r->name, strlen(r->name));
		strbuf_addf(text, ": refused by %s: ", r->by);
		strbuf_add_escaped(text, r->reason, strlen(r->reason));
		strbuf_addch(text, '\n');
	}
}

/* Items that are checked only where the contract configures them: which it does not. */
static void add_contract(const struct contract *contract, const struct doctor_result *r, struct strbuf *text)
{
	const struct {
		const char *name;
		bool is_there;
	} items[] = {{"eval", contract->eval_command.count > 0},
		{"checkpoint", contract->checkpoint_command.count > 0}, {"tests", contract->n_tests > 0}};
	const char *before = " (";
	strbuf_addf(text, "Contract   16 items checkable: %d   conditional and absent: %d", r->checkable,
		r->conditional_absent);
	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		if (!items[i].is_there) {
			strbuf_addf(text, "%s%s", before, items[i].name);
			before = ", ";
		}
	strbuf_addf(text, "%s\n", *before == ',' ? ")" : "");
}

static void print_text(const struct campaign *c, const struct doctor_result *r)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	add_machine(r, &text);
	add_references(c, &text);
	add_noise(&c->state.noise, &text);
	add_phases(r, &text);
	add_contract(&c->task.contract, r, &text);
	add_patches(&c->state, &text);
	strbuf_addf(&text, "Verdict    %s\n", r->verdict);
	if (c->state.n_counted)
		strbuf_addf(&text,
			"Next: infrarsi run   (%d trials are in this campaign; start over with  infrarsi "
			"doctor --new)\n",
			c->state.n_counted);
	else if (r->too_noisy)
		strbuf_addstr(&text, "Next: quieten the machine and  infrarsi doctor --new    or  infrarsi "
				     "run --accept-noise\n");
	else
		strbuf_addf(&text, "Next: infrarsi run --trials %d\n", c->task.budget.trials);
	cli_print(&text);
}

static json_t *noise_to_json(const struct noise *n)
{
	json_t *json = json_object();
	json_object_set_new(json, "runs", json_integer(n->runs));
	json_object_set_new(json, "mean_s", json_from_number(n->mean_s));
	json_object_set_new(json, "sigma_pair", json_from_number(n->sigma_pair));
	json_object_set_new(json, "between_runs", json_from_number(n->between_runs));
	json_object_set_new(json, "half_floor", json_from_number(n->half_floor));
	json_object_set_new(json, "white_floor", json_from_number(n->white_floor));
	json_object_set_new(json, "pooled_paper", json_from_number(n->pooled_paper));
	json_object_set_new(json, "gate", json_from_number(n->gate));
	json_object_set_new(json, "drifts", json_boolean(n->drifts));
	return json;
}

static void print_json(const struct campaign *c, const struct doctor_result *r)
{
	json_t *times = json_array(), *phases = json_object(), *json = json_object();
	for (size_t i = 0; i < c->state.n_references; i++)
		json_array_append_new(times, json_from_number(c->state.references[i].time_s));
	for (int p = 0; r->has_phases && p < N_PHASES; p++)
		json_object_set_new(phases, phase_names[p], json_from_number(r->shares[p]));
	json_object_set_new(json, "campaign", json_string(c->state.campaign_id));
	json_object_set_new(json, "environment", json_loads(c->state.environment_json, 0, NULL));
	json_object_set_new(json, "reference_s", times);
	json_object_set_new(json, "noise", noise_to_json(&c->state.noise));
	json_object_set_new(json, "phase_shares", phases);
	json_object_set_new(json, "mfu", json_from_number(r->mfu));
	json_object_set_new(json, "checkable", json_integer(r->checkable));
	json_object_set_new(json, "quiet", json_boolean(r->quiet));
	json_object_set_new(json, "verdict", json_from_text(r->verdict));
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(json);
	printf("%s\n", text);
}

static int run(const struct parsed *parsed, void *values)
{
	const struct doctor_values *v = values;
	struct doctor_options options = {
		.runs = v->hurry ? 3 : v->runs, .start_over = v->start_over, .seed = (uint64_t)v->seed};
	struct progress_view view;
	struct campaign c = {0};
	struct doctor_result result;
	struct err e = ERR_INIT;
	progress_view_init(&view, &parsed->common);
	view.without_rows = true;
	enum err_code code = cli_open(&parsed->common, CAMPAIGN_WRITE, &view, &c, &e);
	if (code != OK)
		return cli_fail(&parsed->common, &e);
	code = doctor_run(&c, &options, &result, &e);
	progress_view_end(&view);
	if (code == OK && parsed->common.json)
		print_json(&c, &result);
	else if (code == OK)
		print_text(&c, &result);
	campaign_close(&c);
	return code == OK ? 0 : cli_fail(&parsed->common, &e);
}

static const struct option_spec options[] = {
	{"runs", "N", OPTION_INTEGER, "reference runs (default 4, at least 3)",
		offsetof(struct doctor_values, runs)},
	{"hurry", NULL, OPTION_FLAG, "three reference runs", offsetof(struct doctor_values, hurry)},
	{"new", NULL, OPTION_FLAG, "begin a new campaign; the old one is kept in .infrarsi/old",
		offsetof(struct doctor_values, start_over)},
	{"seed", "N", OPTION_INTEGER,
		"of a new campaign: the same ledger and seed lead to the same decisions",
		offsetof(struct doctor_values, seed)},
};

const struct command command_doctor = {
	.name = "doctor",
	.summary = "measure the reference, its noise and this machine",
	.usage = "",
	.detail = "Takes a snapshot of the working tree, uncommitted changes included, runs it several "
		  "times, profiles it once, and says\n"
		  "which effects can be told from noise here.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct doctor_values),
	.run = run,
};

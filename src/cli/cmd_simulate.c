#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "campaign/stages.h"
#include "cli/cli.h"
#include "report/report.h"
#include "search/search.h"
#include "simulate/fast_campaign.h"
#include "simulate/landscape.h"
#include "simulate/simulated_runner.h"
#include "simulate/staging.h"
#include "simulate/surface.h"

enum { DEFAULT_TRIALS = 17, DEFAULT_SEED = 1 };

struct simulate_values {
	const char *surface, *defaults, *strategy, *out;
	int trials, seed, horizon;
	bool experience, hints, early_stop, stop_when_not_worth;
	struct switch_options switches;
};

struct simulation {
	const struct parsed *parsed;
	const struct simulate_values *values;
	struct search_switches switches;
	struct simulated_job job;
	const char *dir, *task_path; /* dir/job holds the repository, dir/state the keys */
	bool keeps_dir;
	struct runner runner;
	struct campaign campaign;
};

/* ---- what is simulated ---- */

static enum err_code load_surface(struct simulation *s, struct err *reterr)
{
	struct surface_defaults *defaults = NULL;
	if (s->values->defaults)
		TRY(surface_defaults_load(s->values->defaults, &defaults, reterr));
	enum err_code code = surface_load(s->values->surface, defaults, &s->job, reterr);
	surface_defaults_free(defaults);
	return code;
}

static enum err_code check_arguments(struct simulation *s, struct err *reterr)
{
	const struct simulate_values *v = s->values;
	bool has_landscape = s->parsed->n_positional == 1;
	if (has_landscape == (v->surface != NULL))
		return err_set(reterr, ERR_INPUT,
			"expected a landscape, or --surface and a table; see  infrarsi simulate --help");
	if (v->defaults && !v->surface)
		return err_set(reterr, ERR_INPUT, "--defaults goes with --surface");
	if (v->experience && v->surface)
		return err_set(
			reterr, ERR_INPUT, "--experience is for landscapes: a table has none of its own");
	if (v->hints && v->surface)
		return err_set(reterr, ERR_INPUT,
			"--hints is for landscapes: a table does not say what is to blame for a failure");
	if (v->seed < 0 || v->trials < 0 || v->horizon < 0)
		return err_set(reterr, ERR_INPUT, "--seed, --trials and --horizon: expected integers from 1");
	TRY(cli_check_strategy(v->strategy, reterr));
	TRY(cli_check_worth(v->stop_when_not_worth, v->strategy, reterr));
	if (v->stop_when_not_worth && !v->horizon)
		return err_set(reterr, ERR_INPUT,
			"--stop-when-not-worth: say with --horizon how many updates the faster job will run");
	return cli_read_switches(&v->switches, v->strategy, &s->switches, reterr);
}

/* ---- where ---- */

static enum err_code choose_folder(struct simulation *s, struct arena *arena, struct err *reterr)
{
	const char *tmp = getenv("TMPDIR");
	char cwd[4096];
	s->keeps_dir = s->values->out != NULL;
	if (s->keeps_dir) {
		if (!getcwd(cwd, sizeof(cwd)))
			return err_errno(reterr, "cannot tell the current folder");
		s->dir = *s->values->out == '/' ? arena_strdup(arena, s->values->out)
						: arena_printf(arena, "%s/%s", cwd, s->values->out);
		TRY(staging_check_empty(s->dir, reterr));
	} else {
		char *dir =
			arena_printf(arena, "%s/infrarsi-simulate-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
		if (!mkdtemp(dir))
			return err_errno(reterr, "cannot make a folder like %s", dir);
		s->dir = dir;
	}
	s->task_path = arena_printf(arena, "%s/job/infrarsi.yaml", s->dir);
	/* Keys of its own: a simulated receipt must not carry the user's signature. */
	if (setenv("XDG_STATE_HOME", arena_printf(arena, "%s/state", s->dir), 1) != 0)
		return err_errno(reterr, "cannot set XDG_STATE_HOME");
	return OK;
}

/* ---- the campaign ---- */

static void inform(void *context, struct search_input *in)
{
	const struct simulation *s = context;
	job_inform(&s->job, s->values->experience, in);
}

static char *environment_json(const struct simulation *s)
{
	json_t *json = json_object();
	json_object_set_new(json, "simulated", json_string(s->job.kind->name));
	json_object_set_new(json, "job", json_from_text(s->job.name));
	return json_dump_take(json);
}

static int trials_of(const struct simulate_values *v)
{
	return v->trials ? v->trials : DEFAULT_TRIALS;
}

static int seed_of(const struct simulate_values *v)
{
	return v->seed ? v->seed : DEFAULT_SEED;
}

static enum err_code open_campaign(struct simulation *s, struct progress_view *view, struct err *reterr)
{
	CLEANUP(free_ptr) char *repository = xasprintf("%s/job", s->dir);
	TRY(staging_write(&s->job, repository, trials_of(s->values), reterr));
	simulated_runner_init(&s->runner, &s->job, (uint64_t)seed_of(s->values));
	struct campaign_options options = {.progress = progress_view_show,
		.progress_context = view,
		.stop_fd = stop_signal_fd(),
		.self_path = "/nonexistent",
		.hook_dir = "/nonexistent",
		.sandbox = SANDBOX_OFF,
		.runner = &s->runner,
		.inform = inform,
		.inform_context = s};
	return campaign_open(s->task_path, CAMPAIGN_WRITE, &options, &s->campaign, reterr);
}

static enum err_code run_campaign(struct simulation *s, struct err *reterr)
{
	struct campaign *c = &s->campaign;
	CLEANUP(free_ptr) char *environment = environment_json(s);
	struct doctor_options doctor = {.runs = SIMULATED_REFERENCE_RUNS};
	struct doctor_result ignored;
	struct run_options run = {.trials = trials_of(s->values),
		.strategy = s->values->strategy,
		.accept_noise = true,
		.early_stop = s->values->early_stop,
		.stop_when_not_worth = s->values->stop_when_not_worth,
		.switches = s->switches};
	/* Begun here, so that doctor does not probe this machine. */
	TRY(campaign_begin(c, (uint64_t)seed_of(s->values), environment, reterr));
	TRY(doctor_run(c, &doctor, &ignored, reterr));
	TRY(search_run(c, &run, reterr));
	return report_write(&c->state, c->dir, reterr);
}

/* ---- what it came to ---- */

struct result {
	bool delivered;
	const int *setting;
	double claimed_ln, delivered_ln, true_ln; /* 0 where nothing was delivered */
	int by_status[N_TRIAL_STATUSES], failed;
};

static struct result result_of(const struct simulation *s)
{
	const struct state *state = &s->campaign.state;
	const struct duel *duel = state_delivered(state);
	struct result r = {.delivered = duel != NULL};
	for (size_t i = 0; i < state->n_trials; i++) {
		r.by_status[state->trials[i].status]++;
		r.failed += state->trials[i].status != TRIAL_VALID;
	}
	if (!duel)
		return r;
	r.setting = state->trials[duel->trial - 1].candidate.setting;
	r.claimed_ln = duel->claimed_ln;
	r.delivered_ln = duel_gain(duel).ln;
	r.true_ln = job_gain_ln(&s->job, r.setting);
	return r;
}

static void add_failures(const struct result *r, struct strbuf *text)
{
	const char *before = " (";
	for (int i = TRIAL_OOM; i < N_TRIAL_STATUSES; i++)
		if (r->by_status[i]) {
			strbuf_addf(text, "%s%d %s", before, r->by_status[i], trial_status_names[i]);
			before = ", ";
		}
	if (*before == ',')
		strbuf_addstr(text, ")");
}

static double hours(double seconds)
{
	return seconds / 3600;
}

static void result_text(const struct simulation *s, const struct result *r, struct strbuf *text)
{
	const struct state *state = &s->campaign.state;
	const struct cost *cost = &state->cost;
	char a[UNIT_TEXT_SIZE], b[UNIT_TEXT_SIZE], c[UNIT_TEXT_SIZE];
	if (r->delivered) {
		strbuf_addf(text, "Delivered  %s, truly %s; claimed during the search %s\n           ",
			format_speedup(r->delivered_ln, a), format_speedup(r->true_ln, b),
			format_speedup(r->claimed_ln, c));
		job_describe(&s->job, r->setting, text);
		strbuf_addch(text, '\n');
	} else {
		strbuf_addstr(text, "Delivered  1.00x: nothing was faster beyond noise and valid\n");
	}
	strbuf_addf(text, "Optimum    %s; regret %.3f in ln, ", format_speedup(s->job.optimum_ln, a),
		s->job.optimum_ln - r->true_ln);
	if (s->job.optimum_ln > 0)
		strbuf_addf(text, "%.0f%% of the optimal ln speed-up reached\n",
			100 * r->true_ln / s->job.optimum_ln);
	else
		strbuf_addstr(text, "nothing is faster than the reference\n");
	strbuf_addf(text, "Cost       %d trials, %d failed", state->n_counted, r->failed);
	add_failures(r, text);
	strbuf_addf(text, "; simulated device-hours: reference %.3g, search %.3g, promotion %.3g\n",
		hours(cost->reference_s + cost->profile_s), hours(cost->search_s), hours(cost->promotion_s));
	if (s->keeps_dir)
		strbuf_addf(text, "Campaign   kept in %s/job; its keys are in %s/state\n", s->dir, s->dir);
}

static json_t *result_settings(const struct simulation *s, const struct result *r)
{
	json_t *settings = json_object();
	for (int l = 0; r->setting && l < s->job.n_levers; l++)
		json_object_set_new(settings, s->job.levers[l].name,
			json_from_text(s->job.levers[l].setting_names[r->setting[l]]));
	return settings;
}

static char *result_json(const struct simulation *s, const struct result *r)
{
	const struct state *state = &s->campaign.state;
	json_t *json = json_object(), *failed = json_object(), *cost = json_object();
	for (int i = TRIAL_OOM; i < N_TRIAL_STATUSES; i++)
		if (r->by_status[i])
			json_object_set_new(failed, trial_status_names[i], json_integer(r->by_status[i]));
	json_object_set_new(
		cost, "reference", json_real(hours(state->cost.reference_s + state->cost.profile_s)));
	json_object_set_new(cost, "search", json_real(hours(state->cost.search_s)));
	json_object_set_new(cost, "promotion", json_real(hours(state->cost.promotion_s)));
	json_object_set_new(json, "kind", json_string(s->job.kind->name));
	json_object_set_new(json, "job", json_from_text(s->job.name));
	json_object_set_new(
		json, "strategy", json_string(s->values->strategy ? s->values->strategy : "controller"));
	json_object_set_new(json, "seed", json_integer(seed_of(s->values)));
	json_object_set_new(json, "trials", json_integer(state->n_counted));
	json_object_set_new(json, "failed", failed);
	json_object_set_new(json, "promoted", json_boolean(r->delivered));
	json_object_set_new(json, "delivered", json_real(exp(r->delivered_ln)));
	json_object_set_new(json, "delivered_true", json_real(exp(r->true_ln)));
	json_object_set_new(json, "claimed", json_real(exp(r->claimed_ln)));
	json_object_set_new(json, "optimum", json_real(exp(s->job.optimum_ln)));
	json_object_set_new(json, "regret_ln", json_real(s->job.optimum_ln - r->true_ln));
	json_object_set_new(json, "settings", result_settings(s, r));
	json_object_set_new(json, "device_hours", cost);
	json_object_set_new(json, "campaign", s->keeps_dir ? json_from_text(s->dir) : json_null());
	return json_dump_pretty_take(json);
}

static int print_result(const struct simulation *s)
{
	struct result r = result_of(s);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (s->parsed->common.json) {
		CLEANUP(free_ptr) char *json = result_json(s, &r);
		strbuf_addf(&text, "%s\n", json);
	} else {
		result_text(s, &r, &text);
	}
	cli_print(&text);
	return r.delivered ? 0 : 3;
}

/* ---- the command ---- */

static enum err_code simulate(struct simulation *s, struct progress_view *view, struct err *reterr)
{
	TRY(open_campaign(s, view, reterr));
	enum err_code code = run_campaign(s, reterr);
	progress_view_end(view);
	return code;
}

static void clean_up(struct simulation *s)
{
	if (s->campaign.dir)
		campaign_close(&s->campaign);
	runner_release(&s->runner);
	if (s->dir && !s->keeps_dir)
		(void)!remove_tree(s->dir, NULL);
	simulated_job_release(&s->job);
}

static int run(const struct parsed *parsed, void *values)
{
	struct simulation s = {.parsed = parsed, .values = values};
	struct arena arena = ARENA_INIT;
	struct progress_view view;
	struct err e = ERR_INIT;
	if (cli_list_strategies(s.values->strategy, &parsed->common) ||
		cli_list_parts(&s.values->switches, &parsed->common))
		return 0;
	progress_view_init(&view, &parsed->common);
	enum err_code code = check_arguments(&s, &e);
	if (code == OK)
		code = s.values->surface ? load_surface(&s, &e)
					 : landscape_load(parsed->positional[0], &s.job, &e);
	s.job.failures_explain = s.values->hints;
	s.job.horizon_updates = s.values->horizon;
	if (code == OK)
		code = choose_folder(&s, &arena, &e);
	if (code == OK)
		code = simulate(&s, &view, &e);
	int exit_code = code == OK ? print_result(&s) : cli_fail(&parsed->common, &e);
	clean_up(&s);
	arena_release(&arena);
	return exit_code;
}

static const struct option_spec options[] = {
	{"surface", "FILE.csv", OPTION_TEXT, "a measured table instead of a landscape",
		offsetof(struct simulate_values, surface)},
	{"defaults", "FILE.json", OPTION_TEXT, "reference configurations of tables, by name",
		offsetof(struct simulate_values, defaults)},
	{"trials", "N", OPTION_INTEGER, "trials in all (default: 17)",
		offsetof(struct simulate_values, trials)},
	{"seed", "N", OPTION_INTEGER, "of the noise and of the search (default: 1)",
		offsetof(struct simulate_values, seed)},
	{"strategy", "NAME", OPTION_TEXT, "controller (default) or another; 'list' shows them",
		offsetof(struct simulate_values, strategy)},
	SWITCH_OPTIONS(simulate_values, switches),
	{"experience", NULL, OPTION_FLAG, "let the search know what the landscape's sibling device taught",
		offsetof(struct simulate_values, experience)},
	{"hints", NULL, OPTION_FLAG,
		"let crashes and hangs of a landscape say what is to blame, right or wrong",
		offsetof(struct simulate_values, hints)},
	{"early-stop", NULL, OPTION_FLAG, "stop trials that are slower than the best so far",
		offsetof(struct simulate_values, early_stop)},
	{"horizon", "N", OPTION_INTEGER, "updates that the faster job will run, which price a trial",
		offsetof(struct simulate_values, horizon)},
	{"stop-when-not-worth", NULL, OPTION_FLAG,
		"end the search when another trial costs more than it is expected to save",
		offsetof(struct simulate_values, stop_when_not_worth)},
	{"out", "DIR", OPTION_TEXT, "keep the campaign in this empty or new folder",
		offsetof(struct simulate_values, out)},
};

const struct command command_simulate = {
	.name = "simulate",
	.summary = "run a whole campaign on a simulated job, to see what a strategy does",
	.usage = "LANDSCAPE.json",
	.detail = "Nothing is launched and nothing waits: a simulator answers in the place of every run. "
		  "Doctor, search, promotion,\nreceipts and report are those of a real campaign. Files: "
		  "docs/simulate.md. "
		  "Exit code 3: nothing was promoted.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct simulate_values),
	.max_positional = 1,
	.run = run,
};

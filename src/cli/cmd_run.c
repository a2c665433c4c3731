#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "campaign/narrow.h"
#include "campaign/stages.h"
#include "campaign/trial.h"
#include "cli/cli.h"
#include "report/report.h"

struct run_values {
	int trials, parallel, confirm_updates;
	const char *strategy;
	bool dry_run, search_only, accept_noise, early_stop, stop_when_not_worth;
	struct option_list fixed, starts;
	struct switch_options switches;
};

static json_t *words_json(const char *const *words)
{
	json_t *array = json_array();
	for (size_t i = 0; words && words[i]; i++)
		json_array_append_new(array, json_from_text(words[i]));
	return array;
}

static json_t *passed_names_json(const struct task *task)
{
	json_t *array = json_array();
	for (size_t i = 0; i < task->launch.pass_env.count; i++)
		json_array_append_new(array, json_from_text(task->launch.pass_env.items[i]));
	return array;
}

static json_t *frozen_json(const struct lock *lock)
{
	json_t *array = json_array();
	for (size_t i = 0; i < lock->n_files; i++)
		json_array_append_new(array, json_from_text(lock->files[i].path));
	return array;
}

static enum err_code describe_json(
	struct campaign *c, const struct candidate *candidate, struct strbuf *text, struct err *reterr)
{
	struct resolved resolved;
	CLEANUP(strbuf_release) struct strbuf settings = STRBUF_INIT;
	TRY(space_resolve(&c->state.space, candidate, &c->arena, &resolved, reterr));
	candidate_to_json(candidate, &c->state.space, &settings);
	json_t *json = json_object();
	json_object_set_new(json, "candidate", json_loads(settings.buf, 0, NULL));
	json_object_set_new(json, "build", words_json(resolved.build_argv));
	json_object_set_new(json, "build_env", words_json(resolved.build_env));
	json_object_set_new(json, "run", words_json(resolved.argv));
	json_object_set_new(json, "env", words_json(resolved.env));
	json_object_set_new(json, "pass_env", passed_names_json(&c->task));
	json_object_set_new(json, "frozen_files", frozen_json(&c->lock));
	CLEANUP(free_ptr) char *dump = json_dump_pretty_take(json);
	strbuf_addf(text, "%s\n", dump);
	return OK;
}

/* The first start, or the reference; --fix holds in either. */
static enum err_code chosen_candidate(
	struct campaign *c, const struct run_values *v, struct candidate *candidate, struct err *reterr)
{
	struct narrowing n;
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	bool legal = false;
	TRY(narrowing_parse(&c->task, v->fixed.items, v->fixed.count, v->starts.items, v->starts.count,
		&c->arena, &n, reterr));
	for (size_t i = 0; i < c->task.n_knobs; i++) {
		if (n.n_starts)
			candidate->setting[i] = n.starts[0][i];
		if (n.fixed[i] >= 0)
			candidate->setting[i] = n.fixed[i];
	}
	TRY(space_is_legal(&c->state.space, candidate->setting, &legal, &reason, reterr));
	if (!legal)
		return err_set(reterr, ERR_INPUT, "this candidate is not legal: %s", reason.buf);
	return OK;
}

/* The exact command, environment and files of a candidate. */
static enum err_code dry_run(
	struct campaign *c, const struct parsed *parsed, const struct run_values *v, struct err *reterr)
{
	struct candidate candidate = CANDIDATE_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	candidate_reference(&candidate, &c->state.space);
	enum err_code code = chosen_candidate(c, v, &candidate, reterr);
	if (code == OK)
		code = parsed->common.json ? describe_json(c, &candidate, &text, reterr)
					   : trial_describe(c, &candidate, &text, reterr);
	candidate_release(&candidate);
	if (code == OK)
		cli_print(&text);
	return code;
}

static void print_result(const struct campaign *c, const struct parsed *parsed, const struct run_values *v)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (parsed->common.json) {
		CLEANUP(free_ptr) char *json = report_result_json(&c->state);
		printf("%s\n", json);
		return;
	}
	if (v->search_only)
		strbuf_addstr(&text, "Search is over; promotion was left out. Next: infrarsi run\n");
	else
		report_summary(&c->state, &text);
	cli_print(&text);
}

/* Before anything is recorded: a mistyped option costs nothing. */
static enum err_code check_arguments(struct campaign *c, const struct run_values *v, struct err *reterr)
{
	struct narrowing narrowing;
	struct search_switches switches;
	TRY(cli_check_strategy(v->strategy, reterr));
	TRY(cli_check_worth(v->stop_when_not_worth, v->strategy, reterr));
	TRY(cli_read_switches(&v->switches, v->strategy, &switches, reterr));
	return narrowing_parse(&c->task, v->fixed.items, v->fixed.count, v->starts.items, v->starts.count,
		&c->arena, &narrowing, reterr);
}

static enum err_code search(struct campaign *c, const struct run_values *v, struct err *reterr)
{
	struct run_options options = {.trials = v->trials,
		.strategy = v->strategy,
		.search_only = v->search_only,
		.fixed = v->fixed.items,
		.n_fixed = v->fixed.count,
		.starts = v->starts.items,
		.n_starts = v->starts.count,
		.accept_noise = v->accept_noise,
		.parallel = v->parallel,
		.early_stop = v->early_stop,
		.stop_when_not_worth = v->stop_when_not_worth,
		.confirm_updates = v->confirm_updates};
	TRY(cli_read_switches(&v->switches, v->strategy, &options.switches, reterr));
	TRY(search_run(c, &options, reterr));
	return report_write(&c->state, c->dir, reterr);
}

static int run(const struct parsed *parsed, void *values)
{
	const struct run_values *v = values;
	struct progress_view view;
	struct campaign c = {0};
	struct err e = ERR_INIT;
	if (cli_list_strategies(v->strategy, &parsed->common) ||
		cli_list_parts(&v->switches, &parsed->common))
		return 0;
	progress_view_init(&view, &parsed->common);
	if (cli_open(&parsed->common, CAMPAIGN_WRITE, &view, &c, &e) != OK)
		return cli_fail(&parsed->common, &e);
	enum err_code code = check_arguments(&c, v, &e);
	if (code == OK)
		code = v->dry_run ? dry_run(&c, parsed, v, &e) : search(&c, v, &e);
	progress_view_end(&view);
	int exit_code = 0;
	if (code == OK && !v->dry_run) {
		print_result(&c, parsed, v);
		exit_code = v->search_only || state_delivered(&c.state) ? 0 : 3;
	}
	campaign_close(&c);
	return code == OK ? exit_code : cli_fail(&parsed->common, &e);
}

static const struct option_spec options[] = {
	{"trials", "N", OPTION_INTEGER, "trials in all (default: the task's budget)",
		offsetof(struct run_values, trials)},
	{"fix", "KNOB=VALUE", OPTION_LIST, "search only candidates with this setting; repeatable",
		offsetof(struct run_values, fixed)},
	{"start", "KNOB=VALUE,...", OPTION_LIST, "try this configuration first; repeatable",
		offsetof(struct run_values, starts)},
	{"strategy", "NAME", OPTION_TEXT, "controller (default) or another; 'list' shows them",
		offsetof(struct run_values, strategy)},
	SWITCH_OPTIONS(run_values, switches),
	{"early-stop", NULL, OPTION_FLAG, "stop trials that are slower than the best so far",
		offsetof(struct run_values, early_stop)},
	{"stop-when-not-worth", NULL, OPTION_FLAG,
		"end the search when another trial costs more than it is expected to save",
		offsetof(struct run_values, stop_when_not_worth)},
	{"parallel", "N", OPTION_INTEGER,
		"trials at once, each on a slot of launch.device_slots (default: 1)",
		offsetof(struct run_values, parallel)},
	{"confirm", "N", OPTION_INTEGER,
		"run the reference and the winner over N updates once more before it is delivered",
		offsetof(struct run_values, confirm_updates)},
	{"search-only", NULL, OPTION_FLAG, "leave promotion for a later call",
		offsetof(struct run_values, search_only)},
	{"accept-noise", NULL, OPTION_FLAG, "go on although doctor calls this machine too noisy",
		offsetof(struct run_values, accept_noise)},
	{"dry-run", NULL, OPTION_FLAG, "print what a candidate would run, and run nothing",
		offsetof(struct run_values, dry_run)},
};

const struct command command_run = {
	.name = "run",
	.summary = "search settings and patches within the budget, then promote the winner",
	.usage = "",
	.detail = "Resumes where it was stopped or killed. Exit code 3: nothing was faster beyond noise and "
		  "valid; the reference stays.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct run_values),
	.run = run,
};

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/budget.h"
#include "campaign/catalogue.h"
#include "campaign/promote.h"
#include "campaign/run_int.h"
#include "campaign/slots.h"
#include "model/columns.h"

enum { TRANSIENT_TRIES = 3 };

void search_note(struct campaign *c, const char *text)
{
	struct progress p = {.kind = PROGRESS_NOTE, .text = text};
	campaign_report_progress(c, &p);
}

/* The table of trials begins with what was refused before any of them ran; of proposers more may come. */
static void report_refusals(struct campaign *c, size_t from)
{
	for (size_t i = from; i < c->state.n_refusals; i++) {
		struct progress p = {.kind = PROGRESS_REFUSAL, .refusal = &c->state.refusals[i]};
		campaign_report_progress(c, &p);
	}
}

static json_t *decision_json(const struct search *run, const struct decision *d)
{
	const struct state *s = &run->c->state;
	struct candidate candidate = {s->space.n_levers, d->setting};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	candidate_to_json(&candidate, &s->space, &text);
	int base = d->base_observation < 0 ? 0 : s->trials[s->observation_trial[d->base_observation]].number;
	json_t *body = json_object();
	json_object_set_new(body, "candidate", json_loads(text.buf, 0, NULL));
	json_object_set_new(body, "strategy", json_string(run->strategy->name));
	json_object_set_new(body, "operators", json_from_text(d->operators));
	json_object_set_new(body, "index", json_integer(s->n_decisions));
	json_object_set_new(body, "base_trial", json_integer(base));
	json_object_set_new(body, "score", json_from_number(d->score));
	json_object_set_new(body, "mean_ln", json_from_number(d->mean_ln));
	json_object_set_new(body, "sd_ln", json_from_number(d->sd_ln));
	json_object_set_new(body, "p_fits", json_from_number(d->p_fits));
	json_object_set_new(body, "p_ok", json_from_number(d->p_ok));
	json_object_set_new(body, "predicted_peak_bytes", json_from_number(d->predicted_peak_bytes));
	json_object_set_new(body, "incumbent_ln", json_from_number(d->incumbent_ln));
	json_object_set_new(body, "reason", json_from_text(d->reason));
	CLEANUP(strbuf_release) struct strbuf switches = STRBUF_INIT;
	if (strategy_has_models(run->strategy))
		search_switches_text(&s->search.switches, &switches);
	if (switches.len)
		json_object_set_new(body, "switches", json_string(switches.buf));
	return body;
}

/* What the user named is tried whatever it is worth: the models do not know why they believe in it. */
static bool is_users_start(const struct search_input *in, const struct decision *d)
{
	for (size_t i = 0; i < in->n_user_starts; i++)
		if (same_settings(in->user_starts[i], d->setting, in->model.n_levers))
			return true;
	return false;
}

/* True: the search ends here, and text says why. Said once where it goes on all the same. */
static bool is_not_worth_it(
	struct search *run, const struct search_input *in, const struct decision *d, struct strbuf *text)
{
	struct worth_of_trial worth = budget_worth(run->c, d);
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT;
	if (is_users_start(in, d) || budget_is_worth_it(&worth))
		return false;
	budget_describe_worth(run->c, &worth, &said);
	if (run->stops_not_worth) {
		strbuf_addstr(text, said.buf);
		return true;
	}
	if (!run->worth_said)
		search_note(run->c, said.buf);
	run->worth_said = true;
	return false;
}

enum err_code search_consult(struct search *run, struct err *reterr)
{
	bool news = false;
	size_t refusals = run->c->state.n_refusals;
	/* Only the controller makes anything of what is believed or suggested. */
	if (run->c->state.has_pending_decision || !strategy_has_models(run->strategy))
		return OK;
	TRY(proposers_consult(run->c, &run->consulting, &news, reterr));
	if (!news)
		return OK;
	TRY(patches_gather(run->c, reterr));
	run->narrowing.patch_gone = run->c->patch_gone;
	run->narrowing.n_patch_gone = run->c->n_patch_gone;
	report_refusals(run->c, refusals);
	return OK;
}

enum err_code search_decide(struct search *run, int64_t *ret_id, enum search_over_why *ret_why,
	struct strbuf *text, struct err *reterr)
{
	struct state *s = &run->c->state;
	if (s->has_pending_decision) {
		*ret_id = s->pending_id;
		return OK;
	}
	struct search_input input = s->search;
	struct decision decision = {0};
	narrowing_apply(&run->narrowing, s, &input);
	TRY(run->strategy->next(&input, &decision, reterr));
	enum err_code code = OK;
	*ret_id = 0;
	if (!decision.found) {
		*ret_why = SEARCH_OVER_EXHAUSTED;
		strbuf_addstr(text, "every legal candidate has been tried");
	} else if (is_not_worth_it(run, &input, &decision, text))
		*ret_why = SEARCH_OVER_NOT_WORTH;
	else
		code = campaign_append(run->c, ENTRY_DECISION, 0, NULL,
			json_dump_take(decision_json(run, &decision)), ret_id, reterr);
	decision_release(&decision);
	TRY(code);
	return campaign_refresh(run->c, reterr);
}

enum err_code search_register(struct search *run, int64_t decision_id, struct candidate *ret_candidate,
	int *ret_number, struct err *reterr)
{
	struct state *s = &run->c->state;
	struct candidate pending = {s->space.n_levers, s->pending.setting};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	char signature[65];
	int number = s->n_trials ? s->trials[s->n_trials - 1].number + 1 : 1;
	candidate_copy(ret_candidate, &pending);
	candidate_to_json(&pending, &s->space, &text);
	candidate_signature(&pending, &s->space, signature);
	json_t *body = json_object();
	json_object_set_new(body, "candidate", json_loads(text.buf, 0, NULL));
	json_object_set_new(body, "decision_id", json_integer(decision_id));
	TRY(campaign_append(run->c, ENTRY_REGISTERED, number, signature, json_dump_take(body), NULL, reterr));
	*ret_number = number;
	return campaign_refresh(run->c, reterr);
}

static double measured_best_ln(const struct state *s)
{
	double best = NAN;
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].status == TRIAL_VALID)
			best = fmax(best, s->trials[i].run.gain_ln);
	return best;
}

/* Mean cost so far times what is left; unknown before the first trial. */
static double eta_s(const struct search *run)
{
	const struct state *s = &run->c->state;
	const struct launch *launch = &run->c->task.launch;
	double devices = (double)launch->nodes * launch->devices_per_node;
	return s->n_counted ? (s->cost.search_s / devices + s->cost.build_s) / s->n_counted *
				      (run->budget - s->n_counted)
			    : NAN;
}

void search_fill_progress(const struct search *run, struct progress *p)
{
	const struct state *s = &run->c->state;
	p->trials_done = s->n_counted;
	p->trials_budget = run->budget;
	p->best_ln = measured_best_ln(s);
	p->eta_s = eta_s(run);
}

void search_label(const struct search *run, const struct candidate *candidate, int nth, struct strbuf *label)
{
	const struct state *s = &run->c->state;
	strbuf_addf(label, "%d/%d  %s: ", nth, run->budget, s->trials[s->n_trials - 1].operators);
	candidate_describe(candidate, NULL, &s->space, label);
}

void search_report_trial(struct search *run, int number)
{
	const struct state *s = &run->c->state;
	for (size_t i = 0; i < s->n_trials; i++) {
		if (s->trials[i].number != number)
			continue;
		struct progress p = {.kind = PROGRESS_TRIAL, .trial = &s->trials[i]};
		search_fill_progress(run, &p);
		campaign_report_progress(run->c, &p);
	}
}

enum err_code search_take_end(struct search *run, int number, enum execute_end end, struct err *reterr)
{
	search_report_trial(run, number);
	TRY(catalogue_accept_start(run->c, number, reterr));
	if (end == EXECUTE_INTERRUPTED)
		return err_set(reterr, ERR_INTERRUPTED, "stopped; go on with  infrarsi run");
	run->transient_in_a_row = end == EXECUTE_TRANSIENT ? run->transient_in_a_row + 1 : 0;
	/* What several at once share, they lose at once: that is one fault and not several. */
	if (run->transient_in_a_row >= TRANSIENT_TRIES * MAX_OF(run->options->parallel, 1))
		return err_set(reterr, ERR_FAILED,
			"%d executions in a row could not be carried out; see the notes above",
			run->transient_in_a_row);
	return OK;
}

static enum err_code run_trial(struct search *run, int64_t decision_id, struct err *reterr)
{
	struct candidate candidate = CANDIDATE_INIT;
	CLEANUP(strbuf_release) struct strbuf label = STRBUF_INIT;
	enum execute_end end = EXECUTE_FINISHED;
	int number = 0;
	enum err_code code = search_register(run, decision_id, &candidate, &number, reterr);
	if (code == OK) {
		search_label(run, &candidate, run->c->state.n_counted + 1, &label);
		struct progress p = {.kind = PROGRESS_STAGE, .text = label.buf};
		search_fill_progress(run, &p);
		campaign_report_progress(run->c, &p);
		struct execute_request request = {
			.role = ROLE_SEARCH, .trial = number, .candidate = &candidate, .label = label.buf};
		code = trial_execute(run->c, &request, &end, reterr);
	}
	candidate_release(&candidate);
	return code == OK ? search_take_end(run, number, end, reterr) : code;
}

enum err_code search_end(struct search *run, enum search_over_why why, const char *text, struct err *reterr)
{
	search_note(run->c, text);
	return budget_record_end(run->c, why, text, reterr);
}

static enum err_code search_step(struct search *run, bool *ret_more, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	int64_t decision_id = 0;
	*ret_more = false;
	if (campaign_stop_wanted(run->c))
		return err_set(reterr, ERR_INTERRUPTED, "stopped; go on with  infrarsi run");
	if (run->c->state.n_counted >= run->budget)
		return OK;
	enum search_over_why why = budget_ends_search(run->c, &text);
	if (why == SEARCH_OVER_NONE)
		TRY(search_consult(run, reterr));
	if (why == SEARCH_OVER_NONE)
		TRY(search_decide(run, &decision_id, &why, &text, reterr));
	if (!decision_id)
		return search_end(run, why, text.buf, reterr);
	TRY(run_trial(run, decision_id, reterr));
	*ret_more = true;
	return OK;
}

static enum err_code check_ready(struct campaign *c, const struct run_options *options, struct err *reterr)
{
	if (c->unreadable.code != OK)
		return campaign_check_contract(c, reterr);
	TRY(doctor_check_measured(c, reterr));
	TRY(campaign_check_contract(c, reterr));
	TRY(slots_check_reference(c, reterr));
	if (c->state.noise.sigma_pair > NOISY_SIGMA_PAIR && !options->accept_noise)
		return err_set(reterr, ERR_STATE,
			"this machine is too noisy: sigma_pair %.1f%%, effects below %.0f%% cannot be told "
			"apart; quieten it "
			"and run  infrarsi doctor --new,  or go on with --accept-noise",
			100 * c->state.noise.sigma_pair, 100 * noise_detectable(&c->state.noise));
	return OK;
}

static enum err_code check_worth(const struct campaign *c, const struct run_options *options,
	bool *ret_stops_not_worth, struct err *reterr)
{
	if (options->stop_when_not_worth && c->task.contract.horizon_updates <= 0)
		return err_set(reterr, ERR_INPUT,
			"--stop-when-not-worth: %s does not say contract.horizon, the updates that the "
			"faster job will run, so nobody can tell what a trial is worth",
			c->task.path);
	*ret_stops_not_worth = options->stop_when_not_worth || c->task.search_stop == STOP_NOT_WORTH;
	return OK;
}

/* Confirming makes sense only for a job that is told how many updates to run. */
static enum err_code check_command_takes_updates(struct campaign *c, struct err *reterr)
{
	struct candidate reference = CANDIDATE_INIT;
	struct arena arena = ARENA_INIT;
	struct resolved now, longer;
	struct task task = c->task;
	struct space space = c->state.space;
	space.task = &task;
	candidate_reference(&reference, &space);
	enum err_code code = space_resolve(&space, &reference, &arena, &now, reterr);
	task.contract.updates++;
	if (code == OK)
		code = space_resolve(&space, &reference, &arena, &longer, reterr);
	bool same = code == OK;
	for (size_t i = 0; same && (now.argv[i] || longer.argv[i]); i++)
		same = now.argv[i] && longer.argv[i] && strcmp(now.argv[i], longer.argv[i]) == 0;
	for (size_t i = 0; same && now.env && now.env[i]; i++)
		same = strcmp(now.env[i], longer.env[i]) == 0;
	arena_release(&arena);
	candidate_release(&reference);
	TRY(code);
	return same ? err_set(reterr, ERR_INPUT,
			      "%s: nothing in launch.command says {updates}, so the job cannot be run over "
			      "more of "
			      "them and a winner cannot be confirmed",
			      c->task.path)
		    : OK;
}

/* Told once, it holds until it is told otherwise: also for the call that goes on after Ctrl-C. */
static enum err_code remember_wish(struct campaign *c, int updates, struct err *reterr)
{
	if (updates == c->state.confirm_wanted)
		return OK;
	json_t *body = json_object();
	json_object_set_new(body, "what", json_string("confirm_wanted"));
	json_object_set_new(body, "updates", json_integer(updates));
	TRY(campaign_append(c, ENTRY_ACCEPT, 0, NULL, json_dump_take(body), NULL, reterr));
	return campaign_refresh(c, reterr);
}

static enum err_code set_confirmation(
	struct campaign *c, const struct run_options *options, struct err *reterr)
{
	int updates = options->confirm_updates > 0 ? options->confirm_updates
		      : c->state.confirm_wanted    ? c->state.confirm_wanted
						   : c->task.confirm_updates;
	if (updates && (updates <= c->task.contract.updates || updates > CONFIRM_UPDATES_MAX))
		return err_set(reterr, ERR_INPUT,
			"--confirm %d: expected more updates than contract.updates of %s, %d, and at most %d",
			updates, c->task.path, c->task.contract.updates, CONFIRM_UPDATES_MAX);
	if (updates)
		TRY(check_command_takes_updates(c, reterr));
	c->confirm_updates = updates;
	return options->confirm_updates > 0 ? remember_wish(c, updates, reterr) : OK;
}

/* Jobs run with the user's rights where there is none: said, not assumed to be known. */
static void note_missing_sandbox(struct search *run)
{
	const char *fault = runner_sandbox_fault(&run->c->runner, run->c->options.sandbox);
	if (!fault || !*fault || run->c->options.sandbox != SANDBOX_AUTO)
		return;
	CLEANUP(free_ptr)
	char *text =
		xasprintf("no sandbox here (%s): trials run with your rights; install bubblewrap, or say "
			  "--no-sandbox",
			fault);
	search_note(run->c, text);
}

/* What the task file says of the controller, where another strategy searches. */
static void note_what_is_ignored(const struct search *run)
{
	const struct task *task = &run->c->task;
	CLEANUP(strbuf_release) struct strbuf switches = STRBUF_INIT;
	if (strategy_has_models(run->strategy))
		return;
	search_switches_text(&task->search, &switches);
	if (switches.len) {
		CLEANUP(free_ptr)
		char *text = xasprintf("search.operators_off, operators_on and starts of %s (%s) are for the "
				       "strategy controller: %s proposes without them",
			task->path, switches.buf, run->strategy->name);
		search_note(run->c, text);
	}
	if (run->stops_not_worth) {
		CLEANUP(free_ptr)
		char *text = xasprintf("search.stop: worth of %s is for the strategy controller: %s fits no "
				       "model that tells what a trial is worth, so all trials are run",
			task->path, run->strategy->name);
		search_note(run->c, text);
	}
}

/* What a crash kept from being said at a trial's end. */
static enum err_code accept_starts(struct campaign *c, struct err *reterr)
{
	for (size_t i = 0; i < c->state.n_trials; i++)
		TRY(catalogue_accept_start(c, c->state.trials[i].number, reterr));
	return OK;
}

static bool has_more(const struct search *run)
{
	return !run->c->state.finished || run->c->state.n_counted < run->budget;
}

/* Everything that may be refused comes before anything is recorded or run. */
static enum err_code prepare(struct search *run, struct err *reterr)
{
	struct campaign *c = run->c;
	const struct run_options *options = run->options;
	TRY(slots_check(c, options->parallel, reterr));
	TRY(check_ready(c, options, reterr));
	c->task.search = switches_merge(c->task.search, options->switches);
	TRY(campaign_refresh(c, reterr));
	TRY(check_worth(c, options, &run->stops_not_worth, reterr));
	c->early_stop = options->early_stop || c->task.early_stop;
	TRY(set_confirmation(c, options, reterr));
	if (has_more(run) && strategy_has_models(run->strategy) && c->state.n_counted < run->budget)
		TRY(proposers_check(c, reterr));
	TRY(catalogue_propose(c, reterr));
	TRY(patches_gather(c, reterr));
	TRY(narrowing_parse(&c->task, options->fixed, options->n_fixed, options->starts, options->n_starts,
		&c->arena, &run->narrowing, reterr));
	run->narrowing.patch_gone = c->patch_gone;
	run->narrowing.n_patch_gone = c->n_patch_gone;
	return accept_starts(c, reterr);
}

static enum err_code search(struct search *run, struct err *reterr)
{
	bool more = has_more(run);
	if (!more)
		return OK;
	note_missing_sandbox(run);
	note_what_is_ignored(run);
	report_refusals(run->c, 0);
	if (run->options->parallel > 1)
		return search_run_parallel(run, reterr);
	while (more)
		TRY(search_step(run, &more, reterr));
	return OK;
}

enum err_code search_run(struct campaign *c, const struct run_options *options, struct err *reterr)
{
	struct search run = {.c = c,
		.options = options,
		.strategy = strategy_find(options->strategy ? options->strategy : "controller"),
		.budget = options->trials > 0 ? options->trials : c->task.budget.trials};
	if (!run.strategy)
		return err_set(reterr, ERR_INPUT, "unknown strategy '%s'", options->strategy);
	TRY(prepare(&run, reterr));
	TRY(search(&run, reterr));
	return options->search_only ? OK : promote_run(c, reterr);
}

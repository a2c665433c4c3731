/* The tools that only look: status, history, explain, space, results. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "campaign/inbox.h"
#include "campaign/stages.h"
#include "cli/explain_print.h"
#include "cli/mcp_app.h"
#include "propose/request.h"
#include "report/report.h"

static const double seconds_per_hour = 3600;

/* ---- status ---- */

struct standing {
	const char *stage, *next;
	bool is_at_work;
	long worker; /* process that is at work; 0 = unknown */
};

static void find_stage(const struct campaign *c, struct standing *at)
{
	const struct state *s = &c->state;
	bool is_used = s->n_counted >= c->task.budget.trials || s->search_over.why != SEARCH_OVER_NONE;
	if (!s->has_noise) {
		at->stage = "reference not measured";
		at->next = "a person measures the reference with  infrarsi doctor";
	} else if (at->is_at_work) {
		at->stage = "at work";
		at->next = "wait";
	} else if (s->finished) {
		at->stage = state_delivered(s) ? "promoted" : "nothing promoted";
		at->next = state_delivered(s) ? "results; a person takes it over with  infrarsi apply"
					      : "results; the reference stays, or run where trials are left";
	} else if (is_used) {
		at->stage = "search over";
		at->next = "promote";
	} else {
		at->stage = s->n_counted ? "searching" : "ready";
		at->next = s->n_counted ? "propose_settings, propose_patch, run, or promote"
					: "space, propose_settings, run";
	}
}

static void add_best(const struct campaign *c, json_t *json, struct strbuf *text)
{
	const struct state *s = &c->state;
	int index = -1;
	double mean_ln = 0;
	char speedup[UNIT_TEXT_SIZE];
	json_object_set_new(json, "best", json_null());
	if (!s->has_noise || state_incumbent(s, &index, &mean_ln, NULL) != OK || index < 0)
		return;
	const struct trial *t = &s->trials[index];
	CLEANUP(strbuf_release) struct strbuf changes = STRBUF_INIT;
	mcp_add_changes(&changes, s, &t->candidate);
	json_t *best = json_object();
	json_object_set_new(best, "trial", json_integer(t->number));
	json_object_set_new(best, "speedup", json_from_number(exp(t->run.gain_ln)));
	json_object_set_new(best, "believed_speedup", json_from_number(exp(mean_ln)));
	json_object_set_new(best, "changes", json_from_text(changes.buf));
	json_object_set_new(json, "best", best);
	strbuf_addf(text, "Best     trial %d, %s: %s\n", t->number, format_speedup(t->run.gain_ln, speedup),
		changes.buf);
}

static void add_delivered(const struct campaign *c, json_t *json, struct strbuf *text)
{
	const struct duel *d = state_delivered(&c->state);
	json_object_set_new(json, "delivered", json_null());
	if (!d)
		return;
	json_t *delivered = json_object();
	json_object_set_new(delivered, "trial", json_integer(d->trial));
	json_object_set_new(delivered, "speedup", json_from_number(exp(duel_gain(d).ln)));
	json_object_set_new(json, "delivered", delivered);
	strbuf_addf(text, "Promoted trial %d, %.2fx in fresh re-runs\n", d->trial, exp(duel_gain(d).ln));
}

static void add_cost(const struct campaign *c, json_t *json, struct strbuf *text)
{
	const struct cost *cost = &c->state.cost;
	double devices = (double)c->task.launch.nodes * c->task.launch.devices_per_node;
	double hours = (cost->reference_s + cost->profile_s + cost->search_s + cost->promotion_s +
			       cost->build_s * devices) /
		       seconds_per_hour;
	json_t *bill = json_object();
	json_object_set_new(bill, "device_hours", json_from_number(hours));
	json_object_set_new(bill, "tokens", json_from_number(cost->tokens));
	json_object_set_new(bill, "usd", json_from_number(cost->usd));
	json_object_set_new(json, "cost", bill);
	strbuf_addf(text, "Cost     %.3g device-hours\n", hours);
}

static void add_trials(const struct campaign *c, const struct standing *at, json_t *json, struct strbuf *text)
{
	const struct state *s = &c->state;
	int budget = c->task.budget.trials;
	json_t *trials = json_object(), *running = json_array();
	for (size_t i = 0; i < s->n_trials && at->is_at_work; i++)
		if (s->trials[i].status == TRIAL_REGISTERED)
			json_array_append_new(running, json_integer(s->trials[i].number));
	json_object_set_new(trials, "finished", json_integer(s->n_counted));
	json_object_set_new(trials, "budget", json_integer(budget));
	json_object_set_new(trials, "left", json_integer(MAX_OF(budget - s->n_counted, 0)));
	json_object_set_new(trials, "running", running);
	json_object_set_new(json, "trials", trials);
	strbuf_addf(text, "Trials   %d of %d finished\n", s->n_counted, budget);
}

static void add_worker(struct mcp_app *app, const struct standing *at, json_t *json, struct strbuf *text)
{
	bool is_ours = app->run.pid != 0;
	json_object_set_new(json, "at_work", json_boolean(at->is_at_work));
	json_object_set_new(json, "worker",
		!at->is_at_work ? json_null() : json_string(is_ours ? "this server" : "another process"));
	json_object_set_new(json, "last_run", mcp_run_end_to_json(&app->run, false));
	if (at->is_at_work && is_ours)
		strbuf_addf(text, "At work  a %s that this server started\n", app->run.what);
	else if (at->is_at_work)
		strbuf_addf(text, "At work  another process (%ld)\n", at->worker);
	else if (app->run.what)
		strbuf_addf(text, "Last run ended with exit code %d\n", app->run.exit_code);
}

static void describe(struct mcp_app *app, const struct campaign *c, struct mcp_result *result)
{
	const struct state *s = &c->state;
	struct standing at = {.is_at_work = mcp_was_at_work(app, c), .worker = c->worker};
	find_stage(c, &at);
	json_t *json = json_object();
	struct strbuf *text = &result->text;
	json_object_set_new(json, "stage", json_string(at.stage));
	json_object_set_new(json, "task", json_from_text(c->task.name));
	json_object_set_new(json, "campaign", json_from_text(s->has_campaign ? s->campaign_id : ""));
	json_object_set_new(
		json, "noise_percent", json_from_number(s->has_noise ? 100 * s->noise.sigma_pair : NAN));
	strbuf_addf(text, "Stage    %s\n", at.stage);
	add_worker(app, &at, json, text);
	add_trials(c, &at, json, text);
	add_best(c, json, text);
	add_delivered(c, json, text);
	add_cost(c, json, text);
	size_t waiting = inbox_count(c->dir);
	json_object_set_new(json, "suggestions_waiting", json_integer((json_int_t)waiting));
	if (waiting)
		strbuf_addf(text, "Inbox    %zu suggestions wait for the next decision\n", waiting);
	if (s->search_over.why != SEARCH_OVER_NONE) {
		json_object_set_new(json, "search_over", json_from_text(s->search_over.text));
		strbuf_addstr(text, "Over     ");
		strbuf_add_escaped(text, s->search_over.text, strlen(s->search_over.text));
		strbuf_addch(text, '\n');
	}
	json_object_set_new(json, "next", json_string(at.next));
	strbuf_addf(text, "Next: %s\n", at.next);
	result->data = json;
}

/* A folder in which nothing has begun is an answer, too: what to do first. */
static void describe_nothing(const char *stage, const char *next, struct mcp_result *result)
{
	result->data = json_object();
	json_object_set_new(result->data, "stage", json_string(stage));
	json_object_set_new(result->data, "at_work", json_false());
	json_object_set_new(result->data, "next", json_string(next));
	strbuf_addf(&result->text, "Stage    %s\nNext: %s\n", stage, next);
}

MCP_TOOL_CALL(mcp_status)
{
	struct mcp_app *app = context;
	struct campaign c = {0};
	(void)call;
	if (!path_exists(app->common->task_path)) {
		describe_nothing("not initialised",
			"a person writes the task file with  infrarsi init, in the job's folder", result);
		return OK;
	}
	mcp_run_poll(&app->run);
	enum err_code code = cli_open(app->common, CAMPAIGN_READ, NULL, &c, reterr);
	if (code == ERR_NOT_FOUND) {
		describe_nothing("reference not measured",
			"a person measures the reference with  infrarsi doctor", result);
		return OK;
	}
	TRY(code);
	describe(app, &c, result);
	campaign_close(&c);
	return OK;
}

/* ---- history ---- */

enum { HISTORY_TRIALS = 20, HISTORY_REFUSALS = 100 };

static size_t whole_number(const json_t *arguments, const char *key, size_t otherwise)
{
	double value = json_number_of(arguments, key);
	return isnan(value) ? otherwise : (size_t)value;
}

static json_t *refusals_to_json(const struct state *s, struct strbuf *text)
{
	json_t *list = json_array();
	size_t first = s->n_refusals > HISTORY_REFUSALS ? s->n_refusals - HISTORY_REFUSALS : 0;
	for (size_t i = first; i < s->n_refusals; i++) {
		const struct refusal *r = &s->refusals[i];
		json_t *refusal = json_object();
		json_object_set_new(refusal, "name", json_from_text(r->name));
		json_object_set_new(refusal, "by", json_from_text(r->by));
		json_object_set_new(refusal, "reason", json_from_text(r->reason));
		json_array_append_new(list, refusal);
		report_refusal_row(r, text);
	}
	return list;
}

static void describe_history(const struct state *s, const json_t *arguments, struct mcp_result *result)
{
	size_t most = whole_number(arguments, "count", HISTORY_TRIALS);
	size_t latest = s->n_trials > most ? (size_t)s->trials[s->n_trials - most].number : 1;
	size_t from = whole_number(arguments, "from", latest);
	json_t *json = json_object(), *trials = json_array(), *next = NULL;
	report_trial_header(&result->text);
	for (size_t i = 0; i < s->n_trials && !next; i++) {
		const struct trial *t = &s->trials[i];
		if ((size_t)t->number < from || t->status == TRIAL_REGISTERED)
			continue;
		if (json_array_size(trials) == most) {
			next = json_integer(t->number);
			continue;
		}
		json_t *trial = mcp_trial_to_json(s, t);
		mcp_add_trial(&result->text, s, t, trial);
		json_array_append_new(trials, trial);
	}
	if (next)
		strbuf_addf(&result->text, "More: history from %lld\n", (long long)json_integer_value(next));
	json_object_set_new(json, "trials", trials);
	json_object_set_new(json, "finished", json_integer(s->n_counted));
	json_object_set_new(json, "next_from", next ? next : json_null());
	json_object_set_new(json, "refused", refusals_to_json(s, &result->text));
	result->data = json;
}

MCP_TOOL_CALL(mcp_history)
{
	struct campaign c = {0};
	TRY(mcp_open(context, &c, reterr));
	describe_history(&c.state, call->arguments, result);
	campaign_close(&c);
	return OK;
}

/* ---- explain ---- */

static enum err_code explain_both(
	const struct campaign *c, const json_t *trial, struct mcp_result *result, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	if (json_is_number(trial)) {
		int64_t number = (int64_t)json_number_value(trial);
		TRY(explain_one_trial(&c->state, number, true, &json, reterr));
		TRY(explain_one_trial(&c->state, number, false, &result->text, reterr));
	} else {
		TRY(explain_whole_campaign(c, false, true, &json, reterr));
		TRY(explain_whole_campaign(c, false, false, &result->text, reterr));
	}
	return json_object_parse(json.buf, "explain", &result->data, reterr);
}

MCP_TOOL_CALL(mcp_explain)
{
	struct campaign c = {0};
	TRY(mcp_open(context, &c, reterr));
	enum err_code code = doctor_check_measured(&c, reterr);
	if (code == OK)
		code = explain_both(&c, json_object_get(call->arguments, "trial"), result, reterr);
	campaign_close(&c);
	return code;
}

/* ---- space ---- */

/* A configuration names settings by these very texts, so the text that a model reads is the JSON itself. */
MCP_TOOL_CALL(mcp_space)
{
	static const char *const left_out[] = {"wanted", "trials", "refused", "files"};
	struct campaign c = {0};
	(void)call;
	TRY(mcp_open(context, &c, reterr));
	json_t *json = request_to_json(&(struct request_input){.state = &c.state});
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
		json_object_del(json, left_out[i]);
	json_object_set_new(json, "schema", json_string("infrarsi-space/1"));
	json_object_set_new(json, "snapshot_commit", json_from_text(c.state.commit));
	json_object_set_new(json, "snapshot_folder", json_from_text(c.state.prefix));
	/* Six digits: as they were put in. */
	CLEANUP(free_ptr) char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6));
	strbuf_addstr(&result->text, text ? text : "");
	result->data = json;
	campaign_close(&c);
	return OK;
}

/* ---- results ---- */

MCP_TOOL_CALL(mcp_results)
{
	struct campaign c = {0};
	(void)call;
	TRY(mcp_open(context, &c, reterr));
	CLEANUP(free_ptr) char *json = report_result_json(&c.state);
	enum err_code code = json_object_parse(json, "result", &result->data, reterr);
	if (code == OK)
		report_summary(&c.state, &result->text);
	campaign_close(&c);
	return code;
}

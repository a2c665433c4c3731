/* The tools that start and follow: run, promote, wait. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/stages.h"
#include "cli/mcp_app.h"
#include "report/report.h"

enum { RUN_TRIALS = 1 };
static const double wait_s = 30;

/* ---- what was told ---- */

static bool has_ended(const struct trial *t)
{
	return t->status != TRIAL_REGISTERED;
}

static bool was_told(const struct mcp_app *app, const struct trial *t)
{
	return (size_t)t->number < app->n_told && app->told[t->number];
}

static void note_told(struct mcp_app *app, const struct trial *t)
{
	size_t room = app->n_told, need = (size_t)t->number + 1;
	if (need > room) {
		grow_array(&app->told, &room, need, sizeof(*app->told));
		memset(app->told + app->n_told, 0, (room - app->n_told) * sizeof(*app->told));
		app->n_told = room;
	}
	app->told[t->number] = true;
}

/* What ended before anybody asked is history and no news; so it is after a campaign began anew. */
static void follow(struct mcp_app *app, const struct state *s)
{
	if (app->campaign_id && strcmp(app->campaign_id, s->campaign_id) == 0)
		return;
	free(app->campaign_id);
	free(app->told);
	app->campaign_id = xstrdup(s->campaign_id);
	app->told = NULL;
	app->n_told = 0;
	for (size_t i = 0; i < s->n_trials; i++)
		if (has_ended(&s->trials[i]))
			note_told(app, &s->trials[i]);
}

static bool has_news(const struct mcp_app *app, const struct state *s)
{
	for (size_t i = 0; i < s->n_trials; i++)
		if (has_ended(&s->trials[i]) && !was_told(app, &s->trials[i]))
			return true;
	return false;
}

/* ---- run and promote ---- */

static enum err_code check_idle(struct mcp_app *app, const struct campaign *c, struct err *reterr)
{
	if (!mcp_was_at_work(app, c))
		return OK;
	if (app->run.pid)
		return err_set(reterr, ERR_STATE, "a %s that this server started is at work; next: wait",
			app->run.what);
	return err_set(reterr, ERR_STATE,
		"another infrarsi (process %ld) is working on this campaign; next: wait", c->worker);
}

static enum err_code start(struct mcp_app *app, const struct campaign *c, const char *what, int trials,
	struct mcp_result *result, struct err *reterr)
{
	CLEANUP(free_ptr) char *total = xasprintf("%d", trials);
	CLEANUP(free_ptr) char *log_path = xasprintf("%s/mcp-run.log", c->dir);
	const char *argv[16];
	size_t n = 0;
	bool is_search = strcmp(what, "search") == 0;
	argv[n++] = c->options.self_path;
	argv[n++] = "run";
	argv[n++] = "--task";
	argv[n++] = app->common->task_path;
	argv[n++] = "--trials";
	argv[n++] = total;
	if (is_search)
		argv[n++] = "--search-only";
	if (app->accept_noise)
		argv[n++] = "--accept-noise";
	if (app->common->no_sandbox)
		argv[n++] = "--no-sandbox";
	if (app->common->require_sandbox)
		argv[n++] = "--require-sandbox";
	argv[n] = NULL;
	follow(app, &c->state);
	TRY(mcp_run_start(&app->run, what, argv, log_path, reterr));
	result->data = json_object();
	json_object_set_new(result->data, "started", json_string(what));
	json_object_set_new(result->data, "log", json_from_text(log_path));
	json_object_set_new(result->data, "next", json_string("wait"));
	return OK;
}

static enum err_code start_run(struct mcp_app *app, struct campaign *c, const json_t *arguments,
	struct mcp_result *result, struct err *reterr)
{
	const struct state *s = &c->state;
	int left = MAX_OF(c->task.budget.trials - s->n_counted, 0);
	double wanted = json_number_of(arguments, "trials");
	int trials = isnan(wanted) ? RUN_TRIALS : (int)wanted;
	TRY(doctor_check_measured(c, reterr));
	TRY(check_idle(app, c, reterr));
	if (trials > left)
		return err_set(reterr, ERR_INPUT,
			"%d more trials are wanted, and %d are left of the task's %d; next: %s", trials, left,
			c->task.budget.trials,
			left ? "run with so many" : "promote, or ask a person for a larger budget");
	TRY(start(app, c, "search", s->n_counted + trials, result, reterr));
	json_object_set_new(result->data, "trials", json_integer(trials));
	json_object_set_new(result->data, "left_after", json_integer(left - trials));
	strbuf_addf(&result->text, "Searching: %d trial%s from now, %d left after that.\nNext: wait\n",
		trials, trials == 1 ? "" : "s", left - trials);
	return OK;
}

MCP_TOOL_CALL(mcp_start_run)
{
	struct campaign c = {0};
	TRY(mcp_open(context, &c, reterr));
	enum err_code code = start_run(context, &c, call->arguments, result, reterr);
	campaign_close(&c);
	return code;
}

/* A run whose trials are all done goes straight to promotion. */
static enum err_code promote(
	struct mcp_app *app, struct campaign *c, struct mcp_result *result, struct err *reterr)
{
	TRY(doctor_check_measured(c, reterr));
	TRY(check_idle(app, c, reterr));
	if (!c->state.n_counted)
		return err_set(reterr, ERR_STATE,
			"no trial has finished, so there is nothing to promote; next: run");
	TRY(start(app, c, "promotion", c->state.n_counted, result, reterr));
	strbuf_addstr(&result->text, "Promoting: the best candidates against the reference, in fresh "
				     "interleaved runs.\nNext: wait, then results\n");
	return OK;
}

MCP_TOOL_CALL(mcp_promote)
{
	struct campaign c = {0};
	(void)call;
	TRY(mcp_open(context, &c, reterr));
	enum err_code code = promote(context, &c, result, reterr);
	campaign_close(&c);
	return code;
}

/* ---- wait ---- */

static json_t *news_to_json(struct mcp_app *app, const struct state *s, struct strbuf *text)
{
	json_t *list = json_array();
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		if (!has_ended(t) || was_told(app, t))
			continue;
		json_t *trial = mcp_trial_to_json(s, t);
		if (!json_array_size(list))
			report_trial_header(text);
		mcp_add_trial(text, s, t, trial);
		json_array_append_new(list, trial);
		note_told(app, t);
	}
	return list;
}

static void describe_news(struct mcp_app *app, const struct campaign *c, struct mcp_result *result)
{
	const struct state *s = &c->state;
	bool is_at_work = mcp_was_at_work(app, c);
	json_t *json = json_object(), *news = news_to_json(app, s, &result->text);
	json_t *end = app->run.has_ended ? mcp_run_end_to_json(&app->run, true) : json_null();
	app->run.has_ended = false;
	if (json_is_object(end))
		strbuf_addf(&result->text, "The %s ended with exit code %lld: %s. It said:\n%s",
			json_text_of(end, "what"), (long long)json_integer_of(end, "exit_code"),
			json_text_of(end, "meaning"), json_text_of(end, "said"));
	else if (!is_at_work)
		strbuf_addstr(&result->text, "Nothing is at work.\n");
	else if (!json_array_size(news))
		strbuf_addstr(&result->text, "Still at work; nothing ended meanwhile.\n");
	json_object_set_new(json, "trials", news);
	json_object_set_new(json, "run_ended", end);
	json_object_set_new(json, "at_work", json_boolean(is_at_work));
	json_object_set_new(json, "finished", json_integer(s->n_counted));
	json_object_set_new(json, "budget", json_integer(c->task.budget.trials));
	json_object_set_new(json, "next", json_string(is_at_work ? "wait" : "status"));
	strbuf_addf(&result->text, "%d of %d trials finished.\nNext: %s\n", s->n_counted,
		c->task.budget.trials, is_at_work ? "wait" : "status");
	result->data = json;
}

/* Cheap, for it is asked many times while nothing happens: a transaction changes one of the two files. */
static bool ledger_changed(struct mcp_app *app)
{
	static const char *const files[] = {"ledger.db", "ledger.db-wal"};
	bool changed = false;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", app->dir, files[i]);
		struct stat st = {0};
		(void)!stat(path, &st);
		int64_t mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		changed = changed || app->seen[i].size != st.st_size || app->seen[i].mtime_ns != mtime_ns;
		app->seen[i].size = st.st_size;
		app->seen[i].mtime_ns = mtime_ns;
	}
	return changed;
}

MCP_TOOL_CALL(mcp_wait)
{
	struct mcp_app *app = context;
	struct campaign c = {0};
	double seconds = json_number_of(call->arguments, "seconds");
	TRY(mcp_open(app, &c, reterr));
	follow(app, &c.state);
	free(app->dir);
	app->dir = xstrdup(c.dir);
	bool is_over = !mcp_was_at_work(app, &c) || has_news(app, &c.state) || seconds == 0;
	if (is_over || !call->may_wait || app->n_waits == MCP_WAITS) {
		describe_news(app, &c, result);
	} else {
		app->waits[app->n_waits++] =
			(struct mcp_wait){call->ticket, clock_now_s() + (isnan(seconds) ? wait_s : seconds)};
		result->is_later = true;
	}
	campaign_close(&c);
	return OK;
}

static void forget_unwanted(struct mcp_app *app)
{
	size_t n = 0;
	for (size_t i = 0; i < app->n_waits; i++)
		if (mcp_session_awaits(app->session, app->waits[i].ticket))
			app->waits[n++] = app->waits[i];
	app->n_waits = n;
}

static void describe_for_waits(struct mcp_app *app, struct mcp_result *result)
{
	struct campaign c = {0};
	struct err e = ERR_INIT;
	char text[sizeof(e.message) + sizeof(e.file) + 32];
	if (mcp_open(app, &c, &e) == OK) {
		follow(app, &c.state);
		describe_news(app, &c, result);
		campaign_close(&c);
		return;
	}
	err_format(&e, text, sizeof(text));
	strbuf_addstr(&result->text, text);
	result->is_error = true;
}

static bool news_came(struct mcp_app *app)
{
	struct campaign c = {0};
	if (!mcp_is_at_work(app, app->dir))
		return true;
	if (!ledger_changed(app))
		return false;
	/* Whoever cannot be read now is asked again when the wait is over. */
	if (cli_open(app->common, CAMPAIGN_READ, NULL, &c, NULL) != OK)
		return false;
	bool is_news = !app->campaign_id || strcmp(app->campaign_id, c.state.campaign_id) != 0 ||
		       has_news(app, &c.state);
	campaign_close(&c);
	return is_news;
}

enum err_code mcp_serve_waits(struct mcp_app *app, struct err *reterr)
{
	struct mcp_result result = MCP_RESULT_INIT;
	enum err_code code = OK;
	size_t kept = 0;
	double now_s = clock_now_s();
	forget_unwanted(app);
	if (!app->n_waits)
		return OK;
	bool for_all = news_came(app), is_described = false;
	for (size_t i = 0; i < app->n_waits && code == OK; i++) {
		if (!for_all && app->waits[i].until_s > now_s) {
			app->waits[kept++] = app->waits[i];
			continue;
		}
		if (!is_described)
			describe_for_waits(app, &result);
		is_described = true;
		code = mcp_session_answer(app->session, app->waits[i].ticket, &result, reterr);
	}
	app->n_waits = kept;
	mcp_result_release(&result);
	return code;
}

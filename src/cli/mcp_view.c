/* What the tools of `infrarsi mcp` have in common: opening, and how trials look. */
#include "base/base.h"

#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/mcp_app.h"
#include "propose/request.h"
#include "report/report.h"

enum err_code mcp_open(struct mcp_app *app, struct campaign *ret_campaign, struct err *reterr)
{
	mcp_run_poll(&app->run);
	return cli_open_recorded(app->common, ret_campaign, reterr);
}

bool mcp_is_at_work(struct mcp_app *app, const char *dir)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/ledger.db", dir);
	long pid = 0;
	mcp_run_poll(&app->run);
	return app->run.pid || ledger_is_held(path, &pid);
}

bool mcp_was_at_work(const struct mcp_app *app, const struct campaign *c)
{
	return app->run.pid || c->was_at_work;
}

/* An end that says nothing of the configuration (a fault of the host, a stop) is in no request. */
static json_t *other_end(const struct trial *t)
{
	json_t *json = json_object();
	json_object_set_new(json, "trial", json_integer(t->number));
	json_object_set_new(json, "status", json_string(trial_status_names[t->status]));
	json_object_set_new(json, "because", json_from_text(t->reason_text ? t->reason_text : ""));
	return json;
}

json_t *mcp_trial_to_json(const struct state *s, const struct trial *t)
{
	return t->status == TRIAL_INTERRUPTED || t->status == TRIAL_TRANSIENT ? other_end(t)
									      : request_trial_to_json(s, t);
}

void mcp_add_trial(struct strbuf *text, const struct state *s, const struct trial *t, const json_t *trial)
{
	static const char *const reasons[] = {"because", "log"};
	report_trial_row(s, t, text);
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		const char *reason = json_text_of(trial, reasons[i]);
		if (!*reason)
			continue;
		strbuf_addf(text, "     %s: ", reasons[i]);
		strbuf_add_escaped(text, reason, strlen(reason));
		strbuf_addch(text, '\n');
	}
}

void mcp_add_changes(struct strbuf *text, const struct state *s, const struct candidate *candidate)
{
	CLEANUP(strbuf_release) struct strbuf raw = STRBUF_INIT;
	candidate_describe(candidate, NULL, &s->space, &raw);
	strbuf_add_escaped(text, raw.buf, raw.len);
}

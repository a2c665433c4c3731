#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "cli/cli.h"
#include "report/report.h"

struct show_values {
	bool log;
};

enum { LOG_SHOWN_BYTES = 16 * 1024 };

/* The end of the log, where failures are, with control bytes made visible. */
static enum err_code add_log(
	const struct campaign *c, const struct trial *t, struct strbuf *text, struct err *reterr)
{
	if (!t->run.log_path || !*t->run.log_path)
		return err_set(reterr, ERR_NOT_FOUND, "trial %d left no log", t->number);
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, t->run.log_path);
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	TRY(file_read(path, (size_t)256 << 20, &log, reterr));
	size_t from = log.len > LOG_SHOWN_BYTES ? log.len - LOG_SHOWN_BYTES : 0;
	if (from)
		strbuf_addf(text, "... (the last %d KiB of %s)\n", LOG_SHOWN_BYTES / 1024, t->run.log_path);
	for (size_t i = from; i < log.len;) {
		const char *end = memchr(log.buf + i, '\n', log.len - i);
		size_t length = end ? (size_t)(end - (log.buf + i)) : log.len - i;
		strbuf_add_escaped(text, log.buf + i, length);
		strbuf_addch(text, '\n');
		i += length + 1;
	}
	return OK;
}

static json_t *trial_json(const struct campaign *c, const struct trial *t)
{
	CLEANUP(strbuf_release) struct strbuf candidate = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf verdict = STRBUF_INIT;
	json_t *json = json_object();
	bool finished = t->run.receipt_path != NULL;
	candidate_to_json(&t->candidate, &c->state.space, &candidate);
	json_object_set_new(json, "trial", json_integer(t->number));
	json_object_set_new(json, "status", json_string(trial_status_names[t->status]));
	json_object_set_new(json, "candidate", json_loads(candidate.buf, 0, NULL));
	json_object_set_new(json, "operators", json_from_text(t->operators));
	json_object_set_new(json, "reason", json_from_text(t->reason));
	json_object_set_new(json, "predicted_ln", json_from_number(t->predicted_ln));
	json_object_set_new(json, "device_s", json_from_number(t->device_s));
	if (!finished)
		return json;
	verdict_to_json(&t->run.verdict, &verdict);
	json_object_set_new(json, "time_s", t->run.has_time ? json_from_number(t->run.time_s) : json_null());
	json_object_set_new(json, "gain_ln", json_from_number(t->run.gain_ln));
	json_object_set_new(json, "peak_bytes", json_from_number(t->run.peak_bytes));
	json_object_set_new(json, "updates", json_integer(t->run.updates_seen));
	json_object_set_new(json, "failure", json_string(failure_class_names[t->run.failure]));
	json_object_set_new(json, "evidence", json_from_text(t->run.evidence));
	json_object_set_new(json, "receipt", json_from_text(t->run.receipt_path));
	json_object_set_new(json, "log", json_from_text(t->run.log_path));
	json_object_set_new(json, "verdict", json_loads(verdict.buf, 0, NULL));
	return json;
}

static enum err_code add_json(const struct campaign *c, const struct trial *t, bool with_log,
	struct strbuf *text, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	if (with_log)
		TRY(add_log(c, t, &log, reterr));
	json_t *json = trial_json(c, t);
	if (with_log)
		json_object_set_new(json, "log_text", json_from_text(log.buf));
	CLEANUP(free_ptr) char *dump = json_dump_pretty_take(json);
	strbuf_addf(text, "%s\n", dump);
	return OK;
}

static enum err_code find_trial(
	const struct campaign *c, const char *argument, const struct trial **ret_trial, struct err *reterr)
{
	int64_t number;
	if (!parse_integer(argument, &number))
		return err_set(reterr, ERR_INPUT, "show: expected a trial number, got '%s'", argument);
	for (size_t i = 0; i < c->state.n_trials; i++)
		if (c->state.trials[i].number == number) {
			*ret_trial = &c->state.trials[i];
			return OK;
		}
	return err_set(
		reterr, ERR_NOT_FOUND, "there is no trial %lld; see  infrarsi report", (long long)number);
}

static enum err_code show(const struct campaign *c, const struct parsed *parsed, const struct show_values *v,
	struct strbuf *text, struct err *reterr)
{
	const struct trial *t = NULL;
	TRY(find_trial(c, parsed->positional[0], &t, reterr));
	if (parsed->common.json)
		return add_json(c, t, v->log, text, reterr);
	if (v->log)
		return add_log(c, t, text, reterr);
	report_trial_details(&c->state, t, ".infrarsi", text);
	report_failure_card(&c->state, t, ".infrarsi", text);
	return OK;
}

static int run(const struct parsed *parsed, void *values)
{
	struct campaign c = {0};
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (parsed->n_positional != 1) {
		(void)err_set(&e, ERR_INPUT, "show: expected one trial number, such as  infrarsi show 7");
		return cli_fail(&parsed->common, &e);
	}
	if (cli_open_recorded(&parsed->common, &c, &e) != OK)
		return cli_fail(&parsed->common, &e);
	enum err_code code = show(&c, parsed, values, &text, &e);
	if (code == OK)
		cli_print(&text);
	int exit_code = code == OK ? 0 : cli_fail(&parsed->common, &e);
	campaign_close(&c);
	return exit_code;
}

static const struct option_spec options[] = {
	{"log", NULL, OPTION_FLAG, "print the end of the trial's log", offsetof(struct show_values, log)},
};

const struct command command_show = {
	.name = "show",
	.summary = "everything about one trial: why, what, verdict, log",
	.usage = "TRIAL",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.values_size = sizeof(struct show_values),
	.max_positional = 1,
	.run = run,
};

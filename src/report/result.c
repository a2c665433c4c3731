/* result.json: what a program reads (docs/formats.md section 8). */
#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "report/predictions.h"
#include "report/report_int.h"
#include "spec/task.h"

enum { RESULT_VERSION = 1 };

static json_t *parse_own(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	return json ? json : json_null();
}

static json_t *candidate_json(const struct state *s, const struct candidate *candidate)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	candidate_to_json(candidate, &s->space, &text);
	return parse_own(text.buf);
}

static json_t *verdict_json(const struct verdict *v)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	verdict_to_json(v, &text);
	return parse_own(text.buf);
}

static json_t *speedup_json(double gain_ln)
{
	return json_from_number(exp(gain_ln));
}

static json_t *trial_json(const struct state *s, const struct trial *t)
{
	bool ran = t->run.receipt_path != NULL;
	json_t *json = json_object();
	json_object_set_new(json, "number", json_integer(t->number));
	json_object_set_new(json, "status", json_string(trial_status_names[t->status]));
	json_object_set_new(json, "candidate", candidate_json(s, &t->candidate));
	json_object_set_new(json, "operators", json_from_text(t->operators));
	json_object_set_new(json, "time_s", json_from_number(ran && t->run.has_time ? t->run.time_s : NAN));
	json_object_set_new(json, "speedup", speedup_json(ran && t->run.has_time ? t->run.gain_ln : NAN));
	json_object_set_new(json, "peak_bytes", json_from_number(ran ? t->run.peak_bytes : NAN));
	json_object_set_new(json, "device_s", json_from_number(t->device_s));
	json_object_set_new(
		json, "failure", json_string(failure_class_names[ran ? t->run.failure : FAILURE_NONE]));
	json_object_set_new(json, "evidence", json_from_text(ran ? t->run.evidence : t->reason_text));
	json_object_set_new(json, "receipt", ran ? json_from_text(t->run.receipt_path) : json_null());
	json_object_set_new(json, "rejected_by",
		ran && t->run.verdict.primary >= 0 ? json_string(item_infos[t->run.verdict.primary].name)
						   : json_null());
	return json;
}

static json_t *cost_json(const struct state *s)
{
	struct bill bill;
	json_t *json = json_object();
	bill_of(s, &bill);
	json_object_set_new(json, "reference_device_s", json_from_number(s->cost.reference_s));
	json_object_set_new(json, "profile_device_s", json_from_number(s->cost.profile_s));
	json_object_set_new(json, "search_device_s", json_from_number(s->cost.search_s));
	json_object_set_new(json, "promotion_device_s", json_from_number(s->cost.promotion_s));
	json_object_set_new(json, "build_s", json_from_number(s->cost.build_s));
	json_object_set_new(json, "device_hours", json_from_number(bill.total_s / 3600));
	json_object_set_new(json, "payback_s", json_from_number(payback_s(s)));
	return json;
}

/* Of all finalists, those that were not delivered because of it included. */
static json_t *confirmations_json(const struct state *s)
{
	json_t *list = json_array();
	if (s->has_withdrawn)
		json_array_append_new(list, confirmation_json(&s->withdrawn));
	if (s->has_standing && s->standing.confirmation.outcome != CONFIRMATION_NONE)
		json_array_append_new(list, confirmation_json(&s->standing));
	for (size_t i = 0; i < s->n_duels; i++)
		if (s->duels[i].confirmation.outcome != CONFIRMATION_NONE)
			json_array_append_new(list, confirmation_json(&s->duels[i]));
	return list;
}

static void set_delivery(const struct state *s, json_t *json)
{
	const struct duel *d = delivered_duel(s);
	const struct trial *t = d ? trial_numbered(s, d->trial) : NULL;
	struct gain gain = d ? duel_gain(d) : (struct gain){0};
	json_object_set_new(json, "promoted", json_boolean(d != NULL));
	json_object_set_new(json, "earlier_promotion", json_boolean(s->has_standing));
	json_object_set_new(json, "delivered", json_from_number(exp(gain.ln)));
	json_object_set_new(json, "claimed", d ? speedup_json(d->claimed_ln) : json_null());
	json_t *interval = json_array();
	json_array_append_new(interval, json_from_number(exp(gain.low_ln)));
	json_array_append_new(interval, json_from_number(exp(gain.high_ln)));
	json_object_set_new(json, "interval", interval);
	json_object_set_new(json, "trial", d ? json_integer(d->trial) : json_null());
	struct candidate reference = CANDIDATE_INIT;
	candidate_reference(&reference, &s->space);
	json_object_set_new(json, "candidate", candidate_json(s, t ? &t->candidate : &reference));
	char signature[65];
	candidate_signature(t ? &t->candidate : &reference, &s->space, signature);
	json_object_set_new(json, "signature", json_string(signature));
	candidate_release(&reference);
	json_object_set_new(json, "verdict", d ? verdict_json(&d->verdict) : json_null());
	json_t *confirmations = confirmations_json(s);
	if (json_array_size(confirmations))
		json_object_set(json, "confirmations", confirmations);
	json_decref(confirmations);
}

static json_t *search_over_json(const struct state *s)
{
	if (s->search_over.why == SEARCH_OVER_NONE)
		return json_null();
	json_t *json = json_object();
	json_object_set_new(json, "why", json_string(search_over_names[s->search_over.why]));
	json_object_set_new(json, "text", json_from_text(s->search_over.text));
	return json;
}

static json_t *refusals_json(const struct state *s)
{
	json_t *refusals = json_array();
	for (size_t i = 0; i < s->n_refusals; i++) {
		json_t *refusal = json_object();
		json_object_set_new(refusal, "name", json_from_text(s->refusals[i].name));
		json_object_set_new(refusal, "by", json_from_text(s->refusals[i].by));
		json_object_set_new(refusal, "reason", json_from_text(s->refusals[i].reason));
		json_array_append_new(refusals, refusal);
	}
	return refusals;
}

char *report_result_json(const struct state *s)
{
	struct bill bill;
	json_t *json = json_object(), *trials = json_array();
	bill_of(s, &bill);
	for (size_t i = 0; i < s->n_trials; i++)
		json_array_append_new(trials, trial_json(s, &s->trials[i]));
	json_object_set_new(json, "version", json_integer(RESULT_VERSION));
	json_object_set_new(json, "campaign", json_from_text(s->campaign_id));
	json_object_set_new(json, "task", json_from_text(s->task->name));
	json_object_set_new(json, "finished", json_boolean(s->finished));
	set_delivery(s, json);
	json_object_set_new(json, "reference_s", json_from_number(s->has_noise ? s->noise.mean_s : NAN));
	json_object_set_new(json, "sigma_pair", json_from_number(s->has_noise ? s->noise.sigma_pair : NAN));
	json_object_set_new(json, "n_trials", json_integer(s->n_counted));
	json_object_set_new(json, "n_rejected", json_integer(bill.rejected));
	json_object_set_new(json, "trials", trials);
	json_object_set_new(json, "refusals", refusals_json(s));
	json_object_set_new(json, "not_stacked", clashes_json(s));
	json_object_set_new(json, "search_over", search_over_json(s));
	json_object_set_new(json, "cost", cost_json(s));
	json_t *proposers = predictions_json(s);
	if (proposers)
		json_object_set_new(json, "proposers", proposers);
	return json_dump_pretty_take(json);
}

/* Of an earlier report. */
static enum err_code remove_picture(const char *path, struct err *reterr)
{
	if (unlink(path) == 0 || errno == ENOENT)
		return OK;
	return err_errno(reterr, "cannot remove %s", path);
}

enum err_code report_write(const struct state *s, const char *dir, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf markdown = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf pack = STRBUF_INIT;
	CLEANUP(free_ptr) char *json = report_result_json(s);
	report_markdown(s, &markdown);
	report_pack_yaml(s, &pack);
	const struct {
		const char *name, *text;
	} files[] = {{"result.json", json}, {"REPORT.md", markdown.buf}, {"pack.yaml", pack.buf}};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, files[i].name);
		TRY(file_write_atomic(path, files[i].text, strlen(files[i].text), 0644, reterr));
	}
	CLEANUP(strbuf_release) struct strbuf picture = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, CALIBRATION_PICTURE);
	report_calibration_svg(s, &picture);
	if (!picture.len)
		return remove_picture(path, reterr);
	return file_write_atomic(path, picture.buf, picture.len, 0644, reterr);
}

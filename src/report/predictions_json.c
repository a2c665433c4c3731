/* `proposers` in result.json (docs/formats.md section 8). */
#include "base/base.h"

#include <math.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "report/predictions.h"
#include "report/report_int.h"
#include "spec/task.h"

/* What is worked out here, to a millionth of a ln ratio: finer than any measurement, and the same wherever it
 * is worked out. */
static json_t *rounded(double value)
{
	return json_from_number(isfinite(value) ? round(value * 1e6) / 1e6 : NAN);
}

static json_t *what_json(const struct state *s, const struct prediction *p)
{
	size_t n_knobs = s->task->n_knobs;
	if (p->what == PREDICTED_CONFIGURATION) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		candidate_to_json(p->candidate, &s->space, &text);
		return json_loads(text.buf, 0, NULL);
	}
	json_t *json = json_object();
	if (p->what == PREDICTED_PATCH) {
		const struct patch_lever *patch = &s->space.patches[(size_t)p->lever - n_knobs];
		json_object_set_new(json, "patch", json_from_text(patch->name));
		json_object_set_new(json, "digest", json_from_text(patch->digest));
		return json;
	}
	const struct knob *knob = &s->task->knobs[p->lever];
	json_object_set_new(json, "knob", json_from_text(knob->name));
	json_object_set_new(json, "setting", json_from_text(knob->settings[p->setting].text));
	return json;
}

static json_t *prediction_json(const struct state *s, const struct prediction *p)
{
	json_t *json = json_object();
	json_object_set_new(json, "kind", json_string(predicted_what_names[p->what]));
	json_object_set_new(json, "what", what_json(s, p));
	json_object_set_new(json, "reason", json_from_text(p->reason));
	json_object_set_new(json, "predicted_ln", json_from_number(p->gain_ln));
	json_object_set_new(json, "predicted_sd_ln", json_from_number(p->sd_ln));
	json_object_set_new(json, "measured_ln", rounded(p->measured_ln));
	json_object_set_new(json, "measured_sd_ln", rounded(p->measured_sd_ln));
	json_object_set_new(json, "measured_by", json_string(measured_by_names[p->measured_by]));
	json_object_set_new(json, "trial", p->trial ? json_integer(p->trial) : json_null());
	return json;
}

static json_t *list_json(const struct predictions *p, int source)
{
	json_t *list = json_array();
	for (size_t i = 0; i < p->calibration.n_predictions; i++)
		if (p->calibration.predictions[i].source == source)
			json_array_append_new(
				list, prediction_json(p->state, &p->calibration.predictions[i]));
	return list;
}

static json_t *row_json(const struct predictions *p, const struct calibration_row *r)
{
	const struct proposer_record none = {0}, *record = r->record ? r->record : &none;
	json_t *json = json_object();
	json_object_set_new(json, "name",
		r->source ? json_from_text(state_source_name(p->state, r->source)) : json_null());
	json_object_set_new(json, "n_predictions", json_integer(r->n_predictions));
	json_object_set_new(json, "n_measured", json_integer(r->n_measured));
	json_object_set_new(json, "rank_correlation", rounded(r->rank_correlation));
	json_object_set_new(json, "share", rounded(r->share));
	json_object_set_new(json, "share_sd", rounded(r->share_sd));
	json_object_set_new(json, "mean_abs_error_ln", rounded(r->mean_abs_error_ln));
	json_object_set_new(json, "n_intervals", json_integer(r->n_intervals));
	json_object_set_new(json, "n_hits", json_integer(r->n_hits));
	json_object_set_new(json, "n_suggested", json_integer(r->n_suggested));
	json_object_set_new(json, "n_run", json_integer(r->n_run));
	json_object_set_new(json, "n_failed", json_integer(r->n_failed));
	json_object_set_new(json, "n_questions", json_integer(record->questions));
	json_object_set_new(json, "n_unanswered", json_integer(record->unanswered));
	json_object_set_new(json, "tokens", json_from_number(record->tokens));
	json_object_set_new(json, "usd", json_from_number(record->usd));
	json_object_set_new(json, "seconds", json_from_number(record->seconds));
	json_object_set_new(json, "predictions", list_json(p, r->source));
	return json;
}

json_t *predictions_json(const struct state *s)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct predictions p = predictions_of(s, &arena);
	if (!p.calibration.n_rows)
		return NULL;
	json_t *list = json_array();
	for (size_t i = 0; i < p.calibration.n_rows; i++)
		json_array_append_new(list, row_json(&p, &p.calibration.rows[i]));
	return list;
}

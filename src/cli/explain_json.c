/* `infrarsi explain --json`: docs/formats.md, section 9. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "cli/explain_print.h"
#include "spec/task.h"

enum { EXPLAIN_SCHEMA = 1 };

static json_t *candidate_json(const struct state *s, const int *setting)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct candidate candidate = {s->space.n_levers, (int *)setting};
	candidate_to_json(&candidate, &s->space, &text);
	return json_loads(text.buf, 0, NULL);
}

static json_t *operators_json(const char *operators)
{
	json_t *array = json_array();
	for (const char *p = operators; *p;) {
		size_t length = strcspn(p, "+");
		CLEANUP(free_ptr) char *name = xasprintf("%.*s", (int)length, p);
		json_array_append_new(array, json_from_text(name));
		p += length + (p[length] == '+');
	}
	return array;
}

static json_t *belief_json(double mean, double sd)
{
	double half = explain_interval_sd * sd;
	json_t *json = json_object();
	json_object_set_new(json, "mean", json_from_number(mean));
	json_object_set_new(json, "sd", json_from_number(sd));
	json_object_set_new(json, "low", json_from_number(mean - half));
	json_object_set_new(json, "high", json_from_number(mean + half));
	return json;
}

/* ------------------------------------------------------------- levers */

static json_t *setting_name(const struct lever *lever, int setting)
{
	if (lever->is_patch)
		return json_string(setting == lever->reference ? "off" : "on");
	return lever->setting_names ? json_from_text(lever->setting_names[setting]) : json_integer(setting);
}

static json_t *setting_json(const struct lever *lever, const struct setting_belief *b)
{
	json_t *json = json_object();
	json_object_set_new(json, "setting", setting_name(lever, b->setting));
	json_object_set_new(json, "in_incumbent", json_boolean(b->in_incumbent));
	json_object_set_new(json, "is_big", json_boolean(b->is_big));
	json_object_set_new(json, "predicted_ln", json_from_number(b->predicted_ln));
	json_object_set_new(json, "prior_ln", belief_json(b->gain.prior_mean, b->gain.prior_sd));
	json_object_set_new(json, "gain_ln", belief_json(b->gain.mean, b->gain.sd));
	json_object_set_new(json, "moved_sd", json_from_number(b->moved_sd));
	json_object_set_new(json, "runs_ok", json_integer(b->n_ok));
	json_object_set_new(json, "runs_failed", json_integer(b->n_failed));
	json_object_set_new(
		json, "declared_bytes", json_from_number(lever->prior[b->setting].declared_bytes));
	json_object_set_new(json, "memory_bytes",
		isfinite(b->memory_mean_bytes) ? belief_json(b->memory_mean_bytes, b->memory_sd_bytes)
					       : json_null());
	return json;
}

static json_t *levers_json(const struct explanation *x)
{
	json_t *array = json_array();
	for (size_t i = 0; i < x->beliefs.n_levers; i++) {
		const struct lever_belief *b = &x->beliefs.levers[i];
		const struct lever *lever = &x->state->search.model.levers[b->lever];
		json_t *json = json_object(), *settings = json_array();
		for (size_t k = 0; k < b->n_settings; k++)
			json_array_append_new(settings, setting_json(lever, &b->settings[k]));
		json_object_set_new(json, "name", json_from_text(lever->name));
		json_object_set_new(json, "kind", json_string(lever->is_patch ? "patch" : "knob"));
		json_object_set_new(json, "reference", setting_name(lever, lever->reference));
		json_object_set_new(json, "is_big", json_boolean(b->is_big));
		json_object_set_new(json, "settings", settings);
		json_array_append_new(array, json);
	}
	return array;
}

/* ------------------------------------------------------------- failures */

static json_t *trial_numbers(const struct state *s, const int *observations, size_t n)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_integer(explain_trial_of(s, observations[i])));
	return array;
}

static json_t *suspicions_json(const struct explanation *x)
{
	json_t *array = json_array();
	for (size_t i = 0; i < x->beliefs.n_suspicions; i++) {
		const struct suspicion_belief *b = &x->beliefs.suspicions[i];
		json_t *json = json_object(), *settings = json_object();
		for (int k = 0; k < b->suspicion.n; k++) {
			const struct lever *lever = &x->state->search.model.levers[b->suspicion.lever[k]];
			json_object_set_new(
				settings, lever->name, setting_name(lever, b->suspicion.setting[k]));
		}
		json_object_set_new(json, "settings", settings);
		json_object_set_new(json, "probability", json_from_number(b->suspicion.q));
		json_object_set_new(json, "is_banned", json_boolean(b->suspicion.banned));
		json_object_set_new(json, "is_hinted", json_boolean(b->suspicion.hinted));
		json_object_set_new(
			json, "trials", trial_numbers(x->state, b->observations, b->n_observations));
		json_array_append_new(array, json);
	}
	return array;
}

/* ------------------------------------------------------------- the campaign */

static json_t *next_json(const struct explanation *x)
{
	const struct decision *d = &x->next;
	if (!d->found)
		return json_null();
	json_t *json = json_object();
	json_object_set_new(json, "candidate", candidate_json(x->state, d->setting));
	json_object_set_new(json, "is_recorded", json_boolean(x->next_is_recorded));
	if (x->next_is_recorded)
		return json;
	json_object_set_new(json, "operators", operators_json(d->operators));
	json_object_set_new(
		json, "base_trial", json_integer(explain_trial_of(x->state, d->base_observation)));
	json_object_set_new(json, "reason", json_from_text(d->reason));
	json_object_set_new(json, "score", json_from_number(d->score));
	json_object_set_new(json, "gain_ln", belief_json(d->mean_ln, d->sd_ln));
	json_object_set_new(json, "incumbent_ln", json_from_number(d->incumbent_ln));
	json_object_set_new(json, "p_fits", json_from_number(d->p_fits));
	json_object_set_new(json, "caution", json_integer(x->beliefs.caution));
	json_object_set_new(json, "p_runs", json_from_number(d->p_ok));
	json_object_set_new(json, "peak_bytes", json_from_number(d->predicted_peak_bytes));
	json_object_set_new(json, "saving_device_s", json_from_number(x->saving_s));
	json_object_set_new(json, "price_device_s", json_from_number(x->price_s));
	return json;
}

static json_t *incumbent_json(const struct explanation *x)
{
	const struct state *s = x->state;
	const struct beliefs *b = &x->beliefs;
	json_t *json = json_object();
	json_object_set_new(json, "trial", json_integer(explain_trial_of(s, b->incumbent)));
	json_object_set_new(json, "gain_ln", belief_json(b->incumbent_ln, b->incumbent_sd_ln));
	if (b->incumbent >= 0)
		json_object_set_new(json, "candidate",
			candidate_json(s, s->trials[s->observation_trial[b->incumbent]].candidate.setting));
	else
		json_object_set_new(json, "candidate", json_null());
	return json;
}

static json_t *share_json(const struct belief_change *share)
{
	return share->sd > 0 ? belief_json(share->mean, share->sd) : json_null();
}

static void set_shares(
	json_t *json, const struct belief_change *knob_share, const struct belief_change *patch_share)
{
	json_object_set_new(json, "knobs", share_json(knob_share));
	json_object_set_new(json, "patches", share_json(patch_share));
}

static json_t *declared_json(const struct explanation *x)
{
	const struct beliefs *b = &x->beliefs;
	json_t *json = json_object(), *proposers = json_array();
	set_shares(json, &b->knob_share, &b->patch_share);
	for (size_t i = 0; i < b->n_proposers; i++) {
		const struct proposer_belief *p = &b->proposers[i];
		json_t *proposer = json_object();
		json_object_set_new(
			proposer, "proposer", json_from_text(state_source_name(x->state, p->source)));
		set_shares(proposer, &p->knob_share, &p->patch_share);
		json_array_append_new(proposers, proposer);
	}
	json_object_set_new(json, "proposers", proposers);
	return json;
}

char *explain_json(const struct explanation *x)
{
	const struct state *s = x->state;
	const struct beliefs *b = &x->beliefs;
	json_t *json = json_object();
	json_object_set_new(json, "schema", json_integer(EXPLAIN_SCHEMA));
	json_object_set_new(json, "campaign", json_from_text(s->campaign_id));
	json_object_set_new(json, "task", json_from_text(s->task->name));
	json_object_set_new(json, "is_simulated", json_boolean(x->is_simulated));
	json_object_set_new(json, "trials", json_integer(s->n_counted));
	json_object_set_new(json, "budget", json_integer(s->task->budget.trials));
	json_object_set_new(json, "sigma_pair", json_from_number(s->noise.sigma_pair));
	json_object_set_new(json, "gate_ln", json_from_number(s->search.gate_ln));
	json_object_set_new(json, "incumbent", incumbent_json(x));
	json_object_set_new(json, "declared_share", declared_json(x));
	json_object_set_new(json, "levers", levers_json(x));
	json_object_set_new(json, "suspicions", suspicions_json(x));
	json_object_set_new(json, "transient_trials", trial_numbers(s, b->transients, b->n_transients));
	json_object_set_new(json, "search_over",
		s->search_over.why == SEARCH_OVER_NONE ? json_null()
						       : json_string(search_over_names[s->search_over.why]));
	json_object_set_new(json, "next", next_json(x));
	return json_dump_pretty_take(json);
}

/* ------------------------------------------------------------- one trial */

static json_t *decision_json(const struct state *s, const struct trial *t)
{
	struct score_terms terms;
	json_t *json = json_object();
	json_object_set_new(json, "strategy", json_from_text(t->strategy));
	json_object_set_new(json, "operators", operators_json(t->operators));
	json_object_set_new(json, "base_trial", json_integer(t->base_trial));
	json_object_set_new(json, "reason", json_from_text(t->reason));
	json_object_set_new(json, "score", json_from_number(t->score));
	json_object_set_new(json, "gain_ln", belief_json(t->predicted_ln, t->predicted_sd_ln));
	json_object_set_new(json, "incumbent_ln", json_from_number(t->incumbent_ln));
	json_object_set_new(json, "p_fits", json_from_number(t->p_fits));
	json_object_set_new(json, "caution",
		explain_score_terms(s, t, &terms) ? json_integer(terms.caution) : json_null());
	json_object_set_new(json, "p_runs", json_from_number(t->p_ok));
	json_object_set_new(json, "peak_bytes", json_from_number(t->predicted_peak_bytes));
	return json;
}

static json_t *measured_json(const struct state *s, const struct trial *t)
{
	CLEANUP(strbuf_release) struct strbuf verdict = STRBUF_INIT;
	if (!t->run.receipt_path)
		return json_null();
	json_t *json = json_object();
	verdict_to_json(&t->run.verdict, &verdict);
	json_object_set_new(json, "gain_ln", json_from_number(t->run.has_time ? t->run.gain_ln : NAN));
	json_object_set_new(json, "off_sd", json_from_number(explain_off_sd(s, t)));
	json_object_set_new(json, "peak_bytes", json_from_number(t->run.peak_bytes));
	json_object_set_new(json, "shortfall_bytes", json_from_number(t->run.shortfall_bytes));
	json_object_set_new(json, "failure", json_string(failure_class_names[t->run.failure]));
	json_object_set_new(json, "evidence", json_from_text(t->run.evidence));
	json_object_set_new(json, "verdict", json_loads(verdict.buf, 0, NULL));
	return json;
}

char *explain_trial_json(const struct state *s, const struct trial *t)
{
	json_t *json = json_object();
	json_object_set_new(json, "schema", json_integer(EXPLAIN_SCHEMA));
	json_object_set_new(json, "trial", json_integer(t->number));
	json_object_set_new(json, "status", json_string(trial_status_names[t->status]));
	json_object_set_new(json, "candidate", candidate_json(s, t->candidate.setting));
	json_object_set_new(json, "decision", decision_json(s, t));
	json_object_set_new(json, "measured", measured_json(s, t));
	return json_dump_pretty_take(json);
}

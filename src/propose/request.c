#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "event/event.h"
#include "propose/request.h"
#include "spec/task.h"

static const double bytes_per_gib = 1024.0 * 1024 * 1024;
static void set_number(json_t *object, const char *key, double value)
{
	static const double exact_below = 1e15;
	char text[32];
	if (!isfinite(value))
		return;
	if (value == floor(value) && fabs(value) < exact_below) {
		json_object_set_new(object, key, json_integer((json_int_t)value));
		return;
	}
	/* Six digits: nothing measured here is known better, and a short text costs fewer tokens. */
	snprintf(text, sizeof(text), "%.6g", value);
	json_t *number = json_loads(text, JSON_DECODE_ANY, NULL);
	json_object_set_new(object, key, number ? number : json_real(value));
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(object, key, json_from_text(text));
}

static json_t *texts_json(const char *const *items, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_from_text(items[i]));
	return list;
}

static void set_texts(json_t *object, const char *key, const char *const *items, size_t n)
{
	if (n)
		json_object_set_new(object, key, texts_json(items, n));
}

static json_t *wanted_json(const struct request_input *in)
{
	json_t *wanted = json_object();
	if (in->wanted.configurations)
		json_object_set_new(wanted, "configurations", json_integer(in->wanted.configurations));
	if (in->wanted.patches)
		json_object_set_new(wanted, "patches", json_integer(in->wanted.patches));
	if (in->wanted.priors)
		json_object_set_new(wanted, "priors", json_true());
	if (in->wanted.review_patch) {
		json_t *review = json_object();
		set_text(review, "patch", in->wanted.review_patch);
		set_text(review, "diff", in->review_diff);
		json_object_set_new(wanted, "review", review);
	}
	return wanted;
}

static json_t *job_json(const struct task *task)
{
	const struct contract *k = &task->contract;
	json_t *job = json_object();
	set_text(job, "name", task->name);
	set_text(job, "stack", task->stack);
	set_texts(job, "command", task->launch.command.items, task->launch.command.count);
	set_texts(job, "build", task->build.items, task->build.count);
	json_object_set_new(job, "nodes", json_integer(task->launch.nodes));
	json_object_set_new(job, "devices_per_node", json_integer(task->launch.devices_per_node));
	set_number(job, "global_batch", k->global_batch);
	if (k->seq_len > 0)
		set_number(job, "seq_len", k->seq_len);
	set_number(job, "loss_tolerance", k->loss_tolerance);
	set_texts(job, "precision_menu", k->precision.items, k->precision.count);
	if (k->memory_cap_bytes > 0)
		set_number(job, "memory_cap_gib", k->memory_cap_bytes / bytes_per_gib);
	set_texts(job, "editable_files", k->editable_files.items, k->editable_files.count);
	return job;
}

static json_t *reference_json(const struct state *s)
{
	json_t *reference = json_object();
	double shares[N_PHASES], other;
	if (s->has_noise)
		set_number(reference, "noise_percent", 100 * s->noise.sigma_pair);
	for (size_t i = 0; i < s->n_references; i++)
		if (s->references[i].has_time) {
			set_number(reference, "seconds_per_update", s->references[i].time_s);
			break;
		}
	set_number(reference, "peak_gib", s->reference_peak_bytes / bytes_per_gib);
	set_number(reference, "device_memory_gib", s->capacity_bytes / bytes_per_gib);
	if (state_phase_shares(s, shares, &other)) {
		json_t *phases = json_object();
		for (int i = 0; i < N_PHASES; i++)
			set_number(phases, phase_names[i], shares[i]);
		set_number(phases, "other", other);
		json_object_set_new(reference, "phase_shares", phases);
	}
	return reference;
}

static json_t *knob_json(const struct knob *knob)
{
	json_t *object = json_object(), *settings = json_array();
	set_text(object, "name", knob->name);
	for (size_t i = 0; i < knob->n_settings; i++)
		json_array_append_new(settings, json_from_text(knob->settings[i].text));
	json_object_set_new(object, "settings", settings);
	set_text(object, "reference", knob->settings[knob->reference].text);
	set_text(object, "mechanism", knob->mechanism);
	set_texts(object, "phases", knob->phases.items, knob->phases.count);
	if (knob->is_build)
		json_object_set_new(object, "rebuilds", json_true());
	return object;
}

static json_t *knobs_json(const struct task *task)
{
	json_t *list = json_array();
	for (size_t i = 0; i < task->n_knobs; i++)
		json_array_append_new(list, knob_json(&task->knobs[i]));
	return list;
}

static json_t *rules_json(const struct task *task)
{
	json_t *rules = json_object(), *must = json_array(), *must_not = json_array();
	for (size_t i = 0; i < task->contract.n_invariants; i++)
		json_array_append_new(must, json_from_text(task->contract.invariants[i].text));
	for (size_t i = 0; i < task->n_conflicts; i++)
		json_array_append_new(must_not, json_from_text(task->conflicts[i].text));
	json_object_set_new(rules, "must_hold", must);
	json_object_set_new(rules, "must_not_hold", must_not);
	for (size_t i = 0; i < task->n_derived; i++) {
		if (i == 0)
			json_object_set_new(rules, "derived", json_object());
		set_text(json_object_get(rules, "derived"), task->derived[i].name,
			task->derived[i].value.text);
	}
	return rules;
}

static json_t *patches_json(const struct request_input *in)
{
	const struct state *s = in->state;
	json_t *list = json_array();
	for (size_t i = 0; i < s->space.n_patches; i++) {
		if (i < in->n_patch_gone && in->patch_gone[i])
			continue;
		const struct patch_lever *p = &s->space.patches[i];
		json_t *patch = json_object();
		set_text(patch, "name", p->name);
		set_text(patch, "title", p->title);
		set_text(patch, "mechanism", p->mechanism);
		set_text(patch, "review", s->patch_reviews ? s->patch_reviews[i] : NULL);
		json_array_append_new(list, patch);
	}
	return list;
}

static json_t *refusals_json(const struct state *s)
{
	json_t *list = json_array();
	for (size_t i = 0; i < s->n_refusals; i++) {
		json_t *refusal = json_object();
		set_text(refusal, "name", s->refusals[i].name);
		set_text(refusal, "by", s->refusals[i].by);
		set_text(refusal, "reason", s->refusals[i].reason);
		json_array_append_new(list, refusal);
	}
	return list;
}

/* What differs from the reference. */
static json_t *changes_json(const struct state *s, const struct candidate *c)
{
	const struct task *task = s->task;
	json_t *changes = json_object();
	for (size_t l = 0; l < c->n_levers; l++) {
		size_t setting = (size_t)c->setting[l];
		if (setting == s->space.reference[l])
			continue;
		if (l < task->n_knobs)
			set_text(changes, task->knobs[l].name, task->knobs[l].settings[setting].text);
		else
			set_text(changes, s->space.patches[l - task->n_knobs].name, "on");
	}
	return changes;
}

json_t *request_trial_to_json(const struct state *s, const struct trial *t)
{
	const struct execution *run = &t->run;
	json_t *trial = json_object();
	json_object_set_new(trial, "trial", json_integer(t->number));
	json_object_set_new(trial, "changes", changes_json(s, &t->candidate));
	set_text(trial, "status", trial_status_names[t->status]);
	if (t->status == TRIAL_VALID || t->status == TRIAL_INVALID || t->status == TRIAL_SLOWER)
		set_number(trial, "speedup", exp(run->gain_ln));
	set_number(trial, "predicted_speedup", exp(t->predicted_ln));
	set_number(trial, "peak_gib", run->peak_bytes / bytes_per_gib);
	if (t->status == TRIAL_OOM)
		set_number(trial, "short_gib", run->shortfall_bytes / bytes_per_gib);
	if (t->status == TRIAL_INVALID && run->verdict.primary >= 0) {
		set_text(trial, "failed_check", item_infos[run->verdict.primary].name);
		set_text(trial, "because", run->verdict.items[run->verdict.primary].reason);
	}
	if (t->status != TRIAL_VALID)
		set_text(trial, "log", run->evidence);
	return trial;
}

static bool is_finished(const struct trial *t)
{
	return t->status != TRIAL_REGISTERED && t->status != TRIAL_INTERRUPTED &&
	       t->status != TRIAL_TRANSIENT;
}

static json_t *trials_json(const struct state *s)
{
	json_t *list = json_array();
	for (size_t i = 0; i < s->n_trials; i++)
		if (is_finished(&s->trials[i]))
			json_array_append_new(list, request_trial_to_json(s, &s->trials[i]));
	return list;
}

static json_t *files_json(const struct request_input *in)
{
	json_t *list = json_array();
	for (size_t i = 0; i < in->n_files; i++) {
		json_t *file = json_object();
		json_t *text = json_stringn(in->files[i].text, in->files[i].length);
		set_text(file, "path", in->files[i].path);
		/* What is no UTF-8 cannot be patched by its text. */
		if (!text) {
			json_decref(file);
			continue;
		}
		json_object_set_new(file, "text", text);
		json_array_append_new(list, file);
	}
	return list;
}

json_t *request_to_json(const struct request_input *in)
{
	const struct state *s = in->state;
	json_t *request = json_object();
	json_object_set_new(request, "schema", json_string("infrarsi-request/1"));
	json_object_set_new(request, "wanted", wanted_json(in));
	json_object_set_new(request, "job", job_json(s->task));
	if (s->environment_json && *s->environment_json) {
		json_t *machine = json_loads(s->environment_json, 0, NULL);
		if (machine)
			json_object_set_new(request, "machine", machine);
	}
	json_object_set_new(request, "reference", reference_json(s));
	json_object_set_new(request, "knobs", knobs_json(s->task));
	json_object_set_new(request, "rules", rules_json(s->task));
	json_object_set_new(request, "patches", patches_json(in));
	json_object_set_new(request, "refused", refusals_json(s));
	json_object_set_new(request, "trials", trials_json(s));
	if (in->n_files)
		json_object_set_new(request, "files", files_json(in));
	return request;
}

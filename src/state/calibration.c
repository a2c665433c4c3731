#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/models.h"
#include "spec/task.h"
#include "state/calibration.h"
#include "stats/agreement.h"

const char *const predicted_what_names[N_PREDICTED_WHATS] = {"configuration", "patch", "setting"};
const char *const measured_by_names[N_MEASURED_BYS] = {"nothing", "trial", "duel", "model"};
const double calibration_interval_sd = 1.959964;

/* As a ln ratio, of an effect of which nothing is known: no training step becomes e^6 times faster. */
static const double flat_sd_ln = 3;
enum { BEFORE_EVERYTHING = -1 };

struct forming {
	const struct state *s;
	struct arena *arena;
	struct prediction *predictions;
	size_t n_predictions;
};

/* ------------------------------------------------------------- what was measured */

static const struct observation *observation_at(const struct state *s, size_t i)
{
	return &s->search.model.observations[i];
}

static const struct trial *trial_at(const struct state *s, size_t observation)
{
	return &s->trials[s->observation_trial[observation]];
}

static bool has_failed(const struct trial *t)
{
	return t->status == TRIAL_OOM || t->status == TRIAL_CRASHED || t->status == TRIAL_HUNG ||
	       t->status == TRIAL_INVALID;
}

/* Of the first timed run that did not fail, else of the first that finished; -1 = there is none. One that was
 * stopped as slower has a time all the same. */
static int outcome_of(const struct state *s, const struct candidate *c)
{
	int first = -1;
	for (size_t i = 0; i < s->search.model.n_observations; i++) {
		const struct trial *t = trial_at(s, i);
		if (!candidate_equal(&t->candidate, c))
			continue;
		if (observation_at(s, i)->has_gain && !has_failed(t))
			return (int)i;
		first = first < 0 ? (int)i : first;
	}
	return first;
}

/* The trial that finished first of those that timed a setting; NULL = none did. */
static const struct trial *first_to_time(const struct state *s, int lever, int setting)
{
	const struct trial *first = NULL;
	for (size_t i = 0; i < s->search.model.n_observations; i++) {
		const struct observation *o = observation_at(s, i);
		const struct trial *t = trial_at(s, i);
		if (o->has_gain && o->setting[lever] == setting &&
			(!first || t->finished_as < first->finished_as))
			first = t;
	}
	return first;
}

/* ------------------------------------------------------------- what was predicted */

static void take(struct forming *f, const struct prediction *p)
{
	for (size_t i = 0; i < f->n_predictions; i++) {
		struct prediction *old = &f->predictions[i];
		bool is_same = old->what == PREDICTED_CONFIGURATION
				       ? candidate_equal(old->candidate, p->candidate)
				       : old->lever == p->lever && old->setting == p->setting;
		if (old->source == p->source && old->what == p->what && is_same) {
			*old = *p;
			return;
		}
	}
	f->predictions[f->n_predictions++] = *p;
}

static void take_effect(struct forming *f, const struct issued_prior *x)
{
	const struct trial *first = first_to_time(f->s, x->lever, x->setting);
	if (!isfinite(x->gain_ln) || (first && x->after >= first->finished_as))
		return;
	bool is_patch = (size_t)x->lever >= f->s->task->n_knobs;
	take(f, &(struct prediction){.what = is_patch ? PREDICTED_PATCH : PREDICTED_SETTING,
			.source = x->source,
			.lever = x->lever,
			.setting = x->setting,
			.gain_ln = x->gain_ln,
			.sd_ln = x->gain_sd_ln > 0 ? x->gain_sd_ln : NAN,
			.reason = x->reason,
			.trial = first ? first->number : 0});
}

static void take_declared(struct forming *f)
{
	const struct state *s = f->s;
	for (size_t k = 0; k < s->task->n_knobs; k++)
		for (size_t i = 0; i < s->task->knobs[k].n_settings; i++) {
			const struct setting *setting = &s->task->knobs[k].settings[i];
			if (setting->has_prior_gain && i != s->task->knobs[k].reference)
				take_effect(f, &(struct issued_prior){.after = BEFORE_EVERYTHING,
						       .lever = (int)k,
						       .setting = (int)i,
						       .gain_ln = setting->prior_gain_ln,
						       .reason = ""});
		}
	for (size_t p = 0; p < s->space.n_patches; p++)
		if (s->space.patches[p].has_predicted_gain)
			take_effect(f,
				&(struct issued_prior){.source = s->patch_sources ? s->patch_sources[p] : 0,
					.after = BEFORE_EVERYTHING,
					.lever = (int)(s->task->n_knobs + p),
					.setting = 1,
					.gain_ln = s->space.patches[p].predicted_gain_ln,
					.reason = ""});
}

static bool is_too_late(const struct state *s, const struct suggestion *x, int outcome)
{
	return outcome >= 0 && x->after >= trial_at(s, (size_t)outcome)->finished_as;
}

static void take_configurations(struct forming *f)
{
	const struct state *s = f->s;
	for (size_t i = 0; i < s->n_suggestions; i++) {
		const struct suggestion *x = &s->suggestions[i];
		int outcome = outcome_of(s, &x->candidate);
		if (!isfinite(x->predicted_ln) || is_too_late(s, x, outcome))
			continue;
		take(f, &(struct prediction){.what = PREDICTED_CONFIGURATION,
				.source = x->source,
				.candidate = &x->candidate,
				.gain_ln = x->predicted_ln,
				.sd_ln = NAN,
				.reason = x->reason,
				.trial = outcome < 0 ? 0 : trial_at(s, (size_t)outcome)->number});
	}
}

/* By source; stable, so that of each the order stays in which it said things. */
static void sort_by_source(struct forming *f)
{
	struct prediction *sorted = arena_array(f->arena, f->n_predictions, sizeof(*sorted));
	size_t n = 0;
	for (int source = 0; (size_t)source <= f->s->n_proposers; source++)
		for (size_t i = 0; i < f->n_predictions; i++)
			if (f->predictions[i].source == source)
				sorted[n++] = f->predictions[i];
	f->predictions = sorted;
}

/* ------------------------------------------------------------- against each other */

static bool use_duel(const struct duel *d, struct prediction *p)
{
	if (d->trial != p->trial || !d->finished || !d->valid || d->result.pairs < 1 ||
		!isfinite(d->result.gain_ln) || !isfinite(d->result.sigma))
		return false;
	p->measured_by = MEASURED_DUEL;
	p->measured_ln = d->result.gain_ln;
	p->measured_sd_ln = d->result.sigma / sqrt((double)d->result.pairs);
	return true;
}

static void measure_configuration(const struct state *s, struct prediction *p)
{
	int i = outcome_of(s, p->candidate);
	if (i < 0 || has_failed(trial_at(s, (size_t)i)) || !observation_at(s, (size_t)i)->has_gain)
		return;
	for (size_t d = s->n_duels; d-- > 0;)
		if (use_duel(&s->duels[d], p))
			return;
	if (s->has_standing && use_duel(&s->standing, p))
		return;
	/* sigma_pair is of one run against one; the reference has more. As in model/time_model.c. */
	double run_variance = s->noise.sigma_pair * s->noise.sigma_pair / 2;
	const struct observation *o = observation_at(s, (size_t)i);
	p->measured_by = MEASURED_TRIAL;
	p->measured_ln = o->gain_ln;
	p->measured_sd_ln = sqrt(run_variance * (1 + 1.0 / s->noise.runs) + o->extra_sd_ln * o->extra_sd_ln);
}

/* Levers of which nobody has predicted anything. */
static struct lever *neutral_levers(const struct forming *f)
{
	const struct model_input *in = &f->s->search.model;
	size_t n_levers = (size_t)in->n_levers;
	struct lever *levers = arena_array(f->arena, n_levers, sizeof(*levers));
	for (size_t l = 0; l < n_levers; l++) {
		size_t n = (size_t)in->levers[l].n_settings;
		levers[l] = in->levers[l];
		levers[l].prior = arena_array(f->arena, n, sizeof(*levers[l].prior));
		for (size_t i = 0; i < n; i++) {
			levers[l].prior[i] = in->levers[l].prior[i];
			levers[l].prior[i].predicted_gain_ln = levers[l].prior[i].predicted_sd_ln = 0;
			levers[l].prior[i].source = 0;
		}
	}
	return levers;
}

static enum err_code measure_effect(
	const struct model_input *in, struct lever *levers, struct prediction *p, struct err *reterr)
{
	struct lever_prior *prior = &levers[p->lever].prior[p->setting], before = *prior;
	struct time_model *model = NULL;
	struct belief_change gain;
	*prior = (struct lever_prior){.amdahl_cap_ln = INFINITY, .experienced = true, .sd_ln = flat_sd_ln};
	enum err_code code = time_model_fit(in, &model, reterr);
	*prior = before;
	TRY(code);
	time_model_effect(model, p->lever, p->setting, &gain);
	time_model_free(model);
	p->measured_by = MEASURED_MODEL;
	p->measured_ln = gain.mean;
	p->measured_sd_ln = gain.sd;
	return OK;
}

static enum err_code measure(struct forming *f, struct err *reterr)
{
	struct model_input in = f->s->search.model;
	struct lever *levers = neutral_levers(f);
	in.levers = levers;
	for (size_t i = 0; i < f->n_predictions; i++) {
		struct prediction *p = &f->predictions[i];
		p->measured_ln = p->measured_sd_ln = NAN;
		/* Nothing is faster than a reference without a time. */
		if (!p->trial || !f->s->has_noise)
			continue;
		if (p->what == PREDICTED_CONFIGURATION)
			measure_configuration(f->s, p);
		else
			TRY(measure_effect(&in, levers, p, reterr));
	}
	return OK;
}

/* ------------------------------------------------------------- of each source */

static bool was_suggested_before(const struct state *s, size_t suggestion)
{
	const struct suggestion *x = &s->suggestions[suggestion];
	for (size_t i = 0; i < suggestion; i++)
		if (s->suggestions[i].source == x->source &&
			candidate_equal(&s->suggestions[i].candidate, &x->candidate))
			return true;
	return false;
}

static void count_suggestions(const struct state *s, struct calibration_row *row)
{
	for (size_t i = 0; i < s->n_suggestions; i++) {
		const struct suggestion *x = &s->suggestions[i];
		int outcome = outcome_of(s, &x->candidate);
		if (x->source != row->source || is_too_late(s, x, outcome) || was_suggested_before(s, i))
			continue;
		row->n_suggested++;
		row->n_run += outcome >= 0;
		row->n_failed += outcome >= 0 && has_failed(trial_at(s, (size_t)outcome));
	}
}

/* What is measured has its noise beside what the prediction left open: so much wider is the interval that
 * holds 95% of the measurements where the prediction's sd is right. */
static void count_interval(const struct prediction *p, struct calibration_row *row)
{
	if (!isfinite(p->sd_ln))
		return;
	double reach = calibration_interval_sd * hypot(p->sd_ln, p->measured_sd_ln);
	row->n_intervals++;
	row->n_hits += fabs(p->measured_ln - p->gain_ln) <= reach;
}

static void score(const struct forming *f, struct calibration_row *row)
{
	CLEANUP(free_ptr) double *predicted = xcalloc(f->n_predictions + 1, sizeof(double));
	CLEANUP(free_ptr) double *measured = xcalloc(f->n_predictions + 1, sizeof(double));
	CLEANUP(free_ptr) double *sd = xcalloc(f->n_predictions + 1, sizeof(double));
	double sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < f->n_predictions; i++) {
		const struct prediction *p = &f->predictions[i];
		if (p->source != row->source)
			continue;
		row->n_predictions++;
		if (p->measured_by == MEASURED_NOT)
			continue;
		predicted[n] = p->gain_ln;
		measured[n] = p->measured_ln;
		sd[n++] = p->measured_sd_ln;
		sum += fabs(p->gain_ln - p->measured_ln);
		count_interval(p, row);
	}
	row->n_measured = (int)n;
	row->mean_abs_error_ln = n ? sum / (double)n : NAN;
	row->rank_correlation = rank_correlation(predicted, measured, n);
	slope_through_origin(predicted, measured, sd, n, &row->share, &row->share_sd);
}

static void form_rows(struct forming *f, struct calibration *c)
{
	const struct state *s = f->s;
	c->rows = arena_array(f->arena, s->n_proposers + 1, sizeof(*c->rows));
	for (size_t source = 0; source <= s->n_proposers; source++) {
		struct calibration_row row = {.source = (int)source};
		row.record = source ? &s->proposers[source - 1] : NULL;
		score(f, &row);
		count_suggestions(s, &row);
		if (row.n_predictions || row.n_suggested || (row.record && row.record->questions))
			c->rows[c->n_rows++] = row;
	}
}

static size_t most_predictions(const struct state *s)
{
	size_t n = s->n_suggestions + s->n_priors + s->space.n_patches;
	for (size_t k = 0; k < s->task->n_knobs; k++)
		n += s->task->knobs[k].n_settings;
	return n;
}

enum err_code calibration_form(
	const struct state *s, struct arena *arena, struct calibration *ret_calibration, struct err *reterr)
{
	struct forming f = {.s = s, .arena = arena};
	struct calibration c = {0};
	f.predictions = arena_array(arena, most_predictions(s), sizeof(*f.predictions));
	take_declared(&f);
	for (size_t i = 0; i < s->n_priors; i++)
		take_effect(&f, &s->priors[i]);
	take_configurations(&f);
	sort_by_source(&f);
	TRY(measure(&f, reterr));
	form_rows(&f, &c);
	c.predictions = f.predictions;
	c.n_predictions = f.n_predictions;
	*ret_calibration = c;
	return OK;
}

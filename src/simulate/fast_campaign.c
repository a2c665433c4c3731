#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "promote/promotion.h"
#include "simulate/fast_campaign.h"
#include "simulate/staging.h"
#include "spec/task.h"
#include "stats/far_slower.h"

struct course {
	const struct fast_options *options;
	const struct simulated_job *job;
	struct task task;
	struct state state;
	uint64_t executions; /* counted as the simulated runner counts them */
	int room;            /* for trials */
	int *reference;
};

/* ---- one execution ---- */

static void fail_item(struct verdict *v, enum item item)
{
	v->valid = false;
	v->primary = item;
	v->items[item] = (struct item_verdict){.result = ITEM_FAIL, .vetoes = true};
}

/* What the verifier finds in such a run. */
static struct verdict verdict_of(enum job_end end)
{
	struct verdict v = {.valid = true, .primary = -1};
	static const int failing[] = {[JOB_RUNS] = -1,
		[JOB_OOM] = ITEM_COMPLETES,
		[JOB_CRASHES] = ITEM_COMPLETES,
		[JOB_HANGS] = ITEM_COMPLETES,
		[JOB_LOSES] = ITEM_LOSS,
		[JOB_CHEATS] = ITEM_OPTIMIZER_STEPS};
	for (int i = 0; i < N_ITEMS; i++)
		v.items[i].result = ITEM_PASS;
	if (failing[end] >= 0)
		fail_item(&v, (enum item)failing[end]);
	return v;
}

/* Where the campaign would give it up, the run ends. */
static bool give_up(const struct course *c, struct simulated_run *run, double *ret_slow_s)
{
	struct far_slower watch = {.reference_s = c->state.noise.mean_s,
		.factor = c->task.give_up_at,
		.updates = c->job->updates};
	for (int i = 0; i < run->n_updates; i++)
		if (far_slower_update(&watch, i + 1, run->arrived_s[i])) {
			run->n_updates = i + 1;
			run->end_s = run->arrived_s[i];
			*ret_slow_s = watch.slow_s;
			return true;
		}
	return false;
}

/* What was given up did not complete, and what only its end would have shown was not seen. */
static void fill_given_up(const struct course *c, const struct simulated_run *run, struct execution *e)
{
	struct verdict *v = &e->verdict;
	if (run->n_updates <= c->job->warmup)
		v->items[ITEM_LOSS] = (struct item_verdict){.result = ITEM_UNCHECKED};
	fail_item(v, ITEM_COMPLETES);
	e->failure = FAILURE_STOPPED_SLOW;
}

static void take_times(
	struct course *c, const struct simulated_run *run, struct arena *arena, struct execution *e)
{
	int n = run->n_updates - c->job->warmup;
	if (n <= 0 || (run->n_updates < c->job->updates && e->failure != FAILURE_STOPPED_SLOW))
		return;
	e->slow_s = NAN;
	e->n_steps = (size_t)n;
	e->step_s = arena_array(arena, e->n_steps, sizeof(double));
	memcpy(e->step_s, run->step_s + c->job->warmup, e->n_steps * sizeof(double));
	e->has_time = true;
	e->time_s = mean_of(e->step_s, e->n_steps);
	e->median_s = median_of(e->step_s, e->n_steps);
	if (c->state.has_noise)
		e->gain_ln = log(c->state.noise.mean_s / e->time_s);
}

static struct execution execute(
	struct course *c, enum receipt_role role, const int *setting, struct arena *arena)
{
	struct simulated_run run;
	double slow_s = NAN;
	job_run(c->job, setting, c->options->seed, ++c->executions, &run);
	bool given_up = role == ROLE_SEARCH && give_up(c, &run, &slow_s);
	struct execution e = {.role = role,
		.receipt_path = "simulated",
		.receipt_digest = "",
		.log_path = "",
		.evidence = run.explanation ? arena_strdup(arena, run.explanation) : "",
		.evidence_source = "",
		.time_s = NAN,
		.median_s = NAN,
		.slow_s = slow_s,
		.gain_ln = NAN,
		.eval_value = NAN,
		.capacity_bytes = NAN,
		.peak_bytes = run.peak_bytes,
		.shortfall_bytes = run.shortfall_bytes,
		.updates_seen = run.n_updates,
		.device_s = run.end_s * c->job->devices,
		.verdict = verdict_of(run.truth.end)};
	for (int p = 0; p < N_PHASES; p++)
		e.phase_s[p] = NAN;
	if (given_up)
		fill_given_up(c, &run, &e);
	take_times(c, &run, arena, &e);
	simulated_run_release(&run);
	return e;
}

/* A hang that the collectives' watchdog explains and ends is a crash. */
static enum trial_status status_of(enum job_end end, bool is_explained)
{
	static const enum trial_status statuses[] = {[JOB_RUNS] = TRIAL_VALID,
		[JOB_OOM] = TRIAL_OOM,
		[JOB_CRASHES] = TRIAL_CRASHED,
		[JOB_HANGS] = TRIAL_HUNG,
		[JOB_LOSES] = TRIAL_INVALID,
		[JOB_CHEATS] = TRIAL_INVALID};
	return is_explained ? TRIAL_CRASHED : statuses[end];
}

/* ---- beginning ---- */

static enum err_code build_space(struct course *c, struct err *reterr)
{
	struct state *s = &c->state;
	size_t n = (size_t)(c->job->n_levers - c->job->n_knobs);
	struct patch_lever *patches = arena_array(&s->arena, n, sizeof(*patches));
	s->patch_reviews = arena_array(&s->arena, n, sizeof(char *));
	s->patch_accepted = arena_array(&s->arena, n, sizeof(bool));
	for (size_t i = 0; i < n; i++) {
		patches[i].digest = arena_printf(&s->arena, "%zu", i);
		patches[i].name = c->job->levers[(size_t)c->job->n_knobs + i].name;
		s->patch_reviews[i] = "";
	}
	return space_init(&s->space, &c->task, patches, n, NULL, reterr);
}

static enum err_code begin(struct course *c, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct state *s = &c->state;
	staging_task_text(c->job, c->room, &text);
	TRY(task_parse("simulated task", "/", text.buf, text.len, &c->task, reterr));
	c->task.search = c->options->switches;
	s->task = &c->task;
	s->seed = c->options->seed;
	s->reference_peak_bytes = s->capacity_bytes = NAN;
	s->has_campaign = true;
	TRY(build_space(c, reterr));
	s->trials = arena_array(&s->arena, (size_t)c->room, sizeof(*s->trials));
	c->reference = arena_array(&s->arena, (size_t)c->job->n_levers, sizeof(int));
	job_reference(c->job, c->reference);
	return OK;
}

static enum err_code measure_references(struct course *c, struct fast_campaign *ret, struct err *reterr)
{
	struct state *s = &c->state;
	struct run_times times[SIMULATED_REFERENCE_RUNS];
	s->references = arena_array(&s->arena, SIMULATED_REFERENCE_RUNS, sizeof(*s->references));
	for (int i = 0; i < SIMULATED_REFERENCE_RUNS; i++) {
		struct execution e = execute(c, ROLE_REFERENCE, c->reference, &s->arena);
		s->references[s->n_references++] = e;
		s->reference_peak_bytes = fmax(s->reference_peak_bytes, e.peak_bytes);
		times[i] = (struct run_times){e.step_s, e.n_steps};
		ret->reference_s += e.device_s;
	}
	TRY(noise_estimate(times, SIMULATED_REFERENCE_RUNS, &s->noise, reterr));
	s->has_noise = true;
	s->profile = execute(c, ROLE_PROFILE, c->reference, &s->arena);
	s->has_profile = true;
	ret->profile_s = s->profile.device_s;
	ret->sigma_pair = s->noise.sigma_pair;
	return OK;
}

/* ---- the search ---- */

static enum err_code refresh(struct course *c, struct err *reterr)
{
	TRY(state_build_search_input(&c->state, reterr));
	job_inform(c->job, c->options->with_experience, &c->state.search);
	return OK;
}

/* Equal for equal settings: all that a signature is asked for here. */
static const char *signature_of(const struct course *c, const int *setting, struct arena *arena)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (int l = 0; l < c->job->n_levers; l++)
		strbuf_addf(&text, "%d,", setting[l]);
	return arena_strdup(arena, text.buf);
}

static void try_candidate(struct course *c, const struct decision *d, struct fast_campaign *ret)
{
	struct state *s = &c->state;
	size_t bytes = (size_t)c->job->n_levers * sizeof(int);
	int *setting = arena_array(&ret->arena, (size_t)c->job->n_levers, sizeof(int));
	memcpy(setting, d->setting, bytes);
	struct trial t = {.number = (int)s->n_trials + 1,
		.candidate = {(size_t)c->job->n_levers, setting},
		.signature = signature_of(c, setting, &s->arena),
		.operators = arena_strdup(&ret->arena, d->operators),
		.reason = "",
		.reason_text = "",
		.run = execute(c, ROLE_SEARCH, setting, &s->arena)};
	t.status = t.run.failure == FAILURE_STOPPED_SLOW
			   ? TRIAL_SLOWER
			   : status_of(job_evaluate(c->job, setting).end, *t.run.evidence);
	t.device_s = t.run.device_s;
	t.finished_as = s->n_counted + 1;
	s->trials[s->n_trials++] = t;
	s->n_counted++;
	s->n_decisions++;
	s->cost.search_s += t.device_s;
	ret->trials[ret->n_trials++] = (struct fast_trial){.setting = setting,
		.status = t.status,
		.operators = t.operators,
		.measured_ln = t.run.gain_ln,
		.true_ln = job_gain_ln(c->job, setting),
		.device_s = t.device_s};
}

static enum err_code search_to(struct course *c, int budget, struct fast_campaign *ret, struct err *reterr)
{
	while (c->state.n_counted < budget) {
		struct decision d = {0};
		TRY(refresh(c, reterr));
		TRY(c->options->strategy->next(&c->state.search, &d, reterr));
		bool found = d.found;
		if (found)
			try_candidate(c, &d, ret);
		decision_release(&d);
		if (!found)
			break;
	}
	return refresh(c, reterr);
}

/* ---- promotion ---- */

static void open_duel(struct state *s, struct arena *arena, const struct promotion_step *step)
{
	size_t n = (size_t)step->pairs;
	s->duels[s->n_duels++] = (struct duel){.finalist = step->finalist,
		.trial = step->trial,
		.claimed_ln = step->claimed_ln,
		.n_pairs = n,
		.reference_runs = arena_array(arena, n, sizeof(struct execution)),
		.candidate_runs = arena_array(arena, n, sizeof(struct execution))};
}

static void execute_side(struct course *c, struct arena *arena, const struct promotion_step *step)
{
	struct duel *duel = &c->state.duels[step->finalist - 1];
	const int *setting =
		step->is_candidate_side ? c->state.trials[duel->trial - 1].candidate.setting : c->reference;
	struct execution e = execute(c, ROLE_PROMOTION, setting, arena);
	c->state.cost.promotion_s += e.device_s;
	if (step->is_candidate_side)
		duel->candidate_runs[step->pair] = e;
	else
		duel->reference_runs[step->pair] = e;
}

static void judge(struct state *s, const struct promotion_step *step)
{
	struct duel *duel = &s->duels[step->finalist - 1];
	duel->finished = true;
	duel->valid = step->valid;
	duel->result = step->result;
	duel->result.delivered = step->valid && step->result.delivered;
}

static enum err_code promote(struct course *c, struct arena *arena, struct err *reterr)
{
	struct state *s = &c->state;
	s->duels = arena_array(arena, FINALISTS_ALLOWED, sizeof(*s->duels));
	for (;;) {
		struct promotion_step step;
		TRY(promotion_next(s, 0, &step, reterr));
		switch (step.kind) {
		case PROMOTION_OPEN:
			open_duel(s, arena, &step);
			break;
		case PROMOTION_EXECUTE:
			execute_side(c, arena, &step);
			break;
		case PROMOTION_JUDGE:
			judge(s, &step);
			break;
		case PROMOTION_CONCLUDE:
			s->finished = true;
			s->delivered_finalist = step.delivered_finalist;
			break;
		case PROMOTION_CONFIRM: /* is not asked for */
		case PROMOTION_LENGTHEN:
		case PROMOTION_CONFIRMED:
		case PROMOTION_OVER:
			return OK;
		}
	}
}

static double best_finalist_ln(const struct course *c)
{
	double best = NAN;
	for (size_t i = 0; i < c->state.n_duels; i++)
		best = fmax(best,
			job_gain_ln(c->job, c->state.trials[c->state.duels[i].trial - 1].candidate.setting));
	return best;
}

static struct fast_outcome outcome_of(const struct course *c, struct arena *arena)
{
	const struct state *s = &c->state;
	const struct duel *duel = s->delivered_finalist ? &s->duels[s->delivered_finalist - 1] : NULL;
	int *setting = arena_array(arena, (size_t)c->job->n_levers, sizeof(int));
	memcpy(setting, duel ? s->trials[duel->trial - 1].candidate.setting : c->reference,
		(size_t)c->job->n_levers * sizeof(int));
	return (struct fast_outcome){.n_trials = (int)s->n_trials,
		.delivered = duel != NULL,
		.setting = setting,
		.claimed_ln = duel ? duel->claimed_ln : 0,
		.duel_ln = duel ? duel->result.gain_ln : 0,
		.true_ln = job_gain_ln(c->job, setting),
		.best_finalist_ln = best_finalist_ln(c),
		.promotion_s = s->cost.promotion_s};
}

/* Promotion leaves the search as it was: a larger budget goes on from here. */
static enum err_code conclude(struct course *c, int budget, struct fast_campaign *ret, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	uint64_t executions = c->executions;
	enum err_code code = promote(c, &arena, reterr);
	if (code == OK) {
		struct fast_outcome *o = &ret->outcomes[ret->n_outcomes++];
		*o = outcome_of(c, &ret->arena);
		o->budget = budget;
	}
	c->state.duels = NULL;
	c->state.n_duels = 0;
	c->state.finished = false;
	c->state.delivered_finalist = 0;
	c->state.cost.promotion_s = 0;
	c->executions = executions;
	arena_release(&arena);
	return code;
}

static enum err_code run_course(struct course *c, struct fast_campaign *ret, struct err *reterr)
{
	const struct fast_options *o = c->options;
	TRY(begin(c, reterr));
	TRY(measure_references(c, ret, reterr));
	for (int i = 0; i < o->n_budgets; i++) {
		TRY(search_to(c, o->budgets[i], ret, reterr));
		TRY(conclude(c, o->budgets[i], ret, reterr));
	}
	return OK;
}

enum err_code fast_campaign_run(
	const struct fast_options *options, struct fast_campaign *ret_campaign, struct err *reterr)
{
	struct course c = {.options = options,
		.job = options->job,
		.room = MAX_OF(options->budgets[options->n_budgets - 1], 1)};
	struct fast_campaign result = {.arena = ARENA_INIT};
	result.trials = arena_array(&result.arena, (size_t)c.room, sizeof(*result.trials));
	result.outcomes = arena_array(&result.arena, (size_t)options->n_budgets, sizeof(*result.outcomes));
	enum err_code code = run_course(&c, &result, reterr);
	state_release(&c.state);
	task_release(&c.task);
	if (code != OK)
		fast_campaign_release(&result);
	else
		*ret_campaign = result;
	return code;
}

void fast_campaign_release(struct fast_campaign *c)
{
	arena_release(&c->arena);
	*c = (struct fast_campaign){0};
}

/* From what a campaign has seen to what the models read. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "spec/task.h"
#include "state/state_int.h"

/* Extra noise of a run that finished its updates but is rejected by the memory cap or by L4 alone (CONTROLLER
 * R2). */
static const double rejected_run_sd_ln = 0.03;
/* Two updates of a warm-up for the mean of a window. */
static const double given_up_sd_ln = 0.1;
/* A mean and a median further apart than this point at hiccups: the observation is trusted less. */
static const double disagreement_ln = 0.01;
static const double largest_share = 0.99;

static double amdahl_cap_ln(const struct state *s, const char *const *phases, size_t n_phases)
{
	double shares[N_PHASES], other, share = 0;
	if (n_phases == 0 || !state_phase_shares(s, shares, &other))
		return INFINITY;
	for (int p = 0; p < N_PHASES; p++) {
		bool named = false;
		for (size_t i = 0; i < n_phases; i++)
			named |= strcmp(phases[i], phase_names[p]) == 0;
		share += named ? shares[p] : 0;
	}
	return -log1p(-MIN_OF(share, largest_share));
}

static void knob_lever(
	const struct state *s, const struct knob *knob, struct lever *lever, struct arena *arena)
{
	lever->name = knob->name;
	lever->ordered = knob->ordered;
	lever->n_settings = (int)knob->n_settings;
	lever->reference = (int)knob->reference;
	lever->prior = arena_array(arena, knob->n_settings, sizeof(*lever->prior));
	const char **names = arena_array(arena, knob->n_settings, sizeof(char *));
	lever->setting_names = names;
	lever->words = &knob->mechanism;
	lever->n_words = knob->mechanism != NULL;
	double cap = amdahl_cap_ln(s, knob->phases.items, knob->phases.count);
	for (size_t i = 0; i < knob->n_settings; i++) {
		const struct setting *setting = &knob->settings[i];
		names[i] = setting->text;
		lever->prior[i].amdahl_cap_ln = cap;
		lever->prior[i].predicted_gain_ln = setting->has_prior_gain ? setting->prior_gain_ln : 0;
		lever->prior[i].declared_bytes = setting->has_prior_memory ? setting->prior_memory_bytes : 0;
	}
}

static void patch_lever_from(
	const struct state *s, const struct patch_lever *patch, struct lever *lever, struct arena *arena)
{
	lever->name = patch->name;
	lever->is_patch = true;
	lever->n_settings = 2;
	lever->words = &patch->mechanism;
	lever->n_words = patch->mechanism != NULL;
	lever->prior = arena_array(arena, 2, sizeof(*lever->prior));
	for (int i = 0; i < 2; i++)
		lever->prior[i].amdahl_cap_ln = INFINITY;
	lever->prior[1].amdahl_cap_ln = amdahl_cap_ln(s, patch->phases, patch->n_phases);
	lever->prior[1].predicted_gain_ln = patch->has_predicted_gain ? patch->predicted_gain_ln : 0;
}

static void build_levers(struct state *s)
{
	struct model_input *m = &s->search.model;
	struct lever *levers = arena_array(&s->arena, s->space.n_levers, sizeof(*levers));
	for (size_t i = 0; i < s->task->n_knobs; i++)
		knob_lever(s, &s->task->knobs[i], &levers[i], &s->arena);
	for (size_t i = 0; i < s->space.n_patches; i++)
		patch_lever_from(s, &s->space.patches[i], &levers[s->task->n_knobs + i], &s->arena);
	m->levers = levers;
	m->n_levers = (int)s->space.n_levers;
}

/* A run that was stopped early did not complete, and that is all that says. */
static bool is_excused(const struct trial *t, int item)
{
	return item == ITEM_MEMORY_CAP || (item == ITEM_COMPLETES && t->status == TRIAL_SLOWER);
}

static bool fails(const struct verdict *v, int item)
{
	return v->items[item].vetoes && v->items[item].result == ITEM_FAIL;
}

/* True when every vetoing failure is the memory cap or one of layer 4: then the step time is the
 * configuration's own. */
static bool time_is_usable(const struct trial *t)
{
	const struct verdict *v = &t->run.verdict;
	for (int i = 0; i < N_ITEMS; i++)
		if (fails(v, i) && !is_excused(t, i) && item_infos[i].layer != 4)
			return false;
	return v->items[ITEM_SAME_WORKLOAD].result == ITEM_PASS;
}

static bool only_excused_items_fail(const struct trial *t)
{
	for (int i = 0; i < N_ITEMS; i++)
		if (fails(&t->run.verdict, i) && !is_excused(t, i))
			return false;
	return true;
}

/* What was stopped early and had passed all that its updates can show is a passing run: it built, fitted and
 * trained the same for five updates and more beyond the warm-up. Any other is no evidence for its settings.
 */
static enum observed_status stopped_status(const struct trial *t)
{
	bool same = t->run.verdict.items[ITEM_SAME_WORKLOAD].result == ITEM_PASS;
	return same && only_excused_items_fail(t) ? OBSERVED_OK : OBSERVED_INVALID;
}

static enum observed_status observed_status(const struct trial *t)
{
	switch (t->status) {
	case TRIAL_VALID:
		return OBSERVED_OK;
	case TRIAL_OOM:
		return OBSERVED_OOM;
	case TRIAL_HUNG:
		return OBSERVED_HANG;
	case TRIAL_SLOWER:
		return stopped_status(t);
	case TRIAL_INVALID:
		return only_excused_items_fail(t) && fails(&t->run.verdict, ITEM_MEMORY_CAP)
			       ? OBSERVED_OK
			       : OBSERVED_INVALID;
	default:
		return OBSERVED_CRASH;
	}
}

/* Of a run that was given up in its warm-up, what its last updates say. */
static double seen_gain_ln(const struct state *s, const struct trial *t)
{
	const struct execution *run = &t->run;
	if (run->has_time)
		return run->gain_ln;
	return t->status == TRIAL_SLOWER && run->slow_s > 0 ? log(state_reference_s(s, run) / run->slow_s)
							    : NAN;
}

static bool has_usable_time(const struct state *s, const struct trial *t)
{
	if (!isfinite(seen_gain_ln(s, t)))
		return false;
	return t->status == TRIAL_VALID ||
	       ((t->status == TRIAL_INVALID || t->status == TRIAL_SLOWER) && time_is_usable(t));
}

/* Of what the models take for one run's: a mean over fewer updates than the window has carries more of their
 * white noise. */
static double short_window_sd_ln(const struct state *s, const struct execution *run)
{
	double whole = s->task->contract.updates - s->task->contract.warmup, n = (double)run->n_steps;
	return n < whole ? white_noise_ln(run->step_s, run->n_steps) * sqrt(1 / n - 1 / whole) : 0;
}

static double extra_sd_ln(const struct state *s, const struct trial *t)
{
	const struct execution *run = &t->run;
	double apart = run->has_time ? fabs(log(run->time_s / run->median_s)) : 0;
	double extra = apart > disagreement_ln ? apart : 0;
	if (t->status == TRIAL_SLOWER)
		extra = hypot(extra, run->has_time ? short_window_sd_ln(s, run) : given_up_sd_ln);
	extra = hypot(extra, slots_extra_sd_ln(s, run));
	bool is_rejected =
		t->status == TRIAL_SLOWER ? stopped_status(t) != OBSERVED_OK : t->status != TRIAL_VALID;
	return is_rejected ? MAX_OF(extra, rejected_run_sd_ln) : extra;
}

static void observe(const struct state *s, const struct trial *t, struct observation *o)
{
	const struct execution *run = &t->run;
	bool ran = t->status == TRIAL_VALID || t->status == TRIAL_INVALID || t->status == TRIAL_SLOWER;
	o->setting = t->candidate.setting;
	o->status = observed_status(t);
	o->incumbent_allowed = t->status == TRIAL_VALID && run->has_time;
	o->has_gain = has_usable_time(s, t);
	o->gain_ln = o->has_gain ? seen_gain_ln(s, t) : 0;
	o->extra_sd_ln = extra_sd_ln(s, t);
	o->peak_bytes = ran ? run->peak_bytes : NAN;
	o->shortfall_bytes = run->shortfall_bytes;
	o->evidence = run->evidence && *run->evidence && t->status != TRIAL_SLOWER ? run->evidence : NULL;
}

static bool is_finished(enum trial_status status)
{
	return status != TRIAL_REGISTERED && status != TRIAL_INTERRUPTED && status != TRIAL_TRANSIENT;
}

static void build_observations(struct state *s)
{
	struct model_input *m = &s->search.model;
	struct observation *observations = arena_array(&s->arena, s->n_trials, sizeof(*observations));
	s->observation_trial = arena_array(&s->arena, s->n_trials, sizeof(int));
	size_t n = 0;
	for (size_t i = 0; i < s->n_trials; i++)
		if (is_finished(s->trials[i].status)) {
			s->observation_trial[n] = (int)i;
			observe(s, &s->trials[i], &observations[n++]);
		}
	m->observations = observations;
	m->n_observations = n;
}

static void build_scales(struct state *s)
{
	struct model_input *m = &s->search.model;
	double cap = s->task->contract.memory_cap_bytes;
	m->sigma_pair = s->has_noise ? s->noise.sigma_pair : 0.01;
	m->reference_runs = s->has_noise ? s->noise.runs : 0;
	m->memory_cap_bytes = cap > 0 ? cap : INFINITY;
	m->capacity_bytes = isfinite(s->capacity_bytes) ? s->capacity_bytes : m->memory_cap_bytes;
	m->reference_peak_bytes = s->reference_peak_bytes;
	m->reference_shortfall_bytes = NAN;
	for (size_t i = 0; i < s->n_references && !s->has_noise; i++)
		if (s->references[i].failure == FAILURE_OOM)
			m->reference_shortfall_bytes = s->references[i].shortfall_bytes;
	s->search.gate_ln = s->has_noise ? s->noise.gate : 0.02;
}

/* Host faults release a signature. One that met them in all the tries of two calls of `run` (three each) is
 * left alone: a job can bring such faults about, by killing its supervisor where no sandbox keeps it from
 * that. */
enum { TRANSIENT_TRIES = 2, HOST_FAULTS_MAX = 6 };

/* A failure that no setting can be blamed for is a host fault: its configuration may be proposed again,
 * twice. */
static bool may_run_again(const struct state *s, const struct blame_model *blame, size_t observation)
{
	const struct trial *t = &s->trials[s->observation_trial[observation]];
	if (t->status != TRIAL_CRASHED && t->status != TRIAL_HUNG)
		return false;
	int tries = 0;
	for (size_t i = 0; i < s->n_trials; i++)
		tries +=
			strcmp(s->trials[i].signature, t->signature) == 0 && is_finished(s->trials[i].status);
	return tries <= TRANSIENT_TRIES && blame_model_is_transient(blame, observation);
}

static enum err_code build_visited(struct state *s, struct err *reterr)
{
	struct blame_model *blame = NULL;
	TRY(blame_model_fit(&s->search.model, &blame, reterr));
	const int **visited = arena_array(&s->arena, s->n_trials + 1, sizeof(*visited));
	size_t n = 0;
	int *reference = arena_array(&s->arena, s->space.n_levers, sizeof(int));
	for (size_t i = 0; i < s->space.n_levers; i++)
		reference[i] = (int)s->space.reference[i];
	visited[n++] = reference;
	for (size_t i = 0, observation = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		bool counts = is_finished(t->status);
		bool is_unlucky = t->status == TRIAL_TRANSIENT &&
				  state_count_transients(s, t->number) >= HOST_FAULTS_MAX;
		if (t->status == TRIAL_REGISTERED || is_unlucky ||
			(counts && !may_run_again(s, blame, observation)))
			visited[n++] = t->candidate.setting;
		observation += counts;
	}
	blame_model_free(blame);
	s->search.visited = visited;
	s->search.n_visited = n;
	return OK;
}

/* What runs now has been registered: it is among the visited. */
static void build_pending(struct state *s)
{
	const int **pending = arena_array(&s->arena, s->n_trials, sizeof(*pending));
	size_t n = 0;
	for (size_t i = 0; i < s->n_trials; i++)
		if (s->trials[i].status == TRIAL_REGISTERED && s->trials[i].started)
			pending[n++] = s->trials[i].candidate.setting;
	s->search.pending = pending;
	s->search.n_pending = n;
}

static void build_starts(struct state *s)
{
	const struct task *task = s->task;
	const int **starts = arena_array(&s->arena, task->n_starts, sizeof(*starts));
	for (size_t i = 0; i < task->n_starts; i++) {
		int *setting = arena_array(&s->arena, s->space.n_levers, sizeof(int));
		for (size_t k = 0; k < task->n_knobs; k++)
			setting[k] = (int)task->starts[i].settings[k];
		starts[i] = setting;
	}
	s->search.user_starts = starts;
	s->search.n_user_starts = task->n_starts;
	s->search.switches = task->search;
}

static bool is_legal(void *context, const int *setting)
{
	bool legal = false;
	struct err ignored = ERR_INIT;
	return space_is_legal(context, setting, &legal, NULL, &ignored) == OK && legal;
}

enum err_code state_build_search_input(struct state *s, struct err *reterr)
{
	build_levers(s);
	build_observations(s);
	build_scales(s);
	build_starts(s);
	build_pending(s);
	proposals_inform_search(s);
	s->search.is_legal = is_legal;
	s->search.legal_context = &s->space;
	s->search.seed = s->seed;
	s->search.decision = (uint64_t)s->n_decisions;
	return build_visited(s, reterr);
}

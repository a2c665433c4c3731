/* What is published of the mechanisms that the task's knobs name. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/catalogue.h"
#include "machine/accelerator.h"
#include "mech/catalogue.h"
#include "spec/task.h"

/* A class of the catalogue's, for the devices that train: the machine's accelerator, else its processor. */
static const char *hardware_class(const struct campaign *c)
{
	CLEANUP(json_decref_ptr) json_t *environment = json_loads(c->state.environment_json, 0, NULL);
	const json_t *machine = json_object_get(environment, "machine");
	const char *arch = json_text_of(machine ? machine : environment, "arch");
	const char *accelerator = accelerator_class();
	return accelerator ? accelerator : strcmp(arch, "aarch64") == 0 ? "cpu_arm" : "cpu";
}

/* The frameworks of the catalogue are the stacks of the task; a job that is read by its log says its name
 * behind "log:". */
static const char *framework_of(const struct task *task)
{
	static const char log[] = "log:";
	const char *stack = task->stack ? task->stack : "native";
	return strncmp(stack, log, sizeof(log) - 1) == 0 ? stack + sizeof(log) - 1 : stack;
}

/* The canonical value of a setting: by name, or as one of the framework's spellings has it. NULL = unknown.
 */
static const char *canonical(const struct mechanism *m, const char *framework, const char *text)
{
	for (size_t i = 0; i < m->values.n; i++)
		if (strcmp(m->values.items[i], text) == 0)
			return m->values.items[i];
	for (size_t i = 0; i < m->n_spellings; i++) {
		const char *value = strcmp(m->spellings[i].framework, framework) == 0
					    ? mechanism_spelling_value(&m->spellings[i], text)
					    : NULL;
		if (value)
			return value;
	}
	return NULL;
}

/* Of an update, where the knob works; NAN = unknown. */
static double share_of(const struct state *s, const struct knob *knob)
{
	double shares[N_PHASES], other, sum = 0;
	if (!knob->phases.count || !state_phase_shares(s, shares, &other))
		return NAN;
	for (int p = 0; p < N_PHASES; p++)
		for (size_t i = 0; i < knob->phases.count; i++)
			sum += strcmp(knob->phases.items[i], phase_names[p]) == 0 ? shares[p] : 0;
	return fmin(sum, 1);
}

struct knowing {
	const struct campaign *c;
	const struct catalogue *catalogue;
	const char *hardware, *framework;
	struct arena *arena;
	struct catalogue_knowledge *known;
};

static const struct mechanism *mechanism_of(const struct knowing *k, const struct knob *knob)
{
	return knob->mechanism ? catalogue_find(k->catalogue, knob->mechanism) : NULL;
}

static void know_gains(struct knowing *k, size_t lever)
{
	const struct knob *knob = &k->c->task.knobs[lever];
	const struct mechanism *m = mechanism_of(k, knob);
	const char *from = m ? canonical(m, k->framework, knob->settings[knob->reference].text) : NULL;
	for (size_t i = 0; from && i < knob->n_settings; i++) {
		const struct setting *setting = &knob->settings[i];
		const char *to = canonical(m, k->framework, setting->text), *source;
		struct proposed_prior prior = {
			.lever = (int)lever, .setting = (int)i, .memory_bytes = NAN, .memory_sd_bytes = NAN};
		if (i == knob->reference || setting->has_prior_gain || !to ||
			!mechanism_published_gain(m, k->hardware, from, to, share_of(&k->c->state, knob),
				&prior.gain_ln, &prior.gain_sd_ln, &source))
			continue;
		prior.reason = arena_strdup(k->arena, source);
		k->known->priors[k->known->n_priors++] = prior;
	}
}

static void know_conflicts(struct knowing *k, size_t a, size_t b)
{
	const struct knob *x = &k->c->task.knobs[a], *y = &k->c->task.knobs[b];
	const struct mechanism *m = mechanism_of(k, x), *n = mechanism_of(k, y);
	for (size_t i = 0; m && n && i < x->n_settings; i++)
		for (size_t j = 0; j < y->n_settings; j++) {
			const char *u = canonical(m, k->framework, x->settings[i].text);
			const char *v = canonical(n, k->framework, y->settings[j].text);
			const struct mechanism_conflict *found =
				u && v ? mechanisms_conflict(k->framework, m, u, n, v) : NULL;
			/* What only is slower is for the time model to find out. */
			if (!found || found->effect == CONFLICT_SLOWER || found->effect == CONFLICT_IGNORED ||
				(i == x->reference && j == y->reference))
				continue;
			k->known->conflicts[k->known->n_conflicts++] = (struct known_conflict){
				(int)a, (int)i, (int)b, (int)j, arena_strdup(k->arena, found->reason)};
		}
}

enum err_code catalogue_know(const struct campaign *c, struct arena *arena,
	struct catalogue_knowledge *ret_knowledge, struct err *reterr)
{
	CLEANUP(arena_release) struct arena own = ARENA_INIT;
	struct catalogue catalogue;
	size_t n_settings = 0;
	*ret_knowledge = (struct catalogue_knowledge){0};
	if (!c->options.data_dir)
		return err_set(reterr, ERR_STATE,
			"the data folder with mechanisms.yaml is missing beside infrarsi; install again, or "
			"take "
			"the proposer of kind catalogue out of the task file");
	const char *path = arena_printf(&own, "%s/mechanisms.yaml", c->options.data_dir);
	TRY(catalogue_load(path, &own, &catalogue, reterr));
	for (size_t i = 0; i < c->task.n_knobs; i++)
		n_settings += c->task.knobs[i].n_settings;
	ret_knowledge->priors = arena_array(arena, n_settings, sizeof(*ret_knowledge->priors));
	ret_knowledge->conflicts =
		arena_array(arena, n_settings * n_settings, sizeof(*ret_knowledge->conflicts));
	struct knowing k = {c, &catalogue, hardware_class(c), framework_of(&c->task), arena, ret_knowledge};
	for (size_t i = 0; i < c->task.n_knobs; i++) {
		know_gains(&k, i);
		for (size_t j = i + 1; j < c->task.n_knobs; j++)
			know_conflicts(&k, i, j);
	}
	return OK;
}

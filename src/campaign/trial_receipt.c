#include "base/base.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/failure.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/trial_int.h"

/* Longer references are held against each other, the winner that runs as long against them. */
static size_t runs_to_compare(
	const struct state *s, enum receipt_role role, const struct execution **ret_runs)
{
	const struct duel *d = state_winner(s);
	bool is_longer = role == ROLE_LONGER_REFERENCE || role == ROLE_CONFIRMATION;
	*ret_runs = is_longer && d ? d->open.references : s->references;
	return !is_longer ? s->n_references : d ? d->open.n_references : 0;
}

enum err_code reference_set_load(
	struct campaign *c, enum receipt_role role, struct reference_set *ret_set, struct err *reterr)
{
	const struct execution *runs;
	size_t n_runs = runs_to_compare(&c->state, role, &runs);
	struct reference_set set = {0};
	set.receipts = xcalloc(n_runs, sizeof(*set.receipts));
	set.valid = xcalloc(n_runs, sizeof(*set.valid));
	for (size_t i = 0; i < n_runs; i++) {
		if (!runs[i].verdict.valid)
			continue;
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, runs[i].receipt_path);
		enum seal_state seal;
		enum err_code code = receipt_read(path, &c->keys, &set.receipts[set.n], &seal, reterr);
		if (code != OK) {
			reference_set_release(&set);
			return err_prefix(reterr, code, "reading a reference receipt");
		}
		set.valid[set.n] = &set.receipts[set.n];
		set.n++;
	}
	*ret_set = set;
	return OK;
}

void reference_set_release(struct reference_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		receipt_release(&set->receipts[i]);
	free(set->receipts);
	free(set->valid);
	*set = (struct reference_set){0};
}

static const char **copy_words(struct arena *arena, const char *const *words, size_t n)
{
	const char **copy = arena_array(arena, n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		copy[i] = arena_strdup(arena, words[i]);
	return copy;
}

static void fill_invariants(struct campaign *c, const struct preparation *p, struct receipt *r)
{
	const struct contract *contract = &p->task.contract;
	const struct candidate *candidate = p->request->candidate;
	struct space space = c->state.space;
	bool legal = false;
	struct err ignored = ERR_INIT;
	space.task = &p->task; /* as this execution runs it */
	if (space_is_legal(&space, candidate->setting, &legal, NULL, &ignored) != OK)
		legal = false;
	r->terms.n_invariants = contract->n_invariants;
	r->terms.invariants = arena_array(&r->arena, contract->n_invariants, sizeof(char *));
	r->terms.invariant_holds = arena_array(&r->arena, contract->n_invariants, sizeof(bool));
	for (size_t i = 0; i < contract->n_invariants; i++) {
		r->terms.invariants[i] = arena_strdup(&r->arena, contract->invariants[i].text);
		r->terms.invariant_holds[i] = legal;
	}
}

static void fill_terms(struct campaign *c, const struct preparation *p, struct receipt *r)
{
	const struct contract *contract = &p->task.contract;
	struct receipt_terms *t = &r->terms;
	t->updates = contract->updates;
	t->warmup = contract->warmup;
	t->global_batch = contract->global_batch;
	t->seq_len = contract->seq_len;
	t->loss_tolerance = contract->loss_tolerance;
	t->loss_per_update = contract->loss_rule == LOSS_PER_UPDATE;
	t->grad_norm_tolerance = contract->grad_norm_tolerance;
	t->memory_cap_bytes = contract->memory_cap_bytes;
	t->capacity_bytes = isfinite(c->state.capacity_bytes) ? c->state.capacity_bytes : 0;
	t->n_precision_menu = contract->precision.count;
	t->precision_menu = copy_words(&r->arena, contract->precision.items, contract->precision.count);
	t->eval_configured = contract->eval_command.count > 0;
	t->eval_tolerance = contract->eval_tolerance;
	t->checkpoint_configured = contract->checkpoint_command.count > 0;
	t->tests_configured = contract->n_tests > 0;
	fill_invariants(c, p, r);
}

static void add_phases(struct receipt *r, const char *const *phases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool known = false;
		for (size_t k = 0; k < r->n_declared_phases; k++)
			known |= strcmp(r->declared_phases[k], phases[i]) == 0;
		if (!known)
			r->declared_phases[r->n_declared_phases++] = arena_strdup(&r->arena, phases[i]);
	}
}

/* The phases that the changes touch, known only when every change says its own. */
static void fill_declared_phases(struct campaign *c, const struct candidate *candidate, struct receipt *r)
{
	const struct space *space = &c->state.space;
	r->declared_phases = arena_array(&r->arena, N_PHASES, sizeof(char *));
	for (size_t i = 0; i < space->n_levers; i++) {
		if ((size_t)candidate->setting[i] == space->reference[i])
			continue;
		bool is_knob = i < c->task.n_knobs;
		const struct knob *knob = is_knob ? &c->task.knobs[i] : NULL;
		const struct patch_lever *patch = is_knob ? NULL : &space->patches[i - c->task.n_knobs];
		const char *const *phases = is_knob ? knob->phases.items : patch->phases;
		size_t n = is_knob ? knob->phases.count : patch->n_phases;
		if (n == 0) {
			r->n_declared_phases = 0;
			return;
		}
		add_phases(r, phases, n);
	}
}

static double probe_peak_flops(const struct campaign *c)
{
	CLEANUP(json_decref_ptr) json_t *json = json_loads(c->state.environment_json, 0, NULL);
	return json_number_of(json_object_get(json, "probe"), "peak_flops");
}

static void fill_references(struct campaign *c, const struct reference_set *refs, struct receipt *r)
{
	const struct state *s = &c->state;
	r->n_reference_digests = refs->n;
	r->reference_digests = arena_array(&r->arena, refs->n, sizeof(char *));
	for (size_t i = 0; i < refs->n; i++)
		r->reference_digests[i] = arena_strdup(&r->arena, refs->valid[i]->payload_digest);
	r->sigma_pair = (struct opt_number){s->has_noise, s->has_noise ? s->noise.sigma_pair : NAN};
	for (int p = 0; p < N_PHASES; p++) {
		bool known = s->has_profile && isfinite(s->profile.phase_s[p]);
		r->reference_phase_s[p] = (struct opt_number){known, known ? s->profile.phase_s[p] : NAN};
	}
	double peak = probe_peak_flops(c);
	r->device_peak_flops = (struct opt_number){peak > 0, peak > 0 ? peak : NAN};
}

static void fill_identity(struct campaign *c, const struct preparation *p, struct receipt *r)
{
	char utc[CLOCK_UTC_SIZE];
	clock_utc(utc);
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	const struct candidate *candidate = p->request->candidate;
	candidate_to_json(candidate, &c->state.space, &json);
	size_t n_argv = 0;
	while (p->resolved.argv[n_argv])
		n_argv++;
	r->schema = RECEIPT_SCHEMA;
	r->role = p->request->role;
	r->campaign = arena_strdup(&r->arena, c->state.campaign_id);
	r->trial = p->request->trial;
	r->nonce = arena_strdup(&r->arena, p->nonce);
	r->created_utc = arena_strdup(&r->arena, utc);
	r->candidate_json = arena_strdup(&r->arena, json.buf);
	candidate_signature(candidate, &c->state.space, r->signature);
	r->argv = copy_words(&r->arena, p->resolved.argv, n_argv);
	r->n_argv = n_argv;
	r->env = copy_words(&r->arena, p->recorded_env, p->n_recorded_env);
	r->n_env = p->n_recorded_env;
	r->environment_json = arena_strdup(&r->arena, c->state.environment_json);
	r->device_count = (double)c->task.launch.nodes * c->task.launch.devices_per_node;
}

enum err_code receipt_fill_before(struct campaign *c, const struct preparation *p,
	const struct reference_set *refs, struct receipt *r, struct err *reterr)
{
	(void)reterr;
	fill_identity(c, p, r);
	fill_terms(c, p, r);
	fill_declared_phases(c, p->request->candidate, r);
	fill_references(c, refs, r);
	return OK;
}

/* Executions that end in the order of their beginning keep their numbers; one that is overtaken gets a new
 * one, so that numbers and chain have one order. */
void receipt_take_place(const struct campaign *c, const struct preparation *p, struct receipt *r)
{
	const struct state *s = &c->state;
	r->seq = p->seq > s->last_receipt_seq ? p->seq : s->next_seq;
	snprintf(r->prev, sizeof(r->prev), "%s", s->last_receipt_digest);
}

static struct opt_number known_number(double value)
{
	return (struct opt_number){isfinite(value), value};
}

static void set_limit_failure(struct receipt *r, const char *evidence)
{
	r->failure = FAILURE_KILLED;
	r->failure_evidence = evidence;
	r->failure_source = "exit";
}

static enum err_code fill_failure(
	const struct preparation *p, const struct run_outcome *o, struct receipt *r, struct err *reterr)
{
	struct failure_exit ended = {.exit_status = o->exit_status,
		.exit_signal = o->exit_signal,
		.timed_out = o->end == RUN_TIMEOUT,
		/* What a job says when it is told to stop is no cause, whoever told it. */
		.stalled = o->end == RUN_STALLED || o->end == RUN_STARTUP_TIMEOUT || o->end == RUN_STOPPED};
	struct failure_report report;
	TRY(failure_classify(p->log_path, &ended, &report, reterr));
	failure_to_receipt(&report, r);
	if (o->end == RUN_MEMORY_LIMIT)
		set_limit_failure(r, "the job's memory on the host went over its limit");
	if (o->end == RUN_DISK_FULL)
		set_limit_failure(r, "the job filled the disk");
	return OK;
}

enum err_code receipt_fill_after(
	const struct preparation *p, struct run_outcome *o, struct receipt *r, struct err *reterr)
{
	struct receipt_builder *builder = receipt_builder_new(r, p->nonce, o->spawn_s);
	for (size_t i = 0; i < o->n_lines; i++)
		receipt_builder_line(builder, o->lines[i].text, o->lines[i].length, o->lines[i].arrived_s);
	receipt_builder_finish(builder, o->end_s);
	r->bad_event_lines += (int)fmin(o->event_lines_dropped, INT_MAX / 2);
	r->exit_status = o->exit_status;
	r->exit_signal = o->exit_signal;
	r->timed_out = o->end == RUN_TIMEOUT || o->end == RUN_STALLED || o->end == RUN_STARTUP_TIMEOUT;
	r->wall_s = o->end_s - o->spawn_s;
	if (o->peak_tree_bytes > 0)
		r->peak_observed_bytes = known_number(o->peak_tree_bytes);
	return fill_failure(p, o, r, reterr);
}

enum err_code receipt_fill_build_failure(
	const struct preparation *p, const struct build_result *build, struct receipt *r, struct err *reterr)
{
	struct failure_exit ended = {.exit_status = build->status, .build = true};
	struct failure_report report;
	TRY(failure_classify(build->log, &ended, &report, reterr));
	failure_to_receipt(&report, r);
	/* The build's log is the execution's log: builds are cached and may be removed, logs are kept. */
	if (path_exists(build->log) && !path_exists(p->log_path))
		TRY(copy_tree(build->log, p->log_path, reterr));
	r->failure = FAILURE_COMPILE;
	r->exit_status = build->status;
	r->wall_s = 0;
	r->startup_s = NAN;
	return OK;
}

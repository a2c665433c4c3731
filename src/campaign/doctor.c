#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/slots.h"
#include "campaign/stages.h"
#include "campaign/trial_int.h"

enum { DEFAULT_RUNS = 4, FEWEST_RUNS = 3, FAILURES_ALLOWED = 2 };
static const double probe_budget_s = 2;
static const double quiet_sigma_pair = 0.03;

static bool passes(const struct execution *run)
{
	return run->verdict.valid && run->has_time;
}

static int valid_references(const struct state *s)
{
	int n = 0;
	for (size_t i = 0; i < s->n_references; i++)
		n += passes(&s->references[i]);
	return n;
}

static const char *hook_hint(const struct campaign *c, const struct execution *run)
{
	if (run->failure == FAILURE_NONE && run->updates_seen == 0)
		return "the job ended well but reported no update: let it call the hook (README, \"On your "
		       "job\")";
	if (run->failure == FAILURE_NONE && run->updates_seen < c->task.contract.updates)
		return "hand {updates} to the job, or set contract.updates to what it runs";
	return "make the job run as infrarsi.yaml says";
}

/* The same for a job that is read by its output. */
static const char *log_hint(struct campaign *c, const struct execution *run)
{
	const char *format = campaign_log_format(c);
	if (run->failure == FAILURE_NONE && run->updates_seen == 0)
		return arena_printf(&c->arena,
			"no line of its output was read as a step of the format %s; see what is understood "
			"with  infrarsi logs %s/%s",
			format, c->dir, run->log_path);
	if (run->failure == FAILURE_NONE && run->updates_seen < c->task.contract.updates)
		return "let the job print every update (log interval 1) and run {updates} of them";
	if (run->verdict.primary == ITEM_SAME_WORKLOAD)
		return "let the job print its tokens (docs/logs.md, \"As a job's only report\"), leave out "
		       "contract.seq_len where the log does not say it, or use the hook";
	if (run->verdict.primary < 0)
		return "let the job flush each line (PYTHONUNBUFFERED=1), so that updates arrive when they "
		       "are done";
	return "make the job run as infrarsi.yaml says";
}

static enum err_code reference_failed(struct campaign *c, const struct execution *run, enum err_code code,
	const char *what, struct err *reterr)
{
	const struct verdict *v = &run->verdict;
	const char *item = v->primary >= 0 ? item_infos[v->primary].name : "no usable step times";
	const char *reason = v->primary >= 0 ? v->items[v->primary].reason
					     : "the updates of the window did not arrive one by one";
	const char *hint = run->failure == FAILURE_OOM ? "declare reference settings that fit in memory"
			   : campaign_log_format(c)    ? log_hint(c, run)
						       : hook_hint(c, run);
	return err_set(reterr, code,
		"%s: %s (%s)%s%s\n"
		"log: %s/%s\n"
		"next: %s; then  infrarsi doctor --new",
		what, item, reason, *run->evidence ? "\nevidence: " : "", run->evidence, c->dir,
		run->log_path, hint);
}

static enum err_code execute_reference(
	struct campaign *c, enum receipt_role role, const char *label, struct err *reterr)
{
	struct candidate reference = CANDIDATE_INIT;
	enum execute_end end;
	candidate_reference(&reference, &c->state.space);
	struct progress p = {.kind = PROGRESS_STAGE, .text = label};
	campaign_report_progress(c, &p);
	struct execute_request request = {.role = role, .candidate = &reference, .label = label};
	enum err_code code = trial_execute(c, &request, &end, reterr);
	candidate_release(&reference);
	TRY(code);
	if (end == EXECUTE_INTERRUPTED)
		return err_set(reterr, ERR_INTERRUPTED, "stopped; go on with  infrarsi doctor");
	return OK;
}

static enum err_code measure_references(struct campaign *c, int wanted, struct err *reterr)
{
	int failures = 0;
	while (valid_references(&c->state) < wanted) {
		int have = valid_references(&c->state);
		const char *label = arena_printf(&c->arena, "reference run %d of %d", have + 1, wanted);
		TRY(execute_reference(c, ROLE_REFERENCE, label, reterr));
		if (valid_references(&c->state) > have)
			continue;
		const struct state *s = &c->state;
		/* Where no run passes, the job is at fault; where one of several fails, the host may be. */
		if ((have == 0 && s->n_references) || ++failures > FAILURES_ALLOWED) {
			if (!s->n_references)
				return err_set(reterr, ERR_FAILED,
					"the reference could not be run; see the notes above");
			return reference_failed(c, &s->references[s->n_references - 1], ERR_FAILED,
				"the reference itself does not pass", reterr);
		}
	}
	return OK;
}

enum err_code doctor_check_measured(struct campaign *c, struct err *reterr)
{
	const struct state *s = &c->state;
	const struct execution *last = s->n_references ? &s->references[s->n_references - 1] : NULL;
	if (s->has_campaign && s->has_noise)
		return OK;
	if (last && !passes(last))
		return reference_failed(c, last, ERR_STATE,
			"the reference has not been measured: doctor found that it does not pass", reterr);
	if (last)
		return err_set(reterr, ERR_STATE,
			"the reference has passed %d of at least %d times that doctor runs it; next: "
			"infrarsi doctor",
			valid_references(s), FEWEST_RUNS);
	return err_set(reterr, ERR_STATE, "the reference has not been measured yet; next: infrarsi doctor");
}

static bool is_stale(const struct campaign *c)
{
	return c->state.has_campaign && strcmp(c->state.contract_digest, c->lock.contract_digest) != 0;
}

static bool begins_anew(const struct campaign *c, const struct doctor_options *options)
{
	return !c->state.has_campaign || options->start_over || is_stale(c);
}

static enum err_code begin_if_needed(struct campaign *c, const struct doctor_options *options,
	const struct doctor_result *result, struct err *reterr)
{
	const struct state *s = &c->state;
	if (c->unreadable.code != OK && !options->start_over)
		return campaign_check_contract(c, reterr);
	if (is_stale(c) && s->n_trials && !options->start_over)
		return err_set(reterr, ERR_CONTRACT,
			"the contract changed since this campaign began; its %d trials would not compare; "
			"next: infrarsi doctor --new  (the old campaign is kept in .infrarsi/old)",
			s->n_counted);
	if (!begins_anew(c, options))
		return OK;
	CLEANUP(strbuf_release) struct strbuf environment = STRBUF_INIT;
	machine_to_json(&result->machine, result->has_probe ? &result->probe : NULL, &environment);
	return campaign_begin(c, options->seed, environment.buf, reterr);
}

static void read_probe(const struct campaign *c, struct doctor_result *result)
{
	CLEANUP(json_decref_ptr) json_t *json = json_loads(c->state.environment_json, 0, NULL);
	const json_t *probe = json_object_get(json, "probe");
	result->probe.peak_flops = json_number_of(probe, "peak_flops");
	result->probe.bandwidth_bytes_per_s = json_number_of(probe, "bandwidth_bytes_per_s");
	result->has_probe = result->probe.peak_flops > 0;
}

static double number_or_nan(struct opt_number n)
{
	return n.has ? n.value : NAN;
}

static enum err_code utilisation(struct campaign *c, struct doctor_result *result, struct err *reterr)
{
	struct reference_set refs = {0};
	result->mfu = NAN;
	TRY(reference_set_load(c, ROLE_REFERENCE, &refs, reterr));
	if (refs.n && refs.valid[0]->n_updates && result->has_probe) {
		const struct receipt *r = refs.valid[0];
		result->mfu =
			model_flops_utilisation(number_or_nan(r->active_params), number_or_nan(r->layers),
				number_or_nan(r->d_attn), number_or_nan(r->reported_seq_len),
				number_or_nan(r->updates[r->n_updates - 1].tokens), result->probe.peak_flops,
				c->state.noise.mean_s);
	}
	reference_set_release(&refs);
	return OK;
}

static void count_items(const struct state *s, struct doctor_result *result)
{
	const struct verdict *v = &s->references[s->n_references - 1].verdict;
	for (int i = 0; i < N_ITEMS; i++) {
		bool conditional = strcmp(item_infos[i].mode, "if configured") == 0;
		if (conditional && v->items[i].result == ITEM_NA)
			result->conditional_absent++;
		else if (v->items[i].result != ITEM_UNCHECKED)
			result->checkable++;
	}
}

static void conclude(struct campaign *c, struct doctor_result *result)
{
	const struct noise *n = &c->state.noise;
	result->quiet = n->sigma_pair <= quiet_sigma_pair;
	result->too_noisy = n->sigma_pair > NOISY_SIGMA_PAIR;
	const char *form =
		result->too_noisy ? "too noisy: effects under %.3g%% cannot be told apart on this machine now"
		: result->quiet   ? "quiet enough: effects above %.3g%% can be told apart"
				  : "somewhat noisy: effects under %.3g%% cannot be told apart";
	result->verdict = arena_printf(&c->arena, form, 100 * noise_detectable(n));
	result->has_phases = state_phase_shares(&c->state, result->shares, &result->other_share);
	count_items(&c->state, result);
}

/* Before the first campaign nothing rests on the contract yet: answers that were written into the task file
 * since `init` are taken as they are. Frozen files are another matter: they are not edited by answering
 * questions. */
static enum err_code take_answers(struct campaign *c, struct err *reterr)
{
	struct lock now = {0};
	struct err ignored = ERR_INIT;
	if (c->state.has_campaign || lock_compute(&c->task, c->task.root, &now, &ignored) != OK)
		return OK;
	bool same_contract = strcmp(now.contract_digest, c->lock.contract_digest) == 0;
	memcpy(c->lock.contract_digest, now.contract_digest, sizeof(c->lock.contract_digest));
	CLEANUP(strbuf_release) struct strbuf differences = STRBUF_INIT;
	lock_compare(&c->lock, &now, &differences);
	lock_release(&now);
	if (same_contract || differences.len)
		return OK;
	CLEANUP(free_ptr) char *path = xasprintf("%s/infrarsi.lock", c->task.root);
	TRY(lock_write(&c->lock, path, reterr));
	struct progress p = {.kind = PROGRESS_NOTE,
		.text = "infrarsi.yaml was edited since init; its contract is the one now"};
	campaign_report_progress(c, &p);
	return OK;
}

enum err_code doctor_run(struct campaign *c, const struct doctor_options *options,
	struct doctor_result *ret_result, struct err *reterr)
{
	struct doctor_result result = {.mfu = NAN};
	int wanted = MAX_OF(options->runs ? options->runs : DEFAULT_RUNS, FEWEST_RUNS);
	TRY(take_answers(c, reterr));
	TRY(campaign_check_lock(c, reterr));
	TRY(slots_check(c, 1, reterr));
	TRY(machine_read(&result.machine, reterr));
	if (begins_anew(c, options)) {
		struct progress p = {.kind = PROGRESS_STAGE, .text = "probing the machine"};
		campaign_report_progress(c, &p);
		TRY(machine_probe_run(probe_budget_s, &result.probe, reterr));
		result.has_probe = true;
	}
	TRY(begin_if_needed(c, options, &result, reterr));
	TRY(campaign_check_contract(c, reterr));
	read_probe(c, &result);
	TRY(measure_references(c, wanted, reterr));
	if (!c->state.has_profile)
		TRY(execute_reference(c, ROLE_PROFILE, "profiling run", reterr));
	if (!c->state.has_noise)
		return err_set(reterr, ERR_FAILED, "the reference reported no usable step times");
	/* Here already, so that what waits for a person can be read before the search. */
	TRY(patches_gather(c, reterr));
	TRY(utilisation(c, &result, reterr));
	conclude(c, &result);
	*ret_result = result;
	return OK;
}

#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/lock.h"
#include "ledger_fixture.h"
#include "verify/verify.h"

const char world_task[] =
	"version: 1\n"
	"name: job\n"
	"stack: native\n"
	"launch:\n"
	"  command: [./train, --threads, '{threads}', --mode, '{mode}']\n"
	"contract:\n"
	"  updates: 30\n"
	"  warmup: 10\n"
	"knobs:\n"
	"  - {name: threads, values: [1, 2, 4], reference: 1, ordered: true}\n"
	"  - {name: mode, values: [slow, fast], reference: slow, phases: [forward, backward]}\n"
	"budget: {trials: 10}\n";

void world_open(struct world *w, const char *task_text)
{
	world_open_in(w, "", task_text);
}

void world_open_in(struct world *w, const char *sub, const char *task_text)
{
	char message[2048];
	const char *text = task_text ? task_text : world_task;
	memset(w, 0, sizeof(*w));
	strcpy(w->dir, "/tmp/infrarsi-state-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->root, sizeof(w->root), "%s%s%s", w->dir, *sub ? "/" : "", sub);
	snprintf(w->state_dir, sizeof(w->state_dir), "%s/.infrarsi", w->root);
	snprintf(w->path, sizeof(w->path), "%s/ledger.db", w->state_dir);
	assert_int_equal(make_dirs(w->state_dir, 0755, &w->error), OK);
	if (task_parse("infrarsi.yaml", w->root, text, strlen(text), &w->task, &w->error) != OK) {
		err_format(&w->error, message, sizeof(message));
		fail_msg("%s", message);
	}
	assert_int_equal(ledger_open(w->path, LEDGER_WRITE, &w->ledger, &w->error), OK);
}

void world_close(struct world *w)
{
	if (w->has_state)
		state_release(&w->state);
	ledger_close(w->ledger);
	task_release(&w->task);
	assert_int_equal(remove_tree(w->dir, NULL), OK);
}

int64_t world_entry(
	struct world *w, enum entry_kind kind, int trial, const char *signature, const char *fmt, ...)
{
	char *body = NULL;
	int64_t id = 0;
	va_list ap;
	va_start(ap, fmt);
	assert_true(vasprintf(&body, fmt, ap) >= 0);
	va_end(ap);
	if (ledger_append(w->ledger, kind, trial, signature, body, &id, &w->error) != OK)
		fail_msg("%s: %s", w->error.message, body);
	free(body);
	return id;
}

void world_begin(struct world *w, unsigned long long seed)
{
	world_begin_at(w, seed, "c0ffee", "7ee7ee", "");
}

void world_begin_at(
	struct world *w, unsigned long long seed, const char *commit, const char *tree, const char *prefix)
{
	struct lock lock = {0};
	struct err none =
		ERR_INIT; /* a task whose frozen files exist nowhere has no lock, and needs none here */
	bool has_lock = lock_compute(&w->task, w->task.root, &lock, &none) == OK;
	world_entry(w, ENTRY_CAMPAIGN, 0, NULL,
		"{\"id\":\"c1\",\"seed\":%llu,\"task_digest\":\"%s\",\"contract_digest\":\"%s\","
		"\"environment\":\"\","
		"\"snapshot\":{\"commit\":\"%s\",\"tree\":\"%s\",\"prefix\":\"%s\"}}",
		seed, w->task.digest, has_lock ? lock.contract_digest : "", commit, tree, prefix);
	lock_release(&lock);
	w->n_trials = 0;
	w->seq = 0;
}

void world_judge(struct world *w, int trial, double gain_ln)
{
	CLEANUP(free_ptr) char *verdict = verdict_text(0);
	world_entry(w, ENTRY_ACCEPT, trial, NULL,
		"{\"what\":\"finalist\",\"finalist\":1,\"trial\":%d,\"pairs\":2,\"claimed_ln\":%.17g}", trial,
		gain_ln);
	for (int pair = 0; pair < 2; pair++)
		for (int side = 0; side < 2; side++)
			world_finish(w, ROLE_PROMOTION, 0,
				&(struct ending){.time_s = side ? 0.2 * exp(-gain_ln) : 0.2,
					.finalist = 1,
					.pair = pair,
					.is_candidate_side = side});
	world_entry(w, ENTRY_ACCEPT, trial, NULL,
		"{\"what\":\"duel\",\"finalist\":1,\"trial\":%d,\"pairs\":2,\"valid\":true,\"gain_ln\":%.17g,"
		"\"low_ln\":%.17g,\"high_ln\":%.17g,\"sigma\":0.001,\"nu\":4,\"threshold_ln\":0.02,"
		"\"delivered\":true,\"verdict\":%s}",
		trial, gain_ln, gain_ln - 0.01, gain_ln + 0.01, verdict);
}

void world_deliver(struct world *w, int trial, double gain_ln)
{
	world_judge(w, trial, gain_ln);
	world_entry(w, ENTRY_ACCEPT, 0, NULL, "{\"what\":\"promotion_over\",\"delivered_finalist\":1}");
}

char *verdict_text(int failing_item)
{
	struct verdict v;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	memset(&v, 0, sizeof(v));
	int failing = failing_item < 0 ? ITEM_COMPLETES : failing_item;
	v.valid = failing_item == 0;
	v.primary = failing_item ? failing : -1;
	for (int i = 0; i < N_ITEMS; i++) {
		bool fails = failing_item && i == failing;
		v.items[i].result = fails ? ITEM_FAIL : ITEM_PASS;
		v.items[i].vetoes = true;
		snprintf(v.items[i].reason, REASON_SIZE, "%s %s", item_infos[i].name,
			fails ? "fails" : "holds");
	}
	verdict_to_json(&v, &text);
	return xstrdup(text.buf);
}

static json_t *number_or_null(double value)
{
	return value ? json_from_number(value) : json_null();
}

static json_t *ending_body(struct world *w, enum receipt_role role, const struct ending *e)
{
	CLEANUP(free_ptr) char *verdict = verdict_text(e->failing_item);
	char name[32];
	double time_s = e->time_s ? e->time_s : 0.2;
	json_t *body = json_object(), *steps = json_array(), *phases = json_object();
	int seq = e->seq ? e->seq : (int)++w->seq;
	w->seq = MAX_OF(w->seq, (int64_t)seq);
	snprintf(name, sizeof(name), "receipts/%04d.json", seq);
	for (int i = 0; time_s > 0 && i < 20; i++)
		json_array_append_new(steps, json_real(time_s));
	json_object_set_new(phases, "forward", number_or_null(e->forward_s));
	json_object_set_new(phases, "backward", number_or_null(e->backward_s));
	json_object_set_new(body, "role", json_string(receipt_role_names[role]));
	json_object_set_new(body, "receipt", json_string(e->receipt ? e->receipt : name));
	json_object_set_new(body, "receipt_digest", json_string(name));
	json_object_set_new(body, "seq", json_integer(seq));
	if (e->execution)
		json_object_set_new(body, "execution", json_integer(e->execution));
	if (e->slot)
		json_object_set_new(body, "slot", json_string(e->slot));
	if (e->at_once)
		json_object_set_new(body, "at_once", json_integer(e->at_once));
	json_object_set_new(body, "log", json_string("logs/0001.log"));
	json_object_set_new(body, "time_s", time_s > 0 ? json_real(time_s) : json_null());
	json_object_set_new(
		body, "median_s", time_s > 0 ? json_real(e->median_s ? e->median_s : time_s) : json_null());
	json_object_set_new(body, "step_s", steps);
	json_object_set_new(body, "updates", json_integer(time_s > 0 ? 30 : 0));
	json_object_set_new(body, "peak_bytes", number_or_null(e->peak_bytes));
	json_object_set_new(body, "shortfall_bytes", number_or_null(e->shortfall_bytes));
	json_object_set_new(body, "capacity_bytes", number_or_null(e->capacity_bytes));
	json_object_set_new(body, "device_s", json_real(e->device_s ? e->device_s : 10));
	json_object_set_new(body, "build_s", json_real(0));
	json_object_set_new(body, "failure", json_string(e->failure ? e->failure : "none"));
	json_object_set_new(body, "evidence", json_from_text(e->evidence));
	json_object_set_new(body, "evidence_source", json_from_text(e->evidence_source));
	json_object_set_new(body, "verdict", json_loads(verdict, 0, NULL));
	json_object_set_new(body, "phase_s", phases);
	json_object_set_new(body, "finalist", json_integer(e->finalist));
	json_object_set_new(body, "pair", json_integer(e->pair));
	json_object_set_new(body, "side", json_string(e->is_candidate_side ? "candidate" : "reference"));
	return body;
}

void world_finish(struct world *w, enum receipt_role role, int trial, const struct ending *ending)
{
	CLEANUP(free_ptr) char *body = json_dump_take(ending_body(w, role, ending));
	world_entry(w, ENTRY_FINISHED, trial, NULL, "%s", body);
}

void world_references(struct world *w)
{
	static const double time_s[] = {0.2000, 0.2002, 0.2001, 0.2003};
	for (size_t i = 0; i < ARRAY_LEN(time_s); i++)
		world_finish(w, ROLE_REFERENCE, 0, &(struct ending){.time_s = time_s[i], .peak_bytes = 1e9});
}

void world_measured(struct world *w)
{
	world_open(w, NULL);
	world_begin(w, 7);
	world_references(w);
}

int64_t world_decide(struct world *w, const char *settings, const char *patches)
{
	return world_entry(w, ENTRY_DECISION, 0, NULL,
		"{\"candidate\":{\"patches\":%s,\"settings\":%s},\"operators\":\"exploit\",\"reason\":"
		"\"because\","
		"\"base_trial\":0,\"mean_ln\":0.1,\"sd_ln\":0.05,\"score\":0.2,\"p_fits\":1.0,\"p_ok\":0.9}",
		patches, settings);
}

int world_register_decided(struct world *w, int64_t decision, const char *settings, const char *patches)
{
	char signature[128];
	int trial = ++w->n_trials;
	snprintf(signature, sizeof(signature), "%.60s%.60s", settings, patches);
	world_entry(w, ENTRY_REGISTERED, trial, signature,
		"{\"candidate\":{\"patches\":%s,\"settings\":%s},\"decision_id\":%lld}", patches, settings,
		(long long)decision);
	return trial;
}

int world_register(struct world *w, const char *settings, const char *patches)
{
	return world_register_decided(w, world_decide(w, settings, patches), settings, patches);
}

void world_release(struct world *w, enum entry_kind kind, const char *role, int trial, double device_s)
{
	world_entry(w, kind, trial, NULL,
		"{\"role\":\"%s\",\"seq\":%lld,\"nonce\":\"n\",\"device_s\":%.17g,\"reason\":\"the host "
		"failed\"}",
		role, (long long)++w->seq, device_s);
}

void world_propose(struct world *w, const char *digest, const char *name, const char *conflicts)
{
	world_entry(w, ENTRY_PROPOSAL, 0, NULL,
		"{\"kind\":\"patches\",\"diff_path\":\"patches/"
		"%s.diff\",\"conflicts\":%s,\"audit\":\"review\",\"findings\":[\"A2 "
		"cast, model.c:7\"],\"patch\":{\"digest\":\"%s\","
		"\"name\":\"%s\",\"title\":\"\",\"mechanism\":\"\",\"phases\":[\"forward\"],"
		"\"predicted_gain_ln\":0.05}}",
		digest, conflicts, digest, name);
}

void world_load(struct world *w)
{
	struct state fresh;
	if (state_load(&w->task, w->ledger, &fresh, &w->error) != OK)
		fail_msg("%s", w->error.message);
	if (w->has_state)
		state_release(&w->state);
	w->state = fresh;
	w->state.search.legal_context = &w->state.space;
	w->has_state = true;
}

void world_refused(struct world *w, const char *says)
{
	struct state fresh;
	enum err_code code = state_load(&w->task, w->ledger, &fresh, &w->error);
	if (code == OK)
		state_release(&fresh);
	if (code != ERR_INPUT || !strstr(w->error.message, says))
		fail_msg("code %d '%s', expected ERR_INPUT '%s'", code, code ? w->error.message : "", says);
}

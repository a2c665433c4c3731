/*
 * After a crash: every execution that was started and has no end gets one. A receipt that was written counts,
 * once; without one the execution was interrupted, with the cost that can still be told.
 */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "campaign/host.h"
#include "campaign/row_journal.h"
#include "campaign/trial_int.h"

struct open_execution {
	bool registered, started;
	int trial;
	const char *signature;
	const char *body; /* of the `started` entry */
};

static void follow(const struct ledger_entry *e, struct open_execution *open)
{
	switch (e->kind) {
	case ENTRY_CAMPAIGN:
	case ENTRY_FINISHED:
	case ENTRY_INTERRUPTED:
	case ENTRY_TRANSIENT:
		*open = (struct open_execution){0};
		break;
	case ENTRY_REGISTERED:
		*open = (struct open_execution){
			.registered = true, .trial = e->trial, .signature = e->signature};
		break;
	case ENTRY_STARTED:
		open->started = true;
		open->trial = e->trial;
		open->body = e->body;
		break;
	default:
		break;
	}
}

static double modified_s(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (double)st.st_mtim.tv_sec + 1e-9 * (double)st.st_mtim.tv_nsec : NAN;
}

/* How long an execution ran whose harness died: from the start of its supervisor, whose log is empty unless
 * it failed, to the last thing it wrote. File times, not the monotonic clock, for that may have started anew
 * with the machine; a cost, never a measurement. */
static double lost_seconds(const struct campaign *c, int64_t seq)
{
	static const char *const traces[] = {
		"control/%04lld/journal.jsonl", "control/%04lld/outcome.json", "logs/%04lld.log"};
	char relative[64];
	snprintf(relative, sizeof(relative), "control/%04lld/supervisor.log", (long long)seq);
	CLEANUP(free_ptr) char *begin = xasprintf("%s/%s", c->dir, relative);
	double begun = modified_s(begin), last = begun;
	for (size_t i = 0; i < ARRAY_LEN(traces); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(relative, sizeof(relative), traces[i], (long long)seq);
#pragma GCC diagnostic pop
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, relative);
		last = fmax(last, modified_s(path));
	}
	return isfinite(begun) && last > begun ? last - begun : 0;
}

static enum err_code adopt_receipt(struct campaign *c, const char *relative, struct receipt *r,
	const json_t *started, const struct row_journal *row, struct err *reterr)
{
	struct reference_set refs = {0};
	struct verdict verdict;
	struct window_stats stats;
	TRY(reference_set_load(c, &refs, reterr));
	const struct receipt *self = r;
	enum err_code code =
		verify_receipt(r, refs.n ? refs.valid : &self, refs.n ? refs.n : 1, NULL, &verdict, reterr);
	reference_set_release(&refs);
	TRY(code);
	verdict_add_review(&verdict, row->review);
	receipt_window(r, &stats);
	char log[64];
	snprintf(log, sizeof(log), "logs/%04lld.log", (long long)r->seq);
	struct execution_record record = {.receipt = r,
		.build_s = row->build_s,
		.checks_s = row->checks_s,
		.eval_value = row->eval_value,
		.verdict = &verdict,
		.receipt_path = relative,
		.log_path = log,
		.stats = &stats,
		.finalist = (int)json_integer_of(started, "finalist"),
		.pair = (int)json_integer_of(started, "pair"),
		.is_candidate_side = strcmp(json_text_of(started, "side"), "candidate") == 0};
	return campaign_append(
		c, ENTRY_FINISHED, r->trial, r->signature, state_finished_body(&record), NULL, reterr);
}

static enum err_code close_started(struct campaign *c, const struct open_execution *open, struct err *reterr)
{
	CLEANUP(json_decref_ptr) json_t *started = NULL;
	TRY(json_object_parse(open->body, "ledger", &started, reterr));
	int64_t seq = json_integer_of(started, "seq");
	CLEANUP(free_ptr) char *relative = xasprintf("receipts/%04lld.json", (long long)seq);
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, relative);
	CLEANUP(free_ptr) char *control = xasprintf("%s/control/%04lld", c->dir, (long long)seq);
	struct receipt receipt;
	enum seal_state seal;
	struct err ignored = ERR_INIT;
	struct row_journal row;
	row_journal_read(control, seq, json_text_of(started, "nonce"), &row);
	if (receipt_read(path, &c->keys, &receipt, &seal, &ignored) == OK) {
		/* The job knows its nonce; it does not know the campaign's key. */
		bool is_ours = seal == SEAL_HMAC_AND_ED25519 &&
			       strcmp(receipt.campaign, c->state.campaign_id) == 0 && receipt.seq == seq &&
			       strcmp(receipt.nonce, json_text_of(started, "nonce")) == 0;
		enum err_code code =
			is_ours ? adopt_receipt(c, relative, &receipt, started, &row, reterr) : OK;
		receipt_release(&receipt);
		if (is_ours)
			return code;
	}
	double devices = (double)c->task.launch.nodes * c->task.launch.devices_per_node;
	json_object_set_new(started, "device_s", json_from_number(lost_seconds(c, seq) * devices));
	json_object_set_new(started, "build_s", json_real(row.build_s));
	json_object_set_new(started, "reason", json_string("infrarsi ended before the execution did"));
	return campaign_append(c, ENTRY_INTERRUPTED, open->trial, open->signature,
		json_dump_take(json_incref(started)), NULL, reterr);
}

static enum err_code close_registered(
	struct campaign *c, const struct open_execution *open, struct err *reterr)
{
	json_t *body = json_object();
	json_object_set_new(body, "role", json_string("search"));
	json_object_set_new(body, "seq", json_integer(0));
	json_object_set_new(body, "device_s", json_real(0));
	json_object_set_new(body, "reason", json_string("infrarsi ended before the execution began"));
	return campaign_append(
		c, ENTRY_INTERRUPTED, open->trial, open->signature, json_dump_take(body), NULL, reterr);
}

enum err_code trial_reconcile(struct campaign *c, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	struct ledger_entry *entries = NULL;
	size_t n = 0;
	struct open_execution open = {0};
	enum err_code code = ledger_read_all(c->ledger, &arena, &entries, &n, reterr);
	for (size_t i = 0; i < n && code == OK; i++)
		follow(&entries[i], &open);
	if (code == OK && open.started)
		code = close_started(c, &open, reterr);
	else if (code == OK && open.registered)
		code = close_registered(c, &open, reterr);
	arena_release(&arena);
	TRY(code);
	/* Workspaces and sockets of executions that are over; receipts and logs stay. */
	static const char *const leftovers[] = {"work/trials", "control"};
	for (size_t i = 0; i < ARRAY_LEN(leftovers); i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, leftovers[i]);
		TRY(remove_tree(path, reterr));
		TRY(make_dirs(path, 0755, reterr));
	}
	return campaign_refresh(c, reterr);
}

/*
 * After a crash: every execution that was started and has no end gets one. A receipt that was written counts,
 * once; without one the execution was interrupted, with the cost that can still be told.
 */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "campaign/host.h"
#include "campaign/row_journal.h"
#include "campaign/trial_int.h"

struct open_execution {
	bool started;
	int trial;      /* 0 = none of the search */
	int64_t number; /* of the execution; 0 = it was only registered */
	const char *signature;
	const char *body; /* of the `started` entry */
};

struct open_list {                    /* in the order of their beginning */
	struct open_execution *items; /* malloc */
	size_t count, capacity;
};

static int64_t number_in(const struct ledger_entry *e)
{
	CLEANUP(json_decref_ptr) json_t *body = NULL;
	if (json_object_parse(e->body, "ledger", &body, NULL) != OK)
		return 0;
	/* A receipt that was overtaken has another number than its execution. */
	bool renumbered = json_object_get(body, "execution") != NULL;
	return json_integer_of(body, renumbered ? "execution" : "seq");
}

static struct open_execution *open_add(struct open_list *open)
{
	grow_array(&open->items, &open->capacity, open->count + 1, sizeof(*open->items));
	struct open_execution *o = &open->items[open->count++];
	*o = (struct open_execution){.signature = ""};
	return o;
}

/* A trial has one execution; others go by its number. */
static struct open_execution *open_find(struct open_list *open, const struct ledger_entry *e)
{
	int64_t number = e->trial ? 0 : number_in(e);
	for (size_t i = 0; i < open->count; i++) {
		struct open_execution *o = &open->items[i];
		if (o->trial == e->trial && (e->trial || o->number == number))
			return o;
	}
	return NULL;
}

static void follow(const struct ledger_entry *e, struct open_list *open)
{
	struct open_execution *o;
	switch (e->kind) {
	case ENTRY_CAMPAIGN:
		open->count = 0;
		break;
	case ENTRY_FINISHED:
	case ENTRY_INTERRUPTED:
	case ENTRY_TRANSIENT:
		o = open_find(open, e);
		if (o)
			memmove(o, o + 1, (size_t)(&open->items[--open->count] - o) * sizeof(*o));
		break;
	case ENTRY_REGISTERED:
		o = open_add(open);
		o->trial = e->trial;
		o->signature = e->signature;
		break;
	case ENTRY_STARTED:
		o = e->trial ? open_find(open, e) : NULL;
		if (!o)
			o = open_add(open);
		o->started = true;
		o->trial = e->trial;
		o->number = number_in(e);
		o->body = e->body;
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
	TRY(reference_set_load(c, r->role, &refs, reterr));
	const struct receipt *self = r;
	enum err_code code =
		verify_receipt(r, refs.n ? refs.valid : &self, refs.n ? refs.n : 1, NULL, &verdict, reterr);
	reference_set_release(&refs);
	TRY(code);
	verdict_add_review(&verdict, row->review);
	receipt_window(r, &stats);
	char log[64];
	int64_t execution = json_integer_of(started, "seq");
	snprintf(log, sizeof(log), "logs/%04lld.log", (long long)execution);
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
		.is_candidate_side = strcmp(json_text_of(started, "side"), "candidate") == 0,
		.execution = execution,
		.slow_s = NAN,
		.slot = json_text_of(started, "slot"),
		.at_once = (int)json_integer_of(started, "at_once")};
	return campaign_append(
		c, ENTRY_FINISHED, r->trial, r->signature, state_finished_body(&record), NULL, reterr);
}

static enum err_code close_started(struct campaign *c, const struct open_execution *open, struct err *reterr)
{
	CLEANUP(json_decref_ptr) json_t *started = NULL;
	TRY(json_object_parse(open->body, "ledger", &started, reterr));
	int64_t seq = json_integer_of(started, "seq");
	CLEANUP(free_ptr) char *control = xasprintf("%s/control/%04lld", c->dir, (long long)seq);
	struct receipt receipt;
	enum seal_state seal;
	struct err ignored = ERR_INIT;
	struct row_journal row;
	row_journal_read(control, seq, json_text_of(started, "nonce"), &row);
	int64_t receipt_seq = row.receipt_seq > 0 ? row.receipt_seq : seq;
	CLEANUP(free_ptr) char *relative = xasprintf("receipts/%04lld.json", (long long)receipt_seq);
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, relative);
	if (receipt_read(path, &c->keys, &receipt, &seal, &ignored) == OK) {
		/* The job knows its nonce; it does not know the campaign's key. */
		bool is_ours = seal == SEAL_HMAC_AND_ED25519 &&
			       strcmp(receipt.campaign, c->state.campaign_id) == 0 &&
			       receipt.seq == receipt_seq &&
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
	struct open_list open = {0};
	enum err_code code = ledger_read_all(c->ledger, &arena, &entries, &n, reterr);
	for (size_t i = 0; i < n && code == OK; i++)
		follow(&entries[i], &open);
	for (size_t i = 0; i < open.count && code == OK; i++)
		code = open.items[i].started ? close_started(c, &open.items[i], reterr)
					     : close_registered(c, &open.items[i], reterr);
	free(open.items);
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

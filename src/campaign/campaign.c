#include "base/base.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/log.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/campaign.h"
#include "campaign/trial.h"
#include "runner/hook_guard.h"

/* Everything of one campaign below .infrarsi; `old` keeps earlier campaigns. */
static const char *const campaign_folders[] = {"receipts", "logs", "patches", "work", "control"};
/* The ledger last: as long as it is in place a move that was cut short is taken up again. Its log after it,
 * for without the log it would lose entries. */
static const char *const campaign_entries[] = {"receipts", "logs", "patches", "proposed", "transcripts",
	"result.json", "pack.yaml", "REPORT.md", "calibration.svg", "ledger.db", "ledger.db-wal",
	"ledger.db-shm"};

static enum err_code make_folders(struct campaign *c, struct err *reterr)
{
	TRY(make_dirs(c->dir, 0755, reterr));
	CLEANUP(free_ptr) char *ignore = xasprintf("%s/.gitignore", c->dir);
	if (!path_exists(ignore))
		TRY(file_write_atomic(ignore, "*\n", 2, 0644, reterr));
	for (size_t i = 0; i < ARRAY_LEN(campaign_folders); i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, campaign_folders[i]);
		TRY(make_dirs(path, 0755, reterr));
	}
	return OK;
}

static enum err_code open_ledger(struct campaign *c, enum campaign_mode mode, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/ledger.db", c->dir);
	if (mode == CAMPAIGN_WRITE)
		return ledger_open(path, LEDGER_WRITE, &c->ledger, reterr);
	c->was_at_work = ledger_is_held(path, &c->worker);
	return ledger_open(path, LEDGER_READ, &c->ledger, reterr);
}

static enum err_code read_lock(struct campaign *c, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/infrarsi.lock", c->task.root);
	enum err_code code = lock_read(path, &c->lock, reterr);
	if (code == ERR_NOT_FOUND)
		return err_set(reterr, ERR_STATE, "%s does not exist; next: infrarsi init", path);
	return code;
}

static enum err_code open_runner(struct campaign *c, struct err *reterr)
{
	if (!c->options.runner)
		return process_runner_init(&c->runner, c->options.self_path, c->options.stop_fd, reterr);
	c->runner = *c->options.runner;
	return OK;
}

static bool has_keys(const struct campaign *c)
{
	return c->keys.has_hmac && c->keys.has_ed25519;
}

static void take_recorded_snapshot(struct campaign *c)
{
	snprintf(c->snapshot.commit, sizeof(c->snapshot.commit), "%s", c->state.commit);
	snprintf(c->snapshot.tree, sizeof(c->snapshot.tree), "%s", c->state.tree);
	snprintf(c->snapshot.prefix, sizeof(c->snapshot.prefix), "%s", c->state.prefix);
}

static enum err_code open_for_writing(struct campaign *c, struct err *reterr)
{
	TRY(read_lock(c, reterr));
	TRY(open_runner(c, reterr));
	if (c->unreadable.code != OK)
		return OK;
	/* Without the keys no receipt can be told from a forged one: nothing is decided about them. */
	return has_keys(c) || !c->state.has_campaign ? trial_reconcile(c, reterr) : OK;
}

/* The id of the last campaign as the ledger says it, before anything in it is believed. False = there is
 * none, or the ledger is not readable at all, which loading the state says better. */
static bool recorded_campaign(const struct campaign *c, char ret_id[65])
{
	struct arena arena = ARENA_INIT;
	struct ledger_entry *entries = NULL;
	size_t n = 0;
	bool found = false;
	if (ledger_read_all(c->ledger, &arena, &entries, &n, NULL) != OK)
		n = 0;
	for (size_t i = n; i-- > 0 && !found;) {
		CLEANUP(json_decref_ptr) json_t *body = NULL;
		if (entries[i].kind != ENTRY_CAMPAIGN)
			continue;
		found = true;
		if (json_object_parse(entries[i].body, "ledger", &body, NULL) == OK)
			snprintf(ret_id, 65, "%s", json_text_of(body, "id"));
		else
			ret_id[0] = '\0';
	}
	arena_release(&arena);
	return found && ret_id[0];
}

static enum err_code check_ledger(struct campaign *c, struct err *reterr)
{
	struct err e = ERR_INIT;
	char text[sizeof(e.file) + sizeof(e.message)];
	enum err_code code = ledger_authenticate(c->ledger, c->keys.hmac, &e);
	if (code == OK)
		return OK;
	err_format(&e, text, sizeof(text));
	return err_set(reterr, code, "%s%s", text,
		code == ERR_CONTRACT
			? "\nnext: bring back what was changed, or leave the campaign behind with  "
			  "infrarsi doctor --new"
			: "");
}

/* Whoever has the campaign's key checks its ledger before reading it. What was changed can be left behind, so
 * for writing it is no failure yet. Readers without the key, or without any folder for keys, see records as
 * they are. */
static enum err_code authenticate(struct campaign *c, enum campaign_mode mode, struct err *reterr)
{
	struct err e = ERR_INIT;
	char id[65];
	if (!recorded_campaign(c, id))
		return OK;
	enum err_code code = receipt_keys_load(id, false, &c->keys, &e);
	if (code != OK && mode == CAMPAIGN_READ && code != ERR_CONTRACT && code != ERR_IO)
		return OK;
	if (code == OK && c->keys.has_hmac)
		code = check_ledger(c, &e);
	else if (code == OK)
		return OK;
	if (code == ERR_CONTRACT && mode == CAMPAIGN_WRITE && c->keys.has_hmac) {
		c->unreadable = e;
		return OK;
	}
	if (code != OK && reterr)
		*reterr = e;
	return code;
}

/* A ledger that does not go with the task is no dead end: a new campaign can be begun. */
static enum err_code load_state(struct campaign *c, enum campaign_mode mode, struct err *reterr)
{
	struct err e = ERR_INIT;
	enum err_code code = campaign_refresh(c, &e);
	if (code == OK)
		return OK;
	if (code == ERR_INPUT)
		code = err_set(&e, ERR_INPUT,
			"%s\nnext: undo what changed in infrarsi.yaml since the campaign began, or leave the "
			"campaign behind with  infrarsi doctor --new",
			e.message);
	if (code != ERR_INPUT || mode == CAMPAIGN_READ) {
		if (reterr)
			*reterr = e;
		return code;
	}
	if (c->unreadable.code == OK)
		c->unreadable = e;
	TRY(state_load(&c->task, NULL, &c->state, reterr));
	c->has_state = true;
	return OK;
}

const char *campaign_log_format(const struct campaign *c)
{
	static const char prefix[] = "log:";
	bool by_log = strncmp(c->task.stack, prefix, sizeof(prefix) - 1) == 0;
	return by_log ? c->task.stack + sizeof(prefix) - 1 : NULL;
}

static enum err_code check_log_format(struct campaign *c, const char *task_path, struct err *reterr)
{
	const char *format = campaign_log_format(c);
	if (!format || log_format_known(format))
		return OK;
	CLEANUP(strbuf_release) struct strbuf known = STRBUF_INIT;
	for (size_t i = 0; log_format_at(i); i++)
		strbuf_addf(&known, "%s%s", i ? ", " : "", log_format_at(i));
	return err_set(reterr, ERR_INPUT, "%s: stack: no log format is named '%s'; expected one of %s",
		task_path, format, known.buf);
}

enum err_code campaign_open(const char *task_path, enum campaign_mode mode,
	const struct campaign_options *options, struct campaign *ret_campaign, struct err *reterr)
{
	/* Built in place: the state keeps pointers into the struct. */
	struct campaign *c = ret_campaign;
	*c = (struct campaign){.options = *options, .opened_s = clock_now_s()};
	enum err_code code = task_load(task_path, &c->task, reterr);
	if (code != OK)
		return code;
	TRY_GOTO(check_log_format(c, task_path, reterr), fail);
	c->dir = arena_printf(&c->arena, "%s/.infrarsi", c->task.root);
	if (mode == CAMPAIGN_WRITE)
		TRY_GOTO(make_folders(c, reterr), fail);
	TRY_GOTO(open_ledger(c, mode, reterr), fail);
	TRY_GOTO(authenticate(c, mode, reterr), fail);
	TRY_GOTO(load_state(c, mode, reterr), fail);
	take_recorded_snapshot(c);
	if (mode == CAMPAIGN_WRITE)
		TRY_GOTO(open_for_writing(c, reterr), fail);
	return OK;
fail:
	campaign_close(c);
	return code;
}

void campaign_close(struct campaign *c)
{
	if (c->has_state)
		state_release(&c->state);
	if (c->runner.ops && !c->options.runner)
		runner_release(&c->runner);
	receipt_keys_wipe(&c->keys);
	ledger_close(c->ledger);
	lock_release(&c->lock);
	task_release(&c->task);
	arena_release(&c->arena);
	*c = (struct campaign){0};
}

enum err_code campaign_refresh(struct campaign *c, struct err *reterr)
{
	struct state fresh;
	TRY(state_load(&c->task, c->ledger, &fresh, reterr));
	if (c->has_state)
		state_release(&c->state);
	c->state = fresh;
	c->state.search.legal_context = &c->state.space;
	if (c->options.inform)
		c->options.inform(c->options.inform_context, &c->state.search);
	c->has_state = true;
	return OK;
}

static enum err_code keys_are_gone(const struct campaign *c, struct err *reterr)
{
	return err_set(reterr, ERR_STATE,
		"the signing keys of campaign %s are not in $XDG_STATE_HOME/infrarsi/keys (by default "
		"~/.local/state/infrarsi/keys), so its receipts can be neither checked nor continued; next: "
		"bring the keys back, or begin anew with  infrarsi doctor --new",
		c->state.campaign_id);
}

enum err_code campaign_append(struct campaign *c, enum entry_kind kind, int trial, const char *signature,
	char *body_take, int64_t *ret_id, struct err *reterr)
{
	CLEANUP(free_ptr) char *body = body_take;
	if (kind != ENTRY_CAMPAIGN && c->unreadable.code != OK) {
		if (reterr)
			*reterr = c->unreadable;
		return c->unreadable.code;
	}
	if (kind != ENTRY_CAMPAIGN && c->state.has_campaign && !has_keys(c))
		return keys_are_gone(c, reterr);
	return ledger_append(c->ledger, kind, trial, signature, body, ret_id, reterr);
}

const char *campaign_file(struct campaign *c, const char *sub, int64_t number, const char *extension)
{
	return arena_printf(&c->arena, "%s/%s/%04lld.%s", c->dir, sub, (long long)number, extension);
}

bool campaign_stop_wanted(const struct campaign *c)
{
	struct pollfd fd = {c->options.stop_fd, POLLIN, 0};
	return c->options.stop_fd >= 0 && poll(&fd, 1, 0) > 0;
}

void campaign_report_progress(struct campaign *c, struct progress *p)
{
	if (!c->options.progress)
		return;
	p->state = &c->state;
	c->options.progress(c->options.progress_context, p);
}

/* A folder that a move which was cut short had moved already stands there again, empty. */
static enum err_code move_entry(const char *from, const char *to, struct err *reterr)
{
	if (rename(from, to) == 0 || errno == ENOENT)
		return OK;
	if ((errno == ENOTEMPTY || errno == EEXIST) && rmdir(from) == 0)
		return OK;
	return err_errno(reterr, "cannot move %s to %s", from, to);
}

/* The ledger is closed meanwhile; everything is moved before a new one begins, so that a campaign is one
 * folder. */
static enum err_code archive_old(struct campaign *c, const char *new_id, struct err *reterr)
{
	CLEANUP(free_ptr)
	char *target = c->state.has_campaign ? xasprintf("%s/old/%s", c->dir, c->state.campaign_id)
					     : xasprintf("%s/old/before-%s", c->dir, new_id);
	TRY(make_dirs(target, 0755, reterr));
	ledger_close(take_ptr(c->ledger));
	for (size_t i = 0; i < ARRAY_LEN(campaign_entries); i++) {
		CLEANUP(free_ptr) char *from = xasprintf("%s/%s", c->dir, campaign_entries[i]);
		CLEANUP(free_ptr) char *to = xasprintf("%s/%s", target, campaign_entries[i]);
		TRY(move_entry(from, to, reterr));
	}
	TRY(make_folders(c, reterr));
	return open_ledger(c, CAMPAIGN_WRITE, reterr);
}

static char *campaign_body(
	const struct campaign *c, const char *id, uint64_t seed, const char *environment_json)
{
	char hooks[SHA256_HEX_SIZE];
	json_t *snapshot = json_object();
	json_object_set_new(snapshot, "commit", json_string(c->snapshot.commit));
	json_object_set_new(snapshot, "tree", json_string(c->snapshot.tree));
	json_object_set_new(snapshot, "prefix", json_from_text(c->snapshot.prefix));
	json_t *body = json_object();
	json_object_set_new(body, "id", json_string(id));
	json_object_set_new(body, "seed", json_integer((json_int_t)seed));
	json_object_set_new(body, "task", json_from_text(c->task.name));
	json_object_set_new(body, "task_digest", json_string(c->task.digest));
	json_object_set_new(body, "contract_digest", json_string(c->lock.contract_digest));
	json_object_set_new(body, "snapshot", snapshot);
	json_object_set_new(body, "environment", json_from_text(environment_json));
	json_object_set_new(body, "tool_version", json_string(INFRARSI_VERSION));
	if (hook_dir_digest(c->options.hook_dir, hooks, NULL) == OK)
		json_object_set_new(body, "hooks", json_string(hooks));
	return json_dump_take(body);
}

enum err_code campaign_begin(
	struct campaign *c, uint64_t seed, const char *environment_json, struct err *reterr)
{
	unsigned char bytes[8];
	char id[2 * sizeof(bytes) + 1];
	struct snapshot snapshot;
	random_bytes(bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), id);
	/* First what may fail, so that an old campaign is left behind only for a new one. */
	TRY(snapshot_take(c->task.root, id, &snapshot, reterr));
	receipt_keys_wipe(&c->keys);
	TRY(receipt_keys_load(id, true, &c->keys, reterr));
	if (c->state.has_campaign || c->unreadable.code != OK)
		TRY(archive_old(c, id, reterr));
	TRY(ledger_authenticate(c->ledger, c->keys.hmac, reterr));
	c->snapshot = snapshot;
	/* 53 bits: a seed that every JSON reader keeps exactly. */
	uint64_t used = (seed ? seed : sha256_u64(id, strlen(id))) & ((UINT64_C(1) << 53) - 1);
	TRY(campaign_append(
		c, ENTRY_CAMPAIGN, 0, NULL, campaign_body(c, id, used, environment_json), NULL, reterr));
	TRY(campaign_refresh(c, reterr));
	c->unreadable = (struct err)ERR_INIT;
	return OK;
}

enum err_code campaign_check_lock(const struct campaign *c, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf differences = STRBUF_INIT;
	lock_list_missing(&c->lock, c->task.root, &differences);
	if (!differences.len) {
		struct lock now = {0};
		TRY(lock_compute(&c->task, c->task.root, &now, reterr));
		lock_compare(&c->lock, &now, &differences);
		lock_release(&now);
	}
	if (differences.len)
		return err_set(reterr, ERR_CONTRACT,
			"the contract is not what infrarsi.lock says:\n%s"
			"next: undo the change, or accept it with  infrarsi init --accept  and start over",
			differences.buf);
	return OK;
}

/* What reports for the job must be what it was when the campaign began. Without a folder of hooks (a runner
 * that starts no processes), or in a campaign that did not record it, there is nothing to compare. */
static enum err_code check_hooks(const struct campaign *c, struct err *reterr)
{
	char now[SHA256_HEX_SIZE];
	if (!c->state.has_campaign || !*c->state.hooks_digest)
		return OK;
	TRY(hook_dir_digest(c->options.hook_dir, now, reterr));
	if (strcmp(now, c->state.hooks_digest) == 0)
		return OK;
	return err_set(reterr, ERR_CONTRACT,
		"the hooks in %s are not those that this campaign began with; next: bring them back (install "
		"the same version again), or begin anew with  infrarsi doctor --new",
		c->options.hook_dir);
}

enum err_code campaign_check_contract(const struct campaign *c, struct err *reterr)
{
	if (c->unreadable.code != OK) {
		if (reterr)
			*reterr = c->unreadable;
		return c->unreadable.code;
	}
	TRY(campaign_check_lock(c, reterr));
	if (c->state.has_campaign && !has_keys(c))
		return keys_are_gone(c, reterr);
	if (c->state.has_campaign && strcmp(c->state.contract_digest, c->lock.contract_digest) != 0)
		return err_set(reterr, ERR_CONTRACT,
			"the contract changed since this campaign began; next: infrarsi doctor --new");
	TRY(check_hooks(c, reterr));
	return campaign_check_records(c, reterr);
}

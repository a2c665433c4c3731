/* From a folder of diffs to levers of the campaign: parse, audit, record. What is refused is recorded too,
 * with its reason. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "campaign/stages.h"
#include "patch/patch.h"
#include "runner/hook_guard.h"

static enum err_code read_from_snapshot(
	void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	const struct campaign *c = context;
	const char *prefix = c->snapshot.prefix;
	CLEANUP(free_ptr)
	char *object = xasprintf("%s:%s%s%s", c->snapshot.commit, prefix,
		*prefix && prefix[strlen(prefix) - 1] != '/' ? "/" : "", path);
	enum err_code code = git_run(c->task.root, ret_text, reterr, "cat-file", "blob", object, NULL);
	return code == ERR_FAILED ? err_set(reterr, ERR_NOT_FOUND, "%s is not in the reference", path) : code;
}

static bool is_known(const struct state *s, const char *digest)
{
	for (size_t i = 0; i < s->space.n_patches; i++)
		if (strcmp(s->space.patches[i].digest, digest) == 0)
			return true;
	return false;
}

static bool is_refused(const struct state *s, const char *name, const char *reason)
{
	for (size_t i = 0; i < s->n_refusals; i++)
		if (strcmp(s->refusals[i].name, name) == 0 && strcmp(s->refusals[i].reason, reason) == 0)
			return true;
	return false;
}

static enum err_code refuse(struct campaign *c, const char *name, const char *digest, const char *by,
	const char *reason, struct err *reterr)
{
	json_t *body = json_object();
	json_object_set_new(body, "name", json_from_text(name));
	json_object_set_new(body, "patch", json_from_text(digest));
	json_object_set_new(body, "by", json_string(by));
	json_object_set_new(body, "reason", json_from_text(reason));
	/* Compared as recorded: text that is no UTF-8 is escaped there. */
	if (is_refused(&c->state, json_text_of(body, "name"), json_text_of(body, "reason"))) {
		json_decref(body);
		return OK;
	}
	TRY(campaign_append(c, ENTRY_REJECTED, 0, NULL, json_dump_take(body), NULL, reterr));
	return campaign_refresh(c, reterr);
}

static void finding_text(const struct audit_finding *f, struct strbuf *text)
{
	strbuf_addf(text, "%s %s, %s:%d", f->rule, f->title, f->file, f->line);
}

static json_t *findings_to_json(const struct audit_report *report)
{
	json_t *findings = json_array();
	for (size_t i = 0; i < report->n_findings; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		finding_text(&report->findings[i], &text);
		json_array_append_new(findings, json_from_text(text.buf));
	}
	return findings;
}

static json_t *conflicts_to_json(const struct state *s, const struct patch_pool *pool, size_t self)
{
	json_t *conflicts = json_array();
	/* An earlier version of the same patch is never stacked with the new one. */
	for (size_t i = 0; i < s->space.n_patches; i++)
		if (strcmp(s->space.patches[i].name, pool->patches[self].name) == 0)
			json_array_append_new(conflicts, json_string(s->space.patches[i].digest));
	for (size_t other = 0; other < pool->n_patches; other++)
		if (pool->conflicts[self * pool->n_patches + other])
			json_array_append_new(conflicts, json_string(pool->patches[other].digest));
	return conflicts;
}

static json_t *patch_to_json(const struct patch *patch)
{
	json_t *phases = json_array();
	for (size_t i = 0; i < patch->n_phases; i++)
		json_array_append_new(phases, json_from_text(patch->phases[i]));
	json_t *json = json_object();
	json_object_set_new(json, "digest", json_string(patch->digest));
	json_object_set_new(json, "name", json_from_text(patch->name));
	json_object_set_new(json, "title", json_from_text(patch->title ? patch->title : ""));
	json_object_set_new(json, "mechanism", json_from_text(patch->mechanism ? patch->mechanism : ""));
	json_object_set_new(json, "phases", phases);
	json_object_set_new(json, "predicted_gain_ln",
		json_from_number(patch->has_predicted ? patch->predicted_gain_ln : NAN));
	return json;
}

static enum err_code propose(struct campaign *c, const struct patch_pool *pool, size_t index,
	const struct audit_report *report, struct err *reterr)
{
	const struct patch *patch = &pool->patches[index];
	CLEANUP(free_ptr) char *relative = xasprintf("patches/%s.diff", patch->digest);
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, relative);
	TRY(file_write_atomic(path, patch->diff, strlen(patch->diff), 0644, reterr));
	json_t *body = json_object();
	json_object_set_new(body, "kind", json_string("patches"));
	json_object_set_new(body, "patch", patch_to_json(patch));
	json_object_set_new(body, "diff_path", json_string(relative));
	json_object_set_new(body, "conflicts", conflicts_to_json(&c->state, pool, index));
	json_object_set_new(body, "audit", json_string(report->review ? "review" : "clean"));
	json_object_set_new(body, "findings", findings_to_json(report));
	TRY(campaign_append(c, ENTRY_PROPOSAL, 0, NULL, json_dump_take(body), NULL, reterr));
	return campaign_refresh(c, reterr); /* another folder may hold the same patch */
}

/* The first finding that blocks, as one line. */
static void blocking_reason(const struct audit_report *report, struct strbuf *text)
{
	for (size_t i = 0; i < report->n_findings; i++)
		if (report->findings[i].severity == AUDIT_BLOCK) {
			finding_text(&report->findings[i], text);
			return;
		}
}

/* NULL = it touches no file that would be taken for the hook (the build looks again: hook_guard.h). */
static const char *hook_path_of(const struct patch *patch)
{
	for (size_t i = 0; i < patch->n_files; i++)
		if (is_hook_path(patch->files[i]))
			return patch->files[i];
	return NULL;
}

static enum err_code take_patch(
	struct campaign *c, const struct patch_pool *pool, size_t index, struct err *reterr)
{
	const struct patch *patch = &pool->patches[index];
	if (is_known(&c->state, patch->digest))
		return OK;
	const char *hook = hook_path_of(patch);
	if (hook) {
		CLEANUP(free_ptr) char *reason = xasprintf("%s would be taken for infrarsi's own hook", hook);
		return refuse(c, patch->name, patch->digest, "hook", reason, reterr);
	}
	const struct string_list *menu = &c->task.contract.precision;
	struct audit_terms terms = {.precision = menu->items, .n_precision = menu->count};
	struct audit_report report = {0};
	struct err e = ERR_INIT;
	enum err_code code =
		audit_diff_with(&terms, patch->diff, strlen(patch->diff), read_from_snapshot, c, &report, &e);
	/* What cannot be read to its end is not let through. */
	if (code == ERR_INPUT || code == ERR_LIMIT)
		return refuse(c, patch->name, patch->digest, "audit", e.message, reterr);
	if (code != OK) {
		if (reterr)
			*reterr = e;
		return code;
	}
	if (report.blocked) {
		CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
		blocking_reason(&report, &reason);
		code = refuse(c, patch->name, patch->digest, "audit", reason.buf, reterr);
	} else {
		code = propose(c, pool, index, &report, reterr);
	}
	audit_report_release(&report);
	return code;
}

struct presence { /* digests of what lies in the folders now; in the campaign's arena */
	const char **digests;
	size_t count, capacity;
};

static void note_present(struct campaign *c, const struct patch_pool *pool, struct presence *now)
{
	for (size_t i = 0; i < pool->n_patches; i++) {
		grow_array(&now->digests, &now->capacity, now->count + 1, sizeof(*now->digests));
		now->digests[now->count++] = arena_strdup(&c->arena, pool->patches[i].digest);
	}
}

static void mark_gone(struct campaign *c, const struct presence *now)
{
	const struct space *space = &c->state.space;
	c->n_patch_gone = space->n_patches;
	c->patch_gone = arena_array(&c->arena, space->n_patches, sizeof(bool));
	for (size_t i = 0; i < space->n_patches; i++) {
		c->patch_gone[i] = true;
		for (size_t k = 0; k < now->count; k++)
			if (strcmp(space->patches[i].digest, now->digests[k]) == 0)
				c->patch_gone[i] = false;
	}
}

static enum err_code gather_folder(
	struct campaign *c, const char *dir, struct presence *now, struct err *reterr)
{
	struct patch_pool pool = {0};
	CLEANUP(free_ptr) char *path = *dir == '/' ? xstrdup(dir) : xasprintf("%s/%s", c->task.root, dir);
	TRY(patch_pool_read(&c->task, c->snapshot.commit, c->snapshot.prefix, path, &pool, reterr));
	enum err_code code = OK;
	for (size_t i = 0; i < pool.n_refused && code == OK; i++)
		code = refuse(c, pool.refused[i].name, "", "patch", pool.refused[i].reason, reterr);
	for (size_t i = 0; i < pool.n_patches && code == OK; i++)
		code = take_patch(c, &pool, i, reterr);
	note_present(c, &pool, now);
	patch_pool_release(&pool);
	return code;
}

enum err_code patches_gather(struct campaign *c, struct err *reterr)
{
	struct presence now = {0};
	enum err_code code = OK;
	for (size_t i = 0; i < c->task.n_proposers && code == OK; i++)
		if (c->task.proposers[i].kind == PROPOSE_PATCHES)
			code = gather_folder(c, c->task.proposers[i].dir, &now, reterr);
	if (code == OK)
		code = campaign_refresh(c, reterr);
	if (code == OK)
		mark_gone(c, &now);
	free(now.digests);
	return code;
}

/* From folders of patches and branches, those of proposers too, to levers of the campaign: parse, audit,
 * record. What is refused is recorded too, with its reason, and so is why two patches do not go together. */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/answers.h"
#include "campaign/patch_check.h"
#include "campaign/stages.h"
#include "patch/patch.h"

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

/* ---- what a patch does not go together with ---- */

struct conflicts { /* JSON of a proposal: digests, and the reason of each */
	json_t *digests, *reasons;
};

static void add_conflict(struct conflicts *list, const char *digest, const char *reason)
{
	json_array_append_new(list->digests, json_string(digest));
	json_object_set_new(list->reasons, digest, json_from_text(reason));
}

static size_t find_in_pool(const struct patch_pool *pool, const char *digest)
{
	size_t i = 0;
	while (i < pool->n_patches && strcmp(pool->patches[i].digest, digest) != 0)
		i++;
	return i;
}

/* A lever whose diff lies in no folder any more: its own copy tells. */
static enum err_code compare_with_gone(struct campaign *c, const struct patch *patch, size_t lever,
	struct conflicts *list, struct err *reterr)
{
	const struct state *s = &c->state;
	const struct patch_lever *other = &s->space.patches[lever];
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, s->patch_paths[lever]);
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	bool conflict = false;
	if (strcmp(other->name, patch->name) == 0) {
		/* An earlier version of the same patch is never stacked with the new one. */
		add_conflict(list, other->digest, "an earlier version of the same patch");
		return OK;
	}
	struct err why = ERR_INIT;
	enum err_code code = file_read(path, FILE_CAP_DEFAULT, &diff, &why);
	if (code == OK)
		code = patch_conflict(
			other->name, diff.buf, patch->name, patch->diff, &conflict, &reason, &why);
	if (code == ERR_IO)
		return err_set(reterr, code, "%s", why.message);
	/* A copy that was removed or edited cannot be built either. */
	if (code != OK || conflict)
		add_conflict(list, other->digest, code != OK ? why.message : reason.buf);
	return OK;
}

static enum err_code set_conflicts(
	struct campaign *c, const struct patch_pool *pool, size_t self, json_t *body, struct err *reterr)
{
	const struct space *space = &c->state.space;
	struct conflicts list = {json_array(), json_object()};
	json_object_set_new(body, "conflicts", list.digests);
	json_object_set_new(body, "conflict_reasons", list.reasons);
	for (size_t i = 0; i < space->n_patches; i++)
		if (find_in_pool(pool, space->patches[i].digest) == pool->n_patches)
			TRY(compare_with_gone(c, &pool->patches[self], i, &list, reterr));
	for (size_t other = 0; other < pool->n_patches; other++) {
		const char *reason = pool->conflicts[self * pool->n_patches + other];
		if (reason)
			add_conflict(&list, pool->patches[other].digest, reason);
	}
	return OK;
}

/* Whose folder it lies in; "" = the task's. */
static const char *proposer_of(const struct campaign *c, const struct patch *patch, struct arena *arena)
{
	CLEANUP(free_ptr) char *folder = answers_patch_folder(c, "");
	size_t length = strlen(folder);
	if (strncmp(patch->source, folder, length) != 0)
		return "";
	const char *name = patch->source + length;
	return arena_strndup(arena, name, strcspn(name, "/"));
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
	const char *proposer = proposer_of(c, patch, &c->arena);
	if (*proposer)
		json_object_set_new(body, "proposer", json_string(proposer));
	enum err_code code = set_conflicts(c, pool, index, body, reterr);
	if (code != OK) {
		json_decref(body);
		return code;
	}
	json_object_set_new(body, "audit", json_string(report->review ? "review" : "clean"));
	json_object_set_new(body, "findings", findings_to_json(report));
	TRY(campaign_append(c, ENTRY_PROPOSAL, 0, NULL, json_dump_take(body), NULL, reterr));
	return campaign_refresh(c, reterr); /* another folder may hold the same patch */
}

static enum err_code take_patch(
	struct campaign *c, const struct patch_pool *pool, size_t index, struct err *reterr)
{
	const struct patch *patch = &pool->patches[index];
	struct patch_check check = {.refused_by = "", .reason = "", .patch = *patch};
	if (is_known(&c->state, patch->digest))
		return OK;
	enum err_code code = patch_judge(c, &check, reterr);
	if (code == OK && *check.refused_by)
		code = refuse(c, patch->name, patch->digest, check.refused_by, check.reason, reterr);
	else if (code == OK)
		code = propose(c, pool, index, &check.report, reterr);
	patch_check_release(&check);
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

/* Of its author nobody knows what it is up to: a model, a program, a person's agent. */
static bool is_by_a_stranger(const struct campaign *c, size_t patch)
{
	const struct state *s = &c->state;
	if (!s->patch_sources[patch])
		return false;
	const char *name = state_source_name(s, s->patch_sources[patch]);
	for (size_t i = 0; i < c->task.n_proposers; i++)
		if (strcmp(c->task.proposers[i].name, name) == 0)
			return c->task.proposers[i].kind != PROPOSE_CATALOGUE;
	return true;
}

/* Such patches run in a sandbox, or where the user has said that they may run without. */
static void leave_strangers_out(struct campaign *c)
{
	const char *fault = runner_sandbox_fault(&c->runner, c->options.sandbox);
	size_t n = 0;
	if (!fault || !*fault || c->options.sandbox == SANDBOX_OFF)
		return;
	for (size_t i = 0; i < c->n_patch_gone; i++)
		if (!c->patch_gone[i] && is_by_a_stranger(c, i)) {
			c->patch_gone[i] = true;
			n++;
		}
	if (n <= c->n_strangers_noted)
		return;
	c->n_strangers_noted = n;
	CLEANUP(free_ptr)
	char *text =
		xasprintf("%zu patch%s of models or programs %s not tried: there is no sandbox here (%s); "
			  "install bubblewrap, or let them run with your rights by --no-sandbox",
			n, n == 1 ? "" : "es", n == 1 ? "is" : "are", fault);
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = text});
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

/* Why patches that are at hand are not stacked: as notes, for the table of trials has no row for a pair. */
static void note_clashes(struct campaign *c)
{
	enum { SHOWN = 10 };
	const struct state *s = &c->state;
	size_t n = 0;
	size_t from = c->n_clashes_noted;
	c->n_clashes_noted = s->n_clashes;
	for (size_t i = from; i < s->n_clashes; i++) {
		const struct patch_clash *clash = &s->clashes[i];
		if (c->patch_gone[clash->first] || c->patch_gone[clash->second] || n++ >= SHOWN)
			continue;
		CLEANUP(free_ptr)
		char *text = xasprintf("patches %s and %s are not stacked: %s",
			s->space.patches[clash->first].name, s->space.patches[clash->second].name,
			clash->reason);
		campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = text});
	}
	if (n <= SHOWN)
		return;
	CLEANUP(free_ptr)
	char *more = xasprintf("%zu more pairs of patches are not stacked: infrarsi report", n - SHOWN);
	campaign_report_progress(c, &(struct progress){.kind = PROGRESS_NOTE, .text = more});
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Of proposers that the task names, and of outsiders: who was taken out of the task file takes what he gave
 * along. */
static bool is_wanted(const struct campaign *c, const char *name)
{
	int index = state_find_proposer(&c->state, name);
	for (size_t i = 0; i < c->task.n_proposers; i++)
		if (strcmp(c->task.proposers[i].name, name) == 0)
			return true;
	return index >= 0 && c->state.proposers[index].is_outsider;
}

/* What proposers gave, and what came unasked, in the order of their names. */
static enum err_code list_given(const struct campaign *c, struct arena *arena, struct patch_source **sources,
	size_t *n, struct err *reterr)
{
	CLEANUP(free_ptr) char *folder = answers_patch_folder(c, "");
	struct dirent **entries = NULL;
	size_t room = *n;
	int count = scandir(folder, &entries, is_visible, alphasort);
	if (count < 0 && errno != ENOENT)
		return err_errno(reterr, "cannot list %s", folder);
	for (int i = 0; i < count; i++) {
		const char *dir = arena_printf(arena, "%s%s", folder, entries[i]->d_name);
		if (is_wanted(c, entries[i]->d_name) && path_is_dir(dir)) {
			grow_array(sources, &room, *n + 1, sizeof(**sources));
			(*sources)[(*n)++] = (struct patch_source){.dir = dir};
		}
		free(entries[i]);
	}
	free(entries);
	return OK;
}

/* The sources that the task names; folders are its own unless their path is absolute. By malloc. */
static enum err_code list_sources(const struct campaign *c, struct arena *arena,
	struct patch_source **ret_sources, size_t *ret_count, struct err *reterr)
{
	const struct task *task = &c->task;
	struct patch_source *sources = xcalloc(task->n_proposers + 1, sizeof(*sources));
	size_t n = 0;
	for (size_t i = 0; i < task->n_proposers; i++) {
		const struct proposer *p = &task->proposers[i];
		if (p->kind != PROPOSE_PATCHES)
			continue;
		sources[n++] = (struct patch_source){
			.dir = !p->dir || *p->dir == '/' ? p->dir
							 : arena_printf(arena, "%s/%s", task->root, p->dir),
			.branches = p->branches.items,
			.n_branches = p->branches.count};
	}
	*ret_sources = sources;
	*ret_count = n;
	return list_given(c, arena, ret_sources, ret_count, reterr);
}

static enum err_code read_pool(struct campaign *c, struct patch_pool *ret_pool, struct err *reterr)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(free_ptr) struct patch_source *sources = NULL;
	size_t n = 0;
	TRY(list_sources(c, &arena, &sources, &n, reterr));
	if (!n)
		return OK;
	return patch_pool_read(
		&c->task, c->snapshot.commit, c->snapshot.prefix, sources, n, ret_pool, reterr);
}

static enum err_code gather(struct campaign *c, struct presence *now, struct err *reterr)
{
	struct patch_pool pool = {0};
	TRY(read_pool(c, &pool, reterr));
	enum err_code code = OK;
	for (size_t i = 0; i < pool.n_refused && code == OK; i++)
		code = refuse(c, pool.refused[i].name, "", "patch", pool.refused[i].reason, reterr);
	for (size_t i = 0; i < pool.n_patches && code == OK; i++)
		code = take_patch(c, &pool, i, reterr);
	note_present(c, &pool, now);
	patch_pool_release(&pool);
	return code;
}

enum err_code patches_find_gone(struct campaign *c, struct err *reterr)
{
	struct patch_pool pool = {0};
	struct presence now = {0};
	TRY(read_pool(c, &pool, reterr));
	note_present(c, &pool, &now);
	mark_gone(c, &now);
	patch_pool_release(&pool);
	free(now.digests);
	return OK;
}

enum err_code patches_gather(struct campaign *c, struct err *reterr)
{
	struct presence now = {0};
	enum err_code code = gather(c, &now, reterr);
	if (code == OK)
		code = campaign_refresh(c, reterr);
	if (code == OK) {
		mark_gone(c, &now);
		leave_strangers_out(c);
		note_clashes(c);
	}
	free(now.digests);
	return code;
}

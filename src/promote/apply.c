#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "event/receipt.h"
#include "patch/patch.h"
#include "promote/apply_int.h"
#include "runner/workspace.h"
#include "spec/lock.h"
#include "spec/task.h"

static enum err_code chosen_trial(const struct state *s, const struct apply_options *options,
	const struct trial **ret_trial, const struct duel **ret_duel, struct err *reterr)
{
	const struct duel *duel = state_delivered(s);
	int number = options->trial ? options->trial : duel ? duel->trial : 0;
	if (!number && !s->finished)
		return err_set(reterr, ERR_STATE, "nothing is promoted yet; next: infrarsi run");
	if (!number)
		return err_set(reterr, ERR_STATE,
			"nothing was delivered: the reference stays, there is nothing to apply");
	for (size_t i = 0; i < s->n_trials; i++) {
		const struct trial *t = &s->trials[i];
		if (t->number != number)
			continue;
		bool is_delivered = duel && duel->trial == number;
		if (t->status != TRIAL_VALID)
			return err_set(reterr, ERR_STATE, "trial %d is not valid (%s): it is never applied",
				number, trial_status_names[t->status]);
		if (!is_delivered && !options->force)
			return err_set(reterr, ERR_STATE,
				"trial %d was not confirmed by a duel; --force applies it all the same",
				number);
		*ret_trial = t;
		*ret_duel = is_delivered ? duel : NULL;
		return OK;
	}
	return err_set(reterr, ERR_NOT_FOUND, "there is no trial %d; see  infrarsi report", number);
}

/* infrarsi's own files may change; nothing else may, for the measurement was of these files. */
static bool is_ours(const char *path, const char *prefix)
{
	static const char *const ours[] = {"infrarsi.yaml", "infrarsi.lock", LAUNCH_FILE};
	size_t length = strlen(prefix);
	if (strncmp(path, prefix, length) != 0 || (length && path[length] != '/'))
		return false;
	path += length + (length > 0);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strcmp(path, ours[i]) == 0)
			return true;
	return false;
}

static enum err_code check_unchanged(const struct state *s, const struct repository *repo, struct err *reterr)
{
	enum { SHOWN = 5 };
	struct snapshot now;
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf changed = STRBUF_INIT;
	size_t n = 0;
	TRY(snapshot_take(s->task->root, NULL, &now, reterr));
	TRY(repository_git(repo, NULL, GIT_WORDS("diff-tree", "-r", "-z", "--name-only", s->tree, now.tree),
		&list, reterr));
	for (const char *path = list.buf; path < list.buf + list.len; path += strlen(path) + 1) {
		if (!*path || is_ours(path, s->prefix))
			continue;
		if (n++ < SHOWN) {
			strbuf_addstr(&changed, n > 1 ? ", " : "");
			strbuf_add_escaped(&changed, path, strlen(path));
		}
	}
	if (n == 0)
		return OK;
	return err_set(reterr, ERR_CONTRACT,
		"%zu file%s changed since the search, so what was measured is not what would be changed: "
		"%s%s\n"
		"next: undo the changes (git stash), or measure anew with  infrarsi doctor --new",
		n, n == 1 ? "" : "s", changed.buf, n > SHOWN ? ", ..." : "");
}

static void add_words(struct strbuf *text, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (i)
			strbuf_addch(text, ' ');
		strbuf_add_shell(text, words[i]);
	}
}

static void add_exports(struct strbuf *text, const char *const *env)
{
	for (size_t i = 0; env && env[i]; i++) {
		const char *equals = strchr(env[i], '=');
		strbuf_addf(text, "export %.*s=", (int)(equals - env[i]), env[i]);
		strbuf_add_shell(text, equals + 1);
		strbuf_addch(text, '\n');
	}
}

static bool same_words(const char *const *words, const char *const *measured, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!words[i] || strcmp(words[i], measured[i]) != 0)
			return false;
	return true;
}

/* The task file may have changed since (it is no part of what check_unchanged() compares): what is written
 * must be the command and the environment that the receipt shows. The receipt's list ends with the names of
 * variables that were passed through. */
static enum err_code check_as_measured(const struct state *s, const struct trial *t, const char *dir,
	const struct resolved *now, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, t->run.receipt_path);
	struct receipt r;
	enum seal_state seal;
	size_t n_argv = 0, n_env = 0;
	if (strcmp(s->task_digest, s->task->digest) == 0)
		return OK;
	TRY(receipt_read(path, NULL, &r, &seal, reterr));
	while (now->argv[n_argv])
		n_argv++;
	while (now->env[n_env])
		n_env++;
	bool same = n_argv == r.n_argv && same_words(now->argv, r.argv, r.n_argv) && n_env <= r.n_env &&
		    same_words(now->env, r.env, n_env) && (n_env == r.n_env || !strchr(r.env[n_env], '='));
	receipt_release(&r);
	if (same)
		return OK;
	return err_set(reterr, ERR_CONTRACT,
		"infrarsi.yaml changed since the search: the command of trial %d is not the one that was "
		"measured\nnext: undo the change, or measure anew with  infrarsi doctor --new",
		t->number);
}

/* The winner's launch, for people and schedulers: needs neither infrarsi nor its hooks. */
static enum err_code launch_script(const struct state *s, const struct trial *t, const char *dir,
	const char *summary, struct arena *arena, const char **ret_script, struct err *reterr)
{
	struct resolved r;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	TRY(space_resolve(&s->space, &t->candidate, arena, &r, reterr));
	TRY(check_as_measured(s, t, dir, &r, reterr));
	strbuf_addstr(&text, "#!/bin/sh\n# ");
	strbuf_add_escaped(&text, s->task->name, strlen(s->task->name));
	strbuf_addf(
		&text, ": settings found by infrarsi, trial %d of campaign %s", t->number, s->campaign_id);
	strbuf_addf(&text,
		"%s%s.\n# Builds and runs the job; further arguments are handed on to it.\nset -eu\n"
		"CDPATH= cd -- \"$(dirname -- \"$0\")\"\n",
		summary ? ", delivered " : " (not confirmed by a duel)", summary ? summary : "");
	if (r.build_argv) {
		strbuf_addstr(&text, "(\n");
		add_exports(&text, r.build_env);
		add_words(&text, r.build_argv);
		strbuf_addstr(&text, "\n)\n");
	}
	add_exports(&text, r.env);
	strbuf_addstr(&text, "exec ");
	add_words(&text, r.argv);
	strbuf_addstr(&text, " \"$@\"\n");
	*ret_script = arena_strdup(arena, text.buf);
	return OK;
}

/* The winner's diffs as they apply one after another; one whose changes those before it have is left out. */
static enum err_code merge_diffs(const struct state *s, struct arena *arena, const char *const *names,
	const char *const *paths, struct application *a, struct change *changes, struct err *reterr)
{
	size_t n = a->n_changes;
	const char **merged = arena_array(arena, n + 1, sizeof(*merged));
	TRY(patch_stack_files(s->task->root, s->commit, s->prefix, names, paths, n, arena, merged, reterr));
	a->n_changes = 0;
	for (size_t i = 0; i < n; i++) {
		if (!merged[i])
			continue;
		changes[i].diff_path = merged[i];
		changes[a->n_changes++] = changes[i];
	}
	a->changes = changes;
	return OK;
}

static enum err_code collect_changes(const struct state *s, const struct trial *t, struct arena *arena,
	struct application *a, struct err *reterr)
{
	size_t room = s->space.n_patches + 1;
	struct change *changes = arena_array(arena, room, sizeof(*changes));
	const char **names = arena_array(arena, room, sizeof(*names));
	const char **paths = arena_array(arena, room, sizeof(*paths));
	for (size_t i = 0; i < s->space.n_patches; i++) {
		const struct patch_lever *patch = &s->space.patches[i];
		if (!t->candidate.setting[s->task->n_knobs + i])
			continue;
		TRY(state_check_diff(s, i, a->dir, reterr));
		names[a->n_changes] = patch->name;
		paths[a->n_changes] = arena_printf(arena, "%s/%s", a->dir, s->patch_paths[i]);
		changes[a->n_changes++] = (struct change){
			.name = patch->name,
			.title = patch->title && *patch->title ? patch->title : patch->name,
			.mechanism = patch->mechanism ? patch->mechanism : "",
		};
	}
	return merge_diffs(s, arena, names, paths, a, changes, reterr);
}

/* Commands and settings that the task file says now must be those that were measured. */
static enum err_code check_contract(const struct state *s, struct err *reterr)
{
	struct lock now = {0};
	TRY(lock_compute(s->task, s->task->root, &now, reterr));
	bool same = strcmp(now.contract_digest, s->contract_digest) == 0;
	lock_release(&now);
	if (same)
		return OK;
	return err_set(reterr, ERR_CONTRACT,
		"the contract in infrarsi.yaml is not the one that was measured; next: undo the change, or "
		"measure anew with  infrarsi doctor --new");
}

static enum err_code prepare(const struct state *s, const struct apply_options *options,
	struct apply_result *result, struct application *a, struct err *reterr)
{
	const struct trial *t = NULL;
	const struct duel *duel = NULL;
	if (!options->branch)
		TRY(apply_check_not_applied(options->dir, reterr));
	TRY(chosen_trial(s, options, &t, &duel, reterr));
	TRY(check_unchanged(s, &a->repo, reterr));
	TRY(check_contract(s, reterr));
	if (duel)
		a->summary = arena_printf(&result->arena, "%.2fx (95%% interval %.2f to %.2f)",
			exp(duel_gain(duel).ln), exp(duel_gain(duel).low_ln), exp(duel_gain(duel).high_ln));
	TRY(launch_script(s, t, a->dir, a->summary, &result->arena, &a->script, reterr));
	TRY(collect_changes(s, t, &result->arena, a, reterr));
	result->n_patches = (int)a->n_changes;
	return OK;
}

enum err_code apply_run(const struct state *s, const struct apply_options *options,
	struct apply_result *ret_result, struct err *reterr)
{
	struct apply_result result = {.arena = ARENA_INIT};
	struct application a = {.s = s, .dir = options->dir, .repo = {.arena = ARENA_INIT}};
	enum err_code code = repository_open(s->task->root, &a.repo, reterr);
	if (code == OK)
		code = prepare(s, options, &result, &a, reterr);
	if (code == OK)
		code = options->branch ? apply_to_branch(&a, options->branch, &result, reterr)
				       : apply_to_tree(&a, &result, reterr);
	repository_release(&a.repo);
	if (code == OK)
		*ret_result = result;
	else
		arena_release(&result.arena);
	return code;
}

void apply_result_release(struct apply_result *r)
{
	arena_release(&r->arena);
	*r = (struct apply_result){0};
}

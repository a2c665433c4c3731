/*
 * The winner written into the working tree. The contents that are replaced are kept in .infrarsi/applied/
 * together with a record of what was written, so that undo can tell its own work from later edits. Order:
 * keep, record, write; a crash in between leaves a record whose undo restores everything.
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "promote/apply_int.h"
#include "spec/task.h"

static char *record_path(const char *dir)
{
	return xasprintf("%s/applied.json", dir);
}

static const char *digest_of(const char *path, char buf[SHA256_HEX_SIZE])
{
	buf[0] = '\0';
	return sha256_file_hex(path, buf, NULL) == OK ? buf : "";
}

/* The names of the files that all patches change, relative to the task's folder, from git's own reading of
 * the diffs. */
static enum err_code changed_files(
	const struct application *a, struct apply_result *result, struct err *reterr)
{
	size_t capacity = 0;
	const char **files = NULL;
	enum err_code code = OK;
	for (size_t i = 0; i < a->n_changes && code == OK; i++) {
		CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT;
		code = git_outside_repository(a->dir,
			GIT_WORDS("apply", "--numstat", "-z", a->changes[i].diff_path), &list, reterr);
		for (const char *entry = list.buf; code == OK && entry < list.buf + list.len;
			entry += strlen(entry) + 1) {
			const char *tab = strrchr(entry, '\t');
			bool known = !tab;
			for (size_t k = 0; k < result->n_files && tab; k++)
				known |= strcmp(files[k], tab + 1) == 0;
			if (known)
				continue;
			grow_array(&files, &capacity, result->n_files + 1, sizeof(*files));
			files[result->n_files++] = arena_strdup(&result->arena, tab + 1);
		}
	}
	grow_array(&files, &capacity, result->n_files + 1, sizeof(*files));
	files[result->n_files++] = LAUNCH_FILE;
	result->files = arena_array(&result->arena, result->n_files, sizeof(*files));
	memcpy(result->files, files, result->n_files * sizeof(*files));
	free(files);
	return code;
}

static enum err_code make_parent(const char *path, struct err *reterr)
{
	CLEANUP(free_ptr) char *parent = xstrdup(path);
	*strrchr(parent, '/') = '\0';
	return make_dirs(parent, 0755, reterr);
}

/* The patched contents, made aside first: a patch that does not apply leaves the tree untouched. */
static enum err_code patch_aside(
	const struct application *a, const struct apply_result *result, const char *aside, struct err *reterr)
{
	for (size_t i = 0; i + 1 < result->n_files; i++) {
		CLEANUP(free_ptr) char *from = xasprintf("%s/%s", a->s->task->root, result->files[i]);
		CLEANUP(free_ptr) char *to = xasprintf("%s/%s", aside, result->files[i]);
		TRY(make_parent(to, reterr));
		if (path_exists(from))
			TRY(copy_tree(from, to, reterr));
	}
	for (size_t i = 0; i < a->n_changes; i++)
		TRY(git_outside_repository(aside,
			GIT_WORDS("apply", "--whitespace=nowarn", a->changes[i].diff_path), NULL, reterr));
	CLEANUP(free_ptr) char *script = xasprintf("%s/%s", aside, LAUNCH_FILE);
	return file_write_atomic(script, a->script, strlen(a->script), 0755, reterr);
}

static enum err_code keep_and_record(
	const struct application *a, const struct apply_result *result, const char *aside, struct err *reterr)
{
	json_t *files = json_array();
	enum err_code code = OK;
	for (size_t i = 0; i < result->n_files && code == OK; i++) {
		char before[SHA256_HEX_SIZE], after[SHA256_HEX_SIZE];
		CLEANUP(free_ptr) char *now = xasprintf("%s/%s", a->s->task->root, result->files[i]);
		CLEANUP(free_ptr) char *next = xasprintf("%s/%s", aside, result->files[i]);
		CLEANUP(free_ptr) char *relative = xasprintf("applied/%zu", i);
		CLEANUP(free_ptr) char *kept = xasprintf("%s/%s", a->dir, relative);
		json_t *file = json_object();
		json_object_set_new(file, "path", json_from_text(result->files[i]));
		json_object_set_new(file, "before", json_string(digest_of(now, before)));
		json_object_set_new(file, "after", json_string(digest_of(next, after)));
		json_object_set_new(file, "kept", json_string(relative));
		json_array_append_new(files, file);
		if (path_exists(now))
			code = copy_tree(now, kept, reterr);
	}
	json_t *record = json_object();
	json_object_set_new(record, "campaign", json_from_text(a->s->campaign_id));
	json_object_set_new(record, "files", files);
	CLEANUP(free_ptr) char *text = json_dump_pretty_take(record);
	CLEANUP(free_ptr) char *path = record_path(a->dir);
	return code == OK ? file_write_atomic(path, text, strlen(text), 0644, reterr) : code;
}

static enum err_code write_file(const char *from, const char *to, struct err *reterr)
{
	struct stat st;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (stat(from, &st) != 0)
		return err_errno(reterr, "cannot read %s", from);
	TRY(file_read(from, (size_t)256 << 20, &text, reterr));
	return file_write_atomic(to, text.buf, text.len, st.st_mode & 0777, reterr);
}

static enum err_code write_all_files(
	const struct application *a, const struct apply_result *result, const char *aside, struct err *reterr)
{
	for (size_t i = 0; i < result->n_files; i++) {
		CLEANUP(free_ptr) char *from = xasprintf("%s/%s", aside, result->files[i]);
		CLEANUP(free_ptr) char *to = xasprintf("%s/%s", a->s->task->root, result->files[i]);
		if (path_exists(from)) {
			TRY(make_parent(to, reterr));
			TRY(write_file(from, to, reterr));
		} else if (path_exists(to) && unlink(to) != 0) {
			return err_errno(reterr, "cannot remove %s", to);
		}
	}
	return OK;
}

enum err_code apply_check_not_applied(const char *dir, struct err *reterr)
{
	CLEANUP(free_ptr) char *record = record_path(dir);
	if (!path_exists(record))
		return OK;
	return err_set(
		reterr, ERR_STATE, "the winner is applied already; take it back with  infrarsi apply --undo");
}

enum err_code apply_to_tree(const struct application *a, struct apply_result *result, struct err *reterr)
{
	char aside[4096];
	CLEANUP(free_ptr) char *kept = xasprintf("%s/applied", a->dir);
	TRY(changed_files(a, result, reterr));
	TRY(remove_tree(kept, reterr));
	TRY(make_dirs(kept, 0755, reterr));
	TRY(make_temporary_dir(aside, reterr));
	enum err_code code = patch_aside(a, result, aside, reterr);
	if (code == OK)
		code = keep_and_record(a, result, aside, reterr);
	if (code == OK) {
		code = write_all_files(a, result, aside, reterr);
		if (code != OK)
			err_prefix(reterr, code, "half applied; take it back with  infrarsi apply --undo");
	}
	enum err_code removed = remove_tree(aside, code == OK ? reterr : NULL);
	TRY(code != OK ? code : removed);
	result->undo = "infrarsi apply --undo";
	return OK;
}

/* Every file is as apply left it, or as it was before (a crash in between). */
static enum err_code check_untouched(const struct state *s, const json_t *files, struct err *reterr)
{
	size_t i;
	json_t *file;
	json_array_foreach(files, i, file)
	{
		char found[SHA256_HEX_SIZE];
		const char *name = json_text_of(file, "path");
		if (!path_is_contained(name) || !path_is_contained(json_text_of(file, "kept")))
			return err_set(reterr, ERR_INPUT,
				"applied.json: files[%zu]: expected a path inside the task's folder and "
				"where its content is kept inside .infrarsi",
				i);
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", s->task->root, name);
		const char *digest = digest_of(path, found);
		if (strcmp(digest, json_text_of(file, "after")) != 0 &&
			strcmp(digest, json_text_of(file, "before")) != 0)
			return err_set(reterr, ERR_CONTRACT,
				"%s was edited since it was applied; undo would lose that: move the edit "
				"away first",
				name);
	}
	return OK;
}

/* Folders that came with a file go with it, as far as they are empty. */
static void remove_empty_parents(const char *root, const char *path)
{
	CLEANUP(free_ptr) char *parent = xstrdup(path);
	size_t root_length = strlen(root);
	for (char *slash; (slash = strrchr(parent, '/')) && (size_t)(slash - parent) > root_length;) {
		*slash = '\0';
		if (rmdir(parent) != 0)
			return;
	}
}

static enum err_code restore(const struct state *s, const char *dir, const json_t *files,
	struct apply_result *result, struct err *reterr)
{
	size_t i;
	json_t *file;
	result->files = arena_array(&result->arena, json_array_size(files), sizeof(char *));
	json_array_foreach(files, i, file)
	{
		const char *name = json_text_of(file, "path");
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", s->task->root, name);
		result->files[result->n_files++] = arena_strdup(&result->arena, name);
		if (*json_text_of(file, "before")) {
			CLEANUP(free_ptr) char *kept = xasprintf("%s/%s", dir, json_text_of(file, "kept"));
			TRY(make_parent(path, reterr));
			TRY(write_file(kept, path, reterr));
			continue;
		}
		if (path_exists(path) && unlink(path) != 0)
			return err_errno(reterr, "cannot remove %s", path);
		remove_empty_parents(s->task->root, path);
	}
	return OK;
}

enum err_code apply_undo(
	const struct state *s, const char *dir, struct apply_result *ret_result, struct err *reterr)
{
	struct apply_result result = {.arena = ARENA_INIT, .undo = ""};
	CLEANUP(free_ptr) char *path = record_path(dir);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(json_decref_ptr) json_t *record = NULL;
	if (!path_exists(path))
		return err_set(reterr, ERR_STATE, "nothing is applied to the working tree");
	TRY(file_read(path, FILE_CAP_DEFAULT, &text, reterr));
	TRY(json_object_parse(text.buf, path, &record, reterr));
	const json_t *files = json_object_get(record, "files");
	if (!json_is_array(files))
		return err_set_at(reterr, ERR_INPUT, path, 0, 0, "files: expected an array");
	TRY(check_untouched(s, files, reterr));
	enum err_code code = restore(s, dir, files, &result, reterr);
	if (code == OK && unlink(path) != 0)
		code = err_errno(reterr, "cannot remove %s", path);
	if (code == OK)
		*ret_result = result;
	else
		arena_release(&result.arena);
	return code;
}

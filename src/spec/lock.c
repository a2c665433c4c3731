#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/contract_json.h"
#include "spec/lock.h"
#include "spec/task.h"

enum { LOCK_SCHEMA = 1 };

struct path_list {
	char **paths; /* malloc */
	size_t count, capacity;
};

static void release_paths(struct path_list *list)
{
	free_strings(list->paths, list->count);
}

static enum err_code collect_pattern(
	const struct task *task, const char *root, size_t index, struct path_list *list, struct err *reterr)
{
	const char *pattern = task->contract.frozen_files.items[index];
	struct place place = task->contract.frozen_places[index];
	char **found = NULL;
	size_t count = 0;
	TRY(glob_files(root, pattern, &found, &count, reterr));
	grow_array(&list->paths, &list->capacity, list->count + count, sizeof(*list->paths));
	for (size_t i = 0; i < count; i++)
		list->paths[list->count++] = found[i];
	free(found);
	if (!count)
		return err_set_at(reterr, ERR_INPUT, task->path, place.line, place.column,
			"contract.frozen_files: '%s' matches no file below %s", pattern, root);
	return OK;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum err_code hash_files(
	const char *root, const struct path_list *sorted, struct lock *lock, struct err *reterr)
{
	lock->files = arena_array(&lock->arena, sorted->count, sizeof(*lock->files));
	for (size_t i = 0; i < sorted->count; i++) {
		if (i && strcmp(sorted->paths[i], sorted->paths[i - 1]) == 0)
			continue; /* two patterns match it */
		struct frozen_file *file = &lock->files[lock->n_files++];
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", root, sorted->paths[i]);
		TRY(sha256_file_hex(path, file->digest, reterr));
		file->path = arena_strdup(&lock->arena, sorted->paths[i]);
	}
	return OK;
}

static enum err_code compute(const struct task *task, const char *root, struct lock *lock, struct err *reterr)
{
	const struct string_list *patterns = &task->contract.frozen_files;
	CLEANUP(release_paths) struct path_list list = {0};
	contract_digest(task, lock->contract_digest);
	for (size_t i = 0; i < patterns->count; i++)
		TRY(collect_pattern(task, root, i, &list, reterr));
	if (list.count)
		qsort(list.paths, list.count, sizeof(*list.paths), compare_paths);
	return hash_files(root, &list, lock, reterr);
}

enum err_code lock_compute(
	const struct task *task, const char *root, struct lock *ret_lock, struct err *reterr)
{
	struct lock lock = {0};
	enum err_code code = compute(task, root, &lock, reterr);
	if (code != OK)
		lock_release(&lock);
	else
		*ret_lock = lock;
	return code;
}

void lock_release(struct lock *lock)
{
	arena_release(&lock->arena);
	*lock = (struct lock){0};
}

static bool is_digest(const json_t *value)
{
	unsigned char bytes[SHA256_BYTES];
	return json_is_string(value) && hex_decode(json_string_value(value), bytes, sizeof(bytes));
}

static void copy_digest(char to[65], const json_t *value)
{
	const char *text = json_string_value(value);
	for (size_t i = 0; i < 65; i++)
		to[i] = text[i];
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct frozen_file *)a)->path, ((const struct frozen_file *)b)->path);
}

static enum err_code read_lock(const json_t *object, const char *path, struct lock *lock, struct err *reterr)
{
	const json_t *contract = json_object_get(object, "contract"),
		     *schema = json_object_get(object, "schema");
	json_t *frozen = json_object_get(object, "frozen"), *value;
	const char *name;
	if (!json_is_integer(schema) || json_integer_value(schema) != LOCK_SCHEMA)
		return err_set_at(reterr, ERR_INPUT, path, 1, 1,
			"not a lock file of schema %d: run infrarsi init again", LOCK_SCHEMA);
	if (!is_digest(contract) || !json_is_object(frozen) || json_object_size(object) != 3)
		return err_set_at(reterr, ERR_INPUT, path, 1, 1,
			"expected the keys schema, contract (a SHA-256) and frozen (path: SHA-256): run "
			"infrarsi init again");
	copy_digest(lock->contract_digest, contract);
	lock->files = arena_array(&lock->arena, json_object_size(frozen), sizeof(*lock->files));
	json_object_foreach(frozen, name, value)
	{
		if (!path_is_contained(name) || !is_digest(value))
			return err_set_at(reterr, ERR_INPUT, path, 1, 1,
				"frozen: '%.200s' is not a path below the task's folder with a SHA-256",
				name);
		struct frozen_file *file = &lock->files[lock->n_files++];
		file->path = arena_strdup(&lock->arena, name);
		copy_digest(file->digest, value);
	}
	qsort(lock->files, lock->n_files, sizeof(*lock->files), compare_files);
	return OK;
}

enum err_code lock_read(const char *path, struct lock *ret_lock, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct lock lock = {0};
	json_error_t at;
	TRY(file_read(path, FILE_CAP_DEFAULT, &text, reterr));
	json_t *object = json_loadb(text.buf, text.len, JSON_REJECT_DUPLICATES, &at);
	if (!object)
		return err_set_at(reterr, ERR_INPUT, path, at.line, at.column, "not JSON: %s", at.text);
	enum err_code code = read_lock(object, path, &lock, reterr);
	json_decref(object);
	if (code != OK)
		lock_release(&lock);
	else
		*ret_lock = lock;
	return code;
}

enum err_code lock_write(const struct lock *lock, const char *path, struct err *reterr)
{
	json_t *object = json_object(), *frozen = json_object();
	bool is_utf8 = true;
	const char *bad = NULL;
	for (size_t i = 0; i < lock->n_files && is_utf8; i++) {
		is_utf8 = json_object_set_new(
				  frozen, lock->files[i].path, json_string(lock->files[i].digest)) == 0;
		bad = lock->files[i].path;
	}
	json_object_set_new(object, "schema", json_integer(LOCK_SCHEMA));
	json_object_set_new(object, "contract", json_string(lock->contract_digest));
	json_object_set_new(object, "frozen", frozen);
	CLEANUP(free_ptr) char *dump = json_dumps(object, JSON_SORT_KEYS | JSON_INDENT(2));
	json_decref(object);
	if (!is_utf8 || !dump) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
		strbuf_add_escaped(&shown, bad ? bad : "", bad ? strlen(bad) : 0);
		return err_set(reterr, ERR_INPUT, "the name of the frozen file '%s' is not UTF-8", shown.buf);
	}
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "%s\n", dump);
	return file_write_atomic(path, text.buf, text.len, 0644, reterr);
}

static void add_difference(struct strbuf *text, const char *path, const char *what)
{
	strbuf_add_escaped(text, path, strlen(path));
	strbuf_addf(text, ": %s\n", what);
}

void lock_compare(const struct lock *expected, const struct lock *found, struct strbuf *ret_differences)
{
	size_t i = 0, j = 0;
	if (strcmp(expected->contract_digest, found->contract_digest) != 0)
		strbuf_addstr(ret_differences, "the contract in the task file: changed\n");
	while (i < expected->n_files || j < found->n_files) {
		int order = i == expected->n_files ? 1
			    : j == found->n_files  ? -1
						   : strcmp(expected->files[i].path, found->files[j].path);
		if (order < 0)
			add_difference(ret_differences, expected->files[i].path, "missing");
		else if (order > 0)
			add_difference(ret_differences, found->files[j].path, "not in the lock");
		else if (strcmp(expected->files[i].digest, found->files[j].digest) != 0)
			add_difference(ret_differences, expected->files[i].path, "changed");
		i += order <= 0;
		j += order >= 0;
	}
}

void lock_list_missing(const struct lock *lock, const char *root, struct strbuf *ret_differences)
{
	for (size_t i = 0; i < lock->n_files; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", root, lock->files[i].path);
		if (!path_exists(path))
			add_difference(ret_differences, lock->files[i].path, "missing");
	}
}

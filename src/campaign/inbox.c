#include "base/base.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "campaign/inbox.h"

static const char schema[] = "infrarsi-inbox/1";
static const char *const members[] = {"schema", "proposer", "measure", "answer"};
static const char ending[] = ".json";
/* Names begin with nanoseconds of the clock, in so many digits that bytewise order is order of time. */
enum { TIME_DIGITS = 20 };

static bool is_item_name(const char *name)
{
	size_t length = strlen(name), end = sizeof(ending) - 1;
	return name[0] != '.' && length > end && strcmp(name + length - end, ending) == 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted; no folder is an empty one. Free with free_strings(). */
static enum err_code list_names(const char *dir, char ***ret_names, size_t *ret_count, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/inbox", dir);
	char **names = NULL;
	size_t n = 0, room = 0;
	struct dirent *entry;
	DIR *stream = opendir(path);
	if (!stream && errno != ENOENT)
		return err_errno(reterr, "cannot list %s", path);
	while (stream && (entry = readdir(stream))) {
		if (!is_item_name(entry->d_name))
			continue;
		grow_array(&names, &room, n + 1, sizeof(*names));
		names[n++] = xstrdup(entry->d_name);
	}
	if (stream)
		closedir(stream);
	if (n)
		qsort(names, n, sizeof(*names), compare_names);
	*ret_names = names;
	*ret_count = n;
	return OK;
}

size_t inbox_count(const char *dir)
{
	char **names = NULL;
	size_t n = 0;
	if (list_names(dir, &names, &n, NULL) != OK)
		return 0;
	free_strings(names, n);
	return n;
}

/* ---- one file ---- */

static bool is_proposer_name(const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
			return false;
	return length > 0 && length <= INBOX_PROPOSER_LENGTH;
}

static const char *unknown_member(const json_t *object)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)object, key, value)
	{
		bool known = false;
		for (size_t i = 0; i < ARRAY_LEN(members); i++)
			known = known || strcmp(members[i], key) == 0;
		if (!known)
			return key;
	}
	return NULL;
}

static enum err_code check_members(const json_t *object, const char *name, struct err *reterr)
{
	const char *unknown = unknown_member(object);
	if (unknown) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
		strbuf_add_escaped(&shown, unknown, strlen(unknown));
		const char *close = closest_name(unknown, members, ARRAY_LEN(members));
		return err_set(reterr, ERR_INPUT, "%s: unknown member '%.60s'%s%s%s", name, shown.buf,
			close ? " (did you mean '" : "; expected schema, proposer, measure and answer",
			close ? close : "", close ? "'?)" : "");
	}
	if (strcmp(json_text_of(object, "schema"), schema) != 0)
		return err_set(reterr, ERR_INPUT, "%s: expected \"schema\": \"%s\"", name, schema);
	if (!is_proposer_name(json_text_of(object, "proposer")))
		return err_set(reterr, ERR_INPUT,
			"%s: expected \"proposer\" as at most %d letters, digits, - and _", name,
			INBOX_PROPOSER_LENGTH);
	if (!json_is_boolean(json_object_get(object, "measure")))
		return err_set(reterr, ERR_INPUT, "%s: expected \"measure\" as true or false", name);
	if (!json_is_object(json_object_get(object, "answer")))
		return err_set(reterr, ERR_INPUT, "%s: expected \"answer\" as an object", name);
	return OK;
}

static enum err_code read_item(const char *path, const char *name, struct arena *arena,
	struct inbox_item *ret_item, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(json_decref_ptr) json_t *object = NULL;
	TRY(file_read(path, INBOX_FILE_BYTES, &text, reterr));
	if (strlen(text.buf) != text.len)
		return err_set(reterr, ERR_INPUT, "%s: expected JSON, found a zero byte", name);
	TRY(json_object_parse(text.buf, name, &object, reterr));
	TRY(check_members(object, name, reterr));
	CLEANUP(free_ptr) char *answer = json_dump_take(json_incref(json_object_get(object, "answer")));
	*ret_item = (struct inbox_item){
		.name = arena_strdup(arena, name),
		.proposer = arena_strdup(arena, json_text_of(object, "proposer")),
		.measure = json_bool_of(object, "measure"),
		.answer = arena_strdup(arena, answer),
	};
	return OK;
}

/* ---- putting ---- */

/* A clock that was set back does not let a new suggestion overtake those that wait. */
static uint64_t time_after(char *const *names, size_t n)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	for (size_t i = 0; i < n; i++) {
		char digits[TIME_DIGITS + 1];
		snprintf(digits, sizeof(digits), "%s", names[i]);
		if (strspn(digits, "0123456789") != TIME_DIGITS)
			continue;
		uint64_t other = strtoull(digits, NULL, 10);
		if (other >= time_ns && other < UINT64_MAX)
			time_ns = other + 1;
	}
	return time_ns;
}

static enum err_code choose_name(const char *dir, char ret_name[INBOX_NAME_SIZE], struct err *reterr)
{
	char **names = NULL;
	size_t n = 0;
	uint32_t random;
	TRY(list_names(dir, &names, &n, reterr));
	uint64_t time_ns = time_after(names, n);
	free_strings(names, n);
	if (n >= INBOX_FILES)
		return err_set(reterr, ERR_LIMIT,
			"%zu suggestions wait in %s/inbox already, which is the most; next: infrarsi run, "
			"which takes them",
			n, dir);
	random_bytes(&random, sizeof(random));
	snprintf(ret_name, INBOX_NAME_SIZE, "%0*llu-%08x%s", TIME_DIGITS, (unsigned long long)time_ns, random,
		ending);
	return OK;
}

static enum err_code item_to_json(const struct inbox_item *item, json_t **ret_object, struct err *reterr)
{
	CLEANUP(json_decref_ptr) json_t *answer = NULL;
	CLEANUP(json_decref_ptr) json_t *object = json_object();
	TRY(json_object_parse(item->answer, "answer", &answer, reterr));
	json_object_set_new(object, "schema", json_string(schema));
	json_object_set_new(object, "proposer", json_from_text(item->proposer));
	json_object_set_new(object, "measure", json_boolean(item->measure));
	json_object_set(object, "answer", answer);
	TRY(check_members(object, "suggestion", reterr));
	*ret_object = take_ptr(object);
	return OK;
}

enum err_code inbox_put(
	const char *dir, const struct inbox_item *item, char ret_name[INBOX_NAME_SIZE], struct err *reterr)
{
	json_t *object = NULL;
	char name[INBOX_NAME_SIZE];
	TRY(item_to_json(item, &object, reterr));
	CLEANUP(free_ptr) char *text = json_dump_take(object);
	if (strlen(text) > INBOX_FILE_BYTES)
		return err_set(reterr, ERR_LIMIT, "a suggestion of %zu bytes; at most %d are taken",
			strlen(text), INBOX_FILE_BYTES);
	CLEANUP(free_ptr) char *folder = xasprintf("%s/inbox", dir);
	TRY(make_dirs(folder, 0755, reterr));
	TRY(choose_name(dir, name, reterr));
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", folder, name);
	TRY(file_write_atomic(path, text, strlen(text), 0644, reterr));
	memcpy(ret_name, name, sizeof(name));
	return OK;
}

/* ---- taking ---- */

/* Into inbox/<folder>/, beside what has the name there already. Gone is fine. */
static enum err_code move_to(const char *dir, const char *name, const char *folder, struct err *reterr)
{
	CLEANUP(free_ptr) char *from = xasprintf("%s/inbox/%s", dir, name);
	CLEANUP(free_ptr) char *parent = xasprintf("%s/inbox/%s", dir, folder);
	char *to = xasprintf("%s/%s", parent, name);
	enum err_code code = make_dirs(parent, 0755, reterr);
	for (int k = 2; code == OK && path_exists(to); k++) {
		free(to);
		to = xasprintf("%s/%s.%d", parent, name, k);
	}
	if (code == OK && rename(from, to) != 0 && errno != ENOENT)
		code = err_errno(reterr, "cannot move %s to %s", from, to);
	free(to);
	return code;
}

static enum err_code refuse(const char *dir, const char *name, const struct err *why, struct arena *arena,
	struct inbox *box, struct err *reterr)
{
	char text[sizeof(why->message) + sizeof(why->file) + 32];
	CLEANUP(strbuf_release) struct strbuf shown_name = STRBUF_INIT, reason = STRBUF_INIT;
	err_format(why, text, sizeof(text));
	strbuf_add_escaped(&shown_name, name, strlen(name));
	strbuf_add_escaped(&reason, text, strlen(text));
	TRY(move_to(dir, name, "refused", reterr));
	box->refused[box->n_refused++] =
		(struct inbox_refusal){arena_strdup(arena, shown_name.buf), arena_strdup(arena, reason.buf)};
	return OK;
}

static enum err_code list_one(
	const char *dir, const char *name, struct arena *arena, struct inbox *box, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/inbox/%s", dir, name);
	struct err why = ERR_INIT;
	enum err_code code = read_item(path, name, arena, &box->items[box->n_items], &why);
	if (code == OK) {
		box->n_items++;
		return OK;
	}
	/* Taken away meanwhile, or nothing that can be read: trouble of this file alone. */
	return code == ERR_NOT_FOUND && !path_exists(path) ? OK : refuse(dir, name, &why, arena, box, reterr);
}

enum err_code inbox_list(const char *dir, struct arena *arena, struct inbox *ret_inbox, struct err *reterr)
{
	char **names = NULL;
	size_t n = 0;
	TRY(list_names(dir, &names, &n, reterr));
	size_t looked_at = MIN_OF(n, (size_t)INBOX_FILES);
	struct inbox box = {
		.items = arena_array(arena, looked_at, sizeof(*box.items)),
		.refused = arena_array(arena, looked_at, sizeof(*box.refused)),
	};
	enum err_code code = OK;
	for (size_t i = 0; i < looked_at && code == OK; i++)
		code = list_one(dir, names[i], arena, &box, reterr);
	free_strings(names, n);
	if (code == OK)
		*ret_inbox = box;
	return code;
}

enum err_code inbox_done(const char *dir, const char *name, struct err *reterr)
{
	if (strchr(name, '/') || !is_item_name(name))
		return err_set(reterr, ERR_INPUT, "no name of a suggestion: '%s'", name);
	return move_to(dir, name, "taken", reterr);
}

enum err_code inbox_refuse(const char *dir, const char *name, struct err *reterr)
{
	return move_to(dir, name, "refused", reterr);
}

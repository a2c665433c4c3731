#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/space.h"
#include "spec/task.h"
#include "spec/yaml_tree.h"

void candidate_release(struct candidate *c)
{
	free(c->setting);
	*c = (struct candidate)CANDIDATE_INIT;
}

void candidate_reference(struct candidate *c, const struct space *space)
{
	candidate_release(c);
	c->n_levers = space->n_levers;
	c->setting = xcalloc(space->n_levers + 1, sizeof(int));
	for (size_t i = 0; i < space->n_levers; i++)
		c->setting[i] = (int)space->reference[i];
}

void candidate_copy(struct candidate *to, const struct candidate *from)
{
	if (to == from)
		return;
	int *setting = xcalloc(from->n_levers + 1, sizeof(int));
	for (size_t i = 0; i < from->n_levers; i++)
		setting[i] = from->setting[i];
	candidate_release(to);
	to->n_levers = from->n_levers;
	to->setting = setting;
}

/* Levers that only one of them has are patches that entered later: off. */
bool candidate_equal(const struct candidate *a, const struct candidate *b)
{
	for (size_t i = 0; i < MAX_OF(a->n_levers, b->n_levers); i++) {
		int x = i < a->n_levers ? a->setting[i] : 0;
		int y = i < b->n_levers ? b->setting[i] : 0;
		if (x != y)
			return false;
	}
	return true;
}

static size_t setting_of(const struct candidate *c, const struct space *space, size_t lever)
{
	return c && lever < c->n_levers ? (size_t)c->setting[lever] : space->reference[lever];
}

bool candidate_is_reference(const struct candidate *c, const struct space *space)
{
	for (size_t i = 0; i < space->n_levers; i++)
		if (setting_of(c, space, i) != space->reference[i])
			return false;
	return true;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Digests in their own order, not in the order in which the patches entered the campaign. */
static json_t *patches_json(const struct candidate *c, const struct space *space)
{
	size_t n_knobs = space->task->n_knobs, n = 0;
	CLEANUP(free_ptr) const char **digests = xcalloc(space->n_patches + 1, sizeof(*digests));
	for (size_t p = 0; p < space->n_patches; p++)
		if (setting_of(c, space, n_knobs + p))
			digests[n++] = space->patches[p].digest;
	qsort(digests, n, sizeof(*digests), compare_texts);
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(digests[i]));
	return list;
}

static void add_json(
	const struct candidate *c, const struct space *space, bool only_changes, struct strbuf *text)
{
	json_t *settings = json_object(), *object = json_object();
	for (size_t k = 0; k < space->task->n_knobs; k++) {
		const struct knob *knob = &space->task->knobs[k];
		size_t setting = setting_of(c, space, k);
		if (!only_changes || setting != knob->reference)
			json_object_set_new(settings, knob->name, json_string(knob->settings[setting].text));
	}
	json_object_set_new(object, "settings", settings);
	json_object_set_new(object, "patches", patches_json(c, space));
	CLEANUP(free_ptr) char *dump = json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT);
	json_decref(object);
	if (!dump)
		die_oom(0); /* every text is UTF-8: the YAML reader checked it */
	strbuf_addstr(text, dump);
}

void candidate_to_json(const struct candidate *c, const struct space *space, struct strbuf *json)
{
	add_json(c, space, false, json);
}

void candidate_signature(const struct candidate *c, const struct space *space, char ret_hex[65])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	add_json(c, space, true, &text);
	sha256_hex(text.buf, text.len, ret_hex);
}

void candidate_describe(const struct candidate *c, const struct candidate *base, const struct space *space,
	struct strbuf *text)
{
	size_t n_knobs = space->task->n_knobs, before = text->len;
	for (size_t i = 0; i < space->n_levers; i++) {
		size_t setting = setting_of(c, space, i);
		if (setting == setting_of(base, space, i))
			continue;
		if (text->len > before)
			strbuf_addch(text, ' ');
		if (i < n_knobs) {
			const char *value = space->task->knobs[i].settings[setting].text;
			strbuf_addf(text, "%s=", space->task->knobs[i].name);
			strbuf_add_escaped(text, value, strlen(value));
		} else {
			const char *name = space->patches[i - n_knobs].name;
			strbuf_addch(text, setting ? '+' : '-');
			strbuf_add_escaped(text, name, strlen(name));
		}
	}
	if (text->len == before)
		strbuf_addstr(text, candidate_is_reference(c, space) ? "reference" : "no change");
}

static enum err_code set_knob(struct candidate *c, const struct space *space, const char *name,
	const json_t *value, struct arena *arena, struct err *reterr)
{
	const struct knob *knob = task_find_knob(space->task, name);
	if (!knob)
		return err_set(
			reterr, ERR_INPUT, "candidate: the task has no knob '%s'", printable(name, arena));
	if (!json_is_string(value))
		return err_set(
			reterr, ERR_INPUT, "candidate: the setting of knob '%s' must be a string", name);
	for (size_t i = 0; i < knob->n_settings; i++)
		if (strcmp(knob->settings[i].text, json_string_value(value)) == 0) {
			c->setting[knob - space->task->knobs] = (int)i;
			return OK;
		}
	return err_set(reterr, ERR_INPUT, "candidate: knob '%s' has no setting '%s'", name,
		printable(json_string_value(value), arena));
}

static enum err_code set_patch(struct candidate *c, const struct space *space, const json_t *value,
	struct arena *arena, struct err *reterr)
{
	if (!json_is_string(value))
		return err_set(reterr, ERR_INPUT, "candidate: patches must be a list of digests");
	for (size_t p = 0; p < space->n_patches; p++) {
		int *setting = &c->setting[space->task->n_knobs + p];
		if (strcmp(space->patches[p].digest, json_string_value(value)) != 0)
			continue;
		if (*setting)
			return err_set(reterr, ERR_INPUT, "candidate: patch %s is listed twice",
				space->patches[p].digest);
		*setting = 1;
		return OK;
	}
	return err_set(reterr, ERR_INPUT, "candidate: there is no patch '%s' in this campaign",
		printable(json_string_value(value), arena));
}

static enum err_code read_candidate(json_t *object, const struct space *space, struct candidate *c,
	struct arena *arena, struct err *reterr)
{
	const char *key;
	json_t *settings = json_object_get(object, "settings"), *patches = json_object_get(object, "patches");
	json_t *value;
	size_t i;
	if (!json_is_object(settings) || !json_is_array(patches))
		return err_set(reterr, ERR_INPUT,
			"candidate: expected {\"patches\":[...],\"settings\":{...}} with both keys");
	json_object_foreach(object, key,
		value) if (strcmp(key, "settings") != 0 && strcmp(key, "patches") != 0) return err_set(reterr,
		ERR_INPUT, "candidate: unknown key '%s'", printable(key, arena));
	json_object_foreach(settings, key, value) TRY(set_knob(c, space, key, value, arena, reterr));
	json_array_foreach(patches, i, value) TRY(set_patch(c, space, value, arena, reterr));
	return OK;
}

enum err_code candidate_from_json(
	const char *json, const struct space *space, struct candidate *ret_candidate, struct err *reterr)
{
	json_error_t at;
	json_t *object = json_loads(json, JSON_REJECT_DUPLICATES, &at);
	if (!object)
		return err_set(reterr, ERR_INPUT, "candidate: not JSON: %s (line %d, column %d)", at.text,
			at.line, at.column);
	CLEANUP(candidate_release) struct candidate c = CANDIDATE_INIT;
	struct arena arena = ARENA_INIT;
	candidate_reference(&c, space);
	enum err_code code = read_candidate(object, space, &c, &arena, reterr);
	json_decref(object);
	arena_release(&arena);
	if (code != OK)
		return code;
	candidate_release(ret_candidate);
	*ret_candidate = c;
	c = (struct candidate)CANDIDATE_INIT;
	return OK;
}

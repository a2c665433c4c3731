#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "runner/run_spec.h"

struct number_field {
	const char *name;
	size_t offset;
};

#define LIMIT(member)                                                                                        \
	{                                                                                                    \
#member, offsetof(struct run_limits, member)                                                 \
	}
static const struct number_field limit_fields[] = {
	LIMIT(wall_s),
	LIMIT(startup_s),
	LIMIT(stall_s),
	LIMIT(memory_bytes),
	LIMIT(log_cap_bytes),
	LIMIT(grace_s),
};

#define SUMMARY(member)                                                                                      \
	{                                                                                                    \
#member, offsetof(struct run_summary, member)                                                \
	}
static const struct number_field summary_fields[] = {
	SUMMARY(spawn_s),
	SUMMARY(end_s),
	SUMMARY(peak_tree_bytes),
	SUMMARY(supervisor_cpu_s),
	SUMMARY(log_dropped_bytes),
	SUMMARY(event_bytes_dropped),
	SUMMARY(event_lines_dropped),
	SUMMARY(disk_lost_bytes),
	SUMMARY(disk_regained_bytes),
};

static double *number_at(void *object, const struct number_field *field)
{
	return (double *)(void *)((char *)object + field->offset);
}

/* Names of files and values of variables are bytes; JSON strings are UTF-8. */
static json_t *json_from_bytes(const char *bytes, size_t length)
{
	json_t *text = json_stringn(bytes, length);
	if (text)
		return text;
	CLEANUP(free_ptr) char *hex = xmalloc(2 * length + 1);
	hex_encode(bytes, length, hex);
	return json_pack("{s:s}", "hex", hex);
}

static const char *bytes_from_json(struct arena *arena, const json_t *value)
{
	if (json_is_string(value))
		return arena_strndup(arena, json_string_value(value), json_string_length(value));
	const char *hex = json_string_value(json_object_get(value, "hex"));
	if (!hex)
		return NULL;
	size_t length = strlen(hex) / 2;
	char *bytes = arena_alloc(arena, length + 1);
	return hex_decode(hex, bytes, length) ? bytes : NULL;
}

static json_t *json_from_strings(const char *const *strings)
{
	json_t *array = json_array();
	for (size_t i = 0; strings && strings[i]; i++)
		json_array_append_new(array, json_from_bytes(strings[i], strlen(strings[i])));
	return array;
}

static const char **strings_from_json(struct arena *arena, const json_t *array)
{
	if (!json_is_array(array))
		return NULL;
	size_t n = json_array_size(array);
	const char **strings = arena_array(arena, n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		if (!(strings[i] = bytes_from_json(arena, json_array_get(array, i))))
			return NULL;
	return strings;
}

static void dump(json_t *root, struct strbuf *text)
{
	char *dumped = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	if (!dumped)
		die_oom(0); /* every string in it is UTF-8 and every number finite: only memory is left */
	strbuf_addstr(text, dumped);
	free(dumped);
}

void run_spec_encode(const struct run_spec *spec, struct strbuf *text)
{
	json_t *root = json_object();
	json_object_set_new(root, "self_path", json_from_bytes(spec->self_path, strlen(spec->self_path)));
	json_object_set_new(root, "dir", json_from_bytes(spec->dir, strlen(spec->dir)));
	json_object_set_new(
		root, "control_dir", json_from_bytes(spec->control_dir, strlen(spec->control_dir)));
	json_object_set_new(root, "log_path", json_from_bytes(spec->log_path, strlen(spec->log_path)));
	if (spec->log_format)
		json_object_set_new(root, "log_format", json_string(spec->log_format));
	if (spec->cpus)
		json_object_set_new(root, "cpus", json_string(spec->cpus));
	json_object_set_new(root, "argv", json_from_strings(spec->argv));
	json_object_set_new(root, "env", json_from_strings(spec->env));
	json_object_set_new(root, "sandbox_argv", json_from_strings(spec->sandbox_argv));
	struct run_limits limits = spec->limits;
	for (size_t i = 0; i < ARRAY_LEN(limit_fields); i++) {
		double limit = *number_at(&limits, &limit_fields[i]);
		/* JSON knows no infinity; an infinite limit is none */
		json_object_set_new(root, limit_fields[i].name, json_real(isfinite(limit) ? limit : 0));
	}
	json_object_set_new(root, "stall_after_update", json_integer(limits.stall_after_update));
	json_object_set_new(root, "expected_updates", json_integer(limits.expected_updates));
	json_object_set_new(root, "force_subreaper", json_boolean(spec->force_subreaper));
	dump(root, text);
}

static bool spec_fields(const json_t *root, struct run_spec *spec)
{
	struct arena *arena = &spec->arena;
	for (size_t i = 0; i < ARRAY_LEN(limit_fields); i++) {
		const json_t *value = json_object_get(root, limit_fields[i].name);
		if (!json_is_number(value))
			return false;
		*number_at(&spec->limits, &limit_fields[i]) = json_number_value(value);
	}
	spec->limits.stall_after_update =
		(int)json_integer_value(json_object_get(root, "stall_after_update"));
	spec->limits.expected_updates = (int)json_integer_value(json_object_get(root, "expected_updates"));
	spec->force_subreaper = json_is_true(json_object_get(root, "force_subreaper"));
	spec->self_path = bytes_from_json(arena, json_object_get(root, "self_path"));
	spec->dir = bytes_from_json(arena, json_object_get(root, "dir"));
	spec->control_dir = bytes_from_json(arena, json_object_get(root, "control_dir"));
	spec->log_path = bytes_from_json(arena, json_object_get(root, "log_path"));
	spec->log_format = bytes_from_json(arena, json_object_get(root, "log_format"));
	spec->cpus = bytes_from_json(arena, json_object_get(root, "cpus"));
	spec->argv = strings_from_json(arena, json_object_get(root, "argv"));
	spec->env = strings_from_json(arena, json_object_get(root, "env"));
	spec->sandbox_argv = strings_from_json(arena, json_object_get(root, "sandbox_argv"));
	return spec->self_path && spec->dir && spec->control_dir && spec->log_path && spec->argv &&
	       spec->argv[0] && spec->env && spec->sandbox_argv;
}

enum err_code run_spec_decode(const char *text, size_t length, struct run_spec *ret_spec, struct err *reterr)
{
	json_error_t json_error;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &json_error);
	if (!root)
		return err_set(reterr, ERR_INPUT, "the request is not valid JSON: %s", json_error.text);
	struct run_spec spec = {.arena = ARENA_INIT};
	bool complete = spec_fields(root, &spec);
	json_decref(root);
	if (!complete) {
		arena_release(&spec.arena);
		return err_set(reterr, ERR_INPUT, "the request lacks a field or has one of the wrong type");
	}
	*ret_spec = spec;
	return OK;
}

void run_spec_release(struct run_spec *spec)
{
	arena_release(&spec->arena);
	*spec = (struct run_spec){.arena = ARENA_INIT};
}

void run_summary_encode(const struct run_summary *summary, struct strbuf *text)
{
	struct run_summary s = *summary;
	json_t *root = json_object();
	json_object_set_new(root, "schema", json_integer(1));
	json_object_set_new(root, "error", json_from_bytes(s.error, strlen(s.error)));
	json_object_set_new(root, "end", json_string(run_end_names[s.end]));
	json_object_set_new(root, "exit_status", json_integer(s.exit_status));
	json_object_set_new(root, "exit_signal", json_integer(s.exit_signal));
	for (size_t i = 0; i < ARRAY_LEN(summary_fields); i++)
		json_object_set_new(
			root, summary_fields[i].name, json_real(*number_at(&s, &summary_fields[i])));
	json_object_set_new(root, "pid_namespace", json_boolean(s.pid_namespace));
	json_object_set_new(root, "sandboxed", json_boolean(s.sandboxed));
	dump(root, text);
	strbuf_addch(text, '\n');
}

static bool summary_end(const char *name, enum run_end *ret_end)
{
	for (size_t i = 0; name && i < ARRAY_LEN(run_end_names); i++) {
		if (strcmp(run_end_names[i], name) == 0) {
			*ret_end = (enum run_end)i;
			return true;
		}
	}
	return false;
}

static bool summary_fill(const json_t *root, struct run_summary *s)
{
	const char *error = json_string_value(json_object_get(root, "error"));
	const json_t *status = json_object_get(root, "exit_status");
	const json_t *signal = json_object_get(root, "exit_signal");
	if (json_integer_value(json_object_get(root, "schema")) != 1 || !json_is_integer(status) ||
		!json_is_integer(signal) ||
		!summary_end(json_string_value(json_object_get(root, "end")), &s->end))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(summary_fields); i++) {
		const json_t *value = json_object_get(root, summary_fields[i].name);
		if (!json_is_number(value))
			return false;
		*number_at(s, &summary_fields[i]) = json_number_value(value);
	}
	s->exit_status = (int)json_integer_value(status);
	s->exit_signal = (int)json_integer_value(signal);
	s->pid_namespace = json_is_true(json_object_get(root, "pid_namespace"));
	s->sandboxed = json_is_true(json_object_get(root, "sandboxed"));
	size_t length = error ? strlen(error) : 0;
	memcpy(s->error, error ? error : "", MIN_OF(length, sizeof(s->error) - 1));
	return true;
}

enum err_code run_summary_decode(
	const char *text, size_t length, struct run_summary *ret_summary, struct err *reterr)
{
	json_error_t json_error;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &json_error);
	if (!root)
		return err_set(reterr, ERR_IO, "outcome.json is not valid JSON: %s", json_error.text);
	struct run_summary summary = {.error = ""};
	bool complete = summary_fill(root, &summary);
	json_decref(root);
	if (!complete)
		return err_set(reterr, ERR_IO, "outcome.json lacks a field or has one of the wrong type");
	*ret_summary = summary;
	return OK;
}

void journal_line_encode(const struct run_line *line, struct strbuf *text)
{
	dump(json_pack("{s:f, s:o}", "arrived_s", line->arrived_s, "line",
		     json_from_bytes(line->text, line->length)),
		text);
	strbuf_addch(text, '\n');
}

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "adapter/log_case.h"
#include "base/file.h"
#include "base/json.h"
#include "base/strbuf.h"

struct comparison {
	struct strbuf *text;
	size_t count;
};

static void add_value(struct strbuf *text, const json_t *value)
{
	char *dump =
		value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
	strbuf_add_escaped(text, dump ? dump : "nothing", dump ? strlen(dump) : 7);
	free(dump);
}

static void disagree(struct comparison *c, const char *field, const json_t *got, const json_t *expected)
{
	strbuf_addf(c->text, "  %s: got ", field);
	add_value(c->text, got);
	strbuf_addstr(c->text, ", expected ");
	add_value(c->text, expected);
	strbuf_addch(c->text, '\n');
	c->count++;
}

static bool is_input(const char *key)
{
	static const char *const inputs[] = {
		"notes", "harness_exit", "kind_with_harness_exit", "requested_updates", "expected_exit"};
	for (size_t i = 0; i < ARRAY_LEN(inputs); i++)
		if (strcmp(key, inputs[i]) == 0)
			return true;
	return false;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

static bool same_scalar(const char *field, const json_t *got, const json_t *expected)
{
	if (json_is_number(got) && json_is_number(expected)) {
		double tolerance = ends_with(field, "_gib") ? 1e-6 + 1e-12 : 0.0;
		return fabs(json_number_value(got) - json_number_value(expected)) <= tolerance;
	}
	/* Any part of the line tells which one is meant. */
	if (ends_with(field, ".root_cause_text") && json_is_string(got) && json_is_string(expected))
		return strstr(json_string_value(got), json_string_value(expected)) ||
		       (*json_string_value(got) &&
			       strstr(json_string_value(expected), json_string_value(got)));
	return json_equal(got, expected);
}

/* Flags are a set. */
static bool same_set(const json_t *got, const json_t *expected)
{
	size_t found = 0, i, k;
	json_t *a, *b;
	json_array_foreach(expected, i, a) json_array_foreach(got, k, b) found += json_equal(a, b);
	return found == json_array_size(expected) && found == json_array_size(got);
}

static void compare(struct comparison *c, const char *field, json_t *got, json_t *expected);

static void compare_objects(struct comparison *c, const char *field, json_t *got, json_t *expected)
{
	const char *key;
	json_t *value;
	bool top = !*field;
	json_object_foreach(expected, key, value)
	{
		if (top && is_input(key))
			continue;
		CLEANUP(free_ptr) char *name = xasprintf("%s%s%s", field, top ? "" : ".", key);
		json_t *other = json_object_get(got, key);
		if (other)
			compare(c, name, other, value);
		else
			disagree(c, name, NULL, value);
	}
	json_object_foreach(got, key, value) if (!json_object_get(expected, key))
	{
		CLEANUP(free_ptr) char *name = xasprintf("%s%s%s", field, top ? "" : ".", key);
		disagree(c, name, value, NULL);
	}
}

static void compare_arrays(struct comparison *c, const char *field, json_t *got, json_t *expected)
{
	size_t i;
	json_t *value;
	if (json_array_size(got) != json_array_size(expected)) {
		disagree(c, field, got, expected);
		return;
	}
	json_array_foreach(expected, i, value)
	{
		CLEANUP(free_ptr) char *name = xasprintf("%s[%zu]", field, i);
		compare(c, name, json_array_get(got, i), value);
	}
}

static void compare(struct comparison *c, const char *field, json_t *got, json_t *expected)
{
	if (json_is_object(got) && json_is_object(expected))
		compare_objects(c, field, got, expected);
	else if (strcmp(field, "flags") == 0 && json_is_array(got) && json_is_array(expected)) {
		if (!same_set(got, expected))
			disagree(c, field, got, expected);
	} else if (json_is_array(got) && json_is_array(expected))
		compare_arrays(c, field, got, expected);
	else if (!same_scalar(field, got, expected))
		disagree(c, field, got, expected);
}

static enum err_code summary_json(
	const char *log_path, const struct log_options *options, json_t **ret_json, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct log_summary summary;
	TRY(log_read(log_path, options, &summary, reterr));
	log_summary_to_json(&summary, &text);
	log_summary_release(&summary);
	return json_object_parse(text.buf, "the summary", ret_json, reterr);
}

/* The same log with the exit that the supervisor saw: `timeout` of coreutils gives 124. */
static enum err_code compare_exit(struct comparison *c, const char *log_path,
	const struct log_options *options, const json_t *expected, struct err *reterr)
{
	const json_t *status = json_object_get(expected, "harness_exit");
	json_t *kind = json_object_get(expected, "kind_with_harness_exit");
	if (!json_is_integer(status) || !kind)
		return OK;
	struct log_options with_exit = *options;
	log_options_set_exit(&with_exit, (int)json_integer_value(status));
	CLEANUP(json_decref_ptr) json_t *got = NULL;
	TRY(summary_json(log_path, &with_exit, &got, reterr));
	json_t *got_kind = json_object_get(json_object_get(got, "failure"), "kind");
	if (!got_kind || !json_equal(got_kind, kind))
		disagree(c, "kind_with_harness_exit", got_kind, kind);
	return OK;
}

enum err_code log_case_compare(const char *log_path, const struct log_literals *literals,
	struct strbuf *disagreements, size_t *ret_count, struct err *reterr)
{
	CLEANUP(free_ptr) char *stem = xstrdup(log_path);
	if (!ends_with(stem, ".log"))
		return err_set(reterr, ERR_INPUT, "%s: expected a name that ends with .log", log_path);
	stem[strlen(stem) - 4] = '\0';
	CLEANUP(free_ptr) char *expected_path = xasprintf("%s.expected.json", stem);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(json_decref_ptr) json_t *expected = NULL;
	CLEANUP(json_decref_ptr) json_t *got = NULL;
	TRY(file_read(expected_path, FILE_CAP_DEFAULT, &text, reterr));
	TRY(json_object_parse(text.buf, expected_path, &expected, reterr));
	struct log_options options = {.literals = literals};
	const json_t *requested = json_object_get(expected, "requested_updates");
	if (json_is_integer(requested))
		options.requested_updates = (struct opt_number){true, (double)json_integer_value(requested)};
	TRY(summary_json(log_path, &options, &got, reterr));
	struct comparison c = {disagreements, 0};
	compare(&c, "", got, expected);
	TRY(compare_exit(&c, log_path, &options, expected, reterr));
	*ret_count = c.count;
	return OK;
}

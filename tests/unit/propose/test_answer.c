/* What models answer: good, half good and useless, against a task that declares what it may name. */
#include "../spec/spec_helpers.h"

#include <math.h>

#include <jansson.h>

#include "base/strbuf.h"
#include "propose/answer.h"
#include "spec/space.h"

static const struct patch_lever patches[] = {{.digest = "bb22", .name = "02-tile"}};
enum { MICRO_BATCH, RECOMPUTE, OPT_LEVEL, THREADS, COMPILE, LIGER, TILE };

struct fixture {
	struct task task;
	struct space space;
	struct arena arena;
	struct answer answer;
	struct err err;
};

static void set_up(struct fixture *f)
{
	*f = (struct fixture){.err = ERR_INIT};
	parse_task(REALISTIC_TASK, &f->task);
	assert_int_equal(space_init(&f->space, &f->task, patches, 1, NULL, &f->err), OK);
}

static void tear_down(struct fixture *f)
{
	arena_release(&f->arena);
	space_release(&f->space);
	task_release(&f->task);
}

static enum err_code parse(struct fixture *f, const char *text)
{
	f->err = (struct err)ERR_INIT;
	return answer_parse(text, strlen(text), &f->space, &f->arena, &f->answer, &f->err);
}

static void reads_all_kinds(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	assert_int_equal(
		parse(&f, "Here you are:\n```json\n"
			  "{\"configurations\": [{\"settings\": {\"micro_batch\": 4, \"02-tile\": true,"
			  " \"opt_level\": \"-O3\"}, \"speedup\": 1.25, \"peak_gib\": 2, \"reason\": \"r\"}],"
			  " \"priors\": [{\"knob\": \"threads\", \"setting\": \"4\", \"speedup\": 0.8,"
			  " \"speedup_sd\": 0.1, \"memory_gib\": -1.5}],"
			  " \"patches\": [{\"name\": \"Fuse the Norm!\", \"title\": \"t\", \"phases\": "
			  "[\"forward\"], \"diff\": \"--- a\\n\"},"
			  " {\"title\": \"x\", \"edits\": [{\"file\": \"a.c\", \"old\": \"b\", \"new\": "
			  "\"c\"}]}],"
			  " \"reviews\": [{\"patch\": \"02-tile\", \"verdict\": \"reject\", \"reason\": "
			  "\"no\"}]}\n"
			  "```\nGood luck."),
		OK);
	const struct answer *a = &f.answer;
	assert_int_equal(a->n_dropped, 0);
	assert_int_equal(a->n_configurations, 1);
	assert_int_equal(a->configurations[0].setting[MICRO_BATCH], 2);
	assert_int_equal(a->configurations[0].setting[OPT_LEVEL], 1);
	assert_int_equal(a->configurations[0].setting[TILE], 1);
	assert_int_equal(a->configurations[0].setting[THREADS], 1); /* the reference's */
	assert_true(fabs(a->configurations[0].predicted_ln - log(1.25)) < 1e-12);
	assert_true(a->configurations[0].predicted_bytes == 2147483648.0);
	assert_int_equal(a->n_priors, 1);
	assert_true(fabs(a->priors[0].gain_ln - log(0.8)) < 1e-12);
	assert_true(fabs(a->priors[0].gain_sd_ln - 0.1 / 0.8) < 1e-12 &&
		    a->priors[0].memory_bytes == -1610612736.0);
	assert_true(isnan(a->priors[0].memory_sd_bytes));
	assert_int_equal(a->n_patches, 2);
	assert_string_equal(a->patches[0].name, "fuse-the-norm");
	assert_false(a->patches[0].is_edits);
	assert_string_equal(a->patches[1].name, "x");
	assert_string_equal(a->patches[1].text, "[{\"file\":\"a.c\",\"old\":\"b\",\"new\":\"c\"}]");
	assert_int_equal(a->n_reviews, 1);
	assert_false(a->reviews[0].accept);
	tear_down(&f);
}

static void keeps_what_is_good(void **state)
{
	(void)state;
	static const char text[] =
		"{\"configurations\": [{\"settings\": {\"treads\": 4}}, {\"settings\": {\"threads\": 3}},"
		" {\"settings\": {\"compile\": \"on\", \"liger\": \"on\"}}, 7, {\"settings\": {\"threads\": "
		"4}},"
		" {\"settings\": {\"threads\": 4}, \"speedup\": 112}, {}]}";
	static const char *const reasons[] = {"there is no knob or patch 'treads' (did you mean 'threads'?)",
		"threads has no setting 3; it has 1, 2, 4", "not allowed: ", "must be an object",
		"'speedup' is a ratio (1.12 = 12% faster) between 0.01 and 100",
		"needs 'settings', an object of knob: setting"};
	static const char *const places[] = {"configurations[0]", "configurations[1]", "configurations[2]",
		"configurations[3]", "configurations[5]", "configurations[6]"};
	struct fixture f;
	set_up(&f);
	assert_int_equal(parse(&f, text), OK);
	assert_int_equal(f.answer.n_configurations, 1);
	assert_int_equal(f.answer.n_dropped, ARRAY_LEN(reasons));
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		assert_string_equal(f.answer.dropped[i].where, places[i]);
		assert_memory_equal(f.answer.dropped[i].reason, reasons[i], strlen(reasons[i]));
	}
	tear_down(&f);
}

static const struct useless {
	const char *text, *message;
} useless[] = {
	{"", "there is no JSON object in the answer"},
	{"I am sorry, I cannot do that.", "there is no JSON object in the answer"},
	{"<html><body>502 Bad Gateway</body></html>", "there is no JSON object in the answer"},
	{"\n{\"configurations\": [{\"settings\": {\"threads\": 4}", "line 2: not valid JSON: "},
	{"{\"configurations\": [{\"settings\": {\"treads\": 4}}, {",
		"line 1: not valid JSON: string or '}' expected near end of file (the object does not end); "
		"configurations[0] there is no knob or patch 'treads'"},
	/* Broken in the middle and not at its end: who wrote it can mend it. */
	{"{\"configurations\": [{\"settings\": {\"threads\": 4}}], \"patches\": [{\"title\": \"5\" disk\", "
	 "\"diff\": \"x\"}]}",
		"line 1: not valid JSON: "},
	{"I consider {\"configurations\": [{\"settings\": {\"threads\": 4}}, but then no.",
		"line 1: not valid JSON: "},
	{"{\"knobs\": {}}", "line 1: the JSON object has none of the expected keys"},
	{"{\"configurations\": 3}", "configurations[0] 'configurations' must be a list"},
	{"{\"priors\": [{\"knob\": \"threads\", \"setting\": \"2\", \"speedup\": 2}]}",
		"priors[0] is the reference's own setting, of which nothing can be expected"},
	{"{\"priors\": [{\"knob\": \"threads\", \"setting\": \"4\"}]}",
		"priors[0] needs 'speedup' or 'memory_gib'"},
	{"{\"priors\": [{\"knob\": \"threads\", \"setting\": \"4\", \"speedup\": 1, \"speedup_sd\": -1}]}",
		"priors[0] an uncertainty must be above 0"},
	{"{\"patches\": [{\"name\": \"a\"}]}", "patches[0] needs either 'diff'"},
	{"{\"priors\": [{\"knob\": \"threads\", \"setting\": \"4\", \"memory_gib\": 1e300}]}",
		"priors[0] 'memory_gib' and 'memory_sd_gib' are memory of a device"},
	{"{\"configurations\": [{\"settings\": {}, \"peak_gib\": -1}]}",
		"configurations[0] 'peak_gib' is the memory of a device, above 0"},
	{"{\"a\" \"\xC2\x9B\"}", "line 1: not valid JSON: ':' expected near '\"\\xc2\\x9b\"'"},
	{"{\"reviews\": [{\"patch\": \"threads\", \"verdict\": \"accept\"}]}",
		"reviews[0] 'patch' names none of the patches"},
	{"{\"configurations\": [{\"settings\": {\"a\\u001b[31m\": 1}}]}",
		"configurations[0] there is no knob or patch 'a\\x1b[31m'"},
};

static void says_what_is_wrong(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	for (size_t i = 0; i < ARRAY_LEN(useless); i++) {
		assert_int_equal(parse(&f, useless[i].text), ERR_INPUT);
		if (strncmp(f.err.message, useless[i].message, strlen(useless[i].message)) != 0)
			fail_msg("%zu: %s", i, f.err.message);
	}
	tear_down(&f);
}

/* What came whole, wherever the text ends: counted by hand. */
static const struct cut {
	const char *text;
	size_t n_configurations, n_priors, n_dropped;
} cuts[] = {
	{"{\"configurations\": [{\"settings\": {\"threads\": 4}}", 1, 0, 1},
	{"{\"configurations\": [{\"settings\": {\"threads\": 4}}, {\"settings\": {\"threads\": 1", 1, 0, 1},
	{"{\"configurations\": [{\"settings\": {\"threads\": 4}}], \"priors\": [{\"knob\": \"threads\", "
	 "\"setting\":",
		1, 0, 1},
	{"{\"configurations\": [{\"settings\": {\"threads\": 4}}, {\"settings\": {\"treads\": 4}}], "
	 "\"priors\": [{\"knob\": "
	 "\"threads\", \"setting\": \"4\", \"speedup\": 1.1}, {\"kn",
		1, 1, 2},
	{"It {may} be:\n```json\n{\"configurations\": [{\"settings\": {\"threads\": 4}}]\n```\nThat is all.",
		1, 0, 1},
	{"{\"configurations\": [{\"settings\": {\"threads\": 4}, \"reason\": \"a [, a { and a \\\" in "
	 "text\"}, {\"reason\": \"[",
		1, 0, 1},
};

static void uses_what_came_whole(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		if (parse(&f, cuts[i].text) != OK)
			fail_msg("%zu: %s", i, f.err.message);
		assert_int_equal(f.answer.n_configurations, cuts[i].n_configurations);
		assert_int_equal(f.answer.configurations[0].setting[THREADS], 2);
		assert_int_equal(f.answer.n_priors, cuts[i].n_priors);
		assert_int_equal(f.answer.n_dropped, cuts[i].n_dropped);
		assert_string_equal(f.answer.dropped[0].where, ANSWER_END);
		assert_memory_equal(f.answer.dropped[0].reason, "is missing (line ", 17);
	}
	tear_down(&f);
}

/* The one whose end is there is meant, wherever it stands. */
static void a_whole_answer_comes_before_a_cut_one(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	assert_int_equal(parse(&f, "{\"configurations\": [{\"settings\": {\"threads\": 1}}, oh no.\n"
				   "{\"configurations\": [{\"settings\": {\"threads\": 4}}]}"),
		OK);
	assert_int_equal(f.answer.n_dropped, 0);
	assert_int_equal(f.answer.configurations[0].setting[THREADS], 2);
	tear_down(&f);
}

static void patches_have_names_of_their_own(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	assert_int_equal(parse(&f, "{\"patches\": [{\"name\": \"x\", \"diff\": \"\"}, {\"name\": \"x-2\", "
				   "\"diff\": \"\"},"
				   " {\"name\": \"x\", \"diff\": \"\"}]}"),
		OK);
	assert_string_equal(f.answer.patches[1].name, "x-2");
	assert_string_equal(f.answer.patches[2].name, "x-3");
	tear_down(&f);
}

static void takes_an_empty_answer(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f);
	assert_int_equal(parse(&f, "{\"configurations\": []}"), OK);
	assert_int_equal(f.answer.n_configurations + f.answer.n_dropped, 0);
	tear_down(&f);
}

static void is_bounded(void **state)
{
	(void)state;
	struct fixture f;
	struct strbuf text = STRBUF_INIT;
	set_up(&f);
	strbuf_addstr(&text, "{\"configurations\": [");
	for (int i = 0; i < ANSWER_CONFIGURATIONS + 5; i++)
		strbuf_addf(&text, "%s{\"settings\": {}}", i ? "," : "");
	strbuf_addstr(&text, "]}");
	assert_int_equal(parse(&f, text.buf), OK);
	assert_int_equal(f.answer.n_configurations, ANSWER_CONFIGURATIONS);
	assert_int_equal(f.answer.n_dropped, 1);
	strbuf_clear(&text);
	for (int i = 0; i < 100000; i++)
		strbuf_addstr(&text, "{\"a\":[");
	assert_int_equal(parse(&f, text.buf), ERR_INPUT);
	while (text.len <= ANSWER_BYTES)
		strbuf_addstr(&text, "                                ");
	assert_int_equal(parse(&f, text.buf), ERR_LIMIT);
	strbuf_release(&text);
	tear_down(&f);
}

static void schema_is_json(void **state)
{
	(void)state;
	json_t *schema = json_loads(answer_schema, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(schema);
	assert_int_equal(json_object_size(json_object_get(schema, "properties")), 4);
	json_decref(schema);
}

/* Written down by hand: what a server may let through in answer to this request. */
static void schema_knows_the_request(void **state)
{
	static const struct {
		const char *wanted, *lists;
	} cases[] = {
		{"{\"configurations\":3,\"priors\":true}", "[\"configurations\",\"priors\"]"},
		{"{\"configurations\":1,\"patches\":2}", "[\"configurations\",\"patches\"]"},
		{"{\"review\":{\"patch\":\"p\",\"diff\":\"\"}}", "[\"reviews\"]"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *request = json_pack("{s:o, s:[{s:s, s:[s, s]}], s:[{s:s}]}", "wanted",
			json_loads(cases[i].wanted, 0, NULL), "knobs", "name", "threads", "settings", "1",
			"2", "patches", "name", "p");
		char *text = answer_schema_for(request);
		json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *names = json_array();
		json_t *expected = json_loads(cases[i].lists, 0, NULL);
		const char *name;
		json_t *list;
		json_object_foreach(json_object_get(schema, "properties"), name, list)
			json_array_append_new(names, json_string(name));
		assert_true(json_equal(names, expected));
		json_decref(names);
		json_decref(expected);
		json_decref(request);
		if (i == 0) {
			json_t *one =
				json_object_get(json_object_get(schema, "properties"), "configurations");
			json_t *settings = json_loads(
				"{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
				"\"threads\":{\"type\":\"string\",\"enum\":[\"1\",\"2\"]},"
				"\"p\":{\"type\":\"string\",\"enum\":[\"off\",\"on\"]}}}",
				0, NULL);
			assert_int_equal(json_integer_value(json_object_get(one, "maxItems")), 3);
			one = json_object_get(json_object_get(one, "items"), "properties");
			assert_true(json_equal(json_object_get(one, "settings"), settings));
			json_decref(settings);
		}
		json_decref(schema);
		free(text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_kinds),
		cmocka_unit_test(keeps_what_is_good),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(uses_what_came_whole),
		cmocka_unit_test(a_whole_answer_comes_before_a_cut_one),
		cmocka_unit_test(patches_have_names_of_their_own),
		cmocka_unit_test(takes_an_empty_answer),
		cmocka_unit_test(is_bounded),
		cmocka_unit_test(schema_is_json),
		cmocka_unit_test(schema_knows_the_request),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

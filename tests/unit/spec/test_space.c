#include "spec_helpers.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "spec/space.h"

static const struct patch_lever patches[] = {
	{.digest = "bb22", .name = "02-tile", .mechanism = "tiling"},
	{.digest = "aa11", .name = "03-fused-norm"},
	{.digest = "cc33", .name = "04-fast-exp"},
};
enum { MICRO_BATCH, RECOMPUTE, OPT_LEVEL, THREADS, COMPILE, LIGER, TILE, FUSED, FAST_EXP };

struct fixture {
	struct task task;
	struct space space;
	struct candidate c;
};

static void set_up(struct fixture *f, size_t n_patches, const bool *conflicts)
{
	struct err e = ERR_INIT;
	*f = (struct fixture){0};
	parse_task(REALISTIC_TASK, &f->task);
	assert_int_equal(space_init(&f->space, &f->task, patches, n_patches, conflicts, &e), OK);
	candidate_reference(&f->c, &f->space);
}

static void tear_down(struct fixture *f)
{
	candidate_release(&f->c);
	space_release(&f->space);
	task_release(&f->task);
}

static void test_levers(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f, 2, NULL);
	assert_int_equal(f.space.n_levers, 8);
	assert_int_equal(f.space.n_settings[MICRO_BATCH], 4);
	assert_int_equal(f.space.n_settings[TILE], 2);
	assert_int_equal(f.space.reference[THREADS], 1);
	assert_int_equal(f.space.reference[TILE], 0);
	assert_string_equal(f.space.patches[0].mechanism, "tiling");
	assert_true(candidate_is_reference(&f.c, &f.space));
	struct err e = ERR_INIT;
	struct space twice;
	const struct patch_lever same[] = {patches[0], patches[0]};
	assert_int_equal(space_init(&twice, &f.task, same, 2, NULL, &e), ERR_INPUT);
	assert_string_equal(e.message, "patches '02-tile' and '02-tile' are the same patch");
	tear_down(&f);
}

static void assert_illegal(const struct fixture *f, const char *expected)
{
	struct err e = ERR_INIT;
	bool legal = true;
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	assert_int_equal(space_is_legal(&f->space, f->c.setting, &legal, &reason, &e), OK);
	assert_true(legal == !*expected);
	assert_string_equal(reason.buf, expected);
	assert_int_equal(space_is_legal(&f->space, f->c.setting, &legal, NULL, &e), OK);
	assert_true(legal == !*expected);
}

static void test_legality(void **state)
{
	(void)state;
	/* One-sided on purpose: the space makes it symmetric. */
	static const bool conflicts[9] = {[0 * 3 + 2] = true};
	struct fixture f;
	set_up(&f, 3, conflicts);
	assert_illegal(&f, "");
	f.c.setting[COMPILE] = 1;
	assert_illegal(&f, "");
	f.c.setting[LIGER] = 1;
	assert_illegal(&f, "`compile == 'on' and liger == 'on'` (line 36) is a declared conflict");
	f.c.setting[LIGER] = 0;
	f.c.setting[TILE] = f.c.setting[FUSED] = 1;
	assert_illegal(&f, "");
	f.c.setting[FAST_EXP] = 1;
	assert_illegal(&f, "patches 02-tile and 04-fast-exp cannot be applied together");
	struct err e = ERR_INIT;
	bool legal;
	f.c.setting[TILE] = 2;
	assert_int_equal(space_is_legal(&f.space, f.c.setting, &legal, NULL, &e), ERR_INPUT);
	tear_down(&f);
}

static void test_json_round_trip(void **state)
{
	(void)state;
	struct fixture f;
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	CLEANUP(candidate_release) struct candidate back = CANDIDATE_INIT;
	set_up(&f, 2, NULL);
	f.c.setting[RECOMPUTE] = 2;
	f.c.setting[TILE] = f.c.setting[FUSED] = 1;
	candidate_to_json(&f.c, &f.space, &json);
	assert_string_equal(json.buf,
		"{\"patches\":[\"aa11\",\"bb22\"],\"settings\":{\"compile\":\"off\",\"liger\":\"off\","
		"\"micro_batch\":\"1\",\"opt_level\":\"-O2\",\"recompute\":\"off\",\"threads\":\"2\"}}");
	assert_int_equal(candidate_from_json(json.buf, &f.space, &back, &e), OK);
	assert_true(candidate_equal(&f.c, &back));
	candidate_copy(&back, &f.c);
	assert_true(candidate_equal(&f.c, &back));
	/* A knob that is not named is at its reference. */
	assert_int_equal(
		candidate_from_json("{\"patches\":[],\"settings\":{\"threads\":\"4\"}}", &f.space, &back, &e),
		OK);
	assert_int_equal(back.setting[THREADS], 2);
	assert_int_equal(back.setting[MICRO_BATCH], 0);
	tear_down(&f);
}

static const struct {
	const char *json, *message;
} bad_candidates[] = {
	{"{", "candidate: not JSON: string or '}' expected near end of file (line 1, column 1)"},
	{"[]", "candidate: expected {\"patches\":[...],\"settings\":{...}} with both keys"},
	{"{\"settings\":{}}", "candidate: expected {\"patches\":[...],\"settings\":{...}} with both keys"},
	{"{\"settings\":{},\"patches\":[],\"more\":1}", "candidate: unknown key 'more'"},
	{"{\"settings\":{\"treads\":\"1\"},\"patches\":[]}", "candidate: the task has no knob 'treads'"},
	{"{\"settings\":{\"threads\":\"3\"},\"patches\":[]}", "candidate: knob 'threads' has no setting '3'"},
	{"{\"settings\":{\"threads\":2},\"patches\":[]}",
		"candidate: the setting of knob 'threads' must be a string"},
	{"{\"settings\":{\"threads\":\"1\",\"threads\":\"2\"},\"patches\":[]}",
		"candidate: not JSON: duplicate object key near '\"threads\"' (line 1, column 36)"},
	{"{\"settings\":{},\"patches\":[\"dd\"]}", "candidate: there is no patch 'dd' in this campaign"},
	{"{\"settings\":{},\"patches\":[\"aa11\",\"aa11\"]}", "candidate: patch aa11 is listed twice"},
	{"{\"settings\":{},\"patches\":[1]}", "candidate: patches must be a list of digests"},
};

static void test_bad_json(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f, 2, NULL);
	for (size_t i = 0; i < ARRAY_LEN(bad_candidates); i++) {
		struct err e = ERR_INIT;
		CLEANUP(candidate_release) struct candidate c = CANDIDATE_INIT;
		assert_int_equal(candidate_from_json(bad_candidates[i].json, &f.space, &c, &e), ERR_INPUT);
		assert_string_equal(e.message, bad_candidates[i].message);
		assert_null(c.setting);
	}
	tear_down(&f);
}

/* What a campaign has registered keeps its signature when patches enter later, in whatever order. */
static void test_signature_is_stable(void **state)
{
	(void)state;
	struct fixture small, large;
	char first[65], second[65], other[65];
	set_up(&small, 1, NULL);
	set_up(&large, 3, NULL);
	small.c.setting[TILE] = large.c.setting[TILE] = 1;
	small.c.setting[THREADS] = large.c.setting[THREADS] = 0;
	candidate_signature(&small.c, &small.space, first);
	candidate_signature(&large.c, &large.space, second);
	assert_string_equal(first, second);
	/* A candidate of the small space, seen in the large one. */
	candidate_signature(&small.c, &large.space, second);
	assert_string_equal(first, second);
	assert_true(candidate_equal(&small.c, &large.c));
	large.c.setting[FUSED] = 1;
	candidate_signature(&large.c, &large.space, other);
	assert_string_not_equal(first, other);
	assert_false(candidate_equal(&small.c, &large.c));
	/* sha256 of {"patches":["bb22"],"settings":{"threads":"1"}}, from sha256sum */
	assert_string_equal(first, "3865af0a444f5aa72312a36fce35d8194f4809197ec83476d7f6a88a6ff22117");
	tear_down(&small);
	tear_down(&large);
}

static void test_describe(void **state)
{
	(void)state;
	struct fixture f;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(candidate_release) struct candidate base = CANDIDATE_INIT;
	set_up(&f, 2, NULL);
	candidate_describe(&f.c, NULL, &f.space, &text);
	assert_string_equal(text.buf, "reference");
	f.c.setting[RECOMPUTE] = 2;
	f.c.setting[THREADS] = 2;
	f.c.setting[FUSED] = 1;
	candidate_copy(&base, &f.c);
	strbuf_clear(&text);
	candidate_describe(&f.c, NULL, &f.space, &text);
	assert_string_equal(text.buf, "recompute=off threads=4 +03-fused-norm");
	f.c.setting[FUSED] = 0;
	f.c.setting[TILE] = 1;
	strbuf_clear(&text);
	candidate_describe(&f.c, &base, &f.space, &text);
	assert_string_equal(text.buf, "+02-tile -03-fused-norm");
	strbuf_clear(&text);
	candidate_describe(&base, &base, &f.space, &text);
	assert_string_equal(text.buf, "no change");
	tear_down(&f);
}

static void assert_words(const char *const *words, const char *const *expected)
{
	size_t i = 0;
	for (; expected[i]; i++) {
		assert_non_null(words[i]);
		assert_string_equal(words[i], expected[i]);
	}
	assert_null(words[i]);
}

static void test_resolve(void **state)
{
	(void)state;
	struct fixture f;
	struct err e = ERR_INIT;
	struct resolved r;
	struct arena arena = ARENA_INIT;
	set_up(&f, 0, NULL);
	assert_int_equal(space_resolve(&f.space, &f.c, &arena, &r, &e), OK);
	assert_words(r.build_argv, (const char *[]){"make", "-j2", "OPT=-O2", "ACC=8", NULL});
	assert_words(r.build_env, (const char *[]){"CC=gcc", NULL});
	/* "--recompute full" is two arguments; {{x}} is {x} */
	assert_words(r.argv, (const char *[]){"./train", "--batch", "1", "--accum=8", "--recompute", "full",
				     "--steps", "30", "--note={x}", NULL});
	assert_words(r.env, (const char *[]){"OMP_NUM_THREADS=2", "COMPILE=off", "LIGER=off", NULL});
	assert_words(r.derived, (const char *[]){"grad_accum=8", NULL});
	assert_true(r.micro_batch == 1 && r.grad_accum == 8);
	char reference_key[65], key[65];
	resolved_build_key(&r, reference_key);
	f.c.setting[MICRO_BATCH] = 3;
	f.c.setting[RECOMPUTE] = 2;
	assert_int_equal(space_resolve(&f.space, &f.c, &arena, &r, &e), OK);
	assert_words(r.argv, (const char *[]){"./train", "--batch", "8", "--accum=1", "--steps", "30",
				     "--note={x}", NULL});
	resolved_build_key(&r, key);
	assert_string_not_equal(key, reference_key); /* ACC is part of the build */
	f.c.setting[MICRO_BATCH] = 0;
	f.c.setting[THREADS] = 0;
	assert_int_equal(space_resolve(&f.space, &f.c, &arena, &r, &e), OK);
	resolved_build_key(&r, key);
	assert_string_equal(key, reference_key); /* neither recompute nor threads is */
	arena_release(&arena);
	tear_down(&f);
}

static const struct {
	const char *argument;
	const char *expected[4]; /* for the settings a = "x y", flag "--p q" */
} argument_cases[] = {
	{"{a}", {"x y"}},
	{"{a_flag}", {"--p", "q"}},
	{"-{a_flag}", {"---p q"}},
	{"{a_flag}{a_flag}", {"--p q--p q"}},
	{"{b_flag}", {NULL}},
	{"{b_flag}{b_flag}", {NULL}},
	{"={b_flag}", {"="}},
	{"{b}", {""}},
	{"", {""}},
	{"{{{a}}}", {"{x y}"}},
	{"{updates}/{data_parallel}", {"5/1"}},
};

static void test_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(argument_cases); i++) {
		struct task task;
		struct space space;
		struct resolved r;
		struct arena arena = ARENA_INIT;
		struct err e = ERR_INIT;
		CLEANUP(candidate_release) struct candidate c = CANDIDATE_INIT;
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text,
			"version: 1\nname: x\nlaunch: {command: [./t, '%s'], env: {A: '{a}{b}'}}\n"
			"contract: {updates: 5}\nknobs:\n"
			"  - {name: a, values: ['x y'], reference: 'x y', flag: {'x y': --p q}}\n"
			"  - {name: b, values: [''], reference: '', flag: {'': ''}}\n",
			argument_cases[i].argument);
		parse_task(text.buf, &task);
		assert_int_equal(space_init(&space, &task, NULL, 0, NULL, &e), OK);
		candidate_reference(&c, &space);
		assert_int_equal(space_resolve(&space, &c, &arena, &r, &e), OK);
		assert_null(r.build_argv);
		assert_words(r.argv + 1, argument_cases[i].expected);
		arena_release(&arena);
		space_release(&space);
		task_release(&task);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levers),
		cmocka_unit_test(test_legality),
		cmocka_unit_test(test_json_round_trip),
		cmocka_unit_test(test_bad_json),
		cmocka_unit_test(test_signature_is_stable),
		cmocka_unit_test(test_describe),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

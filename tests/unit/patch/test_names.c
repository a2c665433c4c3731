/* Names of files in patches: one name to the guard, to git and to who reads git's diff, or none. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "patch/patch.h"
#include "patch_fixture.h"
#include "spec/task.h"

static struct fixture f;

static const char *const editable[] = {"*.c", "src/**"};
static const char *const frozen[] = {"src/loss.c"};

static int set_up(void **state)
{
	(void)state;
	fixture_begin(&f);
	fixture_put(&f, "job/a.c", "int a(void)\n{\n\treturn 1;\n}\n\nint b(void)\n{\n\treturn 2;\n}\n");
	fixture_put(&f, "job/src/loss.c", "int loss;\n");
	fixture_commit(&f, "x");
	f.task.contract.editable_files = (struct string_list){(const char **)editable, ARRAY_LEN(editable)};
	f.task.contract.frozen_files = (struct string_list){(const char **)frozen, ARRAY_LEN(frozen)};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return fixture_end(&f);
}

static enum err_code parse(const char *text, struct arena *arena, struct patch *patch, struct err *e)
{
	const struct patch_text whole = {"p.diff", PATCH_DIFF, text, strlen(text)};
	return patch_parse(&f.task, f.commit, "job", &whole, NULL, arena, patch, e);
}

static enum err_code parse_edits(const char *text, struct arena *arena, struct patch *patch, struct err *e)
{
	const struct patch_text whole = {"p.edits.json", PATCH_EDITS, text, strlen(text)};
	return patch_parse(&f.task, f.commit, "job", &whole, NULL, arena, patch, e);
}

/* A new file of this name, as an edit: the name is JSON text. */
static enum err_code create_named(const char *name, struct arena *arena, struct patch *patch, struct err *e)
{
	CLEANUP(free_ptr)
	char *text = xasprintf("[{\"file\": \"%s\", \"old\": \"\", \"new\": \"int n;\\n\"}]", name);
	return parse_edits(text, arena, patch, e);
}

/* What is one name to the guard and another to git or to who reads git's diff. */
static void test_names_refused(void **state)
{
	(void)state;
	static const struct {
		const char *name, *message;
	} cases[] = {
		{"src/loss.c ", "begin or end with a blank"},
		{" src/x.c", "begin or end with a blank"},
		{"src /x.c", "begin or end with a blank"},
		{"src/ x.c", "begin or end with a blank"},
		{"src/loss.c\\t", "control characters"},
		{"src/loss.c\\r", "control characters"},
		{"src/a\\nb.c", "control characters"},
		{"src/a\\\"b.c", "double quotes"},
		{"src/a\\\\b.c", "backslashes"},
		{".git /x.c", "git's own"},
		{"src/.git./x.c", "git's own"},
		{"src/.GIT. . /x.c", "git's own"},
		{"src/git~1/x.c", "git's own"},
		{"src/GIT~1", "git's own"},
		{"src/.git::$INDEX_ALLOCATION/x.c", "git's own"},
		{"src/.g\\u200cit/x.c", "git's own"},
		{"src/.git\\ufeff/x.c", "git's own"},
		{"src/.gitmodules ", "git's own"},
		{"src/gitmod~1", "git's own"},
		{"src/.gitattributes.", "git's own"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT;
		struct patch patch;
		struct err e = ERR_INIT;
		enum err_code code = create_named(cases[i].name, &arena, &patch, &e);
		if (code != ERR_INPUT || !strstr(e.message, cases[i].message))
			fail_msg("%s: code %d: %s", cases[i].name, code, e.message);
	}
	/* names as long as the command line, or than the kernel takes */
	static const size_t lengths[] = {300, 5000, 300000};
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT;
		CLEANUP(free_ptr) char *name = xasprintf("src/%0*d.c", (int)lengths[i], 0);
		struct patch patch;
		struct err e = ERR_INIT;
		assert_int_equal(create_named(name, &arena, &patch, &e), ERR_INPUT);
		assert_non_null(strstr(e.message, "too long"));
	}
}

/* The names of diffs go through the same guard, to the last blank. */
static void test_names_of_diffs(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct patch patch;
	struct err e = ERR_INIT;
	assert_int_equal(
		parse("--- /dev/null\n+++ b/src/loss.c \t\n@@ -0,0 +1 @@\n+int x;\n", &arena, &patch, &e),
		ERR_INPUT);
	assert_non_null(strstr(e.message, "src/loss.c : names that begin or end with a blank"));
	must(parse("--- /dev/null\n+++ b/src/two words.c\t\n@@ -0,0 +1 @@\n+int x;\n", &arena, &patch, &e),
		&e);
	assert_string_equal(patch.files[0], "src/two words.c");
}

/* Names that git could take for patterns are names: here where nothing of ours stands before them, in a task
 * that is the whole repository. */
static void test_names_are_literal(void **state)
{
	(void)state;
	static const char *const names[] = {":(glob)x.c", ":(exclude)a.c", ":!a.c", ":/a.c", "src/[ab].c",
		"src/*.c", ":(top)x.c", "-x.c"};
	struct task whole = f.task;
	whole.root = f.repo;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT;
		CLEANUP(free_ptr)
		char *change = xasprintf("[{\"file\": \"%s\", \"old\": \"x\", \"new\": \"y\"}]", names[i]);
		CLEANUP(free_ptr)
		char *make =
			xasprintf("[{\"file\": \"%s\", \"old\": \"\", \"new\": \"int n;\\n\"}]", names[i]);
		const struct patch_text texts[] = {{"change", PATCH_EDITS, change, strlen(change)},
			{"make", PATCH_EDITS, make, strlen(make)}};
		struct patch patch;
		struct err e = ERR_INIT;
		enum err_code code = patch_parse(&whole, f.commit, "", &texts[0], NULL, &arena, &patch, &e);
		if (code != ERR_INPUT)
			fail_msg("%s: code %d: %s", names[i], code, e.message);
		code = patch_parse(&whole, f.commit, "", &texts[1], NULL, &arena, &patch, &e);
		if (code == OK)
			assert_string_equal(patch.files[0], names[i]);
		else if (code != ERR_INPUT || !strstr(e.message, "not editable"))
			fail_msg("%s: code %d: %s", names[i], code, e.message);
	}
}

/* git keeps one of a file and a folder of one name, and says nothing. */
static void test_what_git_drops_is_refused(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct patch patch;
	struct err e = ERR_INIT;
	assert_int_equal(parse_edits("[{\"file\": \"src/n\", \"old\": \"\", \"new\": \"1\\n\"},"
				     " {\"file\": \"src/n/m\", \"old\": \"\", \"new\": \"2\\n\"}]",
				 &arena, &patch, &e),
		ERR_INPUT);
	assert_non_null(strstr(e.message, "git does not keep this change"));
}

/* Two headers that mean one file: neither hunk is lost without a word. */
static void test_one_file_under_two_names(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct patch patch;
	struct err e = ERR_INIT;
	assert_int_equal(parse("--- a.c\n+++ a.c\n@@\n-\treturn 1;\n+\treturn 11;\n"
			       "--- a/a.c\n+++ a/a.c\n@@\n-\treturn 2;\n+\treturn 22;\n",
				 &arena, &patch, &e),
		ERR_INPUT);
	assert_int_equal(e.line, 6);
	assert_non_null(strstr(e.message, "a.c: this file appears twice in the diff, under two names"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_refused),
		cmocka_unit_test(test_names_of_diffs),
		cmocka_unit_test(test_names_are_literal),
		cmocka_unit_test(test_what_git_drops_is_refused),
		cmocka_unit_test(test_one_file_under_two_names),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

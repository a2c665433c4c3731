/* Unified diffs as people and models write them. Expected texts are worked out by hand. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/diff.h"
#include "patch/syntax.h"

#define OLD "one\ntwo\nthree\nfour\nfive\n"
#define NEW "one\n2\nthree\nfour\nfive\nsix\n"

static void check_result(const char *name, const char *text)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
	struct err e = ERR_INIT;
	struct diff diff;
	if (diff_parse("x.diff", text, strlen(text), &arena, &diff, &e) != OK ||
		diff_apply(&diff.files[0], OLD, strlen(OLD), &new, &e) != OK)
		fail_msg("%s: %s", name, e.message);
	assert_int_equal(diff.n_files, 1);
	assert_string_equal(diff.files[0].path, "x.c");
	assert_string_equal(new.buf, NEW);
}

static void test_spellings(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = {
		{"git", "diff --git a/x.c b/x.c\nindex 12ab..34cd 100644\n--- a/x.c\n+++ b/x.c\n"
			"@@ -1,5 +1,6 @@ int f(void)\n one\n-two\n+2\n three\n four\n five\n+six\n"},
		{"plain", "--- x.c\n+++ x.c\n@@ -1,5 +1,6 @@\n one\n-two\n+2\n three\n four\n five\n+six\n"},
		{"time stamps", "--- x.c\t2024-01-01 00:00:00\n+++ x.c\t2024-01-02 00:00:00\n"
				"@@ -1,5 +1,6 @@\n one\n-two\n+2\n three\n four\n five\n+six\n"},
		{"wrong counts", "--- a/x.c\n+++ b/x.c\n@@ -1,3 +1,9 @@\n one\n-two\n+2\n three\n four\n "
				 "five\n+six\n"},
		{"fence and prose", "# title: counting\nHere it is:\n```diff\n--- a/x.c\n+++ b/x.c\n@@ -1,5 "
				    "+1,6 @@\n one\n"
				    "-two\n+2\n three\n four\n five\n+six\n```\nThat was it.\n"},
		{"two hunks", "--- a/x.c\n+++ b/x.c\n@@ -2 +2 @@\n-two\n+2\n@@ -5,1 +5,2 @@\n five\n+six\n"},
		{"blank lines at the end", "--- a/x.c\n+++ b/x.c\n@@ -1,5 +1,6 @@\n one\n-two\n+2\n three\n "
					   "four\n five\n+six\n\n\n"},
		{"CR in headers",
			"--- a/x.c\r\n+++ b/x.c\r\n@@ -2 +2 @@\r\n-two\n+2\n@@ -5 +5,2 @@\n five\n+six\n"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_result(cases[i].name, cases[i].text);
}

/* git ends a name that has blanks with a tab: everything before it is the name. */
static void test_names_are_exact(void **state)
{
	static const struct {
		const char *text, *path;
	} cases[] = {
		{"--- a/x.c \t\n+++ b/x.c \t\n@@ -1 +1 @@\n-a\n+b\n", "x.c "},
		{"--- a/x y.c\t2024-01-01\n+++ b/x y.c\t2024-01-02\n@@ -1 +1 @@\n-a\n+b\n", "x y.c"},
		{"--- a/x.c \n+++ b/x.c \n@@ -1 +1 @@\n-a\n+b\n", "x.c "},
		{"--- /dev/null\n+++ b/ x.c\t\n@@ -0,0 +1 @@\n+b\n", " x.c"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT;
		struct err e = ERR_INIT;
		struct diff diff;
		assert_int_equal(
			diff_parse("x", cases[i].text, strlen(cases[i].text), &arena, &diff, &e), OK);
		assert_string_equal(diff.files[0].path, cases[i].path);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *message;
		int line;
	} cases[] = {
		{"", "no change found", 1},
		{"just words\n", "no change found", 1},
		{"--- a/x\n+++ b/x\n", "no hunk", 1},
		{"--- a/x\n+++ b/x\n@@ foo @@\n", "expected '@@ -line", 3},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "empty", 3},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\nb\n", "expected a line that begins", 5},
		{"@@ -1 +1 @@\n-a\n+b\n", "without the --- and +++", 1},
		{"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "renames", 1},
		{"--- \"a/x\\001\"\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "control characters", 1},
		{"--- a/x\r\r\n+++ b/x\r\r\n@@ -1 +1 @@\n-a\n+b\n", "control characters", 1},
		{"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "both created and deleted", 1},
		{"--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "only '+' lines", 3},
		{"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "mode changes", 2},
		{"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n",
			"symbolic links", 2},
		{"diff --git a/x b/x\nnew file mode 160000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
			"submodules", 2},
		{"diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
			"ordinary files", 2},
		{"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "renames", 2},
		{"diff --git a/x b/y\ncopy from x\ncopy to y\n", "renames and copies", 2},
		{"diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\n", "binary", 3},
		{"diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary", 2},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ b/x\n@@ -9 +9 @@\n-a\n+b\n",
			"appears twice", 6},
		{"--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n\\ No newline at end of file\n+c\n",
			"another line of the file after", 7},
		{"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n\\ No newline at end of file\n-b\n",
			"another line of the file after", 6},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\alpha\n", "expected a line that begins", 6},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\nmore\n", "expected a line that begins", 6},
		{"+++ b/y\n+c\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "without the --- line", 1},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT;
		struct err e = ERR_INIT;
		struct diff diff;
		enum err_code code =
			diff_parse("x.diff", cases[i].text, strlen(cases[i].text), &arena, &diff, &e);
		if (code != ERR_INPUT || !strstr(e.message, cases[i].message) || e.line != cases[i].line)
			fail_msg("case %zu: code %d line %d: %s", i, code, e.line, e.message);
	}
}

static void test_removed_dashes(void **state)
{
	(void)state;
	static const char text[] = "--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- sql comment\n keep\n";
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
	struct diff diff;
	struct err e = ERR_INIT;
	assert_int_equal(diff_parse("x", text, strlen(text), &arena, &diff, &e), OK);
	assert_int_equal(diff_apply(&diff.files[0], "-- sql comment\nkeep\n", 20, &new, &e), OK);
	assert_string_equal(new.buf, "keep\n");
}

/* Two lines that look like the header of a file, where the counts say that they are the hunk's last. */
static void test_removed_header(void **state)
{
	(void)state;
	static const char text[] =
		"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n--- y\n+++ y\n@@ -4 +4 @@\n-four\n+4\n";
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
	struct diff diff;
	struct err e = ERR_INIT;
	assert_int_equal(diff_parse("x", text, strlen(text), &arena, &diff, &e), OK);
	assert_int_equal(diff.n_files, 1);
	assert_int_equal(diff_apply(&diff.files[0], "one\n-- y\nthree\nfour\n", 20, &new, &e), OK);
	assert_string_equal(new.buf, "one\n++ y\nthree\n4\n");
}

static void test_does_not_fit(void **state)
{
	(void)state;
	static const char text[] = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1\n@@ -4 +4 @@\n-vier\n+4\n";
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct strbuf new = STRBUF_INIT;
	struct diff diff;
	struct err e = ERR_INIT;
	assert_int_equal(diff_parse("x", text, strlen(text), &arena, &diff, &e), OK);
	assert_int_equal(diff_apply(&diff.files[0], OLD, strlen(OLD), &new, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "hunk 2 (line 6 of the diff)"));
	assert_int_equal(new.len, 0);
}

static void test_write_reads_back(void **state)
{
	(void)state;
	static const char text[] =
		"--- x\n+++ x\n@@ -5,9 +5,9 @@\n five\n+six\n\\ No newline at end of file\n"
		"--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+y\n";
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
	struct diff diff;
	struct err e = ERR_INIT;
	assert_int_equal(diff_parse("x", text, strlen(text), &arena, &diff, &e), OK);
	diff_write(&diff, "sub/", &out);
	assert_string_equal(out.buf,
		"diff --git a/sub/x b/sub/x\n--- a/sub/x\n+++ b/sub/x\n@@ -5,1 +5,2 @@\n five\n+six\n"
		"\\ No newline at end of file\n"
		"diff --git a/sub/y b/sub/y\nnew file mode 100644\n--- /dev/null\n+++ b/sub/y\n@@ -0,0 +1,1 "
		"@@\n+y\n");
}

static size_t errors_in(enum language language, const char *text)
{
	CLEANUP(syntax_free) TSTree *tree = NULL;
	struct err e = ERR_INIT;
	assert_int_equal(syntax_parse(language, "x", text, strlen(text), &tree, &e), OK);
	return syntax_error_count(tree);
}

static void test_syntax(void **state)
{
	(void)state;
	assert_int_equal(syntax_language("a/b.c"), LANGUAGE_C);
	assert_int_equal(syntax_language("train.py"), LANGUAGE_PYTHON);
	assert_int_equal(syntax_language("Makefile"), LANGUAGE_NONE);
	assert_int_equal(errors_in(LANGUAGE_C, "int f(void) { return 1; }\n"), 0);
	assert_true(errors_in(LANGUAGE_C, "int f(void) { return 1 }\n") > 0);
	assert_true(errors_in(LANGUAGE_C, "int f(void) { if (x { return 1; }\n") > 0);
	assert_int_equal(errors_in(LANGUAGE_PYTHON, "def f(x):\n    return x[1:]\n"), 0);
	assert_true(errors_in(LANGUAGE_PYTHON, "def f(x:\n    return x[1:]\n") > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_names_are_exact),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_removed_dashes),
		cmocka_unit_test(test_removed_header),
		cmocka_unit_test(test_does_not_fit),
		cmocka_unit_test(test_write_reads_back),
		cmocka_unit_test(test_syntax),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Diffs as language models write them: where hunks are found, and what is refused. Worked out by hand. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/loose_diff.h"

#define HEADER "--- a/m.py\n+++ b/m.py\n"
#define OLD "import os\n\ndef f(x):\n    y = x\n    return y\n\ndef g(x):\n    y = x\n    return 2 * y\n"
#define NEW "import os\n\ndef f(x):\n    y = x\n    return -y\n\ndef g(x):\n    y = x\n    return 2 * y\n"
#define CRLF_OLD "one\r\ntwo\r\nthree\r\n"
#define CRLF_NEW "one\r\n2\r\nthree\r\n"

static enum err_code apply(const char *old, const char *text, struct strbuf *new, struct err *e)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	const struct old_file file = {old != NULL, old, old ? strlen(old) : 0};
	struct diff diff;
	TRY(diff_parse_loose("x.diff", text, strlen(text), &arena, &diff, e));
	size_t work_left = LOOSE_WORK_CAP;
	return loose_diff_apply("x.diff", &diff.files[0], &file, &work_left, &arena, new, e);
}

static void test_applied(void **state)
{
	static const struct {
		const char *name, *old, *text, *new;
	} cases[] = {
		{"right", OLD,
			HEADER "@@ -3,3 +3,3 @@\n def f(x):\n     y = x\n-    return y\n+    return -y\n",
			NEW},
		{"bare @@", OLD, HEADER "@@\n-    return y\n+    return -y\n", NEW},
		{"@@ with a heading", OLD, HEADER "@@ def f(x):\n-    return y\n+    return -y\n", NEW},
		{"@@ ... @@", OLD, HEADER "@@ ... @@\n-    return y\n+    return -y\n", NEW},
		{"no @@ at all", OLD, HEADER "-    return y\n+    return -y\n", NEW},
		{"wrong line", OLD, HEADER "@@ -70,1 +70,1 @@\n-    return y\n+    return -y\n", NEW},
		{"wrong counts", OLD, HEADER "@@ -5,9 +5,2 @@\n-    return y\n+    return -y\n", NEW},
		{"names without prefixes", OLD, "--- m.py\n+++ m.py\n@@\n-    return y\n+    return -y\n",
			NEW},
		{"a prefix on one side", OLD, "--- a/m.py\n+++ m.py\n@@\n-    return y\n+    return -y\n",
			NEW},
		{"names from here", OLD, "--- ./m.py\n+++ ./m.py\n@@\n-    return y\n+    return -y\n", NEW},
		{"fence and prose", OLD,
			"Two changes.\n\n```diff\n" HEADER
			"@@ -1,2 +1,2 @@\n-    return y\n+    return -y\n```\n\n- done\n",
			NEW},
		{"prose below without a fence", OLD,
			HEADER "@@\n-    return y\n+    return -y\n\nThis negates f.\nIt is faster.\n", NEW},
		{"context that lost its blank", OLD,
			HEADER
			"@@ -3,4 +3,4 @@\ndef f(x):\n    y = x\n-    return y\n+    return -y\n\ndef g(x):\n",
			NEW},
		{"trailing blanks in the file", "a  \nb\t\nc\n", HEADER "@@\n a\n-b\n+B\n c\n",
			"a  \nB\nc\n"},
		{"trailing blanks in the diff", "a\nb\nc\n", HEADER "@@\n a  \n-b \n+B\n c\n", "a\nB\nc\n"},
		{"CRLF everywhere", OLD,
			"--- a/m.py\r\n+++ b/m.py\r\n@@ -5 +5 @@\r\n-    return y\r\n+    return -y\r\n",
			NEW},
		{"LF diff of a CRLF file", CRLF_OLD, HEADER "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
			CRLF_NEW},
		{"CRLF diff of a CRLF file", CRLF_OLD,
			"--- a/m.py\r\n+++ b/m.py\r\n@@ -1,3 +1,3 @@\r\n one\r\n-two\r\n+2\r\n three\r\n",
			CRLF_NEW},
		{"git's diff of a CRLF file", CRLF_OLD,
			HEADER "@@ -1,3 +1,3 @@\n one\r\n-two\r\n+2\r\n three\r\n", CRLF_NEW},
		{"git's diff that changes line ends", CRLF_OLD, HEADER "@@ -2 +2 @@\n-two\r\n+two\n",
			"one\r\ntwo\nthree\r\n"},
		{"the diff's last line is cut", OLD, HEADER "@@\n-    return y\n+    return -y", NEW},
		{"two hunks out of order", "a\nb\nc\nd\ne\n", HEADER "@@\n-e\n+E\n@@\n-a\n+A\n",
			"A\nb\nc\nd\nE\n"},
		{"hunks whose context overlaps", "a\nb\nc\nd\n",
			HEADER "@@\n a\n-b\n+B\n c\n@@\n b\n-c\n+C\n d\n", "a\nB\nC\nd\n"},
		{"one header for each hunk", "a\nb\nc\n", HEADER "@@\n-a\n+A\n" HEADER "@@\n-c\n+C\n",
			"A\nb\nC\n"},
		{"of two places the one that the line names", "x\ny\nx\ny\n",
			HEADER "@@ -3,2 +3,2 @@\n-x\n+z\n y\n", "x\ny\nz\ny\n"},
		{"blank lines that lost their blank", "a\n\nb\n\n\nc\n",
			HEADER "@@ -1,4 +1,4 @@\n a\n\n-b\n+B\n\n\n", "a\n\nB\n\n\nc\n"},
		{"an insertion where the line says", "a\nb\n", HEADER "@@ -1,0 +2,1 @@\n+new\n",
			"a\nnew\nb\n"},
		{"into an empty file", "", HEADER "@@\n+new\n", "new\n"},
		{"a new file", NULL, "--- /dev/null\n+++ b/m.py\n@@ -0,0 +1,7 @@\n+a\n\n+b\n", "a\n\nb\n"},
		{"a new file under its own name", NULL, HEADER "@@ -0,0 +1 @@\n+a\n", "a\n"},
		{"a new file without a last newline", NULL,
			"--- /dev/null\n+++ b/m.py\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n", "a"},
		{"a deleted file", "a\nb\n", "--- a/m.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", ""},
		{"no newline, marked", "a\nb",
			HEADER "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n", "a\nc\n"},
		{"no newline, marked on both sides", "a\nb",
			HEADER "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
			       "\\ No newline at end of file\n",
			"a\nc"},
		{"no newline, and the diff does not know", "a\nb", HEADER "@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
			"a\nc"},
		{"a mark that is not true", "a\nb\nc\n",
			HEADER "@@\n-a\n\\ No newline at end of file\n+A\n\\ No newline at end of file\n",
			"A\nb\nc\n"},
		{"format-patch", "a\nb\n",
			"From 12 Mon Sep 17 00:00:00 2001\nSubject: x\n---\n m.py | 2 +-\n\n"
			"diff --git a/m.py b/m.py\nindex 1..2 100644\n" HEADER
			"@@ -1,2 +1,2 @@\n-a\n+A\n b\n-- \n2.39.5\n",
			"A\nb\n"},
		{"a removed \"- \" after a bare @@", "- \n- b\nc\n", HEADER "@@\n-- \n-- b\n+b\n c\n",
			"b\nc\n"},
		{"a removed \"- \" after wrong counts", "a\n- \nc\n",
			HEADER "@@ -1,1 +1,1 @@\n-a\n-- \n+b\n c\n", "b\nc\n"},
		{"a removed \"- \" at the end", "a\n- \n", HEADER "@@\n a\n-- \n", "a\n"},
		{"a mail with two diffs", "a\nb\n",
			HEADER
			"@@ -1,2 +1,2 @@\n-a\n+A\n b\n-- \n2.39.5\n\nFrom 34 Mon Sep 17 00:00:00 2001\n",
			"A\nb\n"},
		{"a fence that is the file's", "a\n```\nb\n", HEADER "@@\n a\n```\n-b\n+B\n", "a\n```\nB\n"},
		{"a fence that only ends", "a\n", HEADER "@@\n-a\n+A\n```\n\n", "A\n"},
		{"a fence of prose before", "a\n",
			"```c\nint x;\n```\n\n```diff\n" HEADER "@@\n-a\n+A\n```\n\n- done\n", "A\n"},
		{"a backslash that lost its blank", "a\n\\alpha\nb\n", HEADER "@@\n a\n\\alpha\n-b\n+B\n",
			"a\n\\alpha\nB\n"},
		{"names with blanks behind them", "a\n", "--- a/m.py  \n+++ b/m.py \n@@\n-a\n+A\n", "A\n"},
		{"svn", "a\nb\n", "Index: m.py\n=====\n" HEADER "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "A\nb\n"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
		struct err e = ERR_INIT;
		if (apply(cases[i].old, cases[i].text, &new, &e) != OK)
			fail_msg("%s: line %d: %s", cases[i].name, e.line, e.message);
		if (strcmp(new.buf, cases[i].new) != 0)
			fail_msg("%s: got\n%s", cases[i].name, new.buf);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *name, *old, *text, *message;
		int line;
	} cases[] = {
		{"two places", OLD, HEADER "@@ -1 +1 @@\n-    y = x\n+    y = 2 * x\n",
			"it fits in 2 places: at line 4 and 8", 3},
		{"two places and a line that is believed no more", OLD,
			HEADER "@@ -4,7 +4,7 @@\n-    y = x\n+    y = 2 * x\n", "at line 4 and 8", 3},
		{"a blank line below decides nothing", "x\ny\nx\n\n", HEADER "@@\n-x\n+z\n\n",
			"it fits in 2 places: at line 1 and 3", 3},
		{"many places", "a\na\na\na\na\na\na\na\na\na\n", HEADER "@@\n-a\n+b\n",
			"in more than 8 places: at line 1, 2, 3, 4, 5, 6, 7 and 8;", 3},
		{"not there", OLD, HEADER "@@ -5 +5 @@\n-    return yy\n+    return -y\n",
			"the closest place is m.py:5 (", 3},
		{"a line too many", OLD,
			HEADER "@@\n def f(x):\n     y = x\n     z = x\n-    return y\n+    pass\n",
			"line 3, '    z = x', is not in the file before line 5", 3},
		{"tabs", "if x:\n\treturn 1\n", HEADER "@@\n if x:\n-    return 1\n+    return 2\n",
			"line 2 differs in tabs and spaces of the indentation: expected '    return 1', line "
			"2 has '\\treturn 1'",
			3},
		{"nothing alike", OLD, HEADER "@@\n-#include <stdio.h>\n+#include <math.h>\n",
			"nothing there is similar", 3},
		{"the second hunk", "a\nb\n", HEADER "@@\n-a\n+A\n@@\n-zzzz\n+Z\n",
			"hunk 2 of m.py does not apply", 6},
		{"a line that lost its plus", "a\nb\n", HEADER "@@\n-a\n+A\nnew line here\n b\n",
			"not in the file", 3},
		{"a last line that lost its plus", "a\nb\n", HEADER "@@\n a\n-b\n+B\nnew line here\n",
			"not in the file", 3},
		{"an insertion anywhere", "a\n", HEADER "@@\n+new\n", "does not say where they go", 3},
		{"an insertion behind the end", "a\n", HEADER "@@ -9,0 +10 @@\n+new\n", "does not say where",
			3},
		{"no change", "a\nb\n", HEADER "@@\n a\n b\n", "no line that begins with '+' or '-'", 3},
		{"the same place twice", "a\nb\n", HEADER "@@\n-a\n+A\n@@\n-a\n+B\n",
			"hunk 1 changes the same place, line 1", 6},
		{"creates what exists", "a\n", "--- /dev/null\n+++ b/m.py\n@@ -0,0 +1 @@\n+a\n",
			"which exists", 3},
		{"changes what does not", NULL, HEADER "@@\n-a\n+b\n", "there is no such file", 3},
		{"deletes a part", "a\nb\n", "--- a/m.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
			"all of its lines", 3},
		{"prose in a new file", NULL, "--- /dev/null\n+++ b/m.py\n@@ -0,0 +1 @@\n+a\nlost\n",
			"only '+' lines", 3},
		{"a rename", OLD, "--- a/m.py\n+++ b/n.py\n@@\n-a\n+b\n", "renames", 1},
		{"no diff", OLD, "I would rather not.\n", "no change found", 1},
		{"lines of a new file after its end", NULL,
			"--- /dev/null\n+++ b/m.py\n@@ -0,0 +1,2 @@\n+a\n\n\\ No newline at end of "
			"file\n+b\n",
			"another line of the file after '\\ No newline at end of file'", 7},
		{"an empty line of a new file after its end", NULL,
			"--- /dev/null\n+++ b/m.py\n@@ -0,0 +1,2 @@\n+a\n\\ No newline at end of "
			"file\n\n+b\n",
			"another line of the file after", 6},
		{"lines behind the fence", "a\nb\n", "```diff\n" HEADER "@@\n a\n-b\n```\n+B\n```\n",
			"looks like a part of the hunk that the line of ``` before it ended", 8},
		{"a hunk of no file", OLD, "```diff\n@@ -1 +1 @@\n-a\n+b\n```\n", "without the --- and +++",
			2},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct strbuf new = STRBUF_INIT;
		struct err e = ERR_INIT;
		enum err_code code = apply(cases[i].old, cases[i].text, &new, &e);
		if (code != ERR_INPUT || !strstr(e.message, cases[i].message) || e.line != cases[i].line)
			fail_msg("%s: code %d line %d: %s", cases[i].name, code, e.line, e.message);
		assert_int_equal(new.len, 0);
	}
}

static size_t parsed_hunks(size_t n_headers, struct arena *arena, struct err *e)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct diff diff;
	for (size_t i = 0; i < n_headers; i++)
		strbuf_addstr(&text, "--- x\n+++ x\n+\n");
	if (diff_parse_loose("x.diff", text.buf, text.len, arena, &diff, e) != OK)
		return 0;
	assert_int_equal(diff.n_files, 1);
	return diff.files[0].n_hunks;
}

/* One header for each hunk costs memory for each hunk once: copying all that came before would take 10000 *
 * 10000 / 2 hunks, gigabytes. More headers than that are refused. */
static void test_repeated_headers(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct err e = ERR_INIT;
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	assert_int_equal(parsed_hunks(10000, &arena, &e), 10000);
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < before + ((size_t)64 << 20));
	assert_int_equal(parsed_hunks(74898, &arena, &e), 0);
	assert_int_equal(e.code, ERR_INPUT);
	assert_int_equal(e.line, 30001);
	assert_non_null(strstr(e.message, "or 10000 headers of files"));
}

/* A long line counts by its length: these are 12 million comparisons, but of a thousand bytes each. */
static void test_long_lines_are_bounded(void **state)
{
	(void)state;
	enum { FILE_LINES = 4000, HUNK_LINES = 1000, LINE_BYTES = 1000 };
	CLEANUP(strbuf_release) struct strbuf old = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
	struct err e = ERR_INIT;
	strbuf_addstr(&text, HEADER "@@\n");
	for (int i = 0; i < FILE_LINES; i++)
		strbuf_addf(&old, "%0*d\n", LINE_BYTES, 0);
	for (int i = 0; i < HUNK_LINES; i++)
		strbuf_addf(&text, " %0*d\n", LINE_BYTES, 0);
	strbuf_addstr(&text, "-b\n+c\n");
	assert_int_equal(apply(old.buf, text.buf, &new, &e), ERR_LIMIT);
	assert_non_null(strstr(e.message, "too repetitive"));
}

/* A file and a hunk that differ in the last line of every place: looked at up to a bound, and refused. */
static void test_repetition_is_bounded(void **state)
{
	(void)state;
	enum { FILE_LINES = 300000, HUNK_LINES = 200000 };
	CLEANUP(strbuf_release) struct strbuf old = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
	struct err e = ERR_INIT;
	strbuf_addstr(&text, HEADER "@@\n");
	for (int i = 0; i < FILE_LINES; i++)
		strbuf_addstr(&old, "a\n");
	for (int i = 0; i < HUNK_LINES; i++)
		strbuf_addstr(&text, " a\n");
	strbuf_addstr(&text, "-b\n+c\n");
	assert_int_equal(apply(old.buf, text.buf, &new, &e), ERR_LIMIT);
	assert_non_null(strstr(e.message, "too repetitive"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_applied),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_repeated_headers),
		cmocka_unit_test(test_long_lines_are_bounded),
		cmocka_unit_test(test_repetition_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table, its documentation, terms, limits and refusals. What the rules find is tested by test_zoo.c
 * and test_python.c. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "audit/words.h"
#include "patch/syntax.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

static enum err_code give(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	const struct strbuf *text = context;
	if (!text)
		return err_set(reterr, ERR_NOT_FOUND, "%s does not exist", path);
	strbuf_clear(ret_text);
	strbuf_add(ret_text, text->buf, text->len);
	return OK;
}

static enum err_code audit(const char *old, const char *diff, const struct audit_terms *terms,
	struct audit_report *report, struct err *e)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addstr(&text, old);
	return audit_diff_with(terms, diff, strlen(diff), give, &text, report, e);
}

static void test_every_rule_is_documented(void **state)
{
	(void)state;
	const char *root = getenv("INFRARSI_SOURCE_ROOT");
	CLEANUP(free_ptr) char *path = xasprintf("%s/docs/audit.md", root ? root : ".");
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct err e = ERR_INIT;
	struct audit_rule_text rule;
	size_t n = 0;
	assert_int_equal(file_read(path, FILE_CAP_DEFAULT, &text, &e), OK);
	for (; audit_rule_at(n, &rule); n++) {
		assert_int_equal(rule.reads_c, rule.reads_python);
		char heading[32];
		snprintf(heading, sizeof(heading), "\n## %s\n", rule.id);
		assert_non_null(strstr(text.buf, heading));
		assert_int_equal(strncasecmp(rule.anchor, rule.id, strlen(rule.id)), 0);
	}
	assert_true(n >= 13);
}

#define OLD_SUM                                                                                              \
	"float f(const float *x, int n)\n{\n\tfloat s = 0;\n\tfor (int i = 0; i < n; i++)\n\t\ts += "        \
	"x[i];\n\treturn s;\n}\n"
#define TO_HALF                                                                                              \
	"--- a/k.c\n+++ b/k.c\n@@ -4,2 +4,2 @@\n \tfor (int i = 0; i < n; i++)\n-\t\ts += x[i];\n+\t\ts += " \
	"(__bf16)x[i];\n"

static void test_menu_decides(void **state)
{
	static const char *const without[] = {"fp32"}, *const with[] = {"fp32", "bf16"};
	static const struct {
		struct audit_terms terms;
		bool blocked, review;
	} cases[] = {{{without, 1}, true, false}, {{with, 2}, false, false}, {{NULL, 0}, false, true}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct audit_report report;
		struct err e = ERR_INIT;
		assert_int_equal(audit(OLD_SUM, TO_HALF, &cases[i].terms, &report, &e), OK);
		assert_int_equal(report.blocked, cases[i].blocked);
		assert_int_equal(report.review, cases[i].review);
		if (report.n_findings) {
			assert_string_equal(report.findings[0].rule, "A2");
			assert_int_equal(report.findings[0].line, 5);
			assert_string_equal(report.findings[0].text, "s += (__bf16)x[i];");
		}
		audit_report_release(&report);
	}
}

static void test_other_languages_are_for_review(void **state)
{
	static const char *const paths[] = {"t.pyx", "t.ipynb", "t.cu", "Makefile"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct audit_report report;
		struct err e = ERR_INIT;
		CLEANUP(free_ptr)
		char *diff =
			xasprintf("--- a/%s\n+++ b/%s\n@@ -1 +1 @@\n-x = 1\n+x = 2\n", paths[i], paths[i]);
		assert_int_equal(audit("x = 1\n", diff, NULL, &report, &e), OK);
		assert_false(report.blocked);
		assert_int_equal(report.n_findings, 1);
		assert_string_equal(report.findings[0].rule, "A0");
		audit_report_release(&report);
	}
}

static bool has_finding(const struct audit_report *report, const char *rule, const char *file)
{
	for (size_t i = 0; i < report->n_findings; i++)
		if (strcmp(report->findings[i].rule, rule) == 0 &&
			strcmp(report->findings[i].file, file) == 0)
			return true;
	return false;
}

/* A C file, a Python file and one of no language in one diff: each by its own rules. */
static void test_languages_together(void **state)
{
	static const char diff[] =
		"--- /dev/null\n+++ b/t.py\n@@ -0,0 +1,2 @@\n+import subprocess\n+subprocess.run(['true'])\n"
		"--- /dev/null\n+++ b/k.c\n@@ -0,0 +1,2 @@\n+int system(const char *);\n"
		"+int f(void) { return system(\"true\"); }\n"
		"--- /dev/null\n+++ b/notes.txt\n@@ -0,0 +1 @@\n+notes\n";
	(void)state;
	struct audit_report report;
	struct err e = ERR_INIT;
	assert_int_equal(audit("", diff, NULL, &report, &e), OK);
	assert_true(has_finding(&report, "A7", "t.py"));
	assert_true(has_finding(&report, "A7", "k.c"));
	assert_true(has_finding(&report, "A0", "notes.txt"));
	assert_false(has_finding(&report, "A0", "t.py"));
	audit_report_release(&report);
}

/* Files that Python runs by itself or finds before a library of their name. */
static void test_files_in_the_way(void **state)
{
	static const struct {
		const char *path;
		bool blocked;
	} cases[] = {{"sitecustomize.py", true}, {"time.py", true}, {"torch/__init__.py", true},
		{"kernels.py", false}, {"models/time.py", false}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct audit_report report;
		struct err e = ERR_INIT;
		CLEANUP(free_ptr)
		char *diff = xasprintf("--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x = 1\n", cases[i].path);
		assert_int_equal(audit("", diff, NULL, &report, &e), OK);
		assert_int_equal(report.blocked, cases[i].blocked);
		audit_report_release(&report);
	}
}

/* What is no Python (any more) is read as far as it goes. */
static void test_broken_python(void **state)
{
	static const char *const texts[] = {"def f(:\n", "x = = 1\n", "\xff\xfe\x80\n", "with a as:\n",
		"try:\n", "for in x: pass\n", "@\n", "a = b = = c\n", "f(x for)\n", "del\n", "import\n",
		"from . import\n", "lambda\n", "x[:,\n", "\"\"\"\n", "f'{'\n", "global\n",
		"if x: return\nelif: y\n", "match x:\n"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct audit_report report;
		struct err e = ERR_INIT;
		bool two = strchr(texts[i], '\n')[1] != '\0';
		int first = (int)strcspn(texts[i], "\n");
		CLEANUP(free_ptr)
		char *diff = xasprintf("--- a/t.py\n+++ b/t.py\n@@ -1 +1,%d @@\n-x = 1\n+%.*s\n%s%s",
			two ? 2 : 1, first, texts[i], two ? "+" : "", two ? texts[i] + first + 1 : "");
		assert_int_equal(audit("x = 1\n", diff, NULL, &report, &e), OK);
		audit_report_release(&report);
	}
}

static void test_refusals(void **state)
{
	(void)state;
	struct audit_report report;
	struct err e = ERR_INIT;
	assert_int_equal(audit("other\n", TO_HALF, NULL, &report, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "does not fit"));
	assert_int_equal(audit_diff(TO_HALF, strlen(TO_HALF), give, NULL, &report, &e), ERR_NOT_FOUND);
	assert_int_equal(audit(OLD_SUM, "nothing\n", NULL, &report, &e), ERR_INPUT);
}

static void test_limits(void **state)
{
	(void)state;
	static const char diff[] = "--- a/k.c\n+++ b/k.c\n@@ -1 +1 @@\n-int a;\n+int b;\n";
	static const char python[] = "--- a/k.py\n+++ b/k.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n";
	CLEANUP(strbuf_release) struct strbuf large = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf deep = STRBUF_INIT;
	struct audit_report report;
	struct err e = ERR_INIT;
	strbuf_addstr(&large, "int a;\n");
	while (large.len <= SYNTAX_CAP_BYTES)
		strbuf_addstr(
			&large, "/* ................................................................ */\n");
	assert_int_equal(audit(large.buf, diff, NULL, &report, &e), ERR_LIMIT);
	strbuf_addstr(&deep, "int a;\nint x = ");
	for (int i = 0; i < 5000; i++)
		strbuf_addch(&deep, '(');
	strbuf_addch(&deep, '1');
	for (int i = 0; i < 5000; i++)
		strbuf_addch(&deep, ')');
	strbuf_addstr(&deep, ";\n");
	assert_int_equal(audit(deep.buf, diff, NULL, &report, &e), ERR_LIMIT);
	assert_non_null(strstr(e.message, "nested"));
	strbuf_clear(&deep);
	strbuf_addstr(&deep, "a = 1\nx = ");
	for (int i = 0; i < 5000; i++)
		strbuf_addch(&deep, '[');
	for (int i = 0; i < 5000; i++)
		strbuf_addch(&deep, ']');
	strbuf_addstr(&deep, "\n");
	assert_int_equal(audit(deep.buf, python, NULL, &report, &e), ERR_LIMIT);
	assert_non_null(strstr(e.message, "nested"));
}

static void test_words(void **state)
{
	(void)state;
	assert_true(word_in("adamw_update", WORDS_UPDATE));
	assert_true(word_in("optimizerStep", WORDS_UPDATE));
	assert_true(word_in("zero_grad", WORDS_UPDATE));
	assert_false(word_in("stepper_motor", WORDS_UPDATE));
	assert_true(word_in("top_k", WORDS_SIZE));
	assert_true(word_in("step_s", WORDS_TIME));
	assert_false(word_in("step_s", WORDS_STEP));
	assert_false(word_in("s", WORDS_TIME));
	assert_true(text_contains("a + b / c", "b / c"));
	assert_false(text_contains("a + bb / c", "b / c"));
	assert_true(text_is_literal("( - 1.5f )"));
	assert_false(text_is_literal("1 + 2"));
	assert_true(text_number("- 3") == -3);
	assert_true(text_has_new_number("x * 0.5", "x"));
	assert_false(text_has_new_number("x * ( 1.0 / n )", "x / n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_rule_is_documented),
		cmocka_unit_test(test_menu_decides),
		cmocka_unit_test(test_other_languages_are_for_review),
		cmocka_unit_test(test_languages_together),
		cmocka_unit_test(test_files_in_the_way),
		cmocka_unit_test(test_broken_python),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

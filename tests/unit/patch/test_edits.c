/* Lists of edits: the JSON, and what an edit does to a text. Worked out by hand. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/edits.h"
#include "patch/loose_diff.h"

static enum err_code parse(const char *text, struct arena *arena, struct edit_list *list, struct err *e)
{
	return edits_parse("p.edits.json", text, strlen(text), arena, list, e);
}

static void test_list(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct edit_list list;
	struct err e = ERR_INIT;
	assert_int_equal(parse("[{\"file\": \"a.c\", \"old\": \"x\", \"new\": \"\"},"
			       " {\"file\": \"b.c\", \"old\": \"\", \"new\": \"y\\n\"}]",
				 &arena, &list, &e),
		OK);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].file, "a.c");
	assert_int_equal(list.items[0].new_length, 0);
	assert_string_equal(list.items[1].new, "y\n");
	assert_int_equal(list.items[1].index, 1);
	assert_null(list.header.title);
}

static void test_object(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct edit_list list;
	struct err e = ERR_INIT;
	assert_int_equal(
		parse("{\"title\": \"no copy\", \"mechanism\": \"buffer_reuse\", \"phases\": [\"forward\", "
		      "\"data\"], \"predicted\": 0.05, \"base\": [\"01-a\", \"02-b\"],"
		      " \"edits\": [{\"file\": \"a.c\", \"old\": \"x\", \"new\": \"y\"}]}",
			&arena, &list, &e),
		OK);
	assert_string_equal(list.header.title, "no copy");
	assert_string_equal(list.header.mechanism, "buffer_reuse");
	assert_int_equal(list.header.n_phases, 2);
	assert_string_equal(list.header.phases[1], "data");
	assert_true(fabs(list.header.predicted_gain_ln - log(1.05)) < 1e-12);
	assert_int_equal(list.header.n_bases, 2);
	assert_string_equal(list.header.bases[1], "02-b");
}

/* Values are kept whole or refused, never cut. */
static void test_long_values(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct edit_list list;
	struct err e = ERR_INIT;
	strbuf_addstr(&text, "{\"base\": [");
	for (int i = 0; i < 40; i++)
		strbuf_addf(&text, "%s\"%02d-patch\"", i ? ", " : "", i);
	strbuf_addstr(&text, "], \"edits\": [{\"file\": \"a.c\", \"old\": \"x\", \"new\": \"y\"}]}");
	assert_int_equal(parse(text.buf, &arena, &list, &e), OK);
	assert_int_equal(list.header.n_bases, 40);
	assert_string_equal(list.header.bases[39], "39-patch");
	strbuf_clear(&text);
	strbuf_addf(&text, "{\"title\": \"%0201d\", \"edits\": []}", 0);
	assert_int_equal(parse(text.buf, &arena, &list, &e), ERR_INPUT);
	assert_string_equal(e.message, "title: the value of title has 201 bytes, more than the 200 allowed");
}

static void test_malformed(void **state)
{
	static const struct {
		const char *text, *message;
		int line;
	} cases[] = {
		{"", "not JSON", 1},
		{"[{\"file\": \"a\",\n \"old\": }]", "not JSON", 2},
		{"[{\"file\": \"a\", \"file\": \"b\"}]", "duplicate object key", 1},
		{"7", "expected a list of edits or an object with the key 'edits', got a number", 1},
		{"{\"title\": \"x\"}", "edits: expected a list", 0},
		{"{\"edits\": {}}", "edits: expected a list of {\"file\", \"old\", \"new\"}, got an object",
			0},
		{"[]", "expected 1 to 1000 edits, got 0", 0},
		{"[\"x\"]", "edits[0]: expected {\"file\", \"old\", \"new\"}, got a string", 0},
		{"[{\"file\": \"a\", \"new\": \"b\"}]", "edits[0].old: expected a string, got nothing", 0},
		{"[{\"file\": \"a\", \"old\": null, \"new\": \"b\"}]",
			"edits[0].old: expected a string, got null", 0},
		{"[{\"file\": \"a\", \"old\": \"x\", \"news\": \"b\"}]",
			"unknown key 'news' (did you mean 'new'?)", 0},
		{"[{\"file\": \"a\", \"old\": \"x\", \"new\": \"x\"}]", "edits[0]: old and new are the same",
			0},
		{"[{\"file\": \"a\", \"old\": \"\", \"new\": \"\"}]", "old and new are the same", 0},
		{"{\"tittle\": \"x\", \"edits\": []}", "unknown key 'tittle' (did you mean 'title'?)", 0},
		{"{\"phases\": \"sideways\", \"edits\": []}", "unknown phase 'sideways'", 0},
		{"{\"phases\": [1], \"edits\": []}", "phases: expected a string, a number or a list", 0},
		{"{\"predicted\": \"much\", \"edits\": []}", "expected a predicted speed-up", 0},
		{"[{\"file\": \"a\", \"old\": \"\\u0000\", \"new\": \"x\"}]", "not JSON", 1},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT;
		struct edit_list list;
		struct err e = ERR_INIT;
		enum err_code code = parse(cases[i].text, &arena, &list, &e);
		if (code != ERR_INPUT || !strstr(e.message, cases[i].message) || e.line != cases[i].line)
			fail_msg("case %zu: code %d line %d: %s", i, code, e.line, e.message);
	}
}

static enum err_code apply(
	const char *text, const char *old, const char *new, struct strbuf *result, struct err *e)
{
	const struct old_file file = {text != NULL, text, text ? strlen(text) : 0};
	const struct edit edit = {3, "dir/a.c", old, new, strlen(old), strlen(new)};
	return edits_apply_one("p.edits.json", &edit, &file, result, e);
}

static void test_applied(void **state)
{
	static const struct {
		const char *text, *old, *new, *result;
	} cases[] = {
		{"int a;\nint b;\n", "int b", "long b", "int a;\nlong b;\n"},
		{"int a;\nint b;\n", "int a;\n", "", "int b;\n"},
		{"int a;\nint b;\n", ";\nint", ", ", "int a,  b;\n"},
		{"a\r\nb\r\n", "a\r\nb", "c", "c\r\n"},
		{"whole", "whole", "", ""},
		{NULL, "", "new\n", "new\n"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf result = STRBUF_INIT;
		struct err e = ERR_INIT;
		if (apply(cases[i].text, cases[i].old, cases[i].new, &result, &e) != OK)
			fail_msg("case %zu: %s", i, e.message);
		assert_string_equal(result.buf, cases[i].result);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *old, *message;
	} cases[] = {
		{"a b a\n", "a", "edits[3]: old occurs 2 times in dir/a.c, at lines 1 and 1"},
		{"x\na\nx\na\nx\na\n", "a\n",
			"old occurs 3 times in dir/a.c, at lines 2, 4 and 6: it has to be unique"},
		{"aaa\n", "aa", "old occurs 2 times"}, /* occurrences that overlap */
		{"a\na\na\na\na\na\na\na\na\na\n", "a", "old occurs more than 8 times"},
		{"x\n", "", "old is empty, which makes a new file, but dir/a.c exists"},
		{NULL, "x", "there is no file dir/a.c; an empty old makes a new one"},
		{"int f(void)\n{\n\treturn 1;\n}\n", "int f(void)\n{\n    return 1;\n",
			"the closest place is dir/a.c:1 (99% alike): line 3 differs in tabs and spaces of "
			"the indentation: expected '    return 1;', line 3 has '\\treturn 1;'"},
		{"a = 1;  \nb = 2;\n", "a = 1;\nb = 2;\n",
			"line 1 differs in white space at the end of the line"},
		{"a = 1;\r\nb = 2;\r\n", "a = 1;\nb = 2;\n",
			"line 1 differs in the line end (the file has CRLF)"},
		{"a = 1;\nb = 2;\n", "a = 1;\r\nb = 2;\r\n",
			"line 1 differs in the line end (the file has no CRLF)"},
		{"if (x)\n\t\ty();\n", "if (x)\n\ty();\n", "line 2 differs in the depth of the indentation"},
		{"y = f(a, b)\n", "y = f(a,b)\n", "line 1 differs in white space"},
		{"Loss = 0.0\nreturn\n", "loss = 0.0\nreturn\n", "line 1 differs in upper and lower case"},
		{"size_t n = count(x);\n", "size_t m = count(x);\n", "line 1 differs in its text"},
		{"alpha();\nbeta = 0;\ngamma();\n", "alpha();\ngamma();\n",
			"the file has one more line (2), 'beta = 0;'"},
		{"// first\nstatic const double effort = 25; /* milliseconds of waiting an update, as the "
		 "paper has it */\n",
			"const double  effort = 25;",
			"the closest place is dir/a.c:2 (93% alike): line 1 differs in white space"},
		{"x = Loss(y) + penalty\n", "loss(y)", "line 1 differs in upper and lower case"},
		{"alpha\nbeta\n", "completely different", "nothing there is similar"},
		{"", "x", "nothing there is similar"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct strbuf result = STRBUF_INIT;
		struct err e = ERR_INIT;
		enum err_code code = apply(cases[i].text, cases[i].old, "new", &result, &e);
		if (code != ERR_INPUT || !strstr(e.message, cases[i].message))
			fail_msg("case %zu: code %d: %s", i, code, e.message);
		assert_int_equal(result.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_object),
		cmocka_unit_test(test_long_values),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_applied),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

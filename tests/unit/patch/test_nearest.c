/* The closest place and how alike it is. Percentages by hand: 100 less the mean cost of a line, which is 4
 * for white space alone and 4 + 96 * distance / longer length otherwise (rounded down). */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/nearest.h"

static bool find(const char *text, const char *wanted, struct nearest *nearest)
{
	struct text_lines lines, olds;
	text_lines_split(&lines, text, strlen(text));
	text_lines_split(&olds, wanted, strlen(wanted));
	const struct wanted w = {.lines = olds.items, .count = olds.count};
	bool found = nearest_find(&lines, &w, nearest);
	text_lines_release(&lines);
	text_lines_release(&olds);
	return found;
}

static void test_places(void **state)
{
	static const struct {
		const char *text, *wanted;
		size_t first, line, wanted_line;
		int percent;
	} cases[] = {
		/* one of ten letters: 4 + 9 */
		{"alpha\nbeta beta1\ngamma\n", "beta beta2\n", 2, 2, 1, 87},
		/* kitten -> sitting is 3 of 7: 4 + 41 */
		{"x\nsitting\n", "kitten\n", 2, 2, 1, 55},
		/* white space alone in one of two lines */
		{"a\n  b\n", "a\nb\n", 1, 2, 2, 98},
		/* the later place is better: one of six letters in one of two lines, (4 + 16) / 2 */
		{"def f():\n    x = 1\ndef f():\n    x = 2\n", "def f():\n    x = 22\n", 3, 4, 2, 90},
		/* a line that the file has more, 60 of 2 lines */
		{"aaaa\nzzzz\nbbbb\n", "aaaa\nbbbb\n", 1, 2, 2, 70},
		/* a line that the file has not, 80 of 3 lines */
		{"aaaa\nbbbb\n", "aaaa\nzzzzzzzz\nbbbb\n", 1, 2, 2, 74},
		/* the same in the first 64 bytes, other behind them */
		{"0123456789012345678901234567890123456789012345678901234567890123456789A\n",
			"0123456789012345678901234567890123456789012345678901234567890123456789B\n", 1, 1, 1,
			95},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct nearest n = {0};
		if (!find(cases[i].text, cases[i].wanted, &n) || n.first != cases[i].first ||
			n.line != cases[i].line || n.wanted != cases[i].wanted_line ||
			n.percent != cases[i].percent)
			fail_msg("case %zu: from %zu, line %zu against %zu, %d%%", i, n.first, n.line,
				n.wanted, n.percent);
	}
}

static void test_nothing(void **state)
{
	(void)state;
	struct nearest n;
	assert_false(find("", "a\n", &n));
	assert_false(find("abc\n", "", &n));
	assert_false(find("abc\ndef\n", "0123456789\n", &n));
	assert_false(find("abc\n", "abc\n", &n)); /* nothing differs */
}

/* The promise of nearest.h. */
static size_t most_work(const struct strbuf *text, const struct strbuf *wanted)
{
	return NEAREST_WORK_CAP + 64 * (text->len + wanted->len);
}

static void check_work(const struct strbuf *text, const struct strbuf *wanted)
{
	struct text_lines lines, olds;
	text_lines_split(&lines, text->buf, text->len);
	text_lines_split(&olds, wanted->buf, wanted->len);
	for (int open = 0; open < 4; open++) {
		const struct wanted w = {olds.items, olds.count, open & 1, open & 2};
		struct nearest n = {0};
		(void)nearest_find(&lines, &w, &n);
		assert_in_range(n.work, 1, most_work(text, wanted));
	}
	text_lines_release(&lines);
	text_lines_release(&olds);
}

static void add_many(struct strbuf *text, const char *what, size_t count)
{
	while (count--)
		strbuf_addstr(text, what);
}

/* Few long lines and many short ones: a line that were trimmed or compared for every other would be 10^11
 * bytes. */
static void test_long_lines_are_bounded(void **state)
{
	(void)state;
	static const struct {
		const char *text, *wanted;
		size_t n_text, n_wanted;
	} cases[] = {
		{" ", "\n", 500000, 250000},
		{"\n", " ", 250000, 500000},
		{"x", "y\n", 500000, 250000},
		{"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy\n",
			6000, 6000},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf wanted = STRBUF_INIT;
		add_many(&text, cases[i].text, cases[i].n_text);
		strbuf_addch(&text, '\n');
		add_many(&wanted, cases[i].wanted, cases[i].n_wanted);
		check_work(&text, &wanted);
	}
}

/* What costs too much is looked at in part: a text of a megabyte against thousands of lines. */
static void test_work_is_bounded(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf wanted = STRBUF_INIT;
	struct nearest n;
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&text, "this is line number %d of a text that is long enough to matter\n", i);
	strbuf_addstr(&wanted, "This is line number 19000 of a text that is long enough to matter\n");
	for (int i = 19001; i < 19900; i++)
		strbuf_addf(&wanted, "this is line number %d of a text that is long enough to matter\n", i);
	assert_true(find(text.buf, wanted.buf, &n));
	/* 900 lines against 20000 of 64 bytes would be a thousand million steps */
	assert_true(n.work <= most_work(&text, &wanted));
	assert_int_equal(n.first, 19001);
	assert_string_equal(n.kind, "upper and lower case");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_work_is_bounded),
		cmocka_unit_test(test_long_lines_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

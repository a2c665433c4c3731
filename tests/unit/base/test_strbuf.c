#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"

static void grows_and_stays_terminated(void **state)
{
	(void)state;
	struct strbuf s = STRBUF_INIT;
	assert_string_equal(s.buf, "");
	strbuf_add(&s, "", 0);
	assert_string_equal(s.buf, "");
	for (int i = 0; i < 1000; i++) {
		strbuf_addch(&s, (char)('a' + i % 26));
		assert_int_equal(s.buf[s.len], '\0');
	}
	assert_int_equal(s.len, 1000);
	strbuf_clear(&s);
	assert_string_equal(s.buf, "");
	strbuf_add(&s, "a\0b", 3);
	assert_int_equal(s.len, 3);
	assert_memory_equal(s.buf, "a\0b", 4);
	strbuf_release(&s);
	strbuf_addstr(&s, "again");
	assert_string_equal(s.buf, "again");
	strbuf_release(&s);
	strbuf_release(&s);
}

static void formats_of_any_length(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf s = STRBUF_INIT;
	strbuf_addf(&s, "%s", "");
	strbuf_addf(&s, "%05d|%s", 42, "x");
	assert_string_equal(s.buf, "00042|x");
	strbuf_addf(&s, "%5000s", "y");
	assert_int_equal(s.len, 5007);
	assert_int_equal(s.buf[5006], 'y');
}

static void detach_hands_the_bytes_over(void **state)
{
	(void)state;
	struct strbuf s = STRBUF_INIT;
	char *empty = strbuf_detach(&s);
	assert_string_equal(empty, "");
	free(empty);
	strbuf_addstr(&s, "text");
	char *text = strbuf_detach(&s);
	assert_string_equal(text, "text");
	assert_int_equal(s.len, 0);
	free(text);
	strbuf_release(&s);
}

/* UTF-8 by RFC 3629; controls and deceptive characters by the Unicode code charts. */
static const struct {
	const char *raw, *shown;
} escapes[] = {
	{"plain ~ text", "plain ~ text"}, {"a\tb", "a b"}, {"a\nb\r", "a\\x0ab\\x0d"},
	{"\x1b[31mred", "\\x1b[31mred"}, {"\x7f", "\\x7f"}, {"\xC3\xA9", "\xC3\xA9"}, /* U+00E9 */
	{"\xE2\x82\xAC", "\xE2\x82\xAC"},                                             /* U+20AC */
	{"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},                                     /* U+1F600 */
	{"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},                                     /* U+10FFFF */
	{"\xE2\x80\x8D", "\xE2\x80\x8D"},                                             /* zero width joiner */
	{"\xC0\xAF", "\\xc0\\xaf"},                                                   /* overlong '/' */
	{"\xE0\x80\xAF", "\\xe0\\x80\\xaf"},                                          /* overlong */
	{"\xF0\x80\x80\xAF", "\\xf0\\x80\\x80\\xaf"},                                 /* overlong */
	{"\xED\xA0\x80", "\\xed\\xa0\\x80"},                                          /* surrogate */
	{"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},                                 /* above U+10FFFF */
	{"\xFF\xFE", "\\xff\\xfe"},                                                   /* never in UTF-8 */
	{"\x80", "\\x80"},                                                            /* lone continuation */
	{"\xC3", "\\xc3"},                                                            /* cut off */
	{"\xE2\x82", "\\xe2\\x82"},                                                   /* cut off */
	{"\xC3(", "\\xc3("},                                                          /* broken off */
	{"\xC2\x9B", "\\xc2\\x9b"},                                                   /* C1: CSI */
	{"\xE2\x80\xAE", "\\xe2\\x80\\xae"},          /* right-to-left override */
	{"\xE2\x81\xA6", "\\xe2\\x81\\xa6"},          /* left-to-right isolate */
	{"\xE2\x80\xA8", "\\xe2\\x80\\xa8"},          /* line separator */
	{"\xE2\x80\x8B", "\\xe2\\x80\\x8b"},          /* zero width space */
	{"\xEF\xBB\xBF", "\\xef\\xbb\\xbf"},          /* byte order mark */
	{"\xF3\xA0\x81\x81", "\\xf3\\xa0\\x81\\x81"}, /* tag letter A */
};

static void text_from_outside_is_made_safe(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		CLEANUP(strbuf_release) struct strbuf s = STRBUF_INIT;
		size_t n = strlen(escapes[i].raw);
		char *exact = xmalloc(n); /* so that a sanitizer sees a read past the end */
		memcpy(exact, escapes[i].raw, n);
		strbuf_add_escaped(&s, exact, n);
		free(exact);
		assert_string_equal(s.buf, escapes[i].shown);
	}
	CLEANUP(strbuf_release) struct strbuf s = STRBUF_INIT;
	strbuf_add_escaped(&s, "a\0b", 3);
	assert_string_equal(s.buf, "a\\x00b");
}

static void markdown_is_neutralised(void **state)
{
	(void)state;
	static const struct {
		const char *raw, *shown;
	} cases[] = {
		{"plain text, 1.42x (3%)", "plain text, 1.42x (3%)"},
		{"a|b", "a\\|b"},
		{"**bold** _x_ `c` ~~s~~", "\\*\\*bold\\*\\* \\_x\\_ \\`c\\` \\~\\~s\\~\\~"},
		{"[l](u) ![i](u) # h", "\\[l\\](u) !\\[i\\](u) \\# h"},
		{"<script>&amp;", "&lt;script&gt;&amp;amp;"},
		{"$x$ \\", "\\$x\\$ \\\\"},
		{"row\nrow", "row\\\\x0arow"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf s = STRBUF_INIT;
		strbuf_add_markdown(&s, cases[i].raw, strlen(cases[i].raw));
		assert_string_equal(s.buf, cases[i].shown);
	}
}

/* The shell itself is the judge. */
static void shell_words_come_back(void **state)
{
	(void)state;
	static const char *const words[] = {"plain-1.5_x/y:z,@%+=", "", "two words", "it's", "''",
		"$HOME `id` \\", "a\nb", "*?[x]", "~", "-n", "#c", "a;b|c&d", "\xC3\xA9", "\"", "!"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		CLEANUP(strbuf_release) struct strbuf command = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
		strbuf_addstr(&command, "printf %s ");
		strbuf_add_shell(&command, words[i]);
		const char *const argv[] = {"sh", "-c", command.buf, NULL};
		const struct process_run run = {.argv = argv};
		int status = -1;
		assert_int_equal(process_run(&run, &output, NULL, &status, NULL), OK);
		assert_int_equal(status, 0);
		assert_string_equal(output.buf, words[i]);
	}
	CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT;
	strbuf_add_shell(&plain, "--lr=3e-4");
	assert_string_equal(plain.buf, "--lr=3e-4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_and_stays_terminated),
		cmocka_unit_test(formats_of_any_length),
		cmocka_unit_test(detach_hands_the_bytes_over),
		cmocka_unit_test(text_from_outside_is_made_safe),
		cmocka_unit_test(markdown_is_neutralised),
		cmocka_unit_test(shell_words_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

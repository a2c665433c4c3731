/* The parts that need no process: line splitting, the capped log, what goes through files. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "runner/lines.h"
#include "runner/log_sink.h"
#include "runner/run_spec.h"

static void note_line(void *context, const char *line, size_t length, bool overlong)
{
	strbuf_addch(context, '[');
	strbuf_add(context, line, length);
	strbuf_addstr(context, overlong ? "+]" : "]");
}

/* However the bytes are cut into reads, the lines are the same. */
static void test_lines_do_not_depend_on_the_reads(void **state)
{
	(void)state;
	static const struct {
		const char *bytes, *lines;
	} cases[] = {
		{"", ""},
		{"a\nbc\n", "[a][bc]"},
		{"\n\n", "[][]"},
		{"end", "[end]"},
		{"12345678\n", "[12345678]"},
		{"123456789\nx\n", "[12345678+][x]"},
		{"123456789abcdefghijklmnop\nx", "[12345678+][x]"},
		{"123456789abcdefghijklmnop", "[12345678+]"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t length = strlen(cases[i].bytes);
		for (size_t step = 1; step <= length + 1; step++) {
			CLEANUP(strbuf_release) struct strbuf seen = STRBUF_INIT;
			CLEANUP(line_splitter_release) struct line_splitter s;
			line_splitter_init(&s, 8, note_line, &seen);
			for (size_t at = 0; at < length; at += step)
				line_splitter_feed(&s, cases[i].bytes + at, MIN_OF(step, length - at));
			line_splitter_finish(&s);
			assert_string_equal(seen.buf, cases[i].lines);
		}
	}
}

static void test_log_halves(void **state)
{
	(void)state;
	/* cap 8: halves of 4 */
	static const struct {
		const char *bytes, *head, *tail;
		int dropped;
	} cases[] = {
		{"", "", "", 0},
		{"abc", "abc", "", 0},
		{"abcdefgh", "abcdefgh", "", 0},
		{"abcdefghi", "abcd", "fghi", 1},
		{"abcdefghijklmnopqrstuvwxyz", "abcd", "wxyz", 18},
	};
	char path[] = "/tmp/infrarsi-log-XXXXXX";
	close(mkstemp(path));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t length = strlen(cases[i].bytes);
		for (size_t step = 1; step <= length + 1; step++) {
			struct log_sink sink;
			struct err error = ERR_INIT;
			CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
			CLEANUP(strbuf_release) struct strbuf expected = STRBUF_INIT;
			assert_int_equal(log_sink_open(&sink, path, 8, &error), OK);
			for (size_t at = 0; at < length; at += step)
				log_sink_write(&sink, cases[i].bytes + at, MIN_OF(step, length - at));
			assert_true(log_sink_close(&sink) == cases[i].dropped);
			strbuf_addstr(&expected, cases[i].head);
			if (cases[i].dropped)
				strbuf_addf(&expected, "\n[infrarsi: %d bytes of output dropped here]\n",
					cases[i].dropped);
			strbuf_addstr(&expected, cases[i].tail);
			assert_int_equal(file_read(path, FILE_CAP_DEFAULT, &text, &error), OK);
			assert_string_equal(text.buf, expected.buf);
		}
	}
	unlink(path);
}

static void test_spec_round_trip(void **state)
{
	(void)state;
	const char *argv[] = {"./job", "", "\xff raw", NULL};
	const char *env[] = {"A=\xc3\xa9", "B=\x80", NULL};
	const char *none[] = {NULL};
	struct run_spec spec = {.self_path = "/bin/x",
		.dir = "/a b",
		.control_dir = "/c",
		.log_path = "/l\n",
		.argv = argv,
		.env = env,
		.sandbox_argv = none,
		.limits = {.wall_s = 1.5,
			.memory_bytes = 1e15,
			.stall_after_update = 3,
			.expected_updates = 7},
		.force_subreaper = true};
	struct run_spec back;
	struct err error = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	run_spec_encode(&spec, &text);
	assert_int_equal(run_spec_decode(text.buf, text.len, &back, &error), OK);
	for (int i = 0; i < 3; i++)
		assert_string_equal(back.argv[i], argv[i]);
	assert_null(back.argv[3]);
	assert_string_equal(back.env[1], env[1]);
	assert_null(back.sandbox_argv[0]);
	assert_string_equal(back.log_path, "/l\n");
	assert_true(back.limits.wall_s == 1.5 && back.limits.memory_bytes == 1e15);
	assert_int_equal(back.limits.expected_updates, 7);
	assert_true(back.force_subreaper);
	run_spec_release(&back);
	static const char *const bad[] = {"", "{}", "[]", "{\"argv\":[]}", "{\"argv\":[{\"hex\":\"zz\"}]}"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(run_spec_decode(bad[i], strlen(bad[i]), &back, &error), ERR_INPUT);
}

static void test_summary_round_trip(void **state)
{
	(void)state;
	struct run_summary summary = {.error = "x",
		.end = RUN_STALLED,
		.exit_status = -1,
		.exit_signal = 15,
		.spawn_s = 12345.678901,
		.end_s = 1e9,
		.peak_tree_bytes = 3e11,
		.pid_namespace = true};
	struct run_summary back;
	struct err error = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	run_summary_encode(&summary, &text);
	assert_int_equal(run_summary_decode(text.buf, text.len, &back, &error), OK);
	assert_string_equal(back.error, "x");
	assert_int_equal(back.end, RUN_STALLED);
	assert_int_equal(back.exit_status, -1);
	assert_int_equal(back.exit_signal, 15);
	assert_true(back.spawn_s == summary.spawn_s && back.peak_tree_bytes == 3e11);
	assert_true(back.pid_namespace && !back.sandboxed);
	assert_int_equal(run_summary_decode("{}", 2, &back, &error), ERR_IO);
	assert_int_equal(run_summary_decode("nonsense", 8, &back, &error), ERR_IO);
}

static void test_journal_line(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	journal_line_encode(&(struct run_line){1.5, "a\"b", 3}, &text);
	journal_line_encode(&(struct run_line){2.5, "\xff\x00", 2}, &text);
	assert_string_equal(text.buf,
		"{\"arrived_s\":1.5,\"line\":\"a\\\"b\"}\n{\"arrived_s\":2.5,\"line\":{\"hex\":\"ff00\"}}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_do_not_depend_on_the_reads),
		cmocka_unit_test(test_log_halves),
		cmocka_unit_test(test_spec_round_trip),
		cmocka_unit_test(test_summary_round_trip),
		cmocka_unit_test(test_journal_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

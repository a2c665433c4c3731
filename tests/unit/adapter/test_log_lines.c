/* What stands around a line: control sequences (ECMA-48), docker's records, prefixes of collectors. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adapter/line_int.h"
#include "base/memory.h"

static void controls(void **state)
{
	(void)state;
	static const struct {
		const char *from;
		size_t length;
		const char *to;
	} rows[] = {
		{"plain\ttext", 0, "plain\ttext"},
		{"\033[31mred\033[0m", 0, "red"},
		{"\033[38;2;180;60;0mgrad\033[m", 0, "grad"},
		{"\033[2K\033[1Gx\033[?25l", 0, "x"},
		{"\033]0;title\007x", 0, "x"},
		{"\033]8;;https://example.org\033\\link\033]8;;\033\\", 0, "link"},
		{"a\033(Bb\033=c\0337d", 0, "abcd"},
		{"a\0b\0c", 5, "abc"},
		{"\xEF\xBB\xBFstep", 0, "step"},
		{"x\xEF\xBB\xBF", 0, "x\xEF\xBB\xBF"},
		{"a\b\a\vb", 0, "ab"},
		{"caf\xC3\xA9 \xE2\x96\x88", 0, "caf\xC3\xA9 \xE2\x96\x88"},
		{"x\033", 0, "x"},
		{"x\033[", 0, "x"},
		{"x\033[3", 0, "x"},
		{"x\033]0;never ended", 0, "x"},
		{"x\033[31\001y", 0, "xy"},
		{"", 0, ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t length = rows[i].length ? rows[i].length : strlen(rows[i].from);
		char *text = xmalloc(length + 1);
		memcpy(text, rows[i].from, length);
		text[length] = '\0';
		bool controls = line_has_controls(text, length);
		assert_int_equal(line_without_controls(text, length), strlen(rows[i].to));
		assert_string_equal(text, rows[i].to);
		/* A tab is kept, but looked at. */
		assert_int_equal(controls, strlen(rows[i].to) != length || memchr(text, '\t', length));
		free(text);
	}
}

static void docker(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to; /* NULL: no record */
	} rows[] = {
		{"{\"log\":\"step=1\\n\",\"stream\":\"stdout\"}", "step=1"},
		{"{\"log\":\"a \\\"b\\\" \\\\ \\/ \\t\\u0041\\u00e9\\u2588\\ud83d\\ude00\\r\\n\"}",
			"a \"b\" \\ / \tA\xC3\xA9\xE2\x96\x88\xF0\x9F\x98\x80"},
		{"{\"log\":\"\\u001b[31mx\"}", "\033[31mx"},
		{"{\"log\":\"no end", "no end"},
		{"{\"log\":\"bad \\x escape\"}", "bad "},
		{"{\"log\":\"\\u12", ""},
		{"{\"log\":\"\"}", ""},
		{"{\"loss\": 1}", NULL},
		{"{\"log\":", NULL},
		{"", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *text = xstrdup(rows[i].from);
		size_t length = strlen(text);
		assert_int_equal(line_out_of_docker(text, &length), rows[i].to != NULL);
		assert_string_equal(text, rows[i].to ? rows[i].to : rows[i].from);
		assert_int_equal(length, strlen(text));
		free(text);
	}
}

static struct log_line without_prefixes(const char *raw)
{
	struct log_line line = {.raw = raw, .length = strlen(raw)};
	line_without_prefixes(&line);
	assert_int_equal(line.length, strlen(line.text));
	return line;
}

static void prefixes(void **state)
{
	(void)state;
	static const struct {
		const char *raw, *text;
		int rank;
		bool has_source;
	} rows[] = {
		{"step=1", "step=1", -1, false},
		{"[rank12]: Traceback", "Traceback", 12, true},
		{"[rank0]:[W1017 11:33:02.1 x] y", "[W1017 11:33:02.1 x] y", 0, true},
		{"[default3]: iteration", "iteration", -1, true},
		{"node-a: [default7]:  [2025-06-03] x", " [2025-06-03] x", -1, true},
		{"0: step", "step", 0, true},
		{" 15: step", "step", 15, true},
		{"[1,3]<stderr>:oops", "oops", 3, true},
		{"(TaskRunner pid=4242) step:1", "step:1", -1, true},
		{"(WorkerDict pid=7, ip=192.0.2.1) x", "x", -1, true},
		{"2025-10-04T15:16:10.735Z x", "x", -1, false},
		{"2025-10-04T15:16:10+02:00 x", "x", -1, false},
		{"2025-10-04T15:16:10,5 stdout F [rank1]: x", "x", 1, true},
		{"worker-3: x", "x", -1, true},
		{"192.0.2.7: x", "x", -1, true},
		{"trainer-12  | x", "x", -1, true},
		{"Oct  4 15:16:12 node-a train[812]: x", "x", -1, false},
		/* These look alike and are the job's own. */
		{"2025-10-04 15:16:10,123 - INFO - x", "2025-10-04 15:16:10,123 - INFO - x", -1, false},
		{"step: 1 | loss: 2", "step: 1 | loss: 2", -1, false},
		{"wandb: WARNING x", "wandb: WARNING x", -1, false},
		{"node-a: x", "node-a: x", -1, false},
		{"[0]:", "[0]:", -1, false},
		{"[titan] x", "[titan] x", -1, false},
		{"(min, max) time", "(min, max) time", -1, false},
		{"12:34", "12:34", -1, false},
		{"", "", -1, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct log_line line = without_prefixes(rows[i].raw);
		if (strcmp(line.text, rows[i].text) != 0 || line.rank != rows[i].rank ||
			(line.source != 0) != rows[i].has_source)
			fail_msg("'%s': '%s', rank %d, source %u", rows[i].raw, line.text, line.rank,
				line.source);
	}
	assert_int_not_equal(without_prefixes("[rank0]: x").source, without_prefixes("[rank1]: x").source);
}

static void torn(void **state)
{
	(void)state;
	assert_true(without_prefixes("step=2 loss=4.9[rank1]: /opt/x.py:1: UserWarning: x").torn);
	assert_true(without_prefixes("step=2 loss=4.9 [default1]:x").torn);
	assert_false(without_prefixes("[rank0]: [rank0]: step=2").torn);
	assert_false(without_prefixes("2025-01-01 10:00:00 INFO [rank0]: step=2 loss=1").torn);
	assert_false(without_prefixes("[E ProcessGroupNCCL.cpp:1316][rank0]: x").torn);
	assert_false(without_prefixes("rank [rank0] x").torn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls),
		cmocka_unit_test(docker),
		cmocka_unit_test(prefixes),
		cmocka_unit_test(torn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

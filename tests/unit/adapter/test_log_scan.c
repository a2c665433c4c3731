/* Reading as a whole: bytes of any size and kind, bounded memory, choices between formats, exits. */
#include "base/base.h"

#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "adapter/log.h"
#include "adapter/reader_int.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

static struct log_summary read_text(const char *text, const struct log_options *options)
{
	struct log_scan *scan = log_scan_new(options, NULL, NULL);
	struct log_summary summary;
	log_scan_feed(scan, text, strlen(text));
	log_scan_finish(scan, &summary);
	return summary;
}

static void assert_completed(const char *text, const struct log_options *options, int expected)
{
	struct log_summary s = read_text(text, options);
	int got = s.completed.has ? s.completed.value != 0.0 : -1;
	if (got != expected)
		fail_msg("'%s': completed %d, expected %d", text, got, expected);
	log_summary_release(&s);
}

#define THREE_STEPS                                                                                          \
	"step=1 loss=3.0 dt=0.5 tokens=64\nstep=2 loss=2.9 dt=0.5 tokens=64\nstep=3 loss=2.8 dt=0.5 "        \
	"tokens=64\n"

static void a_line_of_ten_megabytes(void **state)
{
	(void)state;
	struct log_scan *scan = log_scan_new(NULL, NULL, NULL);
	char block[4096];
	memset(block, 'x', sizeof(block));
	log_scan_feed(scan, "step=1 loss=3.0 dt=0.5\nnoise ", 29);
	size_t before = mallinfo2().uordblks;
	for (int i = 0; i < 2560; i++)
		log_scan_feed(scan, block, sizeof(block));
	assert_true(mallinfo2().uordblks < before + (1 << 16));
	log_scan_feed(scan, " loss=1\nstep=2 loss=2.9 dt=0.5\n", 31);
	struct log_summary s;
	log_scan_finish(scan, &s);
	assert_int_equal(s.n_steps, 2);
	assert_int_equal(s.steps[1].line, 3);
	assert_int_equal(s.n_lines, 3);
	log_summary_release(&s);
}

/* A bar that is redrawn for hours is one line of the file. */
static void ten_megabytes_of_redraws(void **state)
{
	(void)state;
	struct log_scan *scan = log_scan_new(NULL, NULL, NULL);
	for (int i = 0; i < 100000; i++) {
		char bar[128];
		snprintf(bar, sizeof(bar),
			"\rSteps:  50%%|####      | %d/100000 [01:00<01:00, 10.00it/s, loss=%.3f]", i,
			5.0 - i * 1e-5);
		log_scan_feed(scan, bar, strlen(bar));
	}
	log_scan_feed(scan, "\n", 1);
	struct log_summary s;
	log_scan_finish(scan, &s);
	assert_int_equal(s.n_lines, 1);
	log_summary_release(&s);
}

static void steps_beyond_the_limit_are_counted(void **state)
{
	(void)state;
	enum { BEYOND = 500 };
	struct log_scan *scan = log_scan_new(NULL, NULL, NULL);
	for (long i = 1; i <= LOG_MAX_STEPS + BEYOND; i++) {
		char line[96];
		int n = snprintf(line, sizeof(line), "step=%ld loss=%.6f dt=0.5 tokens=64\n", i,
			1.0 + 1.0 / (double)i);
		log_scan_feed(scan, line, (size_t)n);
	}
	struct log_summary s;
	log_scan_finish(scan, &s);
	assert_int_equal(s.n_steps, LOG_MAX_STEPS);
	assert_int_equal(s.steps_dropped, BEYOND);
	assert_int_equal(s.steps[LOG_MAX_STEPS - 1].step, LOG_MAX_STEPS);
	log_summary_release(&s);
}

/* Numbers that go down must not cost a search through all steps each. */
static void descending_steps_are_sorted(void **state)
{
	(void)state;
	struct log_scan *scan = log_scan_new(NULL, NULL, NULL);
	for (long i = 50000; i > 0; i--) {
		char line[96];
		int n = snprintf(line, sizeof(line), "step=%ld loss=%.6f dt=0.5 tokens=64\n", i,
			1.0 + 1.0 / (double)i);
		log_scan_feed(scan, line, (size_t)n);
	}
	struct log_summary s;
	log_scan_finish(scan, &s);
	assert_int_equal(s.n_steps, 50000);
	for (size_t i = 0; i < s.n_steps; i++)
		assert_int_equal(s.steps[i].step, i + 1);
	assert_true(s.flags & 1u << LOG_RESTARTED);
	log_summary_release(&s);
}

static void count_step(void *context, const struct log_step *step)
{
	long *last = context;
	assert_true(step->step >= *last);
	*last = step->step;
}

static void steps_are_told_as_they_come(void **state)
{
	(void)state;
	long last = 0;
	struct log_scan *scan = log_scan_new(NULL, count_step, &last);
	log_scan_feed(scan, "step=1 loss=3.0 dt=0.5\nstep=2 lo", 31);
	assert_int_equal(last, 1);
	log_scan_feed(scan, "ss=2.9 dt=0.5", 13);
	assert_int_equal(last, 1);
	log_scan_feed(scan, "\n", 1);
	assert_int_equal(last, 2);
	log_scan_free(scan);
}

static void the_end_as_far_as_the_log_and_the_exit_tell(void **state)
{
	(void)state;
	struct log_options clean = {.exit_status = {true, 0.0}}, bad = {.exit_status = {true, 3.0}};
	struct log_options four = {.exit_status = {true, 0.0}, .requested_updates = {true, 4.0}};
	struct log_options three = {.requested_updates = {true, 3.0}};
	struct log_options limit = {.timed_out = true};
	assert_completed(THREE_STEPS, NULL, -1);
	assert_completed(THREE_STEPS "done\n", NULL, 1);
	assert_completed(THREE_STEPS "compiling graph 3 ...\n", NULL, 0);
	assert_completed("loading data ...\n", NULL, -1);
	assert_completed(THREE_STEPS, &clean, 1);
	assert_completed(THREE_STEPS "done\n", &bad, 0);
	assert_completed(THREE_STEPS "done\n", &four, 0);
	assert_completed(THREE_STEPS, &three, -1);
	assert_completed(THREE_STEPS "done\n", &limit, 0);
	/* What was done before the steps was something else. */
	assert_completed("done\n" THREE_STEPS, NULL, -1);
}

static void a_format_that_is_asked_for_is_the_only_one(void **state)
{
	(void)state;
	struct log_options options = {.format = "megatron"};
	struct log_summary s = read_text(THREE_STEPS, &options);
	assert_string_equal(s.framework, "megatron");
	assert_int_equal(s.n_steps, 0);
	log_summary_release(&s);
	struct err e = ERR_INIT;
	options.format = "megatorn";
	assert_int_equal(log_read("/dev/null", &options, &s, &e), ERR_INPUT);
}

static void frozen(const char *text, bool expected)
{
	struct log_summary s = read_text(text, NULL);
	if (((s.flags & 1u << LOG_FROZEN_LOSS) != 0) != expected)
		fail_msg("'%s'", text);
	log_summary_release(&s);
}

static void a_loss_that_does_not_move(void **state)
{
	(void)state;
	frozen("step=1 loss=2.5 grad_norm=1.0 lr=0.1\nstep=2 loss=2.5 grad_norm=1.0 lr=0.1\nstep=3 loss=2.5 "
	       "grad_norm=1.0 lr=0.1\n",
		true);
	/* Rounded, but the gradient moves. */
	frozen("step=1 loss=2.5 grad_norm=1.0 lr=0.1\nstep=2 loss=2.5 grad_norm=1.1 lr=0.1\nstep=3 loss=2.5 "
	       "grad_norm=1.2 lr=0.1\n",
		false);
	/* Nothing is asked of the optimizer yet. */
	frozen("step=1 loss=2.5 grad_norm=1.0 lr=0.0\nstep=2 loss=2.5 grad_norm=1.0 lr=0.0\nstep=3 loss=2.5 "
	       "grad_norm=1.0 lr=0.0\n",
		false);
	frozen(THREE_STEPS, false);
}

static enum err_code read_file(const char *path, struct log_summary *s)
{
	struct log_options options = {.refuse_binary = true};
	return log_read(path, &options, s, NULL);
}

static void files_that_are_no_logs(void **state)
{
	(void)state;
	char folder[] = "/tmp/infrarsi-log-scan-XXXXXX";
	assert_non_null(mkdtemp(folder));
	CLEANUP(free_ptr) char *path = xasprintf("%s/x", folder);
	struct log_summary s;
	assert_int_equal(read_file(path, &s), ERR_NOT_FOUND);
	assert_int_equal(read_file(folder, &s), ERR_INPUT);
	static const struct {
		const char *bytes;
		size_t length;
		enum err_code code;
	} rows[] = {
		{"", 0, OK},
		{"\x1f\x8b\x08\0\0\0\0\0", 8, ERR_INPUT},
		{"\177ELF\2\1\1\0", 8, ERR_INPUT},
		{"PK\3\4\24\0\0\0", 8, ERR_INPUT},
		{"\1\2\3\4\5\6\7\16\17", 9, ERR_INPUT},
		{"PKG step=1 loss=2\n", 18, OK},
		{"\xff\xfes\0t\0e\0p\0=\0", 12, OK},
		{"\033[31m\a\b\t x\r\n", 12, OK},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(file_write_atomic(path, rows[i].bytes, rows[i].length, 0644, NULL), OK);
		assert_int_equal(read_file(path, &s), rows[i].code);
		if (rows[i].code == OK)
			log_summary_release(&s);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_file(path, &s), ERR_INPUT);
	assert_int_equal(remove_tree(folder, NULL), OK);
}

static void every_format_has_a_name_and_literals(void **state)
{
	(void)state;
	size_t n = 0;
	for (; log_format_at(n); n++)
		assert_true(log_format_known(log_format_at(n)));
	assert_true(n >= 20);
	assert_false(log_format_known("unknown"));
	for (size_t i = 0; readers[i]; i++) {
		assert_true(i < 63); /* one bit each */
		assert_non_null(readers[i]->anchors[0]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(readers[i]->name, readers[k]->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_ten_megabytes),
		cmocka_unit_test(ten_megabytes_of_redraws),
		cmocka_unit_test(steps_beyond_the_limit_are_counted),
		cmocka_unit_test(descending_steps_are_sorted),
		cmocka_unit_test(steps_are_told_as_they_come),
		cmocka_unit_test(the_end_as_far_as_the_log_and_the_exit_tell),
		cmocka_unit_test(a_format_that_is_asked_for_is_the_only_one),
		cmocka_unit_test(a_loss_that_does_not_move),
		cmocka_unit_test(files_that_are_no_logs),
		cmocka_unit_test(every_format_has_a_name_and_literals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Outcomes, events, the log: in every way of running a job. */
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
#include "run_fixture.h"

enum way { NAMESPACE, SUBREAPER, SANDBOX, N_WAYS };

static void use_way(struct run_fixture *f, enum way way)
{
	struct process_runner *p = f->runner.state;
	p->force_subreaper = way == SUBREAPER;
	f->request.sandbox = way == SANDBOX ? SANDBOX_AUTO : SANDBOX_OFF;
}

static void test_outcomes(void **state)
{
	(void)state;
	static const struct {
		const char *steps;
		enum run_end end;
		int status, signal;
		size_t lines;
	} cases[] = {
		{"updates:3 exit:0", RUN_EXITED, 0, 0, 3},
		{"exit:3", RUN_EXITED, 3, 0, 0},
		{"exit:137", RUN_EXITED, 137, 0, 0}, /* not to be taken for a signal */
		{"update:1 signal:9", RUN_SIGNALLED, -1, 9, 1},
		{"signal:10", RUN_SIGNALLED, -1, 10, 0},
		{"daemon update:1 exit:0", RUN_EXITED, 0, 0, 1}, /* a grandchild holds the pipes open */
		{"chain:20 chain:20 exit:5", RUN_EXITED, 5, 0, 0},
	};
	for (int way = 0; way < N_WAYS; way++) {
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct run_fixture f;
			fixture_set_up(&f);
			use_way(&f, way);
			assert_int_equal(fixture_run(&f, cases[i].steps), OK);
			assert_int_equal(f.outcome.end, cases[i].end);
			assert_int_equal(f.outcome.exit_status, cases[i].status);
			assert_int_equal(f.outcome.exit_signal, cases[i].signal);
			assert_int_equal(f.outcome.n_lines, cases[i].lines);
			assert_true(f.outcome.spawn_s <= f.outcome.end_s);
			assert_true(f.outcome.launch_latency_s > 0);
			if (way == SUBREAPER)
				assert_false(f.outcome.pid_namespace);
			fixture_tear_down(&f);
		}
	}
}

static void run_ok(struct run_fixture *f, const char *steps)
{
	if (fixture_run(f, steps) != OK)
		fail_msg("%s: %s", steps, f->error.message);
}

static void test_limits(void **state)
{
	(void)state;
	/* Every job here would never end, and its grandchildren ignore TERM in sessions of their own. */
	static const struct {
		const char *steps;
		struct run_limits limits;
		enum run_end end;
	} cases[] = {
		{"daemon daemon ignore-term hang", {.wall_s = 0.3, .grace_s = 0.1}, RUN_TIMEOUT},
		{"daemon update:1 hang", {.wall_s = 0.3, .grace_s = 0.1}, RUN_TIMEOUT},
		{"daemon hang", {.wall_s = 100, .startup_s = 0.3, .grace_s = 0.1}, RUN_STARTUP_TIMEOUT},
		{"updates:3 hang",
			{.wall_s = 100,
				.startup_s = 100,
				.stall_s = 0.3,
				.stall_after_update = 3,
				.expected_updates = 9},
			RUN_STALLED},
		/* not warm yet, so not a stall */
		{"updates:2 hang",
			{.wall_s = 0.6, .stall_s = 0.1, .stall_after_update = 3, .expected_updates = 9},
			RUN_TIMEOUT},
		/* after the last update a checkpoint may take its time */
		{"update:9 hang",
			{.wall_s = 0.6, .stall_s = 0.1, .stall_after_update = 3, .expected_updates = 9},
			RUN_TIMEOUT},
		{"daemon alloc:200000000 hang", {.wall_s = 100, .memory_bytes = 1e8}, RUN_MEMORY_LIMIT},
	};
	for (int way = 0; way < N_WAYS; way++) {
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct run_fixture f;
			fixture_set_up(&f);
			use_way(&f, way);
			f.request.limits = cases[i].limits;
			run_ok(&f, cases[i].steps);
			assert_string_equal(run_end_names[f.outcome.end], run_end_names[cases[i].end]);
			if (cases[i].end == RUN_MEMORY_LIMIT)
				assert_true(f.outcome.peak_tree_bytes > 1e8);
			fixture_tear_down(&f);
		}
	}
}

/* The event of a step that the log tells of is given when the next step begins; limits count it before. */
static void test_limits_of_a_job_read_by_its_log(void **state)
{
	(void)state;
	static const struct {
		const char *steps;
		struct run_limits limits;
		enum run_end end;
	} cases[] = {
		/* behind the last step a checkpoint may take its time */
		{"say:step=1,loss=3 say:step=2,loss=2.5 say:step=3,loss=2 hang",
			{.wall_s = 0.6, .stall_s = 0.1, .stall_after_update = 1, .expected_updates = 3},
			RUN_TIMEOUT},
		{"say:step=1,loss=3 say:step=2,loss=2.5 hang",
			{.wall_s = 100, .stall_s = 0.3, .stall_after_update = 2, .expected_updates = 3},
			RUN_STALLED},
		/* one step is a beginning */
		{"say:step=1,loss=3 hang", {.wall_s = 0.6, .startup_s = 0.3}, RUN_TIMEOUT},
		{"say:loading hang", {.wall_s = 100, .startup_s = 0.3}, RUN_STARTUP_TIMEOUT},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct run_fixture f;
		fixture_set_up(&f);
		f.request.log_format = "ddp";
		f.request.limits = cases[i].limits;
		run_ok(&f, cases[i].steps);
		assert_string_equal(run_end_names[f.outcome.end], run_end_names[cases[i].end]);
		fixture_tear_down(&f);
	}
}

static bool stop_on_second_update(void *context, const struct run_line *line)
{
	int *seen = context;
	return !(line && strstr(line->text, "\"update\"") && ++*seen == 2);
}

static void test_orderly_stop_lets_a_job_say_goodbye(void **state)
{
	(void)state;
	for (int way = 0; way < N_WAYS; way++) {
		struct run_fixture f;
		int seen = 0;
		fixture_set_up(&f);
		use_way(&f, way);
		f.request.limits.grace_s = 100;
		assert_int_equal(
			fixture_run_with(&f, "obey-term daemon updates:2 hang", stop_on_second_update, &seen),
			OK);
		assert_int_equal(f.outcome.end, RUN_STOPPED);
		assert_int_equal(f.outcome.exit_status, 7);
		assert_true(fixture_log_has(&f, "terminated in order"));
		fixture_tear_down(&f);
	}
}

static void test_stop_by_progress_and_by_descriptor(void **state)
{
	(void)state;
	struct run_fixture f;
	int seen = 0, ends[2];
	fixture_set_up(&f);
	assert_int_equal(fixture_run_with(&f, "updates:2 hang", stop_on_second_update, &seen), OK);
	assert_int_equal(f.outcome.end, RUN_STOPPED);
	assert_int_equal(f.outcome.exit_signal, 15);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "c", 1), 1);
	((struct process_runner *)f.runner.state)->stop_fd = ends[0];
	run_ok(&f, "daemon hang");
	assert_int_equal(f.outcome.end, RUN_STOPPED);
	close(ends[0]);
	close(ends[1]);
	fixture_tear_down(&f);
}

static void test_event_lines(void **state)
{
	(void)state;
	static const struct {
		const char *steps;
		size_t n;
		const char *first;
		size_t length;
	} cases[] = {
		{"raw:a~bc~ raw:d~", 3, "a", 1},
		{"raw:no-newline", 1, "no-newline", 10},
		{"raw:par raw:tial~", 1, "partial", 7},
		{"raw:x^y~", 1, "x\0y", 3},
		{"raw:~", 1, "", 0},
		{"long:4096", 1, NULL, 4096},
		{"long:4097 raw:z~", 2, "", 0}, /* beyond the protocol: delivered empty */
		{"long:300000 raw:z~", 2, "", 0},
		{"say:@infrarsi_no say:plain", 0, NULL, 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct run_fixture f;
		fixture_set_up(&f);
		run_ok(&f, cases[i].steps);
		assert_int_equal(f.outcome.n_lines, cases[i].n);
		if (cases[i].n) {
			assert_int_equal(f.outcome.lines[0].length, cases[i].length);
			if (cases[i].first)
				assert_memory_equal(
					f.outcome.lines[0].text, cases[i].first, cases[i].length + 1);
			assert_true(f.outcome.lines[0].arrived_s >= f.outcome.spawn_s);
		}
		fixture_tear_down(&f);
	}
}

static void test_events_on_stdout(void **state)
{
	(void)state;
	struct run_fixture f;
	fixture_set_up(&f);
	const char *argv[] = {"/bin/sh", "-c", "echo '@infrarsi {\"e\":\"end\"}'; echo plain", NULL};
	f.request.argv = argv;
	assert_int_equal(runner_run(&f.runner, &f.request, NULL, NULL, &f.outcome, &f.error), OK);
	assert_int_equal(f.outcome.n_lines, 1);
	assert_string_equal(f.outcome.lines[0].text, "{\"e\":\"end\"}");
	fixture_tear_down(&f);
}

static void test_log_is_capped(void **state)
{
	(void)state;
	struct run_fixture f;
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	fixture_set_up(&f);
	f.request.limits.log_cap_bytes = 1 << 20;
	run_ok(&f, "say:first-line spew:104857600 say:last-line");
	fixture_read_log(&f, &log);
	double total = 11 + 104857600.0 + 10;
	assert_true(f.outcome.log_dropped_bytes == total - (1 << 20));
	assert_true(log.len > 1 << 20 && log.len < (1 << 20) + 200);
	assert_memory_equal(log.buf, "first-line\n", 11);
	assert_memory_equal(log.buf + log.len - 10, "last-line\n", 10);
	assert_non_null(strstr(log.buf, "bytes of output dropped here]"));
	/* not a byte too many: all of it, and no marker */
	f.request.limits.log_cap_bytes = 1000;
	run_ok(&f, "say:first-line spew:989");
	fixture_read_log(&f, &log);
	assert_int_equal(log.len, 1000);
	assert_true(f.outcome.log_dropped_bytes == 0);
	fixture_tear_down(&f);
}

static void test_the_job_gets_what_was_asked_and_no_more(void **state)
{
	(void)state;
	for (int way = 0; way < N_WAYS; way++) {
		struct run_fixture f;
		CLEANUP(strbuf_release) struct strbuf expected = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
		fixture_set_up(&f);
		use_way(&f, way);
		f.env[2] = "RAW=\xff\xfe"; /* bytes, not text */
		run_ok(&f, "env descriptors");
		fixture_read_log(&f, &log);
		strbuf_addf(&expected, "env %s\nenv %s\nenv RAW=\xff\xfe\nfd 0\nfd 1\nfd 2\n", f.marker,
			f.event_path);
		assert_string_equal(log.buf, expected.buf);
		run_ok(&f, "self");
		strbuf_clear(&expected);
		strbuf_addf(&expected, "cwd %s\n", f.dir);
		assert_true(fixture_log_has(&f, expected.buf));
		fixture_tear_down(&f);
	}
}

static void test_a_command_that_cannot_run_is_an_outcome(void **state)
{
	(void)state;
	for (int way = 0; way < N_WAYS; way++) {
		struct run_fixture f;
		fixture_set_up(&f);
		use_way(&f, way);
		f.request.argv = (const char *const[]){"./absent", NULL};
		assert_int_equal(runner_run(&f.runner, &f.request, NULL, NULL, &f.outcome, &f.error), OK);
		assert_int_equal(f.outcome.end, RUN_EXITED);
		assert_int_equal(f.outcome.exit_status, 127);
		assert_true(fixture_log_has(&f, "cannot execute './absent': No such file"));
		fixture_tear_down(&f);
	}
}

static void test_bad_requests(void **state)
{
	(void)state;
	struct run_fixture f;
	fixture_set_up(&f);
	f.request.dir = "relative";
	assert_int_equal(fixture_run(&f, "exit:0"), ERR_INPUT);
	f.request.dir = "/absent/folder";
	assert_int_equal(fixture_run(&f, "exit:0"), ERR_NOT_FOUND);
	f.request.dir = f.dir;
	f.request.log_path = "/absent/folder/log";
	assert_int_equal(fixture_run(&f, "exit:0"), ERR_FAILED);
	assert_non_null(strstr(f.error.message, "/absent/folder/log"));
	fixture_tear_down(&f);
}

static void test_a_full_disk_costs_the_log_and_not_the_job(void **state)
{
	(void)state;
	struct run_fixture f;
	fixture_set_up(&f);
	f.request.log_path = "/dev/full"; /* every write fails with ENOSPC */
	run_ok(&f, "spew:100000 updates:2 exit:4");
	assert_int_equal(f.outcome.exit_status, 4);
	assert_int_equal(f.outcome.n_lines, 2);
	assert_true(f.outcome.log_dropped_bytes == 100000);
	fixture_tear_down(&f);
}

static void test_costs_are_measured(void **state)
{
	(void)state;
	struct run_fixture f;
	fixture_set_up(&f);
	run_ok(&f, "alloc:50000000 update:1 exit:0");
	assert_true(f.outcome.peak_tree_bytes > 5e7);
	assert_true(f.outcome.supervisor_cpu_s > 0);
	assert_true(f.outcome.launch_latency_s > 0);
	fixture_tear_down(&f);
}

int main(int argc, char **argv)
{
	int status;
	if (fixture_is_supervisor(argc, argv, &status))
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limits_of_a_job_read_by_its_log),
		cmocka_unit_test(test_orderly_stop_lets_a_job_say_goodbye),
		cmocka_unit_test(test_stop_by_progress_and_by_descriptor),
		cmocka_unit_test(test_event_lines),
		cmocka_unit_test(test_events_on_stdout),
		cmocka_unit_test(test_log_is_capped),
		cmocka_unit_test(test_the_job_gets_what_was_asked_and_no_more),
		cmocka_unit_test(test_a_command_that_cannot_run_is_an_outcome),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_a_full_disk_costs_the_log_and_not_the_job),
		cmocka_unit_test(test_costs_are_measured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

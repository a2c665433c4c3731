/* The failure classifier: how log and exit go together, what the report says, and its bounds. The messages
 * are in test_failure_memory.c, test_failure_causes.c and test_failure_lookalikes.c. */
#include "base/base.h"

#include <stdlib.h>
#include <unistd.h>

#include "failure_case.h"

#include "adapter/failure.h"
#include "adapter/signatures_int.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#define TRACE "Traceback (most recent call last):\n  File \"/p/train.py\", line 9, in <module>\n    main()\n"
#define STEP(n) "step=" #n " loss=2.000000 grad_norm=1.000000 lr=1.000e-04 dt=0.500000 tokens=8192\n"

static struct failure_report classify(
	const struct log_literals *literals, const char *log, struct log_options how)
{
	struct log_summary s = summarise(literals, log, strlen(log), &how);
	struct failure_report report = s.failure;
	log_summary_release(&s);
	return report;
}

static void exits_that_speak_for_themselves(void **state)
{
	static const struct {
		struct log_options how;
		enum failure_class class;
		const char *evidence;
	} exits[] = {
		{{.exit_signal = {true, SIGKILL}}, FAILURE_KILLED, "signal 9"},
		{{.exit_signal = {true, SIGTERM}}, FAILURE_KILLED, "signal 15"},
		{{.exit_status = {true, 137}}, FAILURE_KILLED, "signal 9"}, /* by way of a shell */
		{{.exit_signal = {true, SIGSEGV}}, FAILURE_CRASH, "signal 11"},
		{{.exit_status = {true, 3}}, FAILURE_CRASH, "exit 3 without a word"},
		{{.exit_status = {true, 124}}, FAILURE_TIMEOUT, "limit"}, /* timeout(1) */
		{{.exit_signal = {true, SIGKILL}, .timed_out = true}, FAILURE_TIMEOUT, "limit"},
		{{.exit_signal = {true, SIGKILL}, .stalled = true}, FAILURE_STALL, "limit"},
		{{.exit_status = {true, 0}}, FAILURE_NONE, ""},
		{{.format = NULL}, FAILURE_NONE, ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(exits); i++) {
		struct failure_report r = classify(*state, "", exits[i].how);
		assert_int_equal(r.class, exits[i].class);
		assert_non_null(strstr(r.evidence, exits[i].evidence));
		assert_string_equal(r.source, exits[i].class == FAILURE_NONE ? "" : "exit");
	}
}

static void what_a_limit_ends_has_a_cause_only_before_it(void **state)
{
	struct log_options stalled = {.exit_signal = {true, SIGKILL}, .stalled = true};
	struct log_options timed_out = {.exit_signal = {true, SIGTERM}, .timed_out = true};
	/* A cause in the log is older than the limit that ended the hang. */
	assert_int_equal(
		classify(*state, "Heartbeat monitor timed out!\n", stalled).class, FAILURE_COLLECTIVE);
	assert_int_equal(classify(*state, TRACE "MemoryError\n", timed_out).class, FAILURE_CRASH);
	/* The limit's own signal is not. */
	assert_int_equal(classify(*state,
				 STEP(1) "W0616 00:44:57.7 4 torch/x.py:719] Received Signals.SIGTERM death "
					 "signal, shutting "
					 "down workers\n" TRACE "torch.distributed.elastic.multiprocessing."
					 "api.SignalException: Process 4 got signal: "
					 "15\nTerminated\n",
				 timed_out)
				 .class,
		FAILURE_TIMEOUT);
	assert_int_equal(classify(*state, TRACE "KeyboardInterrupt\n", stalled).class, FAILURE_STALL);
}

static void builds(void **state)
{
	struct log_options build = {.exit_status = {true, 2}, .build = true};
	struct failure_report r = classify(*state,
		"cc -c a.c\na.c:3:5: warning: x\na.c:4:7: error: 'y' undeclared\nmake: *** [Makefile:9: a.o] "
		"Error 1\n",
		build);
	assert_int_equal(r.class, FAILURE_COMPILE);
	assert_int_equal(r.line, 3);
	r = classify(
		*state, "ld: a.o: in function `f':\na.c:(.text+0x1): undefined reference to `g'\n", build);
	assert_int_equal(r.line, 2);
	r = classify(*state, "nothing known\n", build);
	assert_int_equal(r.class, FAILURE_COMPILE);
	assert_int_equal(r.line, 1);
	build.exit_status.value = 0;
	assert_int_equal(classify(*state, "a.c:4:7: error: x\n", build).class, FAILURE_NONE);
	/* In a job's log such a sentence is no cause. */
	assert_int_equal(classify(*state, "parser: error: x\nfree(): y\n", exited(1)).line, 2);
}

static void a_clean_exit_overrules_what_only_warns(void **state)
{
	assert_int_equal(
		classify(*state, "Some NCCL operations have failed\n", exited(0)).class, FAILURE_NONE);
	assert_int_equal(classify(*state, STEP(1) TRACE "KeyError: 'x'\n", exited(0)).class, FAILURE_CRASH);
	/* The same after the run, when the log says that it was done. */
	assert_int_equal(
		classify(*state, STEP(1) "done\n" TRACE "KeyError: 'x'\n", exited(0)).class, FAILURE_NONE);
	assert_int_equal(
		classify(*state, STEP(1) "done\n" TRACE "KeyError: 'x'\n", exited(1)).class, FAILURE_CRASH);
}

static void ranks_and_processes(void **state)
{
	static const struct {
		const char *log;
		double rank, exit_code, signal; /* -1000 = not told */
	} cases[] = {
		{"[rank3]: Traceback (most recent call last):\n[rank3]:   File \"a.py\", line 1, in "
		 "f\n[rank3]: KeyError: 1\n",
			3, -1000, -1000},
		/* The process group's own numbering is not the global one. */
		{"[rank4]:[E ProcessGroupNCCL.cpp:1316] [PG 5 Rank 0] Heartbeat monitor timed out!\n", 4,
			-1000, -1000},
		{"[E ProcessGroupNCCL.cpp:1316] [PG 0 Rank 7] Heartbeat monitor timed out!\n", 7, -1000,
			-1000},
		{"[E ProcessGroupNCCL.cpp:1316] [PG 5 Rank 7] Heartbeat monitor timed out!\n", -1000, -1000,
			-1000},
		/* A message's own rank beats the launcher's, which counts on one node. */
		{TRACE "AssertionError: Rank 11: found NaN in local grad norm\n[2024-10-21 03:23:06,204] "
		       "torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) "
		       "local_rank: 3 (pid: 9) of "
		       "binary: python\n",
			11, 1, -1000},
		{"E0325 20:57:27.6 2606 torch/distributed/elastic/multiprocessing/api.py:869] failed "
		 "(exitcode: -9) local_rank: 5 "
		 "(pid: 2630) of binary: python\nRoot Cause (first observed failure):\n[0]:\n  time      : "
		 "x\n  rank      : 13 "
		 "(local_rank: 5)\n  exitcode  : -9 (pid: 2630)\n====\n",
			13, -9, SIGKILL},
		/* Only the closing block is there. */
		{"Root Cause (first observed failure):\n[0]:\n  rank      : 2 (local_rank: 2)\n  exitcode  : "
		 "-11 (pid: 1)\n  traceback "
		 ": Signal 11 (SIGSEGV) received by PID 1\n====\n",
			2, -11, SIGSEGV},
		{"Root Cause:\n[0]:\n  time: x\n  rank: 1 (local_rank: 1)\n  exitcode: 1 (pid: 9)\n=====\n",
			1, 1, -1000},
		{"x --local_rank=1', 'y'] exits with return code = -7\n", 1, -7, SIGBUS},
		{"srun: error: node-a: task 3: Exited with exit code 2\n", 3, 2, -1000},
		{"prterun noticed that process rank 9 with PID 0 on node a exited on signal 6 (Aborted).\n",
			9, -1000, SIGABRT},
		{"prterun detected that one or more processes exited with non-zero status, thus causing\nthe "
		 "job to be terminated. The "
		 "first process to do so was:\n\n  Process name: [[9105,1],3]\n  Exit code:    "
		 "5\n---------\n",
			3, 5, -1000},
		{"malloc(): corrupted top size\n[a:1] *** Process received signal ***\n[a:1] Signal: Aborted "
		 "(6)\n",
			-1000, -1000, SIGABRT},
		{TRACE "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with exit "
		       "code 4\n",
			2, 4, -1000},
		{"[exiting program after 1.0 minutes] \n$ echo $?\n0\n", -1000, 0, -1000},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct failure_report r = classify(*state, cases[i].log, exited(EXIT_UNKNOWN));
		assert_int_not_equal(r.class, FAILURE_NONE);
		double rank = r.rank.has ? r.rank.value : -1000,
		       code = r.exit_code.has ? r.exit_code.value : -1000;
		double number = r.signal.has ? r.signal.value : -1000;
		if (rank != cases[i].rank || code != cases[i].exit_code || number != cases[i].signal)
			fail_msg("%s: rank %g, exit %g, signal %g", cases[i].log, rank, code, number);
	}
}

static void report_as_json(void **state)
{
	static const char log[] = STEP(1)
		STEP(2) "[rank2]:[E1 ProcessGroupNCCL.cpp:1] [PG 0 Rank 2] Watchdog caught collective "
			"operation timeout: "
			"WorkNCCL(SeqNum=1, Timeout(ms)=600000)\n[rank1]:[E1 ProcessGroupNCCL.cpp:1] [PG 0 "
			"Rank 1] Watchdog "
			"caught collective operation timeout: WorkNCCL(SeqNum=1, Timeout(ms)=600000)\n";
	struct failure_report r = classify(*state, log, exited(EXIT_UNKNOWN));
	json_t *json = failure_report_to_json(&r);
	char *text = json_dump_take(json);
	assert_string_equal(text, "{\"capacity_gib\":null,\"device_oom_requested_gib\":null,\"free_gib\":"
				  "null,\"kind\":\"collective\",\"last_good_step\":2,"
				  "\"rank\":2,\"ranks\":[1,2],\"root_cause_line\":3,\"root_cause_text\":\"["
				  "rank2]:[E1 ProcessGroupNCCL.cpp:1] [PG 0 Rank 2] "
				  "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, "
				  "Timeout(ms)=600000)\",\"shortfall_gib\":null,\"subkind\":"
				  "\"timeout\",\"timeout_ms\":600000}");
	free(text);
	r = classify(*state, "", exited(0));
	json = failure_report_to_json(&r);
	assert_true(json_is_null(json));
	json_decref(json);
}

static void evidence_can_be_shown(void **state)
{
	struct failure_report r = classify(*state, "bad \x1b[31m free(): x\xff\n", exited(1));
	assert_int_equal(r.class, FAILURE_CRASH);
	assert_non_null(strstr(r.evidence, "free(): x\\xff"));
	for (const char *p = r.evidence; *p; p++)
		assert_true((unsigned char)*p >= 0x20);
}

static void text_of_a_long_line_is_around_the_match(void **state)
{
	char log[9000];
	/* U+2588, three bytes each, as progress bars have them. */
	for (size_t i = 0; i < 6000; i += 3)
		memcpy(log + i, "\xe2\x96\x88", 3);
	strcpy(log + 6000, " CUDA error: an illegal memory access was encountered\n");
	struct failure_report r = classify(*state, log, exited(1));
	assert_string_equal(r.subkind, "illegal_memory_access");
	assert_non_null(strstr(r.text, "an illegal memory access was encountered"));
	assert_non_null(strstr(log, r.text));
	assert_int_equal((unsigned char)r.text[0], 0xe2);
}

static void lines_without_end(void **state)
{
	struct log_options how = exited(1);
	how.literals = *state;
	struct log_scan *scan = log_scan_new(&how, NULL, NULL);
	struct log_summary s;
	char block[1024];
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 1000; i++)
		log_scan_feed(scan, block, sizeof(block));
	static const char rest[] = "\0free(): x\nfree(): \0y\n";
	log_scan_feed(scan, rest, sizeof(rest) - 1);
	log_scan_finish(scan, &s);
	assert_int_equal(s.failure.line, 2);
	assert_non_null(strstr(s.failure.evidence, "free(): "));
	log_summary_release(&s);
}

/* Work per line is bounded: pattern and half patterns repeated as often as a line holds. */
static void lines_made_of_patterns(void **state)
{
	static const char *const parts[] = {
		"cuda error ", "srun: error: ", "gloo loss: nan, ", "out of memory ", "exceeded "};
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		for (int lines = 0; lines < 200; lines++) {
			for (size_t n = 0; n + strlen(parts[i]) < LOG_LINE_MAX; n += strlen(parts[i]))
				strbuf_addstr(&log, parts[i]);
			strbuf_addch(&log, '\n');
		}
	}
	struct failure_report r = classify(*state, log.buf, exited(1));
	assert_int_not_equal(r.class, FAILURE_NONE);
}

/* However many failures a log reports, the first ones and the last ones are known. */
static void many_failures(void **state)
{
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	for (int i = 1; i <= 3000; i++)
		strbuf_addf(&log, TRACE "ValueError: handled %d\n" STEP(% d), i, i);
	strbuf_addstr(&log,
		STEP(3001) STEP(3002) TRACE "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
					    "1.00 GiB.\n");
	struct failure_report r = classify(*state, log.buf, exited(1));
	assert_int_equal(r.class, FAILURE_OOM);
	assert_int_equal(r.line, 3000 * 5 + 2 + 4);
	assert_true(r.last_good_step.value == 3002);
}

static void patterns_can_be_looked_for(void **state)
{
	(void)state;
	size_t n = 0;
	for (const char *literal; (literal = failure_literal_at(n)) != NULL; n++) {
		assert_true(strlen(literal) >= 4);
		for (const char *p = literal; *p; p++)
			assert_false(*p >= 'A' && *p <= 'Z');
	}
	assert_true(n > 300 && n < SIGNATURE_MAX_ROWS);
}

static void from_a_file_into_a_receipt(void **state)
{
	(void)state;
	char path[] = "/tmp/infrarsi-failure-XXXXXX";
	struct failure_report report;
	struct receipt r;
	struct err err = ERR_INIT;
	static const struct failure_exit failed = {.exit_status = 1};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	static const char log[] =
		"out of device memory: requested 230 bytes, free 192 bytes, capacity 500 bytes\n";
	assert_int_equal(file_write_atomic(path, log, strlen(log), 0600, &err), OK);
	assert_int_equal(failure_classify(path, &failed, &report, &err), OK);
	unlink(path);
	receipt_init(&r);
	failure_to_receipt(&report, &r);
	assert_int_equal(r.failure, FAILURE_OOM);
	assert_string_equal(r.failure_source, "log:1");
	assert_true(r.oom_requested_bytes.value == 230 && r.oom_free_bytes.value == 192);
	receipt_release(&r);
	/* An event was there first. */
	receipt_init(&r);
	r.failure = FAILURE_NAN;
	r.failure_source = "event";
	failure_to_receipt(&report, &r);
	assert_int_equal(r.failure, FAILURE_NAN);
	assert_false(r.oom_requested_bytes.has);
	receipt_release(&r);
	assert_int_equal(failure_classify("/nonexistent/log", &failed, &report, &err), OK);
	assert_int_equal(report.class, FAILURE_CRASH);
}

int main(void)
{
	struct log_literals *literals = log_literals_new();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(exits_that_speak_for_themselves, literals),
		cmocka_unit_test_prestate(what_a_limit_ends_has_a_cause_only_before_it, literals),
		cmocka_unit_test_prestate(builds, literals),
		cmocka_unit_test_prestate(a_clean_exit_overrules_what_only_warns, literals),
		cmocka_unit_test_prestate(ranks_and_processes, literals),
		cmocka_unit_test_prestate(report_as_json, literals),
		cmocka_unit_test_prestate(evidence_can_be_shown, literals),
		cmocka_unit_test_prestate(text_of_a_long_line_is_around_the_match, literals),
		cmocka_unit_test_prestate(lines_without_end, literals),
		cmocka_unit_test_prestate(lines_made_of_patterns, literals),
		cmocka_unit_test_prestate(many_failures, literals),
		cmocka_unit_test_prestate(patterns_can_be_looked_for, literals),
		cmocka_unit_test_prestate(from_a_file_into_a_receipt, literals),
	};
	int result = cmocka_run_group_tests(tests, NULL, NULL);
	log_literals_free(literals);
	return result;
}

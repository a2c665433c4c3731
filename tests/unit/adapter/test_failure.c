/* The failure classifier: log text and exit into a class, a line and numbers. */
#include "base/base.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "adapter/failure.h"
#include "base/file.h"
#include "base/memory.h"

static struct failure_report classify(const char *log, struct failure_exit ended)
{
	struct failure_report report;
	struct failure_scan *scan = failure_scan_new(ended.build);
	/* In small pieces: nothing may depend on where a read ends. */
	for (const char *p = log; *p;) {
		size_t n = MIN_OF(strlen(p), (size_t)7);
		failure_scan_feed(scan, p, n);
		p += n;
	}
	failure_scan_finish(scan, &ended, &report);
	return report;
}

static const struct failure_exit clean = {0, 0, false, false, false};
static const struct failure_exit failed = {1, 0, false, false, false};
static const struct failure_exit aborted = {-1, SIGABRT, false, false, false};

static const struct {
	const char *log;
	const struct failure_exit *ended;
	enum failure_class class;
	long line;
	const char *evidence;
} cases[] = {
	{"step 1\nfree(): invalid next size (normal)\n", &aborted, FAILURE_CRASH, 2, "free(): invalid"},
	{"double free or corruption (out)\nKilled\n", &aborted, FAILURE_CRASH, 1, "double free"},
	{"==7==ERROR: AddressSanitizer: heap-buffer-overflow\n", &failed, FAILURE_CRASH, 1, "heap-buffer"},
	{"./run.sh: line 3: 77 Segmentation fault ./train\n", &failed, FAILURE_CRASH, 1, "Segmentation"},
	{"a\nb\n/bin/sh: 8156 Killed   python3\n", &failed, FAILURE_KILLED, 3, "Killed"},
	{"NCCL INFO ok\n[rank0]: some NCCL operations have failed or timed out\nTraceback (most recent call "
	 "last):\n  x\nRuntimeError: y\n",
		&failed, FAILURE_COLLECTIVE, 2, "NCCL operations"},
	{"step 3 loss nan lr 1\n", &failed, FAILURE_NAN, 1, "loss nan"},
	{"step 3 loss: nan\n", &clean, FAILURE_NAN, 1, "loss: nan"},
	{"train_loss=NaN\n", &clean, FAILURE_NAN, 1, NULL},
	{"loss: nanoseconds per token 12\n", &clean, FAILURE_NONE, 0, ""},
	{"best_loss=inf\n", &clean, FAILURE_NONE, 0, ""},
	/* The exception, not the heading, is the evidence; its text decides the class. */
	{"Traceback (most recent call last):\n  File \"t.py\", line 1\n    f()\nValueError: bad\nmore\n",
		&failed, FAILURE_CRASH, 4, "ValueError: bad"},
	{"[rank1]: Traceback (most recent call last):\n[rank1]:   File \"t.py\"\n[rank1]: "
	 "torch.OutOfMemoryError: CUDA out of memory.\n",
		&failed, FAILURE_OOM, 3, "OutOfMemoryError"},
	/* The first of two is the cause. */
	{"Traceback (most recent call last):\n  a\nKeyError: 'x'\n\nDuring handling of the above "
	 "exception:\n\n"
	 "Traceback (most recent call last):\n  b\nTypeError: y\n",
		&failed, FAILURE_CRASH, 3, "KeyError"},
	{"Traceback (most recent call last):\n  a\nKeyError: 'x'\n", &clean, FAILURE_CRASH, 3, "KeyError"},
	{"Exception ignored in: <function D.__del__>\nTraceback (most recent call last):\n  "
	 "a\nAssertionError: "
	 "z\ndone\n",
		&clean, FAILURE_NONE, 0, ""},
	{"Some NCCL operations have failed\n", &clean, FAILURE_NONE, 0, ""},
	/* What a launcher reports is an echo. */
	{"failed (exitcode: 1) local_rank: 0\nfree(): invalid pointer\n", &failed, FAILURE_CRASH, 2,
		"free()"},
	{"step 1\nout of luck\n\n", &failed, FAILURE_CRASH, 2, "out of luck"},
	{"10%\r20%\rcuda error: an illegal memory access was encountered\r30%\nend\n", &failed, FAILURE_CRASH,
		1, "illegal memory"},
	{"bad \x1b[31m free(): x\xff\n", &failed, FAILURE_CRASH, 1, "bad \\x1b[31m free(): x\\xff"},
};

static void logs_by_their_first_cause(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct failure_report r = classify(cases[i].log, *cases[i].ended);
		if (r.class != cases[i].class || r.line != cases[i].line ||
			(cases[i].evidence && !strstr(r.evidence, cases[i].evidence)))
			fail_msg("%s: got %s at %ld: %s", cases[i].log, failure_class_names[r.class], r.line,
				r.evidence);
		char source[32] = "";
		if (r.line)
			snprintf(source, sizeof(source), "log:%ld", r.line);
		assert_string_equal(r.source, source);
	}
}

static void exits_that_speak_for_themselves(void **state)
{
	(void)state;
	static const struct {
		struct failure_exit ended;
		enum failure_class class;
		const char *evidence;
	} exits[] = {
		{{-1, SIGKILL, false, false, false}, FAILURE_KILLED, "signal 9"},
		{{-1, SIGTERM, false, false, false}, FAILURE_KILLED, "signal 15"},
		{{137, 0, false, false, false}, FAILURE_KILLED, "signal 9"}, /* by way of a shell */
		{{-1, SIGSEGV, false, false, false}, FAILURE_CRASH, "signal 11"},
		{{3, 0, false, false, false}, FAILURE_CRASH, "exit 3 without a word"},
		{{-1, SIGKILL, true, false, false}, FAILURE_TIMEOUT, "limit"},
		{{-1, SIGKILL, false, true, false}, FAILURE_STALL, "limit"},
		{{0, 0, false, false, false}, FAILURE_NONE, ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(exits); i++) {
		struct failure_report r = classify("", exits[i].ended);
		assert_int_equal(r.class, exits[i].class);
		assert_non_null(strstr(r.evidence, exits[i].evidence));
		assert_string_equal(r.source, exits[i].class == FAILURE_NONE ? "" : "exit");
	}
	/* A cause in the log is older than the limit that ended the hang. */
	struct failure_exit stalled = {-1, SIGKILL, false, true, false};
	assert_int_equal(classify("Heartbeat monitor timed out!\n", stalled).class, FAILURE_COLLECTIVE);
}

static void builds(void **state)
{
	(void)state;
	struct failure_exit build = {2, 0, false, false, true};
	struct failure_report r = classify("cc -c a.c\na.c:3:5: warning: x\na.c:4:7: error: 'y' undeclared\n"
					   "make: *** [Makefile:9: a.o] Error 1\n",
		build);
	assert_int_equal(r.class, FAILURE_COMPILE);
	assert_int_equal(r.line, 3);
	r = classify("nothing known\n", build);
	assert_int_equal(r.class, FAILURE_COMPILE);
	assert_int_equal(r.line, 1);
	build.exit_status = 0;
	assert_int_equal(classify("a.c:4:7: error: x\n", build).class, FAILURE_NONE);
	/* In a job's log such a line is no cause. */
	assert_int_equal(classify("a.c:4:7: error: x\nfree(): y\n", failed).line, 2);
}

#define GIB 1073741824.0

static void oom_numbers_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *log;
		double requested, free_bytes, capacity;
	} ooms[] = {
		{"out of device memory: requested 241172480 bytes, free 201326592 bytes, capacity 402653184 "
		 "bytes "
		 "(while allocating attention)\n",
			241172480, 201326592, 402653184},
		{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.75 GiB. GPU 0 has a total "
		 "capacity of 31.5 GiB of which 12.5 GiB is free. Including non-PyTorch memory\n",
			22.75 * GIB, 12.5 * GIB, 31.5 * GIB},
		{"RuntimeError: CUDA out of memory. Tried to allocate 64.00 MiB (GPU 3; 11.5 GiB total "
		 "capacity; "
		 "10.75 GiB already allocated; 16.00 MiB free; 11.25 GiB reserved)\n",
			64 * 1048576.0, 16 * 1048576.0, 11.5 * GIB},
	};
	for (size_t i = 0; i < ARRAY_LEN(ooms); i++) {
		struct failure_report r = classify(ooms[i].log, failed);
		assert_int_equal(r.class, FAILURE_OOM);
		assert_true(r.requested_bytes.has && r.requested_bytes.value == ooms[i].requested);
		assert_true(r.free_bytes.has && r.free_bytes.value == ooms[i].free_bytes);
		assert_true(r.capacity_bytes.has && r.capacity_bytes.value == ooms[i].capacity);
	}
	struct failure_report r = classify("CUDA error: out of memory\n", failed);
	assert_int_equal(r.class, FAILURE_OOM);
	assert_false(r.requested_bytes.has || r.free_bytes.has);
	r = classify(
		"CUDA out of memory. Tried to allocate 99999999999999999999999999999999999 GiB\n", failed);
	assert_false(r.requested_bytes.has);
}

static void lines_without_end(void **state)
{
	(void)state;
	struct failure_scan *scan = failure_scan_new(false);
	struct failure_report r;
	char block[1024];
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 1000; i++)
		failure_scan_feed(scan, block, sizeof(block));
	failure_scan_feed(scan, "\0free(): x\nfree(): \0y\n", 22);
	failure_scan_finish(scan, &failed, &r);
	assert_int_equal(r.line, 2);
	assert_string_equal(r.evidence, "free():  y");
}

static void from_a_file_into_a_receipt(void **state)
{
	(void)state;
	char path[] = "/tmp/infrarsi-failure-XXXXXX";
	struct failure_report report;
	struct receipt r;
	struct err err = ERR_INIT;
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logs_by_their_first_cause),
		cmocka_unit_test(exits_that_speak_for_themselves),
		cmocka_unit_test(builds),
		cmocka_unit_test(oom_numbers_are_read),
		cmocka_unit_test(lines_without_end),
		cmocka_unit_test(from_a_file_into_a_receipt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

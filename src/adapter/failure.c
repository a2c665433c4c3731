#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/failure.h"
#include "adapter/signatures_int.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

/* A cause as found in the log. */
struct finding {
	bool found, clean; /* clean: counts even where the job exits 0 */
	enum failure_class class;
	long line;
	char text[FAILURE_LINE_MAX + 1];
};

struct failure_scan {
	bool build;
	long line; /* the one being collected, 1-based */
	size_t used;
	char text[FAILURE_LINE_MAX + 1];
	/* A Python traceback runs from its heading to the first line that is not indented: the exception,
	 * which is the evidence. One that Python itself ignores (in __del__) is skipped. */
	bool in_traceback, ignored, skip_next_traceback;
	struct finding strong, weak, last; /* last: the last line with text, for a crash that says nothing */
	struct opt_number requested, free_bytes, capacity;
};

struct failure_scan *failure_scan_new(bool build)
{
	struct failure_scan *scan = xcalloc(1, sizeof(*scan));
	struct opt_number none = {false, NAN};
	scan->build = build;
	scan->line = 1;
	scan->requested = scan->free_bytes = scan->capacity = none;
	return scan;
}

static void keep(struct finding *f, const struct failure_scan *scan, enum failure_class class, bool clean)
{
	f->found = true;
	f->clean = clean;
	f->class = class;
	f->line = scan->line;
	memcpy(f->text, scan->text, scan->used + 1);
}

static void keep_strong(struct failure_scan *scan, enum failure_class class, bool clean)
{
	if (!scan->strong.found)
		keep(&scan->strong, scan, class, clean);
	if (class == FAILURE_OOM && scan->strong.line == scan->line)
		oom_numbers(scan->text, &scan->requested, &scan->free_bytes, &scan->capacity);
}

static void keep_weak(struct failure_scan *scan, enum failure_class class)
{
	if (!scan->weak.found)
		keep(&scan->weak, scan, class, false);
}

/* "[rank0]: Traceback" and the like: what stands behind the rank. */
static const char *without_rank(const char *text)
{
	if (strncmp(text, "[rank", 5) != 0)
		return text;
	const char *end = strstr(text, "]:");
	if (!end || end - text > 16)
		return text;
	end += 2;
	return *end == ' ' ? end + 1 : end;
}

/* True where the line belongs to a traceback and needs no further look. */
static bool scan_traceback(struct failure_scan *scan)
{
	static const char heading[] = "Traceback (most recent call last)";
	const char *text = without_rank(scan->text);
	if (strncmp(text, heading, sizeof(heading) - 1) == 0) {
		scan->in_traceback = true;
		scan->ignored = scan->skip_next_traceback;
		scan->skip_next_traceback = false;
		return true;
	}
	if (strncmp(text, "Exception ignored in", 20) == 0) {
		scan->skip_next_traceback = true;
		return true;
	}
	if (!scan->in_traceback)
		return false;
	if (*text == ' ' || *text == '\t' || !*text)
		return true;
	scan->in_traceback = false;
	if (scan->ignored)
		return true;
	const struct signature *s = signature_find(scan->text, scan->build);
	if (s && (s->flags & SIG_WEAK))
		keep_weak(scan, s->class);
	else
		keep_strong(scan, s ? s->class : FAILURE_CRASH, true);
	return true;
}

static void scan_segment(struct failure_scan *scan)
{
	scan->text[scan->used] = '\0';
	if (scan->used == 0)
		return;
	/* NUL bytes would hide the rest of the line from everything that reads text. */
	for (size_t i = 0; i < scan->used; i++)
		if (!scan->text[i])
			scan->text[i] = ' ';
	keep(&scan->last, scan, FAILURE_CRASH, false);
	if (scan_traceback(scan) || scan->strong.found)
		return;
	const struct signature *s = signature_find(scan->text, scan->build);
	if (!s)
		return;
	if (!(s->flags & SIG_WEAK))
		keep_strong(scan, s->class, (s->flags & SIG_CLEAN) != 0);
	else
		keep_weak(scan, s->class);
}

void failure_scan_feed(struct failure_scan *scan, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		/* A progress bar redraws its line with \r: each drawing is looked at, the line stays one. */
		if (bytes[i] == '\n' || bytes[i] == '\r') {
			scan_segment(scan);
			scan->used = 0;
			scan->line += bytes[i] == '\n';
		} else if (scan->used < FAILURE_LINE_MAX) {
			scan->text[scan->used++] = bytes[i];
		}
	}
}

static bool is_outside_signal(int signal_number)
{
	return signal_number == SIGKILL || signal_number == SIGTERM || signal_number == SIGINT ||
	       signal_number == SIGHUP;
}

static void report_line(struct failure_report *report, enum failure_class class, const struct finding *f)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, f->text, strlen(f->text));
	report->class = class;
	report->line = f->line;
	snprintf(report->source, sizeof(report->source), "log:%ld", f->line);
	/* The cut must not leave half a character behind. */
	size_t cut = MIN_OF(safe.len, (size_t)FAILURE_EVIDENCE_SIZE - 1);
	while (cut > 0 && cut < safe.len && ((unsigned char)safe.buf[cut] & 0xC0) == 0x80)
		cut--;
	snprintf(report->evidence, sizeof(report->evidence), "%.*s", (int)cut, safe.buf);
}

static void report_exit(struct failure_report *report, enum failure_class class, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
static void report_exit(struct failure_report *report, enum failure_class class, const char *fmt, ...)
{
	va_list ap;
	report->class = class;
	snprintf(report->source, sizeof(report->source), "exit");
	va_start(ap, fmt);
	vsnprintf(report->evidence, sizeof(report->evidence), fmt, ap);
	va_end(ap);
}

/* What the exit alone says, where the log names no cause. */
static void report_silent(const struct failure_scan *scan, const struct failure_exit *ended,
	int signal_number, struct failure_report *report)
{
	if (signal_number && is_outside_signal(signal_number))
		report_exit(report, FAILURE_KILLED, "ended by signal %d", signal_number);
	else if (scan->weak.found)
		report_line(report, scan->weak.class, &scan->weak);
	else if (signal_number)
		report_exit(report, FAILURE_CRASH, "ended by signal %d", signal_number);
	else if (scan->last.found)
		report_line(report, FAILURE_CRASH, &scan->last);
	else
		report_exit(report, FAILURE_CRASH, "exit %d without a word", ended->exit_status);
}

static int signal_of(const struct failure_exit *ended)
{
	if (ended->exit_signal)
		return ended->exit_signal;
	/* A shell reports the signal that ended its child as 128 + number. */
	return ended->exit_status > 128 && ended->exit_status < 160 ? ended->exit_status - 128 : 0;
}

static void decide(
	const struct failure_scan *scan, const struct failure_exit *ended, struct failure_report *report)
{
	bool cut_short = ended->timed_out || ended->stalled;
	bool clean = ended->exit_status == 0 && !ended->exit_signal && !cut_short;
	bool counts = scan->strong.found && (!clean || (scan->strong.clean && !ended->build));
	if (clean && !counts)
		return;
	if (counts) {
		report_line(report, scan->strong.class, &scan->strong);
		report->requested_bytes = scan->requested;
		report->free_bytes = scan->free_bytes;
		report->capacity_bytes = scan->capacity;
	} else if (cut_short) {
		report_exit(report, ended->timed_out ? FAILURE_TIMEOUT : FAILURE_STALL, "stopped at a limit");
	} else {
		report_silent(scan, ended, signal_of(ended), report);
	}
	if (ended->build && !cut_short)
		report->class = FAILURE_COMPILE;
}

void failure_scan_finish(
	struct failure_scan *scan, const struct failure_exit *ended, struct failure_report *ret_report)
{
	struct opt_number none = {false, NAN};
	struct failure_report report = {FAILURE_NONE, "", "", 0, none, none, none};
	scan_segment(scan);
	decide(scan, ended, &report);
	free(scan);
	*ret_report = report;
}

static enum err_code feed_file(struct failure_scan *scan, int fd, const char *path, struct err *reterr)
{
	char chunk[1 << 14];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(reterr, "cannot read %s", path);
		if (n == 0)
			return OK;
		failure_scan_feed(scan, chunk, (size_t)n);
	}
}

enum err_code failure_classify(const char *log_path, const struct failure_exit *ended,
	struct failure_report *ret_report, struct err *reterr)
{
	CLEANUP(close_fd) int fd = open(log_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno != ENOENT)
		return err_errno(reterr, "cannot read %s", log_path);
	struct failure_scan *scan = failure_scan_new(ended->build);
	enum err_code code = fd < 0 ? OK : feed_file(scan, fd, log_path, reterr);
	if (code != OK) {
		free(scan);
		return code;
	}
	failure_scan_finish(scan, ended, ret_report);
	return OK;
}

void failure_to_receipt(const struct failure_report *report, struct receipt *r)
{
	const struct {
		struct opt_number *to;
		struct opt_number from;
	} numbers[] = {
		{&r->oom_requested_bytes, report->requested_bytes},
		{&r->oom_free_bytes, report->free_bytes},
		{&r->oom_capacity_bytes, report->capacity_bytes},
	};
	if (r->failure == FAILURE_NONE && report->class != FAILURE_NONE) {
		r->failure = report->class;
		r->failure_evidence = arena_strdup(&r->arena, report->evidence);
		r->failure_source = arena_strdup(&r->arena, report->source);
	}
	if (r->failure != FAILURE_OOM || report->class != FAILURE_OOM)
		return;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (!numbers[i].to->has)
			*numbers[i].to = numbers[i].from;
}

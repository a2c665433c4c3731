/*
 * What ended a job, read from its log and its exit. The log is untrusted text of any size; the first cause
 * wins: what comes later is mostly its echo, and what a launcher reports is an echo by itself.
 *
 *     struct failure_exit ended = {.exit_status = 134};
 *     struct failure_report report;
 *     TRY(failure_classify(log_path, &ended, &report, reterr));
 *     failure_to_receipt(&report, receipt);
 *
 * The signatures are tables (signatures_<theme>.c): a row is a pattern and what it means. A scan is fed only
 * the lines that hold one of its literals, or that it asks for because they continue a message:
 *
 *     struct failure_scan *scan = failure_scan_new(false, NULL);
 *     for each line that has a literal of failure_literal_at(), or while failure_scan_wants_next(scan)
 *             failure_scan_line(scan, &line);
 *     failure_scan_last_line(scan, &last line with text);
 *     failure_scan_finish(scan, &ended, &summary);
 */
#ifndef INFRARSI_ADAPTER_FAILURE_H
#define INFRARSI_ADAPTER_FAILURE_H

#include <jansson.h>

#include "base/base.h"
#include "event/receipt.h"

struct log_line;
struct log_step;
struct log_summary;

enum { FAILURE_EVIDENCE_SIZE = 512, FAILURE_TEXT_SIZE = 1024, FAILURE_MAX_RANKS = 64 };

struct failure_exit {
	int exit_status; /* -1 = did not exit by itself */
	int exit_signal; /* 0 = none */
	bool timed_out;  /* wall limit */
	bool stalled;    /* stall or start-up limit */
	bool build;      /* a build step, not a job */
};

struct failure_report {
	enum failure_class class;
	char evidence[FAILURE_EVIDENCE_SIZE]; /* the line, escaped; or what the exit says */
	char source[32];                      /* "log:883", "exit", "" for none */
	long line;                            /* 1-based, lines end with \n; 0 = not from the log */
	char text[FAILURE_TEXT_SIZE]; /* part of that line, as it stands there; "" = not from the log */
	const char *subkind, *wording, *surface, *nccl; /* static strings; NULL = nothing to say */
	struct opt_number rank;                         /* global */
	struct opt_number device_index;
	struct opt_number exit_code; /* as a launcher or the harness saw it; negative = a signal */
	struct opt_number signal, pid, port, timeout_ms, last_good_step;
	int ranks[FAILURE_MAX_RANKS]; /* that report the same, ascending, where there are several */
	size_t n_ranks;
	/* Device memory of an OOM, as far as the message says. */
	struct opt_number requested_bytes, free_bytes, capacity_bytes;
	struct opt_number shortfall_bytes; /* 0 with free above the request says nothing about the need */
	struct opt_number allocated_bytes, reserved_unallocated_bytes, reserved_total_bytes,
		process_in_use_bytes, foreign_in_use_bytes, private_pools_bytes, allowed_bytes;
	struct opt_number oom_count, max_shortfall_bytes; /* where several messages differ */
	bool size_bogus;                                  /* the request is no size */
	struct opt_number host_rss_bytes, host_requested_bytes;
};

/* An absent log is an empty one. */
enum err_code failure_classify(const char *log_path, const struct failure_exit *ended,
	struct failure_report *ret_report, struct err *reterr) MUST_CHECK;

struct failure_scan;
struct signature_index;
/* index: of signature_index_new(), shared with other scans; NULL = the scan makes its own. */
struct failure_scan *failure_scan_new(bool build, const struct signature_index *index);
/* Lower-case literals; a line with any of them, in any case, is wanted. NULL past the end. */
const char *failure_literal_at(size_t i);
/* True inside a message of several lines: the next line is wanted whatever it holds. */
bool failure_scan_wants_next(const struct failure_scan *scan);
void failure_scan_line(struct failure_scan *scan, const struct log_line *line);
/* A step was read, in the order of the log. */
void failure_scan_step(struct failure_scan *scan, const struct log_step *step);
/* The last line of the log that has text: all that is left to show where nothing names a cause. */
void failure_scan_last_line(struct failure_scan *scan, const struct log_line *line);
void failure_scan_free(struct failure_scan *scan); /* without a report; NULL is allowed */
/* Frees the scan. Fills summary->failure, adds to its flags, and lowers summary->completed where a failure is
 * proven. Reads summary's steps and what the reader says of its end. ended: NULL = exit unknown. */
void failure_scan_finish(
	struct failure_scan *scan, const struct failure_exit *ended, struct log_summary *summary);

/* New; null where there is no failure. */
json_t *failure_report_to_json(const struct failure_report *report);

/* Copies the report into the receipt, unless an event has named an earlier cause; numbers of an OOM that the
 * event did not give are taken over. */
void failure_to_receipt(const struct failure_report *report, struct receipt *r);

#endif

/*
 * What ended a job, read from its log and its exit. The log is untrusted text of any size: it is read once,
 * in pieces, with bounded memory (lines are looked at up to FAILURE_LINE_MAX bytes). The first cause wins:
 * what comes later is mostly its echo.
 *
 *     struct failure_exit exit = {.exit_status = 134};
 *     struct failure_report report;
 *     TRY(failure_classify(log_path, &exit, &report, reterr));
 *     failure_to_receipt(&report, receipt);
 *
 * The signatures are one table (signatures.c): a row is a pattern and the class that it means.
 */
#ifndef INFRARSI_ADAPTER_FAILURE_H
#define INFRARSI_ADAPTER_FAILURE_H

#include "base/base.h"
#include "event/receipt.h"

enum { FAILURE_LINE_MAX = 4096, FAILURE_EVIDENCE_SIZE = 512 };

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
	struct opt_number requested_bytes, free_bytes, capacity_bytes; /* of an OOM that says so */
};

/* An absent log is an empty one. */
enum err_code failure_classify(const char *log_path, const struct failure_exit *ended,
	struct failure_report *ret_report, struct err *reterr) MUST_CHECK;

/* The same over bytes as they come. */
struct failure_scan;
struct failure_scan *failure_scan_new(bool build);
void failure_scan_feed(struct failure_scan *scan, const char *bytes, size_t length);
/* Frees the scan. */
void failure_scan_finish(
	struct failure_scan *scan, const struct failure_exit *ended, struct failure_report *ret_report);

/* Copies the report into the receipt, unless an event has named an earlier cause; numbers of an OOM that the
 * event did not give are taken over. */
void failure_to_receipt(const struct failure_report *report, struct receipt *r);

#endif

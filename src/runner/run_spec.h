/*
 * What the harness and its supervising process say to each other: the request through an inherited unnamed
 * file (it holds the job's whole environment, passed-through secrets included, and never lies on a disk), the
 * summary through control_dir/outcome.json. Both are read back with checks: the control folder is outside the
 * job's reach only when a sandbox holds the job.
 */
#ifndef INFRARSI_RUNNER_RUN_SPEC_H
#define INFRARSI_RUNNER_RUN_SPEC_H

#include "base/base.h"
#include "runner/runner.h"

/* Descriptors that a new image inherits under fixed numbers: the supervisor, and the init inside a sandbox.
 */
enum { CONTROL_FD = 3, SPEC_FD = 4, INIT_SELF_FD = 3, INIT_REPORT_FD = 4, INIT_SPEC_FD = 5 };
#define SPEC_FD_PATH "/proc/self/fd/4"
#define INIT_SPEC_PATH "@init" /* supervisor_main(INIT_SPEC_PATH) is the init inside a sandbox */

struct run_spec {
	struct arena arena;
	const char *self_path, *dir, *control_dir, *log_path;
	const char *cpus;          /* NULL = as they are */
	const char *log_format;    /* NULL = the job reports by itself */
	const char **argv, **env;  /* NULL-terminated */
	const char **sandbox_argv; /* what stands before the init's own words; empty = no sandbox */
	struct run_limits limits;
	bool force_subreaper; /* no PID namespace although one is allowed: a test of the fallback */
};

struct run_summary {
	char error[1024]; /* "" = none; else the harness could not do its work and nothing else counts */
	enum run_end end;
	int exit_status, exit_signal;
	double spawn_s, end_s, peak_tree_bytes, supervisor_cpu_s, log_dropped_bytes;
	double event_bytes_dropped, event_lines_dropped; /* beyond the cap on all event lines together */
	double disk_lost_bytes, disk_regained_bytes;     /* RUN_DISK_FULL: as in struct run_outcome */
	bool pid_namespace, sandboxed;
};

void run_spec_encode(const struct run_spec *spec, struct strbuf *text);
enum err_code run_spec_decode(
	const char *text, size_t length, struct run_spec *ret_spec, struct err *reterr) MUST_CHECK;
void run_spec_release(struct run_spec *spec);

void run_summary_encode(const struct run_summary *summary, struct strbuf *text);
enum err_code run_summary_decode(
	const char *text, size_t length, struct run_summary *ret_summary, struct err *reterr) MUST_CHECK;

/* One line of control_dir/journal.jsonl. Bytes that are not UTF-8 are written as {"hex": "..."}. */
void journal_line_encode(const struct run_line *line, struct strbuf *text);

#endif

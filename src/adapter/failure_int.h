/* Between the parts of the failure classifier. Internal to adapter/. */
#ifndef INFRARSI_ADAPTER_FAILURE_INT_H
#define INFRARSI_ADAPTER_FAILURE_INT_H

#include "adapter/failure.h"
#include "adapter/reader_int.h"
#include "adapter/signatures_int.h"
#include "base/base.h"

/* ---- device memory: oom_numbers.c ---- */

struct oom_numbers {
	struct opt_number requested, free_bytes, capacity, shortfall, allocated, reserved_unallocated,
		reserved_total, process_in_use, foreign_in_use, private_pools, allowed, device_index;
	bool exact;      /* the request is told in bytes, not rounded */
	bool size_bogus; /* "more than 1EB" */
	bool several_processes;
	const char *wording; /* which program and release words it so; NULL = unknown */
};
/* text: the message, its lines parted by \n. */
void oom_numbers_read(const char *text, struct oom_numbers *ret_numbers);
/* Flags (1 << enum log_flag) that the numbers of one message justify. */
uint32_t oom_flags(const struct oom_numbers *numbers);

/* ---- findings: failure.c ---- */

/* A line that says something about the end. */
struct finding {
	long serial;                       /* 1, 2, ...: order of discovery */
	const struct signature *signature; /* NULL: an exception that none knows */
	enum failure_class class;
	enum strength strength;
	const char *subkind;
	bool clean;   /* counts although the job exits 0 */
	bool generic; /* its next lines may say more */
	bool through_collective;
	bool bare;      /* an exception without a message */
	bool continued; /* the job went on: failure_decide.c */
	long line;
	int rank; /* -1 = not told */
	uint32_t writer;
	int signal;
	struct opt_number exit_code, device_index;
	struct oom_numbers *oom; /* NULL = no numbers */
	char text[FAILURE_TEXT_SIZE];
};

/* The first ones are kept, and the last ones: what lies between repeats them. */
enum { FINDINGS_FIRST = 64, FINDINGS_LAST = 64, MAX_FINDINGS = FINDINGS_FIRST + FINDINGS_LAST };

/* ---- tracebacks: traceback.c ---- */

enum { MAX_TRACEBACKS = 32, TRACEBACK_PREFIX_MAX = 160 };

/* What one writer (a rank, or all that have no prefix) is in the middle of. */
struct traceback {
	bool used, open, headless, boxed;
	bool ignored, warning, in_thread;
	uint32_t writer;
	long heading_line;
	int n_lines;
	size_t indent;
	char prefix[TRACEBACK_PREFIX_MAX]; /* that all its lines have */
	size_t prefix_length;
	enum signature_act chain; /* how the next heading belongs to the last exception; ACT_NONE */
	enum signature_act next;  /* ACT_IGNORED or ACT_THREAD: said of the next heading */
	bool in_worker;           /* of a data loader */
	struct opt_number device_index;
	long finding_serial; /* of the last exception or generic finding; 0 = none */
	long finding_line;
	struct opt_number process; /* index of a spawned process that the next traceback is of */
};

/* ---- launchers: launcher.c ---- */

struct launcher_facts {
	struct opt_number exit_code;                   /* of the process that failed first */
	int rank;                                      /* -1 */
	struct opt_number block_rank, block_exit_code; /* of torch elastic's closing block */
	struct opt_number shell_status;
	enum signature_act block; /* being read: ACT_ELASTIC_BLOCK, ACT_MPI_BLOCK, ACT_SHELL_STATUS */
	long block_finding;
	int block_lines_left;
};

struct class_facts {
	struct opt_number pid, signal, timeout_ms;
};

struct not_finite_line {
	long line;
	char *text;
};
enum { MAX_NOT_FINITE_LINES = 64 };

enum { OOM_TEXT_MAX = 8192, OOM_MAX_LINES = 12, MAX_OOM_MESSAGES = 64 };
struct oom_collection {
	long finding_serial; /* 0 = no message is being collected */
	uint32_t writer;
	int rank, n_lines;
	size_t used;
	char text[OOM_TEXT_MAX];
};
struct oom_message {
	double requested, free_bytes;
	int rank;
	double device;
};

struct failure_scan {
	bool build;
	const struct signature_index *index;
	struct signature_index *own_index; /* NULL = shared */
	struct finding **findings;         /* FINDINGS_FIRST in order, then a ring of FINDINGS_LAST */
	size_t n_findings;                 /* slots in use */
	long last_serial;
	struct traceback tracebacks[MAX_TRACEBACKS];
	struct launcher_facts launcher;
	struct class_facts facts[N_FAILURE_CLASSES];
	const char *nccl, *nccl_subkind;
	struct opt_number port, host_rss, host_requested;
	bool host_oom;
	uint32_t log_flags;
	long collective_line, end_noise_line; /* last line with such noise; 0 = none */
	long next_line_finding;               /* ACT_NEXT_LINE of the line before */
	long scale_finding; /* the first of n_scale_stuck reports in a row that the loss scale is at its
			       minimum */
	int n_scale_stuck;
	struct oom_collection oom;
	struct oom_message oom_messages[MAX_OOM_MESSAGES];
	size_t n_oom_messages;
	struct opt_number max_shortfall;
	struct not_finite_line not_finite[MAX_NOT_FINITE_LINES];
	size_t n_not_finite;
	struct log_step not_finite_step; /* the first one, as it came; line 0 = none */
	struct finding last;             /* last line with text */
	/* of the line at hand */
	size_t length;
	char lower[LOG_LINE_MAX + 1];
};

uint32_t writer_of(const struct log_line *line);
struct finding *finding_by_serial(const struct failure_scan *scan, long serial);
/* Room for a further one, filled from the line: rank, text, signature. at: where in the line's text the match
 * begins. */
struct finding *finding_add(
	struct failure_scan *scan, const struct log_line *line, const struct signature *signature, size_t at);
/* Puts the line in place of what the finding held; serial and device index stay. */
void finding_replace(struct failure_scan *scan, struct finding *f, const struct log_line *line,
	const struct signature *signature, size_t at);
/* The row that speaks for a line, or NULL; what its rows are good for beside that is done. */
struct line_meaning {
	const struct signature *signature; /* NULL = none counts */
	size_t at;
};
struct line_meaning line_meaning(struct failure_scan *scan, const struct log_line *line, const char *lower,
	size_t length, bool raised);
void finding_done(struct failure_scan *scan, struct finding *f, const struct log_line *line);

/* ---- messages of device memory over several lines: oom_message.c ---- */

void oom_message_begin(struct failure_scan *scan, const struct finding *f, const struct log_line *line);
void oom_message_continue(struct failure_scan *scan, const struct log_line *line);
/* Reads the numbers of what has been collected. */
void oom_message_close(struct failure_scan *scan);

/* True when the line belongs to a traceback and needs no further look. */
bool traceback_line(struct failure_scan *scan, const struct log_line *line);
void traceback_act(struct failure_scan *scan, const struct log_line *line, const struct signature_hit *hit);
/* The writer's slot; the one that was used longest ago makes room. */
struct traceback *traceback_of(struct failure_scan *scan, const struct log_line *line);

/* A line within the block of a launcher's report. */
void launcher_line(struct failure_scan *scan, const struct log_line *line);
/* What the row says of a process: sets class, rank, signal and code of the finding. */
void launcher_act(struct failure_scan *scan, struct finding *f);
void launcher_block_begin(struct failure_scan *scan, enum signature_act act, long finding_serial);
bool is_shell_report(const struct log_line *line, size_t at);
enum failure_class class_of_signal(int signal_number);

/* Facts beside the finding: time-outs, process ids, ports, NCCL's result. */
void facts_read(struct failure_scan *scan, const struct signature *signature, const char *lower);
struct opt_number number_behind(const char *lower, const char *marker);
/* The global rank that the message itself names; -1 = none. */
int rank_in_message(const char *lower);
int signal_by_name(const char *lower);

/* "loss: nan" and the like, in whatever key stands for a training loss. */
bool is_not_finite_loss(const char *lower);

/* ---- the end ---- */

struct ending {
	bool known, failed, clean, cut_short; /* how the job exited */
	long last_step_line;                  /* 0 = no step */
	bool completed;                       /* the log says so */
};
/* Index of the first step that proves a failure by its value; -1 = none. */
long steps_not_finite(const struct log_summary *summary);
long steps_behind(const struct log_summary *summary, long line);
void steps_last_good(const struct log_summary *summary, struct failure_report *report);

void failure_decide(struct failure_scan *scan, const struct failure_exit *ended, struct log_summary *summary,
	struct failure_report *report);
struct failure_report failure_report_none(void);

#endif

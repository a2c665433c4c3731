/*
 * What a job's own output says: its steps and its end. The log is untrusted text of any size; it is read
 * once, as it comes, with bounded memory. A format is a row of the table in readers.c and one file
 * reader_<name>.c; which one wrote a log is decided from the lines themselves. What a log does not say stays
 * absent, never guessed.
 *
 *     struct log_summary summary;
 *     TRY(log_read(path, &options, &summary, reterr));
 *     log_summary_to_json(&summary, &json);
 *     log_summary_release(&summary);
 */
#ifndef INFRARSI_ADAPTER_LOG_H
#define INFRARSI_ADAPTER_LOG_H

#include "adapter/failure.h"
#include "base/base.h"
#include "base/memory.h"

struct strbuf;

enum {
	LOG_MAX_STEPS = 100000, /* further ones are counted, not kept */
	LOG_LINE_MAX = 16384,   /* bytes of a line that are looked at */
	LOG_MAX_DAMAGED = 1000,
};

enum log_scope { LOG_SCOPE_UNKNOWN, LOG_SCOPE_GLOBAL, LOG_SCOPE_DEVICE }; /* of tokens per second */

/* Facts about a log beside its steps; a set of bits. The names are in log_flag_names. */
enum log_flag {
	LOG_OVERFLOW_SKIPS, /* updates skipped by loss scaling */
	LOG_FROZEN_LOSS,    /* one value at every step: not a failure by itself */
	LOG_FROZEN_GRAD_NORM,
	LOG_DUPLICATE_STEPS,     /* several ranks or loggers print the same step */
	LOG_RESTARTED,           /* step numbers began again: an elastic restart */
	LOG_RESUMED,             /* from a checkpoint */
	LOG_FIRST_LINE_OVERLAPS, /* "first_line_overlaps_next_window" */
	LOG_TORN_RECORD,         /* a step line was cut by another writer and is dropped */
	LOG_LOSS_NOT_VISIBLE,    /* printed on another pipeline rank */
	LOG_SHORT_RUN,           /* ended by design before the requested steps */
	LOG_OOM_HANDLED,         /* provoked and caught by the job */
	LOG_BATCH_SIZE_CHANGED,
	LOG_COMPILE_FALLBACK,
	LOG_POST_RUN_NOISE,
	LOG_POST_RUN_COLLECTIVE_NOISE,
	LOG_FOREIGN_MEMORY, /* somebody else's memory on the device */
	LOG_FRAGMENTATION_SUSPECT,
	LOG_FREE_EXCEEDS_REQUEST,
	LOG_ALLOCATED_EXCEEDS_CAPACITY,
	N_LOG_FLAGS
};
extern const char *const log_flag_names[N_LOG_FLAGS];

struct log_step {
	long step; /* as printed */
	long line;
	struct opt_number loss, grad_norm, step_time_s, tokens_per_s, mem_bytes, lr;
	struct opt_number skipped_updates, skipped_total, samples_per_s, tokens_seen, tflops_per_device,
		mfu_percent;
	long window_first, window_last; /* updates that loss and time are a mean of; 0 = not told */
	struct opt_number corrected_loss, corrected_step_time_s; /* of this update alone, out of its window */
	struct opt_number tokens;                                /* of this update, where the line says so */
};

struct log_summary {
	struct arena arena;
	const char *framework;       /* name of the reader, "unknown" */
	long recognised_line;        /* the first line that only it writes; 0 = none */
	const char *recognised_text; /* its beginning, as it stands there */
	long n_lines;
	uint64_t n_bytes;
	struct log_step *steps; /* ascending */
	size_t n_steps, steps_dropped;
	struct failure_report failure;
	struct opt_number completed; /* 1 yes, 0 no, absent: the log does not say */
	uint32_t flags;              /* 1 << enum log_flag */
	long *damaged_steps;
	size_t n_damaged_steps;
	enum log_scope tokens_per_s_scope;
	bool tokens_per_s_derived; /* from tokens and time of the same line */
	struct opt_number tokens_per_update, log_interval, logging_steps, steps_per_print, optimizer_steps,
		world_size, step_base, value_precision_digits;
	bool step_inferred;   /* lines carry no step number: counted */
	const char *mem_kind; /* of the steps' memory: "allocated", "reserved"; NULL = none */
	struct opt_number peak_mem_bytes;
	const char *peak_mem_kind;
	struct opt_number capacity_bytes;        /* of the device */
	struct opt_number seq_len, global_batch; /* where the log itself says them; not part of the JSON */
	struct opt_number train_runtime_s, train_loss, train_samples_per_s; /* a closing summary */
};

struct log_options {
	const char *format;                         /* name of a reader; NULL = found out */
	bool build;                                 /* the log of a build step */
	struct opt_number exit_status, exit_signal; /* where the caller knows them */
	bool timed_out, stalled;
	bool refuse_binary; /* log_read() fails on what is no text: for files that a person names */
	struct opt_number requested_updates;
	const struct log_literals *literals; /* shared with other scans; NULL = the scan makes its own */
};

/* The exit status as a shell gives it: 124 is coreutils' timeout, 128 + n the end by signal n. */
void log_options_set_exit(struct log_options *options, int status);

/* All literals of all readers and failures, compiled: it takes a moment, so who reads many logs shares one.
 * Constant once made. */
struct log_literals *log_literals_new(void);
void log_literals_free(struct log_literals *literals);

/* path "-" is standard input. Fails on folders and on what cannot be read, never on what is in the log. An
 * unknown options->format is ERR_INPUT. */
enum err_code log_read(const char *path, const struct log_options *options, struct log_summary *ret_summary,
	struct err *reterr) MUST_CHECK;
void log_summary_release(struct log_summary *summary);
void log_summary_to_json(const struct log_summary *summary, struct strbuf *json);

/* The same over bytes as they come. on_step (may be NULL) is told of a step as soon as its line is complete;
 * a later line may still add to it. */
struct log_scan;
typedef void (*log_step_fn)(void *context, const struct log_step *step);
struct log_scan *log_scan_new(const struct log_options *options, log_step_fn on_step, void *context);
void log_scan_feed(struct log_scan *scan, const char *bytes, size_t length);
/* Frees the scan. */
void log_scan_finish(struct log_scan *scan, struct log_summary *ret_summary);

/* What the reader chosen so far knows beside the steps; NULL = none is chosen. Borrowed until the next call.
 */
const struct log_summary *log_scan_facts(const struct log_scan *scan);
/* Frees without a summary. */
void log_scan_free(struct log_scan *scan);

/* Names of the formats, in the order of the table; NULL past the end. */
const char *log_format_at(size_t index);
bool log_format_known(const char *name);

#endif

/* The scan of one log: between log.c, log_finish.c and reader.c. Internal to adapter/. */
#ifndef INFRARSI_ADAPTER_SCAN_INT_H
#define INFRARSI_ADAPTER_SCAN_INT_H

#include "adapter/failure.h"
#include "adapter/line_parts_int.h"
#include "adapter/reader_int.h"
#include "base/base.h"

enum { LOG_MAX_READERS = 48, LOG_LAST_SIZE = 1024 };

/* A line that is collected from pieces; NUL-terminated when it is read. */
struct line_buffer {
	char text[LOG_LINE_MAX + 1];
	size_t used;
	bool cut;
};

struct log_scan {
	struct log_options options;
	log_step_fn on_step;
	void *context;
	const struct log_literals *literals;
	struct log_literals *own_literals;
	struct reader readers[LOG_MAX_READERS];
	size_t n_readers;
	struct reader_memory *memory; /* of theirs */
	uint64_t active;              /* readers that can still be chosen, by position */
	struct reader *best;
	struct failure_scan *failure;

	struct line_buffer pending; /* a line whose end has not come yet */
	bool has_pending;
	bool pending_cr; /* \r came behind it: a drawing ends, or with \n the line */
	struct line_buffer clean, text;
	struct line_parts parts; /* of the line at hand */
	long number;             /* of the line at hand, from 1 */
	int launch;              /* how often a launcher has started the job again */
	uint64_t n_bytes;
	const struct log_line *line; /* the one at hand; NULL = none */
	char last[LOG_LAST_SIZE];    /* the beginning of the last line with text */
	const char *last_bytes;      /* where it still is, NULL once it is there */
	size_t last_length;
	long last_number;
};

/* The end of the log: what is still pending is a line, too. */
void scan_flush(struct log_scan *scan);

/* Which reader has understood most; NULL = none. */
struct reader *scan_choose(struct log_scan *scan);
/* False once no further line can make it the chosen one. */
bool reader_can_win(const struct log_scan *scan, const struct reader *reader);

void readers_init(struct log_scan *scan);
void readers_release(struct log_scan *scan); /* their facts, too, where they were not taken */
static inline size_t reader_n_steps(const struct reader *reader)
{
	return reader->facts->n_steps - reader->n_dropped;
}
/* Orders the steps and leaves out the damaged ones. */
void reader_settle(struct reader *reader);

#endif

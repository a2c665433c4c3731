/*
 * The job's output on disk, size-capped: the first half and the last half are kept, a marker line between
 * them says how many bytes are missing. Memory is constant; the last half is a ring in an unnamed file, so
 * that a killed supervisor leaves nothing behind. A full disk costs log bytes (counted as dropped) and never
 * stops the job.
 */
#ifndef INFRARSI_RUNNER_LOG_SINK_H
#define INFRARSI_RUNNER_LOG_SINK_H

#include "base/base.h"

struct log_sink {
	int fd, ring_fd; /* ring_fd -1 = not needed yet */
	const char *path;
	uint64_t half_bytes, head_bytes, ring_bytes; /* ring_bytes: all that went through the ring */
	uint64_t dropped_bytes;                      /* could not be written */
};

/* path must outlive the sink. cap_bytes 0 = 64 MiB. */
enum err_code log_sink_open(
	struct log_sink *ret_sink, const char *path, double cap_bytes, struct err *reterr) MUST_CHECK;
void log_sink_write(struct log_sink *sink, const char *bytes, size_t length);
/* Puts the two halves together; returns how many bytes of the output are not in the file. */
double log_sink_close(struct log_sink *sink);

#endif

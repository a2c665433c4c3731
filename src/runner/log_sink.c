#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runner/log_sink.h"

enum { LOG_CAP_DEFAULT_BYTES = 64 << 20, LOG_CAP_LEAST_BYTES = 2 };

enum err_code log_sink_open(struct log_sink *ret_sink, const char *path, double cap_bytes, struct err *reterr)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_errno(reterr, "cannot write the log %s", path);
	uint64_t cap = cap_bytes > 0 ? (uint64_t)cap_bytes : LOG_CAP_DEFAULT_BYTES;
	*ret_sink = (struct log_sink){.fd = fd,
		.ring_fd = -1,
		.path = path,
		.half_bytes = MAX_OF(cap, (uint64_t)LOG_CAP_LEAST_BYTES) / 2};
	return OK;
}

/* How many of the bytes could be written, from the first on. */
static size_t put(int fd, const char *bytes, size_t length, uint64_t offset)
{
	size_t done = 0;
	while (fd >= 0 && done < length) {
		ssize_t n = pwrite(fd, bytes + done, length - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static void open_ring(struct log_sink *sink)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s.ring.XXXXXX", sink->path);
	sink->ring_fd = mkostemp(path, O_CLOEXEC);
	if (sink->ring_fd >= 0)
		unlink(path);
}

static void write_ring(struct log_sink *sink, const char *bytes, size_t length)
{
	if (sink->ring_fd < 0)
		open_ring(sink);
	while (length) {
		uint64_t at = sink->ring_bytes % sink->half_bytes;
		size_t n = (size_t)MIN_OF((uint64_t)length, sink->half_bytes - at);
		size_t done = put(sink->ring_fd, bytes, n, at);
		sink->ring_bytes += done;
		if (done < n) {
			sink->dropped_bytes += length - done;
			return;
		}
		bytes += n;
		length -= n;
	}
}

void log_sink_write(struct log_sink *sink, const char *bytes, size_t length)
{
	size_t head = (size_t)MIN_OF((uint64_t)length, sink->half_bytes - sink->head_bytes);
	if (head) {
		size_t done = put(sink->fd, bytes, head, sink->head_bytes);
		sink->head_bytes += done;
		sink->dropped_bytes += head - done;
	}
	if (length > head)
		write_ring(sink, bytes + head, length - head);
}

static void append(struct log_sink *sink, uint64_t *at, const char *bytes, size_t length)
{
	size_t done = put(sink->fd, bytes, length, *at);
	*at += done;
	sink->dropped_bytes += length - done;
}

static void append_ring(struct log_sink *sink, uint64_t *at, uint64_t from, uint64_t length)
{
	char chunk[1 << 14];
	while (length) {
		size_t want = (size_t)MIN_OF(length, (uint64_t)sizeof(chunk));
		ssize_t n = pread(sink->ring_fd, chunk, want, (off_t)from);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			sink->dropped_bytes += length;
			return;
		}
		append(sink, at, chunk, (size_t)n);
		from += (uint64_t)n;
		length -= (uint64_t)n;
	}
}

double log_sink_close(struct log_sink *sink)
{
	uint64_t kept = MIN_OF(sink->ring_bytes, sink->half_bytes);
	sink->dropped_bytes += sink->ring_bytes - kept;
	uint64_t dropped = sink->dropped_bytes, at = sink->head_bytes;
	if (dropped) {
		char marker[96];
		int n = snprintf(marker, sizeof(marker), "\n[infrarsi: %llu bytes of output dropped here]\n",
			(unsigned long long)dropped);
		at += put(sink->fd, marker, (size_t)n, at);
	}
	uint64_t start = sink->ring_bytes > kept ? sink->ring_bytes % sink->half_bytes : 0;
	uint64_t first = MIN_OF(kept, sink->half_bytes - start);
	append_ring(sink, &at, start, first);
	append_ring(sink, &at, 0, kept - first);
	close_fd(&sink->fd);
	close_fd(&sink->ring_fd);
	return (double)sink->dropped_bytes;
}

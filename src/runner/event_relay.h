/*
 * Event lines on their way from the job to the harness: into the journal (for whoever resumes after a crash)
 * and over the control socket, without ever waiting for the harness. Also what the limits need to know of
 * them: how far the job has come.
 *
 * A line beyond the protocol's length is passed on empty: no reader takes that for an event, and the receipt
 * counts it among the bad ones. All lines together have a cap; what comes after it is only counted.
 */
#ifndef INFRARSI_RUNNER_EVENT_RELAY_H
#define INFRARSI_RUNNER_EVENT_RELAY_H

#include "base/base.h"
#include "base/strbuf.h"

/* Before each line on the control socket. Both ends are the same binary, so it travels as it is. In the other
 * direction any byte asks for an orderly stop. */
struct wire_header {
	double arrived_s; /* CLOCK_MONOTONIC */
	uint32_t length, unused;
};

struct event_relay {
	int control_fd; /* -1 = the harness is gone */
	int journal_fd;
	bool journal_failed;
	struct strbuf queue; /* frames; the first `sent` bytes have gone */
	size_t sent;
	double total_bytes, dropped_bytes, dropped_lines;
	int updates;          /* highest update index seen */
	double last_update_s; /* arrival of the last update event */
};

void event_relay_pass(
	struct event_relay *relay, double arrived_s, const char *line, size_t length, bool overlong);
bool event_relay_waiting(const struct event_relay *relay);
/* flags: MSG_DONTWAIT, or 0 to wait until all is sent or the harness is gone. */
void event_relay_flush(struct event_relay *relay, int flags);
void event_relay_hang_up(struct event_relay *relay);
void event_relay_release(struct event_relay *relay);

#endif

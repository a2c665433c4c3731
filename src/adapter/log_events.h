/*
 * A job that has no hook, by its output: each step that a log reader understands becomes an update event, as
 * the job itself would have sent it, stamped with the arrival of its line. What the log does not say is not
 * in the event, so the verifier finds it unchecked.
 *
 * Updates are counted from 1; a format that counts from 0 is shifted. Tokens of an update are what its line
 * says, else what tokens-seen grew by, else what the log's header says of every update. Where the log says
 * that it goes on from a checkpoint the numbers are counted from there.
 */
#ifndef INFRARSI_ADAPTER_LOG_EVENTS_H
#define INFRARSI_ADAPTER_LOG_EVENTS_H

#include "base/base.h"

/* An event line, without newline, and when the line that it comes from arrived. */
typedef void (*log_event_fn)(void *context, const char *line, size_t length, double arrived_s);

struct log_events;
/* format: name of a reader. */
struct log_events *log_events_new(const char *format, log_event_fn emit, void *context);
/* arrived_s never falls. The event of a step is given when the next step begins: lines may still add to it.
 */
void log_events_feed(struct log_events *events, const char *bytes, size_t length, double arrived_s);
/* Updates seen so far, with the one that is held back, and when the last of them arrived; 0 = none. A job
 * that evaluates or saves behind its last step is not stalled, although that step's event is still to come.
 */
long log_events_seen(const struct log_events *events, double *ret_arrived_s);
/* The output is over: gives what is held back and, where the log says that it is complete, the end event.
 * Frees.
 */
void log_events_finish(struct log_events *events);

#endif

#include "base/base.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file.h"
#include "runner/event_relay.h"
#include "runner/run_spec.h"

enum { TOTAL_CAP_BYTES = 64 << 20 };

bool event_relay_waiting(const struct event_relay *relay)
{
	return relay->control_fd >= 0 && relay->sent < relay->queue.len;
}

void event_relay_flush(struct event_relay *relay, int flags)
{
	while (event_relay_waiting(relay)) {
		ssize_t n = send(relay->control_fd, relay->queue.buf + relay->sent,
			relay->queue.len - relay->sent, MSG_NOSIGNAL | flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return; /* full: later; broken: its end shows as a hang-up */
		relay->sent += (size_t)n;
	}
	strbuf_clear(&relay->queue);
	relay->sent = 0;
}

static void note_update(struct event_relay *relay, const struct run_line *line)
{
	if (!memmem(line->text, line->length, "\"update\"", 8))
		return;
	json_t *root = json_loadb(line->text, line->length, 0, NULL);
	const char *kind = json_string_value(json_object_get(root, "e"));
	const json_t *index = json_object_get(root, "i");
	if (kind && strcmp(kind, "update") == 0 && json_is_integer(index)) {
		json_int_t i = json_integer_value(index);
		relay->last_update_s = line->arrived_s;
		if (i > relay->updates && i < INT32_MAX)
			relay->updates = (int)i;
	}
	json_decref(root);
}

static void write_journal(struct event_relay *relay, const struct run_line *line)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (relay->journal_failed)
		return;
	journal_line_encode(line, &text);
	if (write_all(relay->journal_fd, text.buf, text.len, NULL) != OK)
		relay->journal_failed = true; /* a full disk costs the journal, not the job */
}

void event_relay_pass(
	struct event_relay *relay, double arrived_s, const char *line, size_t length, bool overlong)
{
	struct run_line record = {arrived_s, line, overlong ? 0 : length};
	struct wire_header header = {arrived_s, (uint32_t)record.length, 0};
	size_t frame_bytes = sizeof(header) + record.length;
	if (relay->total_bytes + (double)frame_bytes > TOTAL_CAP_BYTES) {
		relay->dropped_bytes += (double)length;
		relay->dropped_lines++;
		return;
	}
	relay->total_bytes += (double)frame_bytes;
	note_update(relay, &record);
	if (relay->control_fd >= 0) {
		strbuf_add(&relay->queue, &header, sizeof(header));
		strbuf_add(&relay->queue, record.text, record.length);
		event_relay_flush(relay, MSG_DONTWAIT);
	}
	write_journal(relay, &record);
}

void event_relay_hang_up(struct event_relay *relay)
{
	close_fd(&relay->control_fd);
	strbuf_release(&relay->queue);
	relay->sent = 0;
}

void event_relay_release(struct event_relay *relay)
{
	close_fd(&relay->control_fd);
	close_fd(&relay->journal_fd);
	strbuf_release(&relay->queue);
}

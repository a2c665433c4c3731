/*
 * A server's reply as it arrives: server-sent events ("data: {...}"), or one JSON document where the server
 * does not stream. Bytes may be cut anywhere.
 */
#ifndef INFRARSI_PROPOSE_REPLY_STREAM_H
#define INFRARSI_PROPOSE_REPLY_STREAM_H

#include "base/base.h"
#include "propose/provider.h"

struct reply_stream {
	const struct provider *provider;
	struct chat_reply *reply;
	const char *key; /* what was sent with the question: never shown; NULL = none */
	struct strbuf line, data,
		whole;                /* since the last line end; of the event; everything that is no event */
	bool has_begun, after_return; /* a line was read; the last byte was CR */
	bool done;                    /* the server said so */
	int events, bad_events;
};

/* All that is passed is borrowed; key may be NULL. */
void reply_stream_init(
	struct reply_stream *s, const struct provider *provider, struct chat_reply *reply, const char *key);

/* false = the reply is complete. */
bool reply_stream_feed(struct reply_stream *s, const char *bytes, size_t length);
/* After the last byte. ERR_FAILED where nothing in it was a reply, or only the beginning of one: the server
 * did not say that it ended, or sent what could not be read, and its text is not one JSON object by itself.
 */
enum err_code reply_stream_end(struct reply_stream *s, struct err *reterr) MUST_CHECK;
void reply_stream_release(struct reply_stream *s);

#endif

#include "base/base.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "propose/reply_stream.h"
#include "propose/secret.h"

enum { SHOWN = 200 };

static void take_event(struct reply_stream *s, const char *text, size_t length)
{
	CLEANUP(json_decref_ptr) json_t *event = json_loadb(text, length, 0, NULL);
	if (!json_is_object(event)) {
		s->bad_events++;
		return;
	}
	s->events++;
	s->provider->event(event, s->reply);
}

static void take_line(struct reply_stream *s)
{
	static const char data[] = "data:";
	const char *text = s->line.buf;
	size_t length = s->line.len;
	if (length && text[length - 1] == '\r')
		length--;
	if (length >= strlen(data) && memcmp(text, data, strlen(data)) == 0) {
		text += strlen(data);
		length -= strlen(data);
		while (length && *text == ' ') {
			text++;
			length--;
		}
		if (length == strlen("[DONE]") && memcmp(text, "[DONE]", length) == 0)
			s->done = true;
		else if (length)
			take_event(s, text, length);
	} else if (!s->events) { /* the other fields of an event carry nothing that is needed */
		strbuf_add(&s->whole, s->line.buf, s->line.len);
		strbuf_addch(&s->whole, '\n');
	}
	strbuf_clear(&s->line);
}

bool reply_stream_feed(struct reply_stream *s, const char *bytes, size_t length)
{
	while (length && !s->done) {
		const char *end = memchr(bytes, '\n', length);
		size_t n = end ? (size_t)(end - bytes) : length;
		strbuf_add(&s->line, bytes, n);
		if (!end)
			break;
		take_line(s);
		bytes += n + 1;
		length -= n + 1;
	}
	return !s->done;
}

static enum err_code no_reply(struct reply_stream *s, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	secret_hide(s->whole.buf, s->whole.len, s->key, true);
	strbuf_add_escaped(&shown, s->whole.buf, MIN_OF(s->whole.len, (size_t)SHOWN));
	return err_set(reterr, ERR_FAILED, "the server's reply is not one: '%s'%s", shown.buf,
		s->whole.len > SHOWN ? "..." : "");
}

static bool is_one_object(const struct strbuf *text)
{
	CLEANUP(json_decref_ptr) json_t *object = json_loadb(text->buf, text->len, 0, NULL);
	return json_is_object(object);
}

enum err_code reply_stream_end(struct reply_stream *s, struct err *reterr)
{
	if (s->line.len)
		take_line(s);
	if (!s->events && !s->bad_events) {
		take_event(s, s->whole.buf, s->whole.len);
		if (!s->events)
			return no_reply(s, reterr);
		s->done = true;
	}
	const struct chat_reply *reply = s->reply;
	if (*reply->fault || ((s->done || reply->finished) && !s->bad_events) || is_one_object(&reply->text))
		return OK;
	if (s->bad_events)
		return err_set(reterr, ERR_FAILED, "%d of %d events of the reply are not JSON", s->bad_events,
			s->bad_events + s->events);
	return err_set(reterr, ERR_FAILED, "the reply broke off after %zu bytes of text", reply->text.len);
}

void reply_stream_release(struct reply_stream *s)
{
	strbuf_release(&s->line);
	strbuf_release(&s->whole);
}

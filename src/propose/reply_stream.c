#include "base/base.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "propose/reply_stream.h"
#include "propose/secret.h"

enum { SHOWN = 200 };

void reply_stream_init(
	struct reply_stream *s, const struct provider *provider, struct chat_reply *reply, const char *key)
{
	*s = (struct reply_stream){.provider = provider,
		.reply = reply,
		.key = key,
		.line = STRBUF_INIT,
		.data = STRBUF_INIT,
		.whole = STRBUF_INIT};
}

static bool take_object(struct reply_stream *s, const char *text, size_t length)
{
	CLEANUP(json_decref_ptr) json_t *event = json_loadb(text, length, 0, NULL);
	if (!json_is_object(event))
		return false;
	s->events++;
	s->provider->event(event, s->reply);
	return true;
}

/* The event's data is complete. */
static void end_event(struct reply_stream *s)
{
	static const char done[] = "[DONE]";
	while (s->data.len && strchr(" \t", s->data.buf[s->data.len - 1]))
		s->data.buf[--s->data.len] = '\0';
	if (strcmp(s->data.buf, done) == 0)
		s->done = true;
	else if (s->data.len && !take_object(s, s->data.buf, s->data.len))
		s->bad_events++;
	strbuf_clear(&s->data);
}

/* Data goes on over several lines until an empty one. Some servers leave that out between events. */
static void take_data(struct reply_stream *s, const char *text, size_t length)
{
	if (length && *text == ' ') {
		text++;
		length--;
	}
	if (s->data.len && take_object(s, s->data.buf, s->data.len))
		strbuf_clear(&s->data);
	if (s->data.len)
		strbuf_addch(&s->data, '\n');
	strbuf_add(&s->data, text, length);
	if (strncmp(s->data.buf, "[DONE]", 6) == 0)
		end_event(s);
}

static void take_line(struct reply_stream *s)
{
	static const char data[] = "data:", mark[] = "\xEF\xBB\xBF";
	const char *text = s->line.buf;
	size_t length = s->line.len, n = strlen(data);
	if (!s->has_begun && length >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0) {
		text += strlen(mark);
		length -= strlen(mark);
	}
	s->has_begun = true;
	if (!length)
		end_event(s);
	else if (length >= n && memcmp(text, data, n) == 0)
		take_data(s, text + n, length - n);
	else if (!s->events) { /* the other fields of an event carry nothing that is needed */
		strbuf_add(&s->whole, text, length);
		strbuf_addch(&s->whole, '\n');
	}
	strbuf_clear(&s->line);
}

/* Lines end with LF, CR or both. */
bool reply_stream_feed(struct reply_stream *s, const char *bytes, size_t length)
{
	for (size_t at = 0; at < length && !s->done;) {
		size_t n = 0;
		while (at + n < length && bytes[at + n] != '\n' && bytes[at + n] != '\r')
			n++;
		strbuf_add(&s->line, bytes + at, n);
		at += n;
		s->after_return &= n == 0;
		if (at == length)
			break;
		bool is_second = bytes[at] == '\n' && n == 0 && s->after_return;
		s->after_return = bytes[at] == '\r';
		at++;
		if (!is_second)
			take_line(s);
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
	const struct chat_reply *reply = s->reply;
	if (s->line.len)
		take_line(s);
	end_event(s);
	if (!s->events && !s->bad_events) {
		/* Not streamed: a document that says something. */
		(void)take_object(s, s->whole.buf, s->whole.len);
		if (!reply->text.len && !reply->finished && !*reply->fault)
			return no_reply(s, reterr);
		s->done = true;
	}
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
	strbuf_release(&s->data);
	strbuf_release(&s->whole);
}

/* A byte for the provider, two for the place where the rest is cut, the rest as a server's reply: the same
 * comes of it in two pieces as in one, and its text is text. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "propose/reply_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
	struct chat_reply reply;
	struct reply_stream stream;
	struct err err;
};

static void read_cut(
	struct reading *r, const struct provider *provider, const char *bytes, size_t length, size_t cut)
{
	r->reply = (struct chat_reply){.text = STRBUF_INIT, .tokens_in = NAN, .tokens_out = NAN};
	reply_stream_init(&r->stream, provider, &r->reply, "\"choices");
	r->err = (struct err)ERR_INIT;
	if (reply_stream_feed(&r->stream, bytes, cut))
		reply_stream_feed(&r->stream, bytes + cut, length - cut);
	if (reply_stream_end(&r->stream, &r->err) != OK && !*r->err.message)
		abort();
}

static void release(struct reading *r)
{
	reply_stream_release(&r->stream);
	strbuf_release(&r->reply.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading once, twice;
	if (size < 3)
		return 0;
	const struct provider *provider = data[0] & 1 ? &provider_anthropic : &provider_openai;
	const char *bytes = (const char *)data + 3;
	size_t length = size - 3, cut = ((size_t)data[1] << 8 | data[2]) % (length + 1);
	read_cut(&once, provider, bytes, length, length);
	read_cut(&twice, provider, bytes, length, cut);
	if (strcmp(once.reply.text.buf, twice.reply.text.buf) != 0 ||
		strcmp(once.reply.fault, twice.reply.fault) != 0 || once.err.code != twice.err.code ||
		once.reply.cut != twice.reply.cut || once.stream.events != twice.stream.events)
		abort();
	json_t *text = json_stringn(once.reply.text.buf, once.reply.text.len);
	if (!text || strlen(once.reply.text.buf) != once.reply.text.len)
		abort();
	json_decref(text);
	release(&once);
	release(&twice);
	return 0;
}

#include "base/base.h"

#include <string.h>

#include "runner/lines.h"

void line_splitter_init(struct line_splitter *s, size_t cap, line_fn emit, void *context)
{
	*s = (struct line_splitter){.cap = cap, .emit = emit, .context = context, .partial = STRBUF_INIT};
}

static void end_line(struct line_splitter *s, const char *bytes, size_t length)
{
	if (s->skipping) {
		s->skipping = false;
	} else if (s->partial.len == 0 && length <= s->cap) {
		s->emit(s->context, bytes, length, false);
	} else {
		strbuf_add(&s->partial, bytes, MIN_OF(length, s->cap + 1 - s->partial.len));
		bool overlong = s->partial.len > s->cap;
		s->emit(s->context, s->partial.buf, MIN_OF(s->partial.len, s->cap), overlong);
	}
	strbuf_clear(&s->partial);
}

void line_splitter_feed(struct line_splitter *s, const char *bytes, size_t length)
{
	while (length) {
		const char *newline = memchr(bytes, '\n', length);
		size_t n = newline ? (size_t)(newline - bytes) : length;
		if (newline) {
			end_line(s, bytes, n);
			n++;
		} else if (!s->skipping) {
			strbuf_add(&s->partial, bytes, MIN_OF(n, s->cap + 1 - s->partial.len));
			if (s->partial.len > s->cap) {
				s->emit(s->context, s->partial.buf, s->cap, true);
				strbuf_clear(&s->partial);
				s->skipping = true;
			}
		}
		bytes += n;
		length -= n;
	}
}

void line_splitter_finish(struct line_splitter *s)
{
	if (!s->skipping && s->partial.len)
		end_line(s, "", 0);
	s->skipping = false;
}

void line_splitter_release(struct line_splitter *s)
{
	strbuf_release(&s->partial);
}

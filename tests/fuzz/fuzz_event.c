/* Event lines from a job, alone and as a stream: whatever they hold, the builder makes a receipt that can be
 * written and read back. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "event/receipt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct receipt r, back;
	struct err err = ERR_INIT;
	const char *p = (const char *)data, *end = p + size;
	double at_s = 1;
	receipt_init(&r);
	r.terms.updates = 4;
	r.terms.warmup = 1;
	struct receipt_builder *b = receipt_builder_new(&r, "n", 0);
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t length = (size_t)((newline ? newline : end) - p);
		receipt_builder_line(b, p, length, at_s++);
		p += length + 1;
	}
	receipt_builder_finish(b, at_s);
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT, again = STRBUF_INIT;
	receipt_to_json(&r, &json);
	if (receipt_from_json("fuzz", json.buf, json.len, &back, &err) != OK)
		abort();
	receipt_to_json(&back, &again);
	if (strcmp(json.buf, again.buf) != 0)
		abort();
	receipt_release(&back);
	receipt_release(&r);
	return 0;
}

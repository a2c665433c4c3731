/* What the runner reads back from its control folder, which an unsandboxed job can write to; and line
 * splitting. */
#include "base/base.h"

#include "base/strbuf.h"
#include "runner/lines.h"
#include "runner/run_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore_line(void *context, const char *line, size_t length, bool overlong)
{
	size_t *total = context;
	*total += length + (length ? (size_t)(unsigned char)line[length - 1] : 0) + overlong;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct run_spec spec;
	struct run_summary summary;
	struct err error = ERR_INIT;
	struct line_splitter s;
	size_t total = 0;
	if (run_spec_decode(text, size, &spec, &error) == OK) {
		CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT;
		run_spec_encode(&spec, &again);
		run_spec_release(&spec);
	}
	if (run_summary_decode(text, size, &summary, &error) == OK) {
		CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT;
		run_summary_encode(&summary, &again);
	}
	line_splitter_init(&s, 16, ignore_line, &total);
	for (size_t at = 0; at < size; at += 7)
		line_splitter_feed(&s, text + at, MIN_OF((size_t)7, size - at));
	line_splitter_finish(&s);
	line_splitter_release(&s);
	return 0;
}

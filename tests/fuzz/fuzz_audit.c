/* Two versions of a file, separated by a line of four dashes (C) or four equal signs (Python): the diff
 * between them is audited. Whatever the texts are, the audit must end with a report or an error. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/memory.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
	const char *at;
	size_t length;
};

static enum err_code read_old(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	const struct text *old = context;
	(void)path;
	(void)reterr;
	strbuf_clear(ret_text);
	strbuf_add(ret_text, old->at, old->length);
	return OK;
}

/* Every line of a text behind a sign; the last may lack its newline. */
static size_t add_lines(struct strbuf *diff, char sign, const struct text *text)
{
	size_t lines = 0;
	for (const char *at = text->at, *end = at + text->length; at < end; lines++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		strbuf_addch(diff, sign);
		strbuf_add(diff, at, (size_t)((stop ? stop : end) - at));
		strbuf_addstr(diff, stop ? "\n" : "\n\\ No newline at end of file\n");
		at = stop ? stop + 1 : end;
	}
	return lines;
}

/* Long inputs find what short ones find, and later: rules compare every changed fact with all others. */
enum { INPUT_CAP_BYTES = 1 << 12 };

static const struct {
	const char *separator, *path;
} languages[] = {{"\n----\n", "x.c"}, {"\n====\n", "x.py"}};

static void audit(const char *path, const struct text *old, const struct text *new)
{
	static const char *const menu[] = {"fp32"};
	static const struct audit_terms terms = {menu, 1};
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf diff = STRBUF_INIT;
	size_t n_old = add_lines(&body, '-', old), n_new = add_lines(&body, '+', new);
	strbuf_addf(&diff, "--- a/%s\n+++ b/%s\n@@ -%d,%zu +%d,%zu @@\n", path, path, n_old ? 1 : 0, n_old,
		n_new ? 1 : 0, n_new);
	strbuf_add(&diff, body.buf, body.len);
	struct audit_report report;
	struct err e = ERR_INIT;
	if (audit_diff_with(&terms, diff.buf, diff.len, read_old, (void *)old, &report, &e) == OK)
		audit_report_release(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	if (size > INPUT_CAP_BYTES)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
		const char *cut = size ? memmem(bytes, size, languages[i].separator, 6) : NULL;
		if (!cut)
			continue;
		struct text old = {bytes, (size_t)(cut - bytes) + 1},
			    new = {cut + 6, size - (size_t)(cut - bytes) - 6};
		audit(languages[i].path, &old, &new);
		break;
	}
	return 0;
}

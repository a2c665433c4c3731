/* Any bytes as what git wrote: put into the plain form, which the parser of diffs reads or refuses, and which
 * is plain already when it is read again. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/git_diff.h"
#include "patch/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same small file under every name, so that renames find one. */
static enum err_code read_any(void *context, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	(void)context;
	if (strstr(path, "none"))
		return err_set(reterr, ERR_NOT_FOUND, "there is no %s", path);
	strbuf_addstr(ret_text, "int a(void)\n{\n\treturn 1;\n}");
	return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT;
	CLEANUP(git_notes_clear) struct git_notes notes = {0};
	CLEANUP(git_notes_clear) struct git_notes none = {0};
	struct diff diff;
	struct err e = ERR_INIT;
	strbuf_add(&text, data, size);
	if (git_diff_plain("fuzz", text.buf, text.len, read_any, NULL, &arena, &plain, &notes, &e) != OK)
		return 0;
	(void)!diff_parse("fuzz", plain.buf, plain.len, &arena, &diff, &e);
	(void)!diff_is_applied(plain.buf, plain.len, read_any, NULL);
	if (memchr(plain.buf, '\0', plain.len) || strstr(plain.buf, "diff --git ") ||
		plain.len > DIFF_CAP_BYTES)
		return 0;
	if (git_diff_plain("again", plain.buf, plain.len, read_any, NULL, &arena, &again, &none, &e) != OK ||
		again.len != plain.len || memcmp(again.buf, plain.buf, plain.len) != 0 || none.count)
		abort();
	return 0;
}

/* A text, a NUL byte and any bytes as a list of edits: read, and applied one after another. What was replaced
 * stood there once, and the text has the length that follows. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/edits.h"
#include "patch/loose_diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct edit *edit, const struct strbuf *before, const struct strbuf *after)
{
	if (!edit->old_length)
		return;
	const char *hit = memmem(before->buf, before->len, edit->old, edit->old_length);
	if (!hit || after->len != before->len - edit->old_length + edit->new_length)
		abort();
	size_t behind = (size_t)(hit + 1 - before->buf);
	if (memmem(hit + 1, before->len - behind, edit->old, edit->old_length))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct edit_list list;
	struct err e = ERR_INIT;
	const uint8_t *cut = size ? memchr(data, '\0', size) : NULL;
	size_t length = cut ? (size_t)(cut - data) : 0, json = cut ? length + 1 : 0;
	strbuf_add(&text, data, length);
	if (edits_parse("fuzz", (const char *)data + json, size - json, &arena, &list, &e) != OK)
		return 0;
	bool exists = cut != NULL;
	for (size_t i = 0; i < list.count; i++) {
		CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
		const struct old_file file = {exists, text.buf, text.len};
		if (edits_apply_one("fuzz", &list.items[i], &file, &new, &e) != OK)
			break;
		check(&list.items[i], &text, &new);
		strbuf_clear(&text);
		strbuf_add(&text, new.buf, new.len);
		exists = true;
	}
	return 0;
}

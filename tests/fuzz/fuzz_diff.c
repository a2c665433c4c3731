/* Any bytes as a diff: parsed, written out, parsed again to the same, and applied to a text that may fit. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void apply_all(const struct diff *diff)
{
	static const char old[] = "int a(void)\n{\n\treturn 1;\n}\n\nint b(void)\n{\n\treturn 2;\n}\n";
	for (size_t i = 0; i < diff->n_files; i++) {
		CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
		struct err e = ERR_INIT;
		(void)!diff_apply(&diff->files[i], old, strlen(old), &new, &e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf once = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf twice = STRBUF_INIT;
	struct diff diff, again;
	struct err e = ERR_INIT;
	if (diff_parse("fuzz", (const char *)data, size, &arena, &diff, &e) != OK)
		return 0;
	apply_all(&diff);
	diff_write(&diff, "p/", &once);
	if (once.len > DIFF_CAP_BYTES)
		return 0;
	if (diff_parse("again", once.buf, once.len, &arena, &again, &e) != OK)
		abort();
	diff_write(&again, "", &twice);
	if (once.len != twice.len || memcmp(once.buf, twice.buf, once.len) != 0)
		abort();
	return 0;
}

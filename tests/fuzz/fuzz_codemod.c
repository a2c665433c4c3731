/* A source file, C or (behind a first byte '#') Python: every codemod must end with a diff that begins as
 * one, or without. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/memory.h"
#include "codemod/codemod.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_CAP_BYTES = 1 << 13 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	struct codemod_result result;
	struct err err = ERR_INIT;
	if (size > INPUT_CAP_BYTES)
		return 0;
	bool is_python = size && data[0] == '#';
	char *text = xcalloc(size + 1, 1); /* a file's text ends with a NUL */
	if (size)
		memcpy(text, data, size);
	const struct codemod_file file = {is_python ? "x.py" : "x.c", text, size};
	if (codemod_run(&file, 1, &arena, &result, &err) == OK)
		for (size_t i = 0; i < result.n_proposals; i++)
			if (strncmp(result.proposals[i].diff, "--- a/x.", 8) != 0)
				abort();
	arena_release(&arena);
	free(text);
	return 0;
}

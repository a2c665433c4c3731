/* A case of the receipt matrix: what is accepted can be built, up to its signatures. */
#include "base/base.h"

#include <stdlib.h>

#include "base/memory.h"
#include "matrix/matrix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SIZE = 2048 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	struct matrix_case c;
	struct err err = ERR_INIT;
	if (size > MAX_SIZE)
		return 0;
	/* Without a folder of bases: every case then has to say everything itself, and names no file. */
	enum err_code code = matrix_case_parse("fuzz.case", (const char *)data, size, NULL, &arena, &c, &err);
	if (code == OK) {
		code = matrix_case_check(&c, &err);
		matrix_case_release(&c);
	}
	if (code != OK && !err.message[0])
		abort();
	arena_release(&arena);
	return 0;
}

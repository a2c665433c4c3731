/* Any text as an expression: its names are found and it is compiled and evaluated within the limits. */
#include "base/base.h"

#include <stdlib.h>

#include "base/memory.h"
#include "spec/expression_names.h"
#include "spec/sandbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	struct err e = ERR_INIT;
	struct name_uses uses;
	const char *text = arena_strndup(&arena, (const char *)data, size);
	struct sandbox *s = sandbox_new();
	struct sandbox_value value = {.kind = SANDBOX_NUMBER, .number = 3};
	int handle;
	expression_names(text, &arena, &uses);
	if (sandbox_set(s, "a", &value, &e) != OK)
		abort();
	if (sandbox_compile(s, text, &handle, &e) == OK && sandbox_evaluate(s, handle, &value, &e) == OK &&
		sandbox_set(s, "b", &value, &e) != OK && e.code != ERR_LIMIT)
		abort();
	sandbox_free(s);
	arena_release(&arena);
	return 0;
}

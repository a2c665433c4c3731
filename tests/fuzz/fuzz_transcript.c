/* Any bytes as a transcript: what is read has what a transcript promises, in the order of its lines. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "propose/transcript.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct transcript_entry *e, int line_before)
{
	const double numbers[] = {e->tokens_in, e->tokens_out, e->usd, e->seconds};
	bool good = e->line > line_before && *e->proposer && e->answer &&
		    strspn(e->request_digest, "0123456789abcdef") == 64;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		good = good && isfinite(numbers[i]) && numbers[i] >= 0;
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct transcript t;
	struct err e = ERR_INIT;
	if (transcript_parse("fuzz", (const char *)data, size, &arena, &t, &e) != OK) {
		if (e.line < 1 || !*e.message)
			abort();
		return 0;
	}
	json_t *request = json_pack("{s:i}", "trials", 1);
	for (size_t i = 0; i <= t.n_entries; i++) {
		const struct transcript_entry *entry = NULL;
		(void)!transcript_answer(&t, i, request, TRANSCRIPT_STRICT, &entry, &e);
		if ((transcript_answer(&t, i, request, TRANSCRIPT_LENIENT, &entry, &e) == OK) !=
			(i < t.n_entries))
			abort();
		if (i < t.n_entries)
			check(entry, i ? t.entries[i - 1].line : 0);
	}
	json_decref(request);
	return 0;
}

/* A receipt's payload from a file: what is accepted can be written, is then canonical, and can be judged. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "event/receipt.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct receipt *r)
{
	struct receipt back;
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT, again = STRBUF_INIT;
	receipt_to_json(r, &json);
	if (receipt_from_json("fuzz", json.buf, json.len, &back, NULL) != OK)
		abort();
	receipt_to_json(&back, &again);
	if (strcmp(json.buf, again.buf) != 0)
		abort();
	receipt_release(&back);
}

static void check_verdict(const struct receipt *r)
{
	const struct receipt *const refs[] = {r};
	struct verdict v, back;
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	if (verify_receipt(r, refs, 1, NULL, &v, NULL) != OK)
		abort();
	verdict_to_json(&v, &json);
	if (verdict_from_json(json.buf, &back, NULL) != OK || back.valid != v.valid ||
		back.primary != v.primary)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct receipt r;
	struct err err = ERR_INIT;
	if (receipt_from_json("fuzz", (const char *)data, size, &r, &err) != OK)
		return 0;
	check_round_trip(&r);
	check_verdict(&r);
	receipt_release(&r);
	return 0;
}

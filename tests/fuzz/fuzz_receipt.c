/* Payloads of receipts, one a line: what is accepted can be written, is then canonical, can be judged against
 * the others, and can stand in a chain with them. No signature is made or checked: an input that is signed
 * right cannot be found by changing bytes. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "event/chain.h"
#include "event/receipt.h"
#include "verify/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Beyond this, more bytes mean more of the same: executions a second count for more. */
enum { MAX_SIZE = 6144, MAX_RECEIPTS = 3 };

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

static void check_verdict(const struct receipt *r, const struct receipt *const *refs, size_t n_refs)
{
	struct verdict v, back;
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	enum err_code code = verify_receipt(r, refs, n_refs, NULL, &v, NULL);
	if (code != OK && n_refs == 1 && refs[0] == r)
		abort();
	if (code != OK)
		return; /* of different contracts */
	verify_against_trials(r, refs, n_refs, refs, n_refs, &v);
	verdict_to_json(&v, &json);
	if (verdict_from_json(json.buf, &back, NULL) != OK || back.valid != v.valid ||
		back.primary != v.primary || back.n_reviews != v.n_reviews)
		abort();
	if (v.valid != (v.primary < 0))
		abort();
}

/* Every problem names two of the files, and one alone contradicts itself only where it is broken. */
static void check_chain(const struct receipt *receipts, size_t n)
{
	static const char *const paths[] = {"1.json", "2.json", "3.json"};
	struct chain_file files[MAX_RECEIPTS];
	struct arena arena = ARENA_INIT;
	struct chain_problem *problems;
	for (size_t i = 0; i < n; i++)
		files[i] = (struct chain_file){paths[i], &receipts[i]};
	size_t count = receipt_chain_check(files, n, &arena, &problems);
	for (size_t i = 0; i < count; i++)
		if (problems[i].file >= n || problems[i].other >= n || !problems[i].text[0] ||
			(problems[i].file == problems[i].other && problems[i].kind != CHAIN_BROKEN))
			abort();
	arena_release(&arena);
}

/* 64 hex digits that are the same for the same bytes: all that a chain needs of a digest. */
static void fake_digest(const char *bytes, size_t length, char ret_hex[65])
{
	uint64_t hash = 14695981039346656037u;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
	for (int i = 0; i < 64; i++)
		ret_hex[i] = "0123456789abcdef"[(hash >> (i % 16 * 4)) & 15];
	ret_hex[64] = '\0';
}

static size_t read_lines(const char *text, size_t size, struct receipt *ret_receipts)
{
	size_t n = 0;
	const char *end = text + size;
	while (text < end && n < MAX_RECEIPTS) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *last = newline ? newline : end;
		struct err err = ERR_INIT;
		if (receipt_from_json("fuzz", text, (size_t)(last - text), &ret_receipts[n], &err) == OK) {
			fake_digest(text, (size_t)(last - text), ret_receipts[n].payload_digest);
			n++;
		} else if (!err.message[0]) {
			abort();
		}
		text = newline ? newline + 1 : end;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct receipt receipts[MAX_RECEIPTS];
	const struct receipt *refs[MAX_RECEIPTS];
	if (size > MAX_SIZE)
		return 0;
	size_t n = read_lines((const char *)data, size, receipts);
	for (size_t i = 0; i < n; i++)
		refs[i] = &receipts[i];
	/* Writing and reading back takes most of the time, and is the same for one receipt as for several. */
	if (n == 1) {
		check_round_trip(&receipts[0]);
		check_verdict(&receipts[0], refs, 1);
	}
	if (n > 1)
		check_verdict(&receipts[0], refs + 1, n - 1);
	check_chain(receipts, n);
	for (size_t i = 0; i < n; i++)
		receipt_release(&receipts[i]);
	return 0;
}

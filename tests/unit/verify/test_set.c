/* Sets of receipts: what is refused and under which name, which references count, what other trials show. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "event/synthetic.h"
#include "verify/set.h"
#include "verify_fixture.h"

enum { LENGTH = 4 }; /* two reference runs, two trials */

struct fixture {
	struct receipt_keys keys;
	struct receipt receipts[LENGTH];
	char digests[LENGTH][SHA256_HEX_SIZE];
	const char *named[LENGTH];
	struct receipt_set set;
};
static struct fixture f;

static enum err_code look_up(
	void *context, const char *campaign, const struct receipt_keys **ret_keys, struct err *reterr)
{
	(void)reterr;
	*ret_keys = strcmp(campaign, "unknown") == 0 ? NULL : context;
	return OK;
}

static int set_up(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.keys.has_hmac = f.keys.has_ed25519 = true;
	randombytes_buf(f.keys.hmac, sizeof(f.keys.hmac));
	crypto_sign_keypair(f.keys.ed25519_public, f.keys.ed25519_secret);
	for (int i = 0; i < LENGTH; i++) {
		struct receipt *r = &f.receipts[i];
		synthetic_receipt(
			r, i < N_REFS ? ROLE_REFERENCE : ROLE_SEARCH, i + 1, i < N_REFS ? 0.2 : 0.1);
		f.named[i] = f.digests[i];
		r->reference_digests = f.named;
		r->n_reference_digests = (size_t)(i < N_REFS ? i : N_REFS);
	}
	receipt_set_init(&f.set, look_up, &f.keys);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	receipt_set_release(&f.set);
	for (int i = 0; i < LENGTH; i++)
		receipt_release(&f.receipts[i]);
	return 0;
}

/* Seals and adds the i-th; the chain follows the order of the calls. */
static void add(int i)
{
	static char last[SHA256_HEX_SIZE];
	struct receipt *r = &f.receipts[i];
	struct err err = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf payload = STRBUF_INIT, stored = STRBUF_INIT;
	char name[16];
	if (r->seq > 1 && !r->prev[0])
		memcpy(r->prev, last, sizeof(last));
	receipt_to_json(r, &payload);
	sha256_hex(payload.buf, payload.len, f.digests[i]);
	memcpy(last, f.digests[i], sizeof(last));
	assert_int_equal(receipt_seal_payload(payload.buf, payload.len, &f.keys, &stored, &err), OK);
	snprintf(name, sizeof(name), "%04d.json", i + 1);
	receipt_set_add_bytes(&f.set, name, stored.buf, stored.len, true);
}

static void judge(bool whole)
{
	receipt_set_check(&f.set, whole);
	receipt_set_judge(&f.set);
}

static void a_whole_campaign(void **state)
{
	(void)state;
	for (int i = 0; i < LENGTH; i++)
		add(i);
	judge(true);
	for (int i = 0; i < LENGTH; i++) {
		const struct set_file *file = &f.set.files[i];
		if (!file->judged || !file->verdict.valid)
			fail_msg("%s: %s", file->path, file->why.message);
		assert_int_equal(file->n_references, MIN_OF(i, N_REFS));
		assert_int_equal(file->seal, SEAL_HMAC_AND_ED25519);
	}
}

static void a_key_that_nobody_knows(void **state)
{
	(void)state;
	f.receipts[0].campaign = "unknown";
	add(0);
	judge(false);
	assert_int_equal(f.set.files[0].refusal, REFUSAL_UNKNOWN_KEY);
	assert_false(f.set.files[0].judged);
	assert_non_null(strstr(f.set.files[0].why.message, "--key"));
}

static void an_absent_file(void **state)
{
	(void)state;
	receipt_set_add_file(&f.set, "/nowhere/0001.json", true);
	judge(true);
	assert_int_equal(f.set.files[0].refusal, REFUSAL_UNREADABLE);
}

static void references_are_reference_runs_of_the_same_campaign(void **state)
{
	(void)state;
	f.receipts[0].role = ROLE_SEARCH; /* 3 names it all the same */
	f.receipts[0].trial = 9;
	add(0);
	add(1);
	add(2);
	judge(false);
	assert_int_equal(f.set.files[2].n_references, 1);
	assert_true(f.set.files[2].judged);
	assert_int_equal(f.set.files[0].refusal, REFUSAL_NO_REFERENCE);
}

/* Only what was asked for is judged; what is refused can still be a reference where it is authentic. */
static void references_beside_what_was_asked_for(void **state)
{
	(void)state;
	add(0);
	add(1);
	add(2);
	f.set.files[0].given = f.set.files[1].given = false;
	judge(false);
	assert_false(f.set.files[0].judged);
	assert_true(f.set.files[2].judged && f.set.files[2].verdict.valid);
	assert_true(receipt_set_by_digest(&f.set, f.digests[1]) == &f.set.files[1]);
	assert_null(receipt_set_by_digest(&f.set, f.digests[3]));
	assert_false(receipt_set_misses_reference(&f.set, &f.set.files[2].receipt));
}

/* 31 lies beside 30, 29, ... in a loss that falls by 0.02 an update. */
static void another_trials_losses_some_updates_late(void **state)
{
	(void)state;
	for (int i = 2; i < LENGTH; i++)
		f.receipts[i].candidate_json = "{\"patches\":[\"ab\"],\"settings\":{}}";
	for (size_t u = 0; u < 30; u++) {
		f.receipts[2].updates[u].loss = some(5.0013 - 0.02003 * (double)u);
		f.receipts[3].updates[u].loss = some(u ? 5.0013 - 0.02003 * (double)(u - 1) : 5.02);
	}
	for (int i = 0; i < LENGTH; i++)
		add(i);
	judge(true);
	assert_int_equal(f.set.files[2].verdict.n_reviews, 0);
	assert_int_equal(f.set.files[3].verdict.n_reviews, 1);
	assert_string_equal(f.set.files[3].verdict.reviews[0],
		"replayed-loss: equal to that of receipt 3, some updates apart, at 29 of 29 updates");
	assert_int_equal(review_kind_of(f.set.files[3].verdict.reviews[0]), REVIEW_REPLAYED_LOSS);
	assert_int_equal(review_kind_of("replayed-losses: no"), N_REVIEW_KINDS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_whole_campaign),
		TEST(a_key_that_nobody_knows),
		TEST(an_absent_file),
		TEST(references_are_reference_runs_of_the_same_campaign),
		TEST(references_beside_what_was_asked_for),
		TEST(another_trials_losses_some_updates_late),
	};
	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

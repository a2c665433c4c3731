/* Receipts as JSON, sealed and read back; everything that is wrong with one is named. */
#include "base/base.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "event/receipt.h"
#include "event/synthetic.h"

static char folder[] = "/tmp/infrarsi-receipt-XXXXXX";

static struct receipt_keys make_keys(const char *campaign)
{
	struct receipt_keys keys = {.has_hmac = true, .has_ed25519 = true};
	randombytes_buf(keys.hmac, sizeof(keys.hmac));
	crypto_sign_keypair(keys.ed25519_public, keys.ed25519_secret);
	snprintf(keys.campaign, sizeof(keys.campaign), "%s", campaign);
	return keys;
}

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

static void fill_corners(struct receipt *r)
{
	static const char *argv[] = {"./train", "--name", "a \"b\"\n\xff"};
	static const char *phases[] = {"forward", "data"};
	r->argv = argv;
	r->n_argv = 3;
	r->declared_phases = phases;
	r->n_declared_phases = 2;
	r->updates[3].loss = (struct opt_number){true, NAN};
	r->updates[4].loss = (struct opt_number){true, INFINITY};
	r->updates[5].loss = (struct opt_number){false, NAN};
	r->updates[6].loss = (struct opt_number){true, 0.1 + 0.2};
	r->updates[7].harness_s = NAN;
	r->phase_s[PHASE_DATA] = (struct opt_number){true, 0.01};
	r->failure = FAILURE_CRASH;
	r->failure_evidence = "free(): invalid next size (normal)";
	r->failure_source = "log:883";
	r->versions_json = "{\"cc\":\"gcc 12\"}";
	snprintf(r->prev, sizeof(r->prev), "%064x", 5);
}

static void json_gives_everything_back(void **state)
{
	(void)state;
	struct receipt r, back;
	struct err err = ERR_INIT;
	synthetic_receipt(&r, ROLE_PROMOTION, 7, 0.25);
	fill_corners(&r);
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT, again = STRBUF_INIT;
	receipt_to_json(&r, &json);
	if (receipt_from_json("x", json.buf, json.len, &back, &err) != OK)
		fail_msg("%s", err.message);
	receipt_to_json(&back, &again);
	assert_string_equal(json.buf, again.buf);
	assert_true(isnan(back.updates[3].loss.value) && back.updates[3].loss.has);
	assert_true(isinf(back.updates[4].loss.value));
	assert_false(back.updates[5].loss.has);
	assert_true(back.updates[6].loss.value == 0.1 + 0.2); /* to the last bit */
	assert_true(isnan(back.updates[7].harness_s));
	assert_string_equal(back.argv[2], "a \"b\"\\x0a\\xff");
	assert_string_equal(back.candidate_json, r.candidate_json);
	assert_int_equal(back.role, ROLE_PROMOTION);
	assert_true(back.terms.invariant_holds[0] && back.n_files == 2);
	receipt_release(&r);
	receipt_release(&back);
}

/* Keys are sorted and nothing is between the tokens: equal receipts are equal bytes. */
static void json_is_canonical(void **state)
{
	(void)state;
	struct receipt r;
	synthetic_receipt(&r, ROLE_REFERENCE, 1, 0.25);
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	receipt_to_json(&r, &json);
	json_t *object = json_loads(json.buf, 0, NULL);
	char *canonical = json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
	assert_string_equal(json.buf, canonical);
	free(canonical);
	json_decref(object);
	receipt_release(&r);
}

/* Replaces `from` by `to` in a good receipt; the message must contain `says`. */
static void schema_errors_name_the_path(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{"\"schema\":1", "\"schema\":2", "receipt schema 2: this version reads schema 1"},
		{"\"schema\":1", "\"schema\":\"1\"", "schema: expected an integer"},
		{"\"seq\":7,", "", "seq: missing"},
		{"\"seq\":7", "\"seq\":0", "seq: expected an integer in 1"},
		{"\"seq\":7", "\"seq\":7,\"color\":1", "unknown key 'color'"},
		{"\"role\":\"search\"", "\"role\":\"x\"", "role: expected one of reference profile"},
		{"\"warmup\":10", "\"warmup\":30", "terms.warmup: expected less"},
		{"\"warmup\":10", "\"warmup\":10.5", "terms.warmup: expected an integer"},
		{"\"warmup\":10", "\"warmup\":10,\"z\":0", "terms: unknown key 'z'"},
		{"\"holds\":true", "\"holds\":1", "terms.invariants[0].holds: expected true or false"},
		{"\"loss\":[", "\"loss\":[true,", "updates.loss: expected 30 entries"},
		{"\"update\":[1,", "\"update\":[0,", "updates.update[0]: expected an integer"},
		{"\"update\":[1,2,", "\"update\":[1,1,", "updates.update[1]: expected more than 1"},
		{"\"tokens\":[4096.0,4096.0,", "\"tokens\":[4096.0,\"many\",",
			"updates.tokens[1]: expected a num"},
		{"\"updates\":{", "\"updates\":{\"q\":[],", "updates: expected no other arrays"},
		{"\"timed_out\":false", "\"timed_out\":null", "outcome.timed_out: expected true or false"},
		{"\"path\":\"eval.py\"", "\"path\":3", "files[1].path: expected a string"},
		{"\"observed_is_device\":false,", "", "memory.observed_is_device: missing"},
		{"\"prev\":\"\"", "\"prev\":\"abc\"", "prev: expected 64 lower-case hex digits"},
		{"\"declared_phases\":[]", "\"declared_phases\":[\"lunch\"]", "declared_phases[0]"},
		{"\"sigma_pair\":0.002", "\"sigma_pair\":[]", "references.sigma_pair: expected a number"},
	};
	struct receipt r;
	synthetic_receipt(&r, ROLE_SEARCH, 7, 0.25);
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	receipt_to_json(&r, &json);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct receipt back;
		struct err err = ERR_INIT;
		CLEANUP(strbuf_release) struct strbuf bad = STRBUF_INIT;
		const char *at = strstr(json.buf, cases[i].from);
		if (!at)
			fail_msg("%s does not occur in %s", cases[i].from, json.buf);
		strbuf_add(&bad, json.buf, (size_t)(at - json.buf));
		strbuf_addstr(&bad, cases[i].to);
		strbuf_addstr(&bad, at + strlen(cases[i].from));
		assert_int_equal(receipt_from_json("r.json", bad.buf, bad.len, &back, &err), ERR_INPUT);
		if (!strstr(err.message, cases[i].says))
			fail_msg("said '%s', expected '%s'", err.message, cases[i].says);
		assert_string_equal(err.file, "r.json");
	}
	receipt_release(&r);
}

static void sealed_and_read_back(void **state)
{
	(void)state;
	struct receipt r, back;
	struct err err = ERR_INIT;
	enum seal_state seal = SEAL_UNSIGNED;
	struct receipt_keys keys = make_keys("c1");
	CLEANUP(free_ptr) char *path = path_of("sealed.json");
	synthetic_receipt(&r, ROLE_SEARCH, 7, 0.25);
	assert_int_equal(receipt_seal(&r, &keys, path, &err), OK);
	assert_int_equal(receipt_read(path, &keys, &back, &seal, &err), OK);
	assert_int_equal(seal, SEAL_HMAC_AND_ED25519);
	assert_string_equal(back.payload_digest, r.payload_digest);
	assert_int_equal(strlen(r.payload_digest), 64);
	receipt_release(&back);
	keys.has_hmac = false;
	assert_int_equal(receipt_read(path, &keys, &back, &seal, &err), OK);
	assert_int_equal(seal, SEAL_ED25519);
	receipt_release(&back);
	assert_int_equal(receipt_read(path, NULL, &back, &seal, &err), OK);
	assert_int_equal(seal, SEAL_ED25519);
	receipt_release(&back);
	receipt_release(&r);
}

static enum err_code look_up(
	void *context, const char *campaign, const struct receipt_keys **ret_keys, struct err *reterr)
{
	const struct receipt_keys *keys = context;
	if (strcmp(campaign, "c3") == 0)
		return err_set(reterr, ERR_STATE, "no keys for c3");
	*ret_keys = &keys[strcmp(campaign, "c2") == 0];
	return OK;
}

static void keys_are_found_by_campaign(void **state)
{
	(void)state;
	static const char *const campaigns[] = {"c1", "c2"};
	struct receipt_keys keys[] = {make_keys("c1"), make_keys("c2")};
	struct receipt r, back;
	struct err err = ERR_INIT;
	enum seal_state seal;
	CLEANUP(free_ptr) char *path = path_of("found.json");
	synthetic_receipt(&r, ROLE_SEARCH, 7, 0.25);
	for (size_t i = 0; i < 2; i++) {
		r.campaign = campaigns[i];
		assert_int_equal(receipt_seal(&r, &keys[i], path, &err), OK);
		assert_int_equal(receipt_read_by(path, look_up, keys, &back, &seal, &err), OK);
		assert_int_equal(seal, SEAL_HMAC_AND_ED25519);
		receipt_release(&back);
	}
	r.campaign = "c3";
	assert_int_equal(receipt_seal(&r, &keys[0], path, &err), OK);
	assert_int_equal(receipt_read_by(path, look_up, keys, &back, &seal, &err), ERR_STATE);
	receipt_release(&r);
}

static void sealing_needs_both_keys(void **state)
{
	(void)state;
	struct receipt r;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = path_of("never.json");
	synthetic_receipt(&r, ROLE_SEARCH, 7, 0.25);
	struct receipt_keys keys = make_keys("c1");
	keys.has_hmac = false;
	assert_int_equal(receipt_seal(&r, &keys, path, &err), ERR_STATE);
	keys = make_keys("c1");
	memset(keys.ed25519_secret, 0, sizeof(keys.ed25519_secret)); /* only trusted, not ours */
	assert_int_equal(receipt_seal(&r, &keys, path, &err), ERR_STATE);
	assert_false(path_exists(path));
	receipt_release(&r);
}

/* Reads a changed copy of the stored document; the answer must be `code`, its message contain `says`. */
static void expect_refusal(const char *text, size_t length, const struct receipt_keys *keys,
	enum err_code code, enum seal_state state, const char *says)
{
	struct receipt back;
	struct err err = ERR_INIT;
	enum seal_state seal = SEAL_HMAC_AND_ED25519;
	CLEANUP(free_ptr) char *path = path_of("changed.json");
	assert_int_equal(file_write_atomic(path, text, length, 0600, &err), OK);
	enum err_code got = receipt_read(path, keys, &back, &seal, &err);
	if (got != code || !strstr(err.message, says))
		fail_msg("code %d '%s', expected %d '%s'", got, err.message, code, says);
	assert_int_equal(seal, state);
	assert_string_equal(err.file, path);
}

static void dump_and_expect(json_t *object, const struct receipt_keys *keys, enum err_code code,
	enum seal_state state, const char *says)
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	expect_refusal(text, strlen(text), keys, code, state, says);
	free(text);
}

static void seal_text(struct receipt *r, const struct receipt_keys *keys, struct strbuf *ret_text)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = path_of("good.json");
	assert_int_equal(receipt_seal(r, keys, path, &err), OK);
	assert_int_equal(file_read(path, FILE_CAP_DEFAULT, ret_text, &err), OK);
}

static void what_is_not_authentic_is_named(void **state)
{
	(void)state;
	struct receipt r, other;
	struct receipt_keys keys = make_keys("c1"), theirs = make_keys("c1"), second = keys;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT, text_2 = STRBUF_INIT;
	synthetic_receipt(&r, ROLE_SEARCH, 7, 0.25);
	synthetic_receipt(&other, ROLE_SEARCH, 8, 0.25);
	other.campaign = "c2";
	seal_text(&other, &keys, &text_2);
	seal_text(&r, &keys, &text);
	json_t *good = json_loads(text.buf, 0, NULL), *good_2 = json_loads(text_2.buf, 0, NULL);

	static const char *const signatures[] = {"hmac", "ed25519", "public_key"};
	for (size_t i = 0; i < ARRAY_LEN(signatures); i++) {
		json_t *bad = json_copy(good);
		json_object_set_new(bad, signatures[i], json_string(""));
		dump_and_expect(bad, &keys, ERR_CONTRACT, SEAL_UNSIGNED, "unsigned");
		json_object_del(bad, signatures[i]);
		dump_and_expect(bad, &keys, ERR_CONTRACT, SEAL_UNSIGNED, "unsigned");
		json_object_set_new(bad, signatures[i], json_string("abcd"));
		dump_and_expect(bad, &keys, ERR_CONTRACT, SEAL_EDITED, "edited");
		json_decref(bad);
	}
	/* A signature of another receipt. */
	for (size_t i = 0; i < 2; i++) {
		json_t *bad = json_copy(good);
		json_object_set(bad, signatures[i], json_object_get(good_2, signatures[i]));
		dump_and_expect(bad, &keys, ERR_CONTRACT, SEAL_EDITED, "edited");
		json_decref(bad);
	}
	/* The whole envelope by somebody else; the right user, another campaign. */
	expect_refusal(text.buf, text.len, &theirs, ERR_CONTRACT, SEAL_FOREIGN, "foreign");
	randombytes_buf(second.hmac, sizeof(second.hmac));
	expect_refusal(text_2.buf, text_2.len, &second, ERR_CONTRACT, SEAL_FOREIGN, "another campaign");
	/* The bare payload. */
	const char *payload = json_string_value(json_object_get(good, "payload"));
	expect_refusal(payload, strlen(payload), &keys, ERR_CONTRACT, SEAL_UNSIGNED, "unsigned");
	expect_refusal("{}", 2, &keys, ERR_INPUT, SEAL_MALFORMED, "payload: expected a string");
	expect_refusal("[1]", 3, &keys, ERR_INPUT, SEAL_MALFORMED, "expected a JSON object");
	expect_refusal("", 0, &keys, ERR_INPUT, SEAL_TRUNCATED, "truncated");
	json_decref(good);
	json_decref(good_2);
	receipt_release(&r);
	receipt_release(&other);
}

/* The same document with white space, in another order of keys, with other escapes: jansson reads it where
 * the one-pass reader does not, and the payload's bytes are the same. */
static void the_writing_of_the_envelope_does_not_matter(void **state)
{
	(void)state;
	struct receipt r, back;
	struct receipt_keys keys = make_keys("c1");
	struct err err = ERR_INIT;
	enum seal_state seal;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = path_of("written.json");
	synthetic_receipt(&r, ROLE_SEARCH, 7, 0.25);
	r.failure_evidence = "d\xc3\xa9j\xc3\xa0 \"vu\" \\ \t";
	seal_text(&r, &keys, &text);
	static const size_t flags[] = {JSON_INDENT(1), JSON_ENSURE_ASCII, JSON_ESCAPE_SLASH, JSON_COMPACT};
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		json_t *object = json_loads(text.buf, 0, NULL);
		char *other = json_dumps(object, flags[i]);
		assert_int_equal(file_write_atomic(path, other, strlen(other), 0600, &err), OK);
		assert_int_equal(receipt_read(path, &keys, &back, &seal, &err), OK);
		assert_int_equal(seal, SEAL_HMAC_AND_ED25519);
		assert_string_equal(back.payload_digest, r.payload_digest);
		receipt_release(&back);
		free(other);
		json_decref(object);
	}
	receipt_release(&r);
}

/* Authentic but of another version: its own message, not "edited". */
static void schema_mismatch_is_its_own_message(void **state)
{
	(void)state;
	struct receipt r;
	struct receipt_keys keys = make_keys("c1");
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	synthetic_receipt(&r, ROLE_SEARCH, 7, 0.25);
	r.schema = 9;
	seal_text(&r, &keys, &text);
	expect_refusal(text.buf, text.len, &keys, ERR_INPUT, SEAL_SCHEMA, "receipt schema 9");
	receipt_release(&r);
}

static int open_sealed(const char *path, const struct receipt_keys *keys, struct strbuf *ret_text)
{
	struct receipt r;
	struct err err = ERR_INIT;
	synthetic_receipt(&r, ROLE_SEARCH, 7, 0.25);
	r.n_updates = 2;
	seal_text(&r, keys, ret_text);
	receipt_release(&r);
	assert_int_equal(file_write_atomic(path, ret_text->buf, ret_text->len, 0600, &err), OK);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void truncated_at_every_byte(void **state)
{
	(void)state;
	struct receipt back;
	struct receipt_keys keys = make_keys("c1");
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = path_of("cut.json");
	CLEANUP(close_fd) int fd = open_sealed(path, &keys, &text);
	for (size_t n = text.len; n-- > 0;) {
		struct err err = ERR_INIT;
		enum seal_state seal;
		assert_int_equal(ftruncate(fd, (off_t)n), 0);
		assert_int_equal(receipt_read(path, &keys, &back, &seal, &err), ERR_INPUT);
		assert_int_equal(seal, SEAL_TRUNCATED);
		assert_true(err.line == 1 && err.column >= 0);
	}
}

/* One bit of one byte of the file, at every position. */
static void every_edited_byte_is_seen(void **state)
{
	(void)state;
	struct receipt back;
	struct receipt_keys keys = make_keys("c1");
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = path_of("edited.json");
	CLEANUP(close_fd) int fd = open_sealed(path, &keys, &text);
	for (size_t n = 0; n < text.len; n++) {
		struct err err = ERR_INIT;
		enum seal_state seal;
		char flipped = text.buf[n] ^ 1;
		assert_int_equal(pwrite(fd, &flipped, 1, (off_t)n), 1);
		enum err_code code = receipt_read(path, &keys, &back, &seal, &err);
		assert_true(code == ERR_INPUT || code == ERR_CONTRACT);
		assert_int_equal(pwrite(fd, &text.buf[n], 1, (off_t)n), 1);
	}
}

static int make_folder(void **state)
{
	(void)state;
	return sodium_init() < 0 || !mkdtemp(folder);
}

static int drop_folder(void **state)
{
	(void)state;
	return remove_tree(folder, NULL) != OK;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_gives_everything_back),
		cmocka_unit_test(json_is_canonical),
		cmocka_unit_test(schema_errors_name_the_path),
		cmocka_unit_test(sealed_and_read_back),
		cmocka_unit_test(keys_are_found_by_campaign),
		cmocka_unit_test(sealing_needs_both_keys),
		cmocka_unit_test(what_is_not_authentic_is_named),
		cmocka_unit_test(the_writing_of_the_envelope_does_not_matter),
		cmocka_unit_test(schema_mismatch_is_its_own_message),
		cmocka_unit_test(truncated_at_every_byte),
		cmocka_unit_test(every_edited_byte_is_seen),
	};
	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}

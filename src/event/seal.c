#include "base/base.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "event/fields_int.h"
#include "event/receipt.h"

/* The stored form, decoded. `payload` is borrowed from the JSON document. */
struct envelope {
	const char *payload;
	size_t payload_length;
	unsigned char hmac[32], signature[64], public_key[32];
};

static void sign_hmac(
	const struct receipt_keys *keys, const void *bytes, size_t length, unsigned char ret_hmac[32])
{
	crypto_auth_hmacsha256(ret_hmac, bytes, length, keys->hmac);
}

static void set_hex(json_t *object, const char *key, const void *bytes, size_t length)
{
	char hex[2 * 64 + 1];
	hex_encode(bytes, length, hex);
	json_object_set_new(object, key, json_string(hex));
}

enum err_code receipt_seal(
	struct receipt *r, const struct receipt_keys *keys, const char *path, struct err *reterr)
{
	if (!keys->has_hmac || !keys->has_ed25519 ||
		sodium_is_zero(keys->ed25519_secret, sizeof(keys->ed25519_secret)))
		return err_set(reterr, ERR_STATE, "%s cannot be signed: a key is missing", path);
	CLEANUP(strbuf_release) struct strbuf payload = STRBUF_INIT;
	receipt_to_json(r, &payload);
	unsigned char hmac[32], signature[64];
	sign_hmac(keys, payload.buf, payload.len, hmac);
	crypto_sign_detached(
		signature, NULL, (const unsigned char *)payload.buf, payload.len, keys->ed25519_secret);
	json_t *stored = json_object();
	json_object_set_new(stored, "payload", json_stringn(payload.buf, payload.len));
	set_hex(stored, "hmac", hmac, sizeof(hmac));
	set_hex(stored, "ed25519", signature, sizeof(signature));
	set_hex(stored, "public_key", keys->ed25519_public, sizeof(keys->ed25519_public));
	CLEANUP(free_ptr) char *text = json_dump_take(stored);
	TRY(file_write_atomic(path, text, strlen(text), 0644, reterr));
	sha256_hex(payload.buf, payload.len, r->payload_digest);
	return OK;
}

static enum err_code refuse(const char *path, enum seal_state state, const char *text,
	enum seal_state *ret_state, struct err *reterr)
{
	*ret_state = state;
	return err_set_at(reterr, ERR_CONTRACT, path, 0, 0, "%s", text);
}

static bool is_blank(const json_t *object, const char *key)
{
	return !*json_text_of(object, key);
}

/* A signature that is not hex of the right length cannot fit: the receipt was edited. */
static enum err_code open_envelope(const json_t *stored, const char *path, struct envelope *ret_envelope,
	enum seal_state *ret_state, struct err *reterr)
{
	const json_t *payload = json_object_get(stored, "payload");
	if (json_object_get(stored, "schema") && !payload)
		return refuse(
			path, SEAL_UNSIGNED, "unsigned: a receipt without its signatures", ret_state, reterr);
	if (!json_is_string(payload))
		return err_set_at(
			reterr, ERR_INPUT, path, 0, 0, "payload: expected a string; is this a receipt?");
	if (is_blank(stored, "hmac") || is_blank(stored, "ed25519") || is_blank(stored, "public_key"))
		return refuse(path, SEAL_UNSIGNED, "unsigned: hmac, ed25519 or public_key is missing",
			ret_state, reterr);
	if (json_object_size(stored) != 4)
		return err_set_at(reterr, ERR_INPUT, path, 0, 0,
			"expected the keys ed25519, hmac, payload and public_key and no other");
	struct envelope e = {json_string_value(payload), json_string_length(payload), {0}, {0}, {0}};
	if (!hex_decode(json_text_of(stored, "hmac"), e.hmac, sizeof(e.hmac)) ||
		!hex_decode(json_text_of(stored, "ed25519"), e.signature, sizeof(e.signature)) ||
		!hex_decode(json_text_of(stored, "public_key"), e.public_key, sizeof(e.public_key)))
		return refuse(path, SEAL_EDITED, "edited: a signature is not hex of the right length",
			ret_state, reterr);
	*ret_envelope = e;
	return OK;
}

/* Who signed: the expected key, the campaign's HMAC key. `campaign` is what the payload says. */
static enum err_code check_signer(const struct envelope *e, const char *campaign,
	const struct receipt_keys *keys, const char *path, enum seal_state *ret_state, struct err *reterr)
{
	if (keys && keys->has_ed25519 &&
		sodium_memcmp(keys->ed25519_public, e->public_key, sizeof(e->public_key)) != 0)
		return refuse(path, SEAL_FOREIGN, "foreign: signed with another key than the expected one",
			ret_state, reterr);
	if (!keys || !keys->has_hmac) {
		*ret_state = SEAL_ED25519;
		return OK;
	}
	unsigned char hmac[32];
	sign_hmac(keys, e->payload, e->payload_length, hmac);
	if (sodium_memcmp(hmac, e->hmac, sizeof(hmac)) == 0) {
		*ret_state = SEAL_HMAC_AND_ED25519;
		return OK;
	}
	if (*campaign && *keys->campaign && strcmp(campaign, keys->campaign) != 0)
		return refuse(
			path, SEAL_FOREIGN, "foreign: a receipt of another campaign", ret_state, reterr);
	return refuse(path, SEAL_EDITED, "edited: the HMAC does not fit", ret_state, reterr);
}

static enum err_code read_envelope(const struct envelope *e, const char *path, receipt_keys_fn lookup,
	void *context, struct receipt *r, enum seal_state *ret_state, struct err *reterr)
{
	if (crypto_sign_verify_detached(
		    e->signature, (const unsigned char *)e->payload, e->payload_length, e->public_key) != 0)
		return refuse(
			path, SEAL_EDITED, "edited: the Ed25519 signature does not fit", ret_state, reterr);
	json_error_t error;
	CLEANUP(json_decref_ptr)
	json_t *payload = json_loadb(e->payload, e->payload_length, JSON_REJECT_DUPLICATES, &error);
	const char *campaign = json_text_of(payload, "campaign");
	const struct receipt_keys *keys = NULL;
	TRY(lookup(context, campaign, &keys, reterr));
	TRY(check_signer(e, campaign, keys, path, ret_state, reterr));
	if (!payload)
		return err_set_at(
			reterr, ERR_INPUT, path, error.line, error.column, "payload: %s", error.text);
	return receipt_from_value(path, payload, r, reterr);
}

enum err_code receipt_read_by(const char *path, receipt_keys_fn lookup, void *context,
	struct receipt *ret_receipt, enum seal_state *ret_state, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	TRY(file_read(path, RECEIPT_FILE_CAP, &text, reterr));
	json_error_t error;
	CLEANUP(json_decref_ptr)
	json_t *stored = json_loadb(text.buf, text.len, JSON_REJECT_DUPLICATES, &error);
	if (!stored)
		return err_set_at(reterr, ERR_INPUT, path, error.line, error.column, "%s", error.text);
	if (!json_is_object(stored))
		return err_set_at(reterr, ERR_INPUT, path, 1, 1, "expected a JSON object");
	struct envelope e;
	struct receipt r;
	TRY(open_envelope(stored, path, &e, ret_state, reterr));
	TRY(read_envelope(&e, path, lookup, context, &r, ret_state, reterr));
	sha256_hex(e.payload, e.payload_length, r.payload_digest);
	*ret_receipt = r;
	return OK;
}

static enum err_code same_keys(
	void *context, const char *campaign, const struct receipt_keys **ret_keys, struct err *reterr)
{
	(void)campaign;
	(void)reterr;
	*ret_keys = context;
	return OK;
}

enum err_code receipt_read(const char *path, const struct receipt_keys *keys, struct receipt *ret_receipt,
	enum seal_state *ret_state, struct err *reterr)
{
	return receipt_read_by(path, same_keys, (void *)keys, ret_receipt, ret_state, reterr);
}

#include "base/base.h"

#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "event/envelope_int.h"
#include "event/fields_int.h"
#include "event/receipt.h"

const char *const seal_state_names[N_SEAL_STATES] = {
	[SEAL_HMAC_AND_ED25519] = "hmac_and_ed25519",
	[SEAL_ED25519] = "ed25519",
	[SEAL_UNSIGNED] = "unsigned",
	[SEAL_EDITED] = "edited",
	[SEAL_FOREIGN] = "foreign",
	[SEAL_TRUNCATED] = "truncated",
	[SEAL_MALFORMED] = "malformed",
	[SEAL_SCHEMA] = "schema",
	[SEAL_UNREADABLE] = "unreadable",
};

static void sign_hmac(
	const struct receipt_keys *keys, const void *bytes, size_t length, unsigned char ret_hmac[32])
{
	crypto_auth_hmacsha256(ret_hmac, bytes, length, keys->hmac);
}

enum err_code receipt_seal_payload(const char *payload, size_t length, const struct receipt_keys *keys,
	struct strbuf *ret_stored, struct err *reterr)
{
	if (!keys->has_hmac || !keys->has_ed25519 ||
		sodium_is_zero(keys->ed25519_secret, sizeof(keys->ed25519_secret)))
		return err_set(reterr, ERR_STATE, "a receipt cannot be signed: a key is missing");
	CLEANUP(envelope_release) struct envelope e = ENVELOPE_INIT;
	e.payload = xmalloc(length + 1);
	e.payload_length = length;
	memcpy(e.payload, payload, length);
	e.payload[length] = '\0';
	sign_hmac(keys, payload, length, e.hmac);
	crypto_sign_detached(e.signature, NULL, (const unsigned char *)payload, length, keys->ed25519_secret);
	memcpy(e.public_key, keys->ed25519_public, sizeof(e.public_key));
	CLEANUP(free_ptr) char *text = envelope_text(&e);
	strbuf_addstr(ret_stored, text);
	return OK;
}

enum err_code receipt_seal(
	struct receipt *r, const struct receipt_keys *keys, const char *path, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf payload = STRBUF_INIT, stored = STRBUF_INIT;
	receipt_to_json(r, &payload);
	enum err_code code = receipt_seal_payload(payload.buf, payload.len, keys, &stored, reterr);
	if (code != OK)
		return err_prefix(reterr, code, "%s", path);
	TRY(file_write_atomic(path, stored.buf, stored.len, 0644, reterr));
	sha256_hex(payload.buf, payload.len, r->payload_digest);
	return OK;
}

static enum err_code refuse(const char *path, enum seal_state state, const char *text,
	enum seal_state *ret_state, struct err *reterr)
{
	*ret_state = state;
	return err_set_at(reterr, ERR_CONTRACT, path, 0, 0, "%s", text);
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

/* An authentic payload: what can still be wrong is its form. */
static enum err_code read_payload(const json_t *payload, const json_error_t *error, const char *path,
	struct receipt *r, enum seal_state *ret_state, struct err *reterr)
{
	enum seal_state seal = *ret_state;
	*ret_state = SEAL_MALFORMED;
	if (!payload)
		return err_set_at(
			reterr, ERR_INPUT, path, error->line, error->column, "payload: %s", error->text);
	const json_t *schema = json_object_get(payload, "schema");
	if (json_is_integer(schema) && json_integer_value(schema) != RECEIPT_SCHEMA)
		*ret_state = SEAL_SCHEMA;
	TRY(receipt_from_value(path, payload, r, reterr));
	*ret_state = seal;
	return OK;
}

static enum err_code open_envelope(const struct envelope *e, const char *path, receipt_keys_fn lookup,
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
	*ret_state = SEAL_UNREADABLE;
	TRY(lookup(context, campaign, &keys, reterr));
	TRY(check_signer(e, campaign, keys, path, ret_state, reterr));
	return read_payload(payload, &error, path, r, ret_state, reterr);
}

enum err_code receipt_open(const char *path, const char *bytes, size_t length, receipt_keys_fn lookup,
	void *context, struct receipt *ret_receipt, enum seal_state *ret_state, struct err *reterr)
{
	CLEANUP(envelope_release) struct envelope e = ENVELOPE_INIT;
	struct receipt r;
	TRY(envelope_parse(path, bytes, length, &e, ret_state, reterr));
	TRY(open_envelope(&e, path, lookup, context, &r, ret_state, reterr));
	sha256_hex(e.payload, e.payload_length, r.payload_digest);
	*ret_receipt = r;
	return OK;
}

enum err_code receipt_read_by(const char *path, receipt_keys_fn lookup, void *context,
	struct receipt *ret_receipt, enum seal_state *ret_state, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	*ret_state = SEAL_UNREADABLE;
	TRY(file_read(path, RECEIPT_FILE_CAP, &text, reterr));
	return receipt_open(path, text.buf, text.len, lookup, context, ret_receipt, ret_state, reterr);
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

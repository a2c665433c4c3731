#include "base/base.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "event/envelope_int.h"

void envelope_release(struct envelope *e)
{
	free(e->payload);
	*e = (struct envelope)ENVELOPE_INIT;
}

/* What the writer below writes, read in one pass: a receipt is mostly one long string, and a general JSON
 * reader takes longer over it than over everything else. Whatever is not written exactly so, and every escape
 * that needs a second thought, is left to jansson: both give the same answer. */
struct cursor {
	const char *at, *end;
};

static bool take_literal(struct cursor *c, const char *literal)
{
	size_t length = strlen(literal);
	if ((size_t)(c->end - c->at) < length || memcmp(c->at, literal, length) != 0)
		return false;
	c->at += length;
	return true;
}

static bool take_hex(struct cursor *c, unsigned char *ret_bytes, size_t length)
{
	char digits[2 * 64 + 1];
	if ((size_t)(c->end - c->at) < 2 * length)
		return false;
	memcpy(digits, c->at, 2 * length);
	digits[2 * length] = '\0';
	c->at += 2 * length;
	return hex_decode(digits, ret_bytes, length);
}

static bool take_string(struct cursor *c, char *to, size_t *ret_length)
{
	char *begin = to;
	while (c->at < c->end && *c->at != '"') {
		unsigned char byte = (unsigned char)*c->at;
		if (byte < ' ' || byte > '~')
			return false;
		if (byte == '\\') {
			c->at++;
			if (c->at == c->end || (*c->at != '"' && *c->at != '\\'))
				return false;
		}
		*to++ = *c->at++;
	}
	*to = '\0';
	*ret_length = (size_t)(to - begin);
	return true;
}

static bool parse_written(const char *bytes, size_t length, struct envelope *e)
{
	struct cursor c = {bytes, bytes + length};
	e->payload = xmalloc(length + 1);
	bool right = take_literal(&c, "{\"ed25519\":\"") &&
		     take_hex(&c, e->signature, sizeof(e->signature)) && take_literal(&c, "\",\"hmac\":\"") &&
		     take_hex(&c, e->hmac, sizeof(e->hmac)) && take_literal(&c, "\",\"payload\":\"") &&
		     take_string(&c, e->payload, &e->payload_length) &&
		     take_literal(&c, "\",\"public_key\":\"") &&
		     take_hex(&c, e->public_key, sizeof(e->public_key)) && take_literal(&c, "\"}") &&
		     c.at == c.end;
	if (!right)
		envelope_release(e);
	return right;
}

static enum err_code refuse(const char *path, enum seal_state state, enum err_code code, const char *text,
	enum seal_state *ret_state, struct err *reterr)
{
	*ret_state = state;
	return err_set_at(reterr, code, path, 0, 0, "%s", text);
}

static bool is_blank(const json_t *object, const char *key)
{
	return !*json_text_of(object, key);
}

static enum err_code parse_object(const json_t *stored, const char *path, struct envelope *ret_envelope,
	enum seal_state *ret_state, struct err *reterr)
{
	const json_t *payload = json_object_get(stored, "payload");
	struct envelope e = ENVELOPE_INIT;
	if (json_object_get(stored, "schema") && !payload)
		return refuse(path, SEAL_UNSIGNED, ERR_CONTRACT, "unsigned: a receipt without its signatures",
			ret_state, reterr);
	if (!json_is_string(payload))
		return refuse(path, SEAL_MALFORMED, ERR_INPUT,
			"payload: expected a string; is this a receipt?", ret_state, reterr);
	if (is_blank(stored, "hmac") || is_blank(stored, "ed25519") || is_blank(stored, "public_key"))
		return refuse(path, SEAL_UNSIGNED, ERR_CONTRACT,
			"unsigned: hmac, ed25519 or public_key is missing", ret_state, reterr);
	if (json_object_size(stored) != 4)
		return refuse(path, SEAL_MALFORMED, ERR_INPUT,
			"expected the keys ed25519, hmac, payload and public_key and no other", ret_state,
			reterr);
	/* A signature that is not hex of the right length cannot fit: the receipt was edited. */
	if (!hex_decode(json_text_of(stored, "hmac"), e.hmac, sizeof(e.hmac)) ||
		!hex_decode(json_text_of(stored, "ed25519"), e.signature, sizeof(e.signature)) ||
		!hex_decode(json_text_of(stored, "public_key"), e.public_key, sizeof(e.public_key)))
		return refuse(path, SEAL_EDITED, ERR_CONTRACT,
			"edited: a signature is not hex of the right length", ret_state, reterr);
	e.payload = xstrdup(json_string_value(payload));
	e.payload_length = json_string_length(payload);
	*ret_envelope = e;
	return OK;
}

enum err_code envelope_parse(const char *path, const char *bytes, size_t length,
	struct envelope *ret_envelope, enum seal_state *ret_state, struct err *reterr)
{
	struct envelope e = ENVELOPE_INIT;
	json_error_t error;
	if (parse_written(bytes, length, &e)) {
		*ret_envelope = e;
		return OK;
	}
	CLEANUP(json_decref_ptr) json_t *stored = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
	if (!stored) {
		/* Behind half an escape it is the escape that jansson complains about. */
		bool cut = json_error_code(&error) == json_error_premature_end_of_input ||
			   ((size_t)error.position >= length && strstr(error.text, "invalid escape"));
		*ret_state = cut ? SEAL_TRUNCATED : SEAL_MALFORMED;
		return err_set_at(reterr, ERR_INPUT, path, error.line, error.column, "%s%s",
			cut ? "truncated: " : "", error.text);
	}
	if (!json_is_object(stored)) {
		*ret_state = SEAL_MALFORMED;
		return err_set_at(reterr, ERR_INPUT, path, 1, 1, "expected a JSON object");
	}
	return parse_object(stored, path, ret_envelope, ret_state, reterr);
}

static void set_hex(json_t *object, const char *key, const void *bytes, size_t length)
{
	char hex[2 * 64 + 1];
	hex_encode(bytes, length, hex);
	json_object_set_new(object, key, json_string(hex));
}

char *envelope_text(const struct envelope *e)
{
	json_t *stored = json_object();
	json_object_set_new(stored, "payload", json_stringn(e->payload, e->payload_length));
	set_hex(stored, "hmac", e->hmac, sizeof(e->hmac));
	set_hex(stored, "ed25519", e->signature, sizeof(e->signature));
	set_hex(stored, "public_key", e->public_key, sizeof(e->public_key));
	return json_dump_take(stored);
}

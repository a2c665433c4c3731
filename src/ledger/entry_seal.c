#include "base/base.h"

#include <sodium.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "ledger/ledger_int.h"

/* Lengths stand before the texts, so that no two entries give the same bytes. */
static void add_text(struct strbuf *text, const char *value)
{
	strbuf_addf(text, "%zu:%s\n", strlen(value), value);
}

void entry_seal(const unsigned char key[LEDGER_KEY_BYTES], const char *before, const struct ledger_entry *e,
	char ret_seal[SEAL_HEX_SIZE])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	unsigned char mac[crypto_auth_hmacsha256_BYTES];
	strbuf_addstr(&text, "infrarsi ledger entry 1\n");
	add_text(&text, before);
	add_text(&text, e->utc);
	add_text(&text, entry_kind_names[e->kind]);
	strbuf_addf(&text, "%d\n", e->trial);
	add_text(&text, e->signature);
	add_text(&text, e->body);
	crypto_auth_hmacsha256(mac, (const unsigned char *)text.buf, text.len, key);
	hex_encode(mac, sizeof(mac), ret_seal);
}

/* The records of a campaign against its ledger: every receipt that an entry names must be there, be authentic
 * and be the very one that the entry was written for. */
#include "base/base.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "campaign/campaign.h"

static enum err_code check_receipt(const struct campaign *c, const json_t *body, struct err *reterr)
{
	const char *relative = json_text_of(body, "receipt");
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", c->dir, relative);
	struct receipt receipt;
	enum seal_state seal;
	if (!path_is_contained(relative))
		return OK; /* of no receipt of ours: the state refuses such an entry */
	if (!path_exists(path))
		return err_set(reterr, ERR_CONTRACT, "%s is missing", path);
	/* Without the campaign's key it may be of another user: then its signature is taken as it is. */
	const struct receipt_keys *keys = c->keys.has_hmac ? &c->keys : NULL;
	enum err_code code = receipt_read(path, keys, &receipt, &seal, reterr);
	if (code != OK)
		return code == ERR_INPUT ? err_prefix(reterr, ERR_CONTRACT, "a receipt was changed") : code;
	bool same = strcmp(receipt.payload_digest, json_text_of(body, "receipt_digest")) == 0;
	receipt_release(&receipt);
	if (same)
		return OK;
	return err_set(reterr, ERR_CONTRACT, "%s is a receipt, but not the one that the ledger names", path);
}

static enum err_code check_all(const struct campaign *c, struct err *reterr)
{
	struct arena arena = ARENA_INIT;
	struct ledger_entry *entries = NULL;
	size_t n = 0;
	enum err_code code = ledger_read_all(c->ledger, &arena, &entries, &n, reterr);
	for (size_t i = 0; i < n && code == OK; i++) {
		CLEANUP(json_decref_ptr) json_t *body = NULL;
		if (entries[i].kind != ENTRY_FINISHED)
			continue;
		code = json_object_parse(entries[i].body, "ledger", &body, reterr);
		if (code == OK)
			code = check_receipt(c, body, reterr);
	}
	arena_release(&arena);
	return code;
}

enum err_code campaign_check_records(const struct campaign *c, struct err *reterr)
{
	struct err e = ERR_INIT;
	char text[sizeof(e.file) + sizeof(e.message)];
	enum err_code code = check_all(c, &e);
	if (code == OK)
		return OK;
	err_format(&e, text, sizeof(text));
	return err_set(reterr, code, "%s%s", text,
		code == ERR_CONTRACT
			? "\nnext: bring back what was changed, or leave the campaign behind with  "
			  "infrarsi doctor --new"
			: "");
}

/* Bodies of ledger entries: which keys each kind must have, and numbers within bounds. */
#include "base/base.h"

#include <math.h>

#include "base/json.h"
#include "state/state_int.h"

static const char *const value_kind_names[] = {
	"text", "an integer", "a number", "true or false", "an object"};

static const struct {
	enum entry_kind entry;
	const char *key;
	enum value_kind kind;
} required_keys[] = {
	{ENTRY_CAMPAIGN, "id", VALUE_TEXT},
	{ENTRY_CAMPAIGN, "seed", VALUE_INTEGER},
	{ENTRY_CAMPAIGN, "task_digest", VALUE_TEXT},
	{ENTRY_CAMPAIGN, "contract_digest", VALUE_TEXT},
	{ENTRY_CAMPAIGN, "snapshot", VALUE_OBJECT},
	{ENTRY_REGISTERED, "candidate", VALUE_OBJECT},
	{ENTRY_REGISTERED, "decision_id", VALUE_INTEGER},
	{ENTRY_STARTED, "role", VALUE_TEXT},
	{ENTRY_STARTED, "seq", VALUE_INTEGER},
	{ENTRY_STARTED, "nonce", VALUE_TEXT},
	{ENTRY_FINISHED, "role", VALUE_TEXT},
	{ENTRY_FINISHED, "seq", VALUE_INTEGER},
	{ENTRY_FINISHED, "failure", VALUE_TEXT},
	{ENTRY_FINISHED, "verdict", VALUE_OBJECT},
	{ENTRY_FINISHED, "receipt", VALUE_TEXT},
	{ENTRY_FINISHED, "receipt_digest", VALUE_TEXT},
	{ENTRY_INTERRUPTED, "role", VALUE_TEXT},
	{ENTRY_INTERRUPTED, "seq", VALUE_INTEGER},
	{ENTRY_INTERRUPTED, "device_s", VALUE_NUMBER},
	{ENTRY_INTERRUPTED, "reason", VALUE_TEXT},
	{ENTRY_TRANSIENT, "role", VALUE_TEXT},
	{ENTRY_TRANSIENT, "seq", VALUE_INTEGER},
	{ENTRY_TRANSIENT, "device_s", VALUE_NUMBER},
	{ENTRY_TRANSIENT, "reason", VALUE_TEXT},
	{ENTRY_REJECTED, "name", VALUE_TEXT},
	{ENTRY_REJECTED, "by", VALUE_TEXT},
	{ENTRY_REJECTED, "reason", VALUE_TEXT},
	{ENTRY_DECISION, "candidate", VALUE_OBJECT},
	{ENTRY_ACCEPT, "what", VALUE_TEXT},
};

static bool is_kind(const json_t *value, enum value_kind kind)
{
	switch (kind) {
	case VALUE_TEXT:
		return json_is_string(value);
	case VALUE_INTEGER:
		return json_is_integer(value);
	case VALUE_NUMBER:
		return json_is_number(value);
	case VALUE_BOOL:
		return json_is_boolean(value);
	case VALUE_OBJECT:
		return json_is_object(value);
	}
	return false;
}

enum err_code body_require(const json_t *body, const char *key, enum value_kind kind, struct err *reterr)
{
	if (is_kind(json_object_get(body, key), kind))
		return OK;
	return err_set(reterr, ERR_INPUT, "%s: expected %s", key, value_kind_names[kind]);
}

enum err_code err_in_entry(const struct ledger_entry *e, enum err_code code, struct err *reterr)
{
	if (code == OK)
		return OK;
	return err_prefix(
		reterr, code, "ledger entry %lld (%s)", (long long)e->id, entry_kind_names[e->kind]);
}

enum err_code entry_body(const struct ledger_entry *e, json_t **ret_body, struct err *reterr)
{
	CLEANUP(json_decref_ptr) json_t *body = NULL;
	enum err_code code = json_object_parse(e->body, "body", &body, reterr);
	for (size_t i = 0; i < ARRAY_LEN(required_keys) && code == OK; i++)
		if (required_keys[i].entry == e->kind)
			code = body_require(body, required_keys[i].key, required_keys[i].kind, reterr);
	TRY(err_in_entry(e, code, reterr));
	*ret_body = take_ptr(body);
	return OK;
}

bool count_of(const json_t *body, const char *key, int *ret_count)
{
	const json_t *value = json_object_get(body, key);
	json_int_t count = json_integer_value(value);
	if ((value && !json_is_integer(value)) || count < 0 || count > COUNT_MAX)
		return false;
	*ret_count = (int)count;
	return true;
}

double amount_of(const json_t *body, const char *key)
{
	double amount = json_number_of(body, key);
	return isfinite(amount) && amount > 0 ? amount : 0;
}

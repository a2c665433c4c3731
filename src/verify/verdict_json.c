#include "base/base.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "verify/verify.h"

void verdict_to_json(const struct verdict *v, struct strbuf *json)
{
	json_t *object = json_object(), *items = json_object(), *reviews = json_array();
	for (int i = 0; i < N_ITEMS; i++) {
		json_t *item = json_object();
		json_object_set_new(item, "result", json_string(item_result_names[v->items[i].result]));
		json_object_set_new(item, "vetoes", json_boolean(v->items[i].vetoes));
		json_object_set_new(item, "reason", json_from_text(v->items[i].reason));
		json_object_set_new(items, item_infos[i].name, item);
	}
	for (int i = 0; i < v->n_reviews; i++)
		json_array_append_new(reviews, json_from_text(v->reviews[i]));
	json_object_set_new(object, "items", items);
	json_object_set_new(object, "reviews", reviews);
	json_object_set_new(object, "valid", json_boolean(v->valid));
	json_object_set_new(
		object, "primary", v->primary < 0 ? json_null() : json_string(item_infos[v->primary].name));
	CLEANUP(free_ptr) char *text = json_dump_take(object);
	strbuf_addstr(json, text);
}

static bool read_text(const json_t *value, char buf[REASON_SIZE])
{
	const char *text = json_string_value(value);
	if (!text || strlen(text) >= REASON_SIZE)
		return false;
	snprintf(buf, REASON_SIZE, "%s", text);
	return true;
}

static bool read_item(const json_t *item, struct item_verdict *ret_item)
{
	const char *name = json_string_value(json_object_get(item, "result"));
	const json_t *vetoes = json_object_get(item, "vetoes");
	for (size_t i = 0; name && i < ARRAY_LEN(item_result_names); i++) {
		if (strcmp(name, item_result_names[i]) != 0)
			continue;
		ret_item->result = (enum item_result)i;
		ret_item->vetoes = json_is_true(vetoes);
		return json_is_boolean(vetoes) &&
		       read_text(json_object_get(item, "reason"), ret_item->reason);
	}
	return false;
}

static enum err_code read_reviews(const json_t *reviews, struct verdict *v, struct err *reterr)
{
	if (!json_is_array(reviews) || json_array_size(reviews) > MAX_REVIEWS)
		return err_set(reterr, ERR_INPUT, "verdict: reviews: expected an array of at most %d strings",
			MAX_REVIEWS);
	v->n_reviews = (int)json_array_size(reviews);
	for (int i = 0; i < v->n_reviews; i++)
		if (!read_text(json_array_get(reviews, (size_t)i), v->reviews[i]))
			return err_set(reterr, ERR_INPUT,
				"verdict: reviews[%d]: expected a string of fewer "
				"than %d bytes",
				i, REASON_SIZE);
	return OK;
}

static enum err_code read_primary(const json_t *primary, struct verdict *v, struct err *reterr)
{
	const char *name = json_string_value(primary);
	v->primary = -1;
	for (int i = 0; name && i < N_ITEMS; i++)
		if (strcmp(name, item_infos[i].name) == 0)
			v->primary = i;
	if (!json_is_null(primary) && v->primary < 0)
		return err_set(reterr, ERR_INPUT, "verdict: primary: expected the name of an item or null");
	return OK;
}

enum err_code verdict_from_json(const char *json, struct verdict *ret_verdict, struct err *reterr)
{
	CLEANUP(json_decref_ptr) json_t *object = NULL;
	TRY(json_object_parse(json, "verdict", &object, reterr));
	struct verdict v;
	memset(&v, 0, sizeof(v));
	const json_t *items = json_object_get(object, "items"), *valid = json_object_get(object, "valid");
	for (int i = 0; i < N_ITEMS; i++)
		if (!read_item(json_object_get(items, item_infos[i].name), &v.items[i]))
			return err_set(reterr, ERR_INPUT,
				"verdict: items.%s: expected a result, vetoes and a reason",
				item_infos[i].name);
	if (json_object_size(items) != N_ITEMS)
		return err_set(reterr, ERR_INPUT, "verdict: items: expected %d items", N_ITEMS);
	if (!json_is_boolean(valid))
		return err_set(reterr, ERR_INPUT, "verdict: valid: expected true or false");
	v.valid = json_is_true(valid);
	TRY(read_primary(json_object_get(object, "primary"), &v, reterr));
	TRY(read_reviews(json_object_get(object, "reviews"), &v, reterr));
	*ret_verdict = v;
	return OK;
}

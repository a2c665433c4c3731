/* From a case to receipts: payloads, chained, signed, opened. */
#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "event/receipt.h"
#include "matrix/matrix_int.h"

static const char campaign[] = "matrix";

bool op_is_about(const struct matrix_op *op, const struct doc *doc)
{
	return op->who == WHO_ALL || (op->who == doc->who && (op->index == 0 || op->index == doc->index));
}

struct doc *docs_find(struct docs *docs, enum who who, int index)
{
	for (size_t i = 0; i < docs->n; i++)
		if (docs->all[i].who == who && docs->all[i].index == index)
			return &docs->all[i];
	return NULL;
}

void doc_set_updates(struct doc *doc, int n)
{
	json_t *updates = json_object_get(doc->payload, "updates"), *column;
	const char *name;
	json_object_foreach(updates, name, column)
	{
		while (json_array_size(column) > (size_t)n)
			json_array_remove(column, json_array_size(column) - 1);
		while (json_array_size(column) < (size_t)n)
			json_array_append_new(
				column, strcmp(name, "update") == 0
						? json_integer((json_int_t)json_array_size(column) + 1)
					: strcmp(name, "data") == 0 ? json_string("")
								    : json_null());
	}
}

static json_t *skeleton(enum who who, int64_t seq, int trial)
{
	struct receipt r;
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT;
	receipt_init(&r);
	r.role = who == WHO_REFERENCES ? ROLE_REFERENCE : ROLE_SEARCH;
	r.campaign = campaign;
	r.seq = seq;
	r.trial = trial;
	r.nonce = arena_printf(&r.arena, "nonce-%lld", (long long)seq);
	r.created_utc = "2026-11-29T22:48:22Z";
	r.candidate_json = "{\"patches\":[],\"settings\":{}}";
	r.terms.updates = UPDATES_BY_DEFAULT;
	receipt_to_json(&r, &json);
	receipt_release(&r);
	return json_loads(json.buf, 0, NULL);
}

static void add_docs(struct docs *docs, enum who who, int n)
{
	for (int i = 1; i <= n && docs->n < MATRIX_MAX_RECEIPTS; i++) {
		int trial = who == WHO_REFERENCES ? 0 : i;
		struct doc doc = {who, i, skeleton(who, (int64_t)docs->n + 1, trial), false, false};
		doc_set_updates(&doc, UPDATES_BY_DEFAULT);
		docs->all[docs->n++] = doc;
	}
}

void docs_init(const struct matrix_case *c, struct docs *ret_docs)
{
	ret_docs->n = 0;
	add_docs(ret_docs, WHO_REFERENCES, c->n_references);
	add_docs(ret_docs, WHO_TRIALS, c->n_trials);
	add_docs(ret_docs, WHO_CANDIDATE, 1);
	struct doc *candidate = &ret_docs->all[ret_docs->n - 1];
	json_object_set_new(candidate->payload, "trial", json_integer(c->n_trials + 1));
}

void docs_release(struct docs *docs)
{
	for (size_t i = 0; i < docs->n; i++)
		json_decref(docs->all[i].payload);
	docs->n = 0;
}

static bool is_about_fields(enum verb verb)
{
	return verb <= VERB_PATCH;
}

enum err_code docs_build(const struct matrix_case *c, struct docs *ret_docs, struct err *reterr)
{
	docs_init(c, ret_docs);
	for (size_t i = 0; i < c->n_ops; i++) {
		enum err_code code =
			is_about_fields(c->ops[i].verb) ? edit_apply(&c->ops[i], ret_docs, reterr) : OK;
		if (code != OK) {
			docs_release(ret_docs);
			return code;
		}
	}
	return OK;
}

static enum err_code wish_for_place(
	const struct matrix_op *op, struct docs *docs, size_t *ret_place, struct err *reterr)
{
	const struct doc *doc = docs_find(docs, op->who, op->who == WHO_CANDIDATE ? 1 : op->index);
	if (!doc)
		return op_error(reterr, op, "expected one receipt of this case, such as references.1");
	*ret_place = (size_t)(doc - docs->all);
	return OK;
}

static enum err_code wish_omit(
	const struct matrix_op *op, struct docs *docs, struct seal_wishes *w, struct err *reterr)
{
	int n = 0;
	for (size_t i = 0; i < docs->n; i++)
		if (op_is_about(op, &docs->all[i]))
			w->omit[i] = ++n > 0;
	return n ? OK : op_error(reterr, op, "there is no such receipt in this case");
}

static enum err_code wish_unsign(const struct matrix_op *op, struct seal_wishes *w, struct err *reterr)
{
	static const char *const keys[] = {"hmac", "ed25519", "public_key"};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strcmp(op->value, keys[i]) == 0)
			w->unsign = keys[i];
	return w->unsign ? OK : op_error(reterr, op, "expected hmac, ed25519 or public_key");
}

static enum err_code read_wish(
	const struct matrix_op *op, struct docs *docs, struct seal_wishes *w, struct err *reterr)
{
	switch (op->verb) {
	case VERB_EDIT:
		if (op->who != WHO_CANDIDATE || w->n_edits == ARRAY_LEN(w->edits))
			return op_error(reterr, op, "expected a field of the candidate's, %zu times at most",
				ARRAY_LEN(w->edits));
		w->edits[w->n_edits++] = op;
		return OK;
	case VERB_UNSIGN:
		return wish_unsign(op, w, reterr);
	case VERB_SIGN:
		w->stranger = strcmp(op->value, "stranger") == 0;
		return w->stranger ? OK : op_error(reterr, op, "expected stranger");
	case VERB_CUT:
		w->cut = op;
		return OK;
	case VERB_TWICE:
		w->twice = true;
		return OK;
	case VERB_WHOLE:
		w->whole = true;
		return OK;
	case VERB_OMIT:
		return wish_omit(op, docs, w, reterr);
	case VERB_JUDGE:
		return wish_for_place(op, docs, &w->judged, reterr);
	case VERB_DUEL:
		w->duel = op;
		return OK;
	default:
		return OK;
	}
}

enum err_code wishes_read(
	const struct matrix_case *c, struct docs *docs, struct seal_wishes *ret_wishes, struct err *reterr)
{
	struct seal_wishes w = {.judged = docs->n - 1};
	for (size_t i = 0; i < c->n_ops; i++)
		TRY(read_wish(&c->ops[i], docs, &w, reterr));
	if (w.omit[w.judged])
		return err_set_at(
			reterr, ERR_INPUT, c->file, 0, 0, "the receipt that is to be judged is left out");
	*ret_wishes = w;
	return OK;
}

/* Every receipt names the one before it and the reference runs before it, as a campaign's do. */
static void fill_chain(struct docs *docs, size_t place, char digests[][SHA256_HEX_SIZE])
{
	struct doc *doc = &docs->all[place];
	if (!doc->prev_given && place > 0)
		json_object_set_new(doc->payload, "prev", json_string(digests[place - 1]));
	json_t *references = json_object_get(doc->payload, "references"), *named = json_array();
	for (size_t i = 0; i < place; i++)
		if (docs->all[i].who == WHO_REFERENCES)
			json_array_append_new(named, json_string(digests[i]));
	if (doc->digests_given)
		json_decref(named);
	else
		json_object_set_new(references, "digests", named);
}

static char *dump(const json_t *payload)
{
	return json_dump_take(json_incref((json_t *)payload));
}

/* What somebody does to a file once it is signed. */
static enum err_code tamper(
	struct docs *docs, const struct seal_wishes *w, struct strbuf *stored, struct err *reterr)
{
	json_t *envelope = json_loadb(stored->buf, stored->len, 0, NULL);
	enum err_code code = OK;
	for (size_t i = 0; i < w->n_edits && code == OK; i++)
		code = edit_apply_to(w->edits[i], docs, &docs->all[w->judged], reterr);
	if (code == OK && w->n_edits) {
		CLEANUP(free_ptr) char *payload = dump(docs->all[w->judged].payload);
		json_object_set_new(envelope, "payload", json_string(payload));
	}
	if (code == OK && w->unsign)
		json_object_set_new(envelope, w->unsign, json_string(""));
	CLEANUP(free_ptr) char *text = json_dump_take(envelope);
	strbuf_clear(stored);
	strbuf_addstr(stored, text);
	return code;
}

static enum err_code cut(const struct matrix_op *op, struct strbuf *stored, struct err *reterr)
{
	double kept;
	if (strchr(op->value, '%') && parse_fraction(op->value, &kept))
		kept *= (double)stored->len;
	else if (!parse_number(op->value, &kept))
		kept = -1;
	if (!(kept >= 0 && kept <= (double)stored->len))
		return op_error(reterr, op, "expected bytes to keep, such as 100 or 50%%, at most all %zu",
			stored->len);
	stored->len = (size_t)kept;
	return OK;
}

enum err_code set_build(struct docs *docs, const struct seal_wishes *w, const struct receipt_keys *keys,
	struct receipt_set *set, size_t *ret_judged, struct err *reterr)
{
	char digests[MATRIX_MAX_RECEIPTS][SHA256_HEX_SIZE];
	for (size_t i = 0; i < docs->n; i++) {
		bool judged = i == w->judged;
		CLEANUP(strbuf_release) struct strbuf stored = STRBUF_INIT;
		fill_chain(docs, i, digests);
		CLEANUP(free_ptr) char *payload = dump(docs->all[i].payload);
		sha256_hex(payload, strlen(payload), digests[i]);
		TRY(receipt_seal_payload(
			payload, strlen(payload), &keys[judged && w->stranger], &stored, reterr));
		if (judged && (w->n_edits || w->unsign))
			TRY(tamper(docs, w, &stored, reterr));
		if (judged && w->cut)
			TRY(cut(w->cut, &stored, reterr));
		char name[32];
		snprintf(name, sizeof(name), "%04zu.json", i + 1);
		for (int k = 0; !w->omit[i] && k < (judged && w->twice ? 2 : 1); k++) {
			if (judged)
				*ret_judged = set->n;
			receipt_set_add_bytes(set, k ? "copy.json" : name, stored.buf, stored.len, judged);
		}
	}
	return OK;
}

#include "base/base.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "cli/verify_print.h"
#include "event/receipt.h"
#include "verify/verify.h"

enum { WIDEST_NAME = 60 };

/* "edited: the HMAC does not fit": the name of the refusal in front, whoever wrote the message. */
static void add_refusal(const struct set_file *file, struct strbuf *text)
{
	const char *name = refusal_names[file->refusal], *message = file->why.message;
	if (strncmp(message, name, strlen(name)) != 0)
		strbuf_addf(text, "%s: ", name);
	strbuf_add_escaped(text, message, strlen(message));
	if (file->why.line)
		strbuf_addf(text, " (line %d, column %d)", file->why.line, file->why.column);
}

static void add_counts(const struct verdict *v, struct strbuf *text)
{
	int counts[ARRAY_LEN(item_result_names)] = {0};
	for (int i = 0; i < N_ITEMS; i++)
		counts[v->items[i].result]++;
	for (size_t k = 0, n = 0; k < ARRAY_LEN(counts); k++)
		if (counts[k])
			strbuf_addf(text, "%s%d %s", n++ ? ", " : "", counts[k], item_result_names[k]);
}

static void add_why(const struct set_file *file, struct strbuf *text)
{
	const struct verdict *v = &file->verdict;
	size_t named = file->receipt.n_reference_digests;
	if (v->primary >= 0)
		strbuf_addf(text, "L%d %s: %s", item_infos[v->primary].layer, item_infos[v->primary].name,
			v->items[v->primary].reason);
	else
		add_counts(v, text);
	if (file->n_references < named)
		strbuf_addf(text, "; judged against %zu of %zu references", file->n_references, named);
	if (file->seal == SEAL_ED25519)
		strbuf_addstr(text, "; Ed25519 only, the campaign's key is not here");
}

void verify_add_items(const struct verdict *v, int indent, struct strbuf *text)
{
	for (int i = 0; i < N_ITEMS; i++)
		strbuf_addf(text, "%*sL%d %-22s %-9s %s\n", indent, "", item_infos[i].layer,
			item_infos[i].name, item_result_names[v->items[i].result], v->items[i].reason);
}

static void add_run(const struct receipt *r, struct strbuf *text)
{
	char run[64];
	if (r->trial > 0)
		snprintf(run, sizeof(run), "%s, trial %d", receipt_role_names[r->role], r->trial);
	else
		snprintf(run, sizeof(run), "%s", receipt_role_names[r->role]);
	strbuf_addf(text, "%-20s  ", run);
}

static void add_row(const struct set_file *file, size_t width, bool details, struct strbuf *text)
{
	size_t begin = text->len;
	strbuf_add_escaped(text, file->path, strlen(file->path));
	size_t used = text->len - begin;
	strbuf_addf(text, "%*s  ", used < width ? (int)(width - used) : 0, "");
	if (!file->judged) {
		strbuf_addstr(text, "REFUSED  ");
		add_refusal(file, text);
		strbuf_addch(text, '\n');
		return;
	}
	const struct verdict *v = &file->verdict;
	strbuf_addf(text, "%-7s  ", v->valid ? "valid" : "INVALID");
	add_run(&file->receipt, text);
	add_why(file, text);
	strbuf_addch(text, '\n');
	for (int i = 0; i < v->n_reviews; i++)
		strbuf_addf(text, "%*s  review   %s\n", (int)width, "", v->reviews[i]);
	if (details)
		verify_add_items(v, 4, text);
}

static size_t widest_name(const struct receipt_set *set)
{
	size_t width = strlen("FILE");
	for (size_t i = 0; i < set->n; i++) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
		if (!set->files[i].given)
			continue;
		strbuf_add_escaped(&shown, set->files[i].path, strlen(set->files[i].path));
		if (shown.len <= WIDEST_NAME)
			width = MAX_OF(width, shown.len);
	}
	return width;
}

void verify_add_table(const struct receipt_set *set, bool details, struct strbuf *text)
{
	size_t width = widest_name(set);
	int valid = 0, invalid = 0, refused = 0, held = 0;
	strbuf_addf(text, "%-*s  %-7s  %-20s  %s\n", (int)width, "FILE", "VERDICT", "RUN", "WHY");
	for (size_t i = 0; i < set->n; i++) {
		const struct set_file *file = &set->files[i];
		if (!file->given)
			continue;
		refused += !file->judged;
		valid += file->judged && file->verdict.valid;
		invalid += file->judged && !file->verdict.valid;
		held += file->judged && file->verdict.valid && file->verdict.n_reviews > 0;
		add_row(file, width, details, text);
	}
	strbuf_addf(text, "%d valid, %d invalid, %d refused\n", valid, invalid, refused);
	if (held)
		strbuf_addf(text, "%d of the valid ones held for review\n", held);
}

static json_t *reviews_json(const struct verdict *v)
{
	json_t *array = json_array();
	for (int i = 0; i < v->n_reviews; i++) {
		enum review kind = review_kind_of(v->reviews[i]);
		json_t *review = json_object();
		json_object_set_new(review, "kind",
			kind < N_REVIEW_KINDS ? json_string(review_names[kind]) : json_null());
		json_object_set_new(review, "text", json_from_text(v->reviews[i]));
		json_array_append_new(array, review);
	}
	return array;
}

static json_t *primary_json(const struct verdict *v)
{
	if (v->primary < 0)
		return json_null();
	json_t *primary = json_object();
	json_object_set_new(primary, "item", json_string(item_infos[v->primary].name));
	json_object_set_new(primary, "layer", json_integer(item_infos[v->primary].layer));
	json_object_set_new(primary, "reason", json_from_text(v->items[v->primary].reason));
	return primary;
}

static void add_judged_json(const struct set_file *file, json_t *row)
{
	const struct receipt *r = &file->receipt;
	CLEANUP(strbuf_release) struct strbuf verdict = STRBUF_INIT;
	verdict_to_json(&file->verdict, &verdict);
	json_object_set_new(row, "verdict", json_loads(verdict.buf, 0, NULL));
	json_object_set_new(row, "valid", json_boolean(file->verdict.valid));
	json_object_set_new(row, "primary", primary_json(&file->verdict));
	json_object_set_new(row, "reviews", reviews_json(&file->verdict));
	json_object_set_new(row, "references_named", json_integer((json_int_t)r->n_reference_digests));
	json_object_set_new(row, "references_found", json_integer((json_int_t)file->n_references));
}

static json_t *row_json(const struct set_file *file)
{
	json_t *row = json_object();
	json_object_set_new(row, "file", json_from_text(file->path));
	json_object_set_new(
		row, "seal", file->has_receipt ? json_string(seal_state_names[file->seal]) : json_null());
	if (file->judged) {
		json_object_set_new(row, "refused", json_null());
		json_object_set_new(row, "refusal", json_null());
	} else {
		CLEANUP(strbuf_release) struct strbuf why = STRBUF_INIT;
		add_refusal(file, &why);
		json_object_set_new(row, "refused", json_from_text(why.buf));
		json_object_set_new(row, "refusal", json_string(refusal_names[file->refusal]));
	}
	if (file->has_receipt) {
		const struct receipt *r = &file->receipt;
		json_object_set_new(row, "role", json_string(receipt_role_names[r->role]));
		json_object_set_new(row, "trial", json_integer(r->trial));
		json_object_set_new(row, "campaign", json_from_text(r->campaign));
		json_object_set_new(row, "seq", json_integer(r->seq));
		json_object_set_new(row, "digest", json_string(r->payload_digest));
	}
	if (file->judged)
		add_judged_json(file, row);
	return row;
}

void verify_add_json(const struct receipt_set *set, struct strbuf *text)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < set->n; i++)
		if (set->files[i].given)
			json_array_append_new(rows, row_json(&set->files[i]));
	CLEANUP(free_ptr) char *dump = json_dump_pretty_take(rows);
	strbuf_addf(text, "%s\n", dump);
}

/* The lines of a case that change what a receipt says. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "base/units.h"
#include "matrix/matrix_int.h"

struct edit {
	const struct matrix_op *op;
	struct docs *docs;
	struct doc *doc;
	double numbers[2]; /* of line, add, noise, round */
	struct doc *from;  /* of copy */
	int later;
	struct slot first; /* of swap */
	int n_slots;
};

static double number_of(const json_t *value)
{
	const char *text = json_string_value(value);
	if (json_is_number(value))
		return json_number_value(value);
	if (text && strcmp(text, "nan") == 0)
		return NAN;
	if (text && strcmp(text, "inf") == 0)
		return INFINITY;
	return text && strcmp(text, "-inf") == 0 ? -INFINITY : NAN;
}

/* A whole number stays one: the schema has fields that take no other. */
static json_t *number_like(const json_t *old, double value)
{
	if (isnan(value))
		return json_string("nan");
	if (isinf(value))
		return json_string(value > 0 ? "inf" : "-inf");
	if (json_is_integer(old) && value == floor(value) && fabs(value) < 9e15)
		return json_integer((json_int_t)value);
	return json_real(value);
}

/* "x0.5", "+0.4%", "-3%": the factor to multiply with. */
static bool relative_factor(const char *text, double *ret_factor)
{
	char number[32];
	size_t length = strlen(text);
	double percent;
	if (*text == 'x')
		return parse_number(text + 1, ret_factor);
	if ((*text != '+' && *text != '-') || text[length - 1] != '%' || length >= sizeof(number))
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)(length - 2), text + 1);
	if (!parse_number(number, &percent))
		return false;
	*ret_factor = 1 + (*text == '-' ? -percent : percent) / 100;
	return true;
}

/* A value as people write it: JSON, an amount of memory, a percentage, or a bare word. */
static json_t *literal(const char *text)
{
	double number;
	json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	if (json)
		return json;
	if (strchr(text, 'B') && parse_bytes(text, &number))
		return json_real(number);
	if (strchr(text, '%') && parse_fraction(text, &number))
		return json_real(number);
	return json_from_text(text);
}

static enum err_code set_value(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	const json_t *old = slot_get(slot);
	double factor;
	if (!relative_factor(e->op->value, &factor)) {
		slot_set(slot, literal(e->op->value));
		return OK;
	}
	if (!json_is_number(old))
		return op_error(reterr, e->op, "'%s' has no number that '%s' could change", e->op->path,
			e->op->value);
	slot_set(slot, number_like(old, number_of(old) * factor));
	return OK;
}

/* As if it had never been said. */
static enum err_code drop_value(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	const json_t *old = slot_get(slot);
	(void)reterr;
	(void)e;
	if (json_is_array(old))
		slot_set(slot, json_array());
	else
		slot_set(slot, json_is_string(old) ? json_string("") : json_null());
	return OK;
}

static enum err_code add_number(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	const json_t *old = slot_get(slot);
	if (!json_is_number(old))
		return op_error(reterr, e->op, "'%s' has no number to add to", e->op->path);
	slot_set(slot, number_like(old, number_of(old) + e->numbers[0]));
	return OK;
}

/* Normal, relative: the same numbers for the same seed and update, on every machine. */
static enum err_code add_noise(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	const json_t *old = slot_get(slot);
	struct random random;
	if (!json_is_number(old))
		return op_error(reterr, e->op, "'%s' has no number to add noise to", e->op->path);
	random_init(&random, (uint64_t)e->numbers[1], "matrix", (uint64_t)slot->update);
	double factor = 1 + e->numbers[0] * random_normal(&random);
	slot_set(slot, number_like(NULL, number_of(old) * factor));
	return OK;
}

/* To so many decimals, as a log prints them. */
static enum err_code round_number(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	const json_t *old = slot_get(slot);
	char text[64];
	if (!json_is_number(old))
		return op_error(reterr, e->op, "'%s' has no number to round", e->op->path);
	snprintf(text, sizeof(text), "%.*f", (int)e->numbers[0], number_of(old));
	slot_set(slot, number_like(old, strtod(text, NULL)));
	return OK;
}

/* A + B * update */
static enum err_code set_line(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	(void)reterr;
	slot_set(slot, number_like(NULL, e->numbers[0] + e->numbers[1] * slot->update));
	return OK;
}

/* A digest of the text (and of the update's number, in a column): as long as the field takes. */
static enum err_code set_hash(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	char text[256], hex[SHA256_HEX_SIZE];
	(void)reterr;
	if (slot->update)
		snprintf(text, sizeof(text), "%s %d", e->op->value, slot->update);
	else
		snprintf(text, sizeof(text), "%s", e->op->value);
	sha256_hex(text, strlen(text), hex);
	if (slot->update)
		hex[SHA256_HEX_SIZE / 2] = '\0';
	slot_set(slot, json_string(hex));
	return OK;
}

struct taken {
	int update;
	json_t *value; /* borrowed; NULL = there is none */
};

static enum err_code take_value(void *context, const struct slot *slot, struct err *reterr)
{
	struct taken *t = context;
	(void)reterr;
	if (slot->update == t->update)
		t->value = slot_get(slot);
	return OK;
}

/* From the same field of another receipt, of an earlier update where `later` says so. */
static enum err_code copy_value(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	struct taken t = {slot->update ? slot->update - e->later : 0, NULL};
	struct matrix_op every = *e->op;
	char path[128];
	if (slot->update) {
		const char *column = strrchr(e->op->path, '.');
		snprintf(path, sizeof(path), "updates.*%s", column ? column : "");
		every.path = path;
	}
	TRY(path_visit(e->from->payload, &every, take_value, &t, reterr));
	if (t.value)
		slot_set(slot, json_deep_copy(t.value));
	return OK;
}

static enum err_code swap_values(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	if (++e->n_slots == 1) {
		e->first = *slot;
		return OK;
	}
	if (e->n_slots > 2)
		return op_error(reterr, e->op, "'%s': expected two places to swap", e->op->path);
	json_t *first = json_incref(slot_get(&e->first));
	slot_set(&e->first, json_incref(slot_get(slot)));
	slot_set(slot, first);
	return OK;
}

static enum err_code remove_field(void *context, const struct slot *slot, struct err *reterr)
{
	struct edit *e = context;
	if (!slot->key)
		return op_error(reterr, e->op, "'%s': expected a field of an object", e->op->path);
	char key[64];
	snprintf(key, sizeof(key), "%s", slot->key);
	json_object_del(slot->container, key);
	return OK;
}

static enum err_code read_numbers(struct edit *e, int wanted, const char *expected, struct err *reterr)
{
	const char *text = e->op->value;
	char *end = NULL;
	for (int i = 0; i < wanted; i++) {
		e->numbers[i] = strtod(text, &end);
		if (end == text || !isfinite(e->numbers[i]))
			return op_error(reterr, e->op, "expected %s", expected);
		if (*end == '%') {
			e->numbers[i] /= 100;
			end++;
		}
		text = end;
	}
	while (end && *end == ' ')
		end++;
	return end && *end ? op_error(reterr, e->op, "expected %s", expected) : OK;
}

static enum err_code read_source(struct edit *e, struct err *reterr)
{
	static const char expected[] = "from references.N or from trials.N, then nothing or later N";
	int index = 0, used = 0;
	char who[16];
	if (sscanf(e->op->value, "from %15[a-z].%d%n", who, &index, &used) < 2)
		return op_error(reterr, e->op, "expected %s", expected);
	e->from = docs_find(e->docs, strcmp(who, "trials") == 0 ? WHO_TRIALS : WHO_REFERENCES, index);
	if (!e->from || (strcmp(who, "trials") != 0 && strcmp(who, "references") != 0))
		return op_error(reterr, e->op, "there is no %s.%d", who, index);
	const char *rest = e->op->value + used;
	if (*rest && (sscanf(rest, " later %d%n", &e->later, &used) < 1 || rest[used]))
		return op_error(reterr, e->op, "expected %s", expected);
	return OK;
}

/* The last component of the path is a field that the receipt does not have yet. */
static enum err_code insert_field(struct edit *e, struct err *reterr)
{
	if (strchr(e->op->path, '.') || json_object_get(e->doc->payload, e->op->path))
		return op_error(reterr, e->op, "expected a field that a receipt does not have");
	json_object_set_new(e->doc->payload, e->op->path, literal(e->op->value));
	return OK;
}

static enum err_code add_patch(struct edit *e, struct err *reterr)
{
	char hex[SHA256_HEX_SIZE];
	json_t *patches = json_object_get(json_object_get(e->doc->payload, "candidate"), "patches");
	sha256_hex(e->op->value, strlen(e->op->value), hex);
	if (json_array_append_new(patches, json_string(hex)) != 0)
		return op_error(reterr, e->op, "candidate.patches is no list any more");
	return OK;
}

static enum err_code set_length(struct edit *e, struct err *reterr)
{
	int64_t n;
	if (!parse_integer(e->op->value, &n) || n < 0 || n > MATRIX_MAX_UPDATES)
		return op_error(reterr, e->op, "expected a number of updates up to %d", MATRIX_MAX_UPDATES);
	doc_set_updates(e->doc, (int)n);
	return OK;
}

static const struct {
	slot_fn fn;
	int numbers;
	const char *expected; /* of the value; NULL = anything */
} verbs[N_VERBS] = {
	[VERB_SET] = {set_value, 0, NULL},
	[VERB_EDIT] = {set_value, 0, NULL},
	[VERB_DROP] = {drop_value, 0, NULL},
	[VERB_ADD] = {add_number, 1, "a number to add"},
	[VERB_NOISE] = {add_noise, 2, "a standard deviation such as 0.1% and a seed"},
	[VERB_ROUND] = {round_number, 1, "a number of decimals"},
	[VERB_LINE] = {set_line, 2, "two numbers A B, for A + B * update"},
	[VERB_HASH] = {set_hash, 0, NULL},
	[VERB_COPY] = {copy_value, 0, NULL},
	[VERB_SWAP] = {swap_values, 0, NULL},
	[VERB_REMOVE] = {remove_field, 0, NULL},
};

static enum err_code visit_fields(struct edit *e, struct err *reterr)
{
	const struct matrix_op *op = e->op;
	if (verbs[op->verb].numbers)
		TRY(read_numbers(e, verbs[op->verb].numbers, verbs[op->verb].expected, reterr));
	if (op->verb == VERB_COPY)
		TRY(read_source(e, reterr));
	if (op->verb == VERB_ROUND && !(e->numbers[0] >= 0 && e->numbers[0] <= 15))
		return op_error(reterr, op, "expected 0 to 15 decimals");
	TRY(path_visit(e->doc->payload, op, verbs[op->verb].fn, e, reterr));
	if (op->verb == VERB_SWAP && e->n_slots != 2)
		return op_error(reterr, op, "'%s': expected two places to swap", op->path);
	e->doc->prev_given |= strcmp(op->path, "prev") == 0;
	e->doc->digests_given |= strncmp(op->path, "references.digests", 18) == 0;
	return OK;
}

enum err_code edit_apply_to(
	const struct matrix_op *op, struct docs *docs, struct doc *doc, struct err *reterr)
{
	struct edit e = {.op = op, .docs = docs, .doc = doc};
	switch (op->verb) {
	case VERB_INSERT:
		return insert_field(&e, reterr);
	case VERB_PATCH:
		return add_patch(&e, reterr);
	case VERB_RAN:
		return set_length(&e, reterr);
	default:
		return visit_fields(&e, reterr);
	}
}

enum err_code edit_apply(const struct matrix_op *op, struct docs *docs, struct err *reterr)
{
	int n = 0;
	for (size_t i = 0; i < docs->n; i++) {
		if (!op_is_about(op, &docs->all[i]))
			continue;
		TRY(edit_apply_to(op, docs, &docs->all[i], reterr));
		n++;
	}
	return n ? OK : op_error(reterr, op, "there is no such receipt in this case");
}

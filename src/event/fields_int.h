/*
 * Tables of fields: one table describes a JSON object and the part of a struct that mirrors it, and drives
 * both the writer and the strict reader. Internal to event/.
 */
#ifndef INFRARSI_EVENT_FIELDS_INT_H
#define INFRARSI_EVENT_FIELDS_INT_H

#include <jansson.h>

#include "base/base.h"
#include "base/memory.h"
#include "event/event.h"

enum field_type {
	FIELD_BOOL,
	FIELD_INT,    /* int within low .. high */
	FIELD_INT64,  /* int64_t within low .. high */
	FIELD_REAL,   /* double, finite, within low .. high */
	FIELD_MAYBE,  /* double, NAN = null */
	FIELD_OPT,    /* struct opt_number; null, a number or "nan", "inf", "-inf" */
	FIELD_TEXT,   /* const char *, NULL is written as "" */
	FIELD_DIGEST, /* char[65]: "" or 64 hex digits */
	FIELD_HALF,   /* char[33]: "" or 32 hex digits */
	FIELD_ENUM,   /* int, one of names[0 .. n_names-1] */
	FIELD_TEXTS,  /* const char **, its size_t at count_offset */
	FIELD_JSON,   /* const char *: canonical text of an object, NULL = null */
	FIELD_PHASES, /* struct opt_number[N_PHASES] as an object */
};

struct field {
	const char *key;
	enum field_type type;
	size_t offset;
	double low, high;
	const char *const *names; /* FIELD_ENUM */
	size_t n_names;
	size_t count_offset; /* FIELD_TEXTS */
};

/* Where a value stands: "receipts/0007.json: updates.loss[3]". */
struct json_place {
	const char *file, *path;
};

json_t *json_fields_write(const struct field *fields, size_t n_fields, const void *from);
/* Every field must be there; keys that are neither in the table nor in `others` (NULL-terminated, may be
 * NULL) are errors. */
enum err_code json_fields_read(const json_t *object, const struct json_place *place,
	const struct field *fields, size_t n_fields, const char *const *others, struct arena *arena, void *to,
	struct err *reterr) MUST_CHECK;

json_t *json_field_write(const struct field *f, const void *from);
enum err_code json_field_read(const json_t *value, const struct json_place *place, const struct field *f,
	struct arena *arena, void *to, struct err *reterr) MUST_CHECK;

/* "FILE: PATH: expected WHAT" */
enum err_code json_expected(struct err *reterr, const struct json_place *place, const char *what) MUST_CHECK;

struct receipt;
/* receipt_from_json() from a document that is parsed already. */
enum err_code receipt_from_value(
	const char *path, const json_t *object, struct receipt *ret_receipt, struct err *reterr) MUST_CHECK;

#endif

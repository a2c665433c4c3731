/*
 * Small readers and writers over jansson for records of our own making (ledger bodies, results). A number
 * that is not finite or not known is null in JSON and NAN in C.
 */
#ifndef INFRARSI_BASE_JSON_H
#define INFRARSI_BASE_JSON_H

#include <jansson.h>

#include "base/base.h"

const char *json_text_of(const json_t *object, const char *key); /* borrowed; "" when absent or no string */
double json_number_of(const json_t *object, const char *key);    /* NAN when absent or no number */
int64_t json_integer_of(const json_t *object, const char *key);  /* 0 when absent or no integer */
bool json_bool_of(const json_t *object, const char *key);        /* false when absent or no boolean */
json_t *json_from_number(double value);                          /* new; null for NaN and infinities */
/* Escapes what is not UTF-8, so that any bytes can be recorded. */
json_t *json_from_text(const char *text);
/* Compact, sorted keys, 17 digits: canonical. Takes the reference; the text comes from malloc. */
char *json_dump_take(json_t *json);
char *json_dump_pretty_take(json_t *json);
/* An object from text; what: named in the error. */
enum err_code json_object_parse(
	const char *text, const char *what, json_t **ret_object, struct err *reterr) MUST_CHECK;
void json_decref_ptr(json_t **json); /* for CLEANUP() */

#endif

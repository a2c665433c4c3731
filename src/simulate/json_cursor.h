/*
 * Reading JSON that anybody may have written: a place in a document that knows its path, so that every error
 * names file, path and what was expected.
 *
 *     TRY(cursor_member(&root, "knobs", &knobs, reterr));
 *     for (size_t i = 0; i < cursor_size(&knobs); i++) {
 *             struct cursor knob = cursor_element(&knobs, i);
 *             TRY(cursor_only(&knob, keys, ARRAY_LEN(keys), reterr));
 *
 * Paths live in the arena, and so does text.
 */
#ifndef INFRARSI_SIMULATE_JSON_CURSOR_H
#define INFRARSI_SIMULATE_JSON_CURSOR_H

#include <jansson.h>

#include "base/base.h"
#include "base/memory.h"

struct cursor {
	const char *file;
	struct arena *arena;
	const char *where; /* "knobs[3].settings" */
	const json_t *value;
};

enum err_code cursor_fail(const struct cursor *c, struct err *reterr, const char *expected, ...)
	PRINTF_LIKE(3, 4);
bool cursor_has(const struct cursor *c, const char *key);
/* ERR_INPUT where it is absent. */
enum err_code cursor_member(
	const struct cursor *c, const char *key, struct cursor *ret_member, struct err *reterr) MUST_CHECK;
/* The value must be an object with these keys only; says which one was meant. */
enum err_code cursor_only(
	const struct cursor *c, const char *const *keys, size_t n_keys, struct err *reterr) MUST_CHECK;
/* An array of `least` to `most` elements. */
enum err_code cursor_array(
	const struct cursor *c, size_t least, size_t most, size_t *ret_size, struct err *reterr) MUST_CHECK;
struct cursor cursor_element(const struct cursor *c, size_t index);
enum err_code cursor_number(
	const struct cursor *c, double low, double high, double *ret_value, struct err *reterr) MUST_CHECK;
enum err_code cursor_integer(
	const struct cursor *c, int low, int high, int *ret_value, struct err *reterr) MUST_CHECK;
enum err_code cursor_bool(const struct cursor *c, bool *ret_value, struct err *reterr) MUST_CHECK;
/* 1 to `most` bytes, printable; in the arena. */
enum err_code cursor_text(
	const struct cursor *c, size_t most, const char **ret_text, struct err *reterr) MUST_CHECK;
/* A member that is a number. */
enum err_code cursor_number_of(const struct cursor *c, const char *key, double low, double high,
	double *ret_value, struct err *reterr) MUST_CHECK;

#endif

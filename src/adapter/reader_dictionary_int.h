/*
 * Dictionaries as Python and JSON print them, walked without memory:
 *
 *     struct dictionary_item item;
 *     enum dictionary_result result;
 *     const char *p = strchr(text, '{');
 *     while ((result = dictionary_next(&p, &item)) == DICTIONARY_ITEM)
 *             ...
 *
 * What a log holds is often half of one: another process wrote into it, or the log ends. Then the result is
 * DICTIONARY_BROKEN and nothing that was read before can be relied on.
 */
#ifndef INFRARSI_ADAPTER_READER_DICTIONARY_INT_H
#define INFRARSI_ADAPTER_READER_DICTIONARY_INT_H

#include "adapter/reader_int.h"
#include "base/base.h"

struct dictionary_item {
	const char *key, *value; /* a quoted value begins behind its quote; a nested one with its bracket */
	size_t key_length, value_length;
};
enum dictionary_result { DICTIONARY_ITEM, DICTIONARY_END, DICTIONARY_BROKEN };

/* *position is at '{' first. At DICTIONARY_END it is behind the closing brace. */
enum dictionary_result dictionary_next(const char **position, struct dictionary_item *ret_item);
/* The number that the value is, plain or quoted. */
struct opt_number item_number(const struct dictionary_item *item);
bool item_is(const struct dictionary_item *item, const char *key);
/* The first '{' from text on that a quoted key follows; NULL = none. */
const char *dictionary_begin(const char *text);

#endif

/* Quantities as people write them. Durations are seconds, memory is bytes; "1.42x" is exp of a ln ratio. */
#ifndef INFRARSI_BASE_UNITS_H
#define INFRARSI_BASE_UNITS_H

#include "base/base.h"

bool parse_duration_s(const char *text, double *ret_s); /* "90", "90s", "1.5m", "20m", "6h", "250ms", "2d" */
bool parse_bytes(const char *text, double *ret_bytes);  /* "78GiB", "-18 MiB", "+4GB", "1024", "1e9B" */
bool parse_fraction(const char *text, double *ret_value); /* "3%", "0.03" */
bool parse_number(const char *text, double *ret_value);   /* a finite decimal number and nothing else */
bool parse_integer(const char *text, int64_t *ret_value);

enum { UNIT_TEXT_SIZE = 32 };
const char *format_bytes(double bytes, char buf[UNIT_TEXT_SIZE]);      /* "141 MiB" */
const char *format_duration(double seconds, char buf[UNIT_TEXT_SIZE]); /* "2.1 min" */
const char *format_speedup(double ln_ratio, char buf[UNIT_TEXT_SIZE]); /* "1.42x" */

/* Edit distance (Levenshtein) for "did you mean"; the closest candidate within a third of its length, or
 * NULL. */
const char *closest_name(const char *name, const char *const *candidates, size_t count);

#endif

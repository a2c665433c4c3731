#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

struct unit {
	const char *name;
	double factor;
};

static size_t skip_digits(const char *text, size_t at)
{
	return at + strspn(text + at, "0123456789");
}

/* Length of the decimal number at the start, or 0: [+-] digits [. digits] [e [+-] digits]. strtod() alone
 * would also take "nan", "inf" and "0x10". */
static size_t number_length(const char *text)
{
	size_t start = *text == '+' || *text == '-';
	size_t end = skip_digits(text, start);
	size_t digits = end - start;
	if (text[end] == '.') {
		size_t fraction_end = skip_digits(text, end + 1);
		digits += fraction_end - end - 1;
		end = fraction_end;
	}
	if (!digits)
		return 0;
	if (text[end] == 'e' || text[end] == 'E') {
		size_t power = end + 1 + (text[end + 1] == '+' || text[end + 1] == '-');
		size_t power_end = skip_digits(text, power);
		end = power_end > power ? power_end : end;
	}
	return end;
}

/* A number with one of the units behind it, blanks between them. */
static bool parse_with_unit(const char *text, const struct unit *units, size_t count, double *ret_value)
{
	size_t n = number_length(text);
	errno = 0;
	double value = n ? strtod(text, NULL) : NAN;
	if (!isfinite(value) || errno == ERANGE)
		return false;
	const char *unit = text + n + strspn(text + n, " ");
	if (!*unit)
		unit = text + n; /* a blank at the end belongs to no unit */
	for (size_t i = 0; i < count; i++)
		if (strcmp(unit, units[i].name) == 0 && isfinite(value * units[i].factor)) {
			*ret_value = value * units[i].factor;
			return true;
		}
	return false;
}

bool parse_duration_s(const char *text, double *ret_s)
{
	static const struct unit units[] = {
		{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
	double value;
	if (!parse_with_unit(text, units, ARRAY_LEN(units), &value) || value < 0)
		return false;
	*ret_s = value;
	return true;
}

bool parse_bytes(const char *text, double *ret_bytes)
{
	static const struct unit units[] = {{"", 1}, {"B", 1}, {"KiB", 1024.0}, {"MiB", 1048576.0},
		{"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
		{"TB", 1e12}};
	return parse_with_unit(text, units, ARRAY_LEN(units), ret_bytes);
}

bool parse_fraction(const char *text, double *ret_value)
{
	static const struct unit units[] = {{"", 1}, {"%", 0.01}};
	return parse_with_unit(text, units, ARRAY_LEN(units), ret_value);
}

bool parse_number(const char *text, double *ret_value)
{
	static const struct unit units[] = {{"", 1}};
	return parse_with_unit(text, units, ARRAY_LEN(units), ret_value);
}

bool parse_integer(const char *text, int64_t *ret_value)
{
	const char *digits = text + (*text == '-' || *text == '+');
	if (!*digits || strspn(digits, "0123456789") != strlen(digits))
		return false;
	errno = 0;
	long long value = strtoll(text, NULL, 10);
	if (errno == ERANGE)
		return false;
	*ret_value = value;
	return true;
}

const char *format_bytes(double bytes, char buf[UNIT_TEXT_SIZE])
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;
	double shown = bytes;
	while (fabs(shown) >= 1023.5 && unit + 1 < ARRAY_LEN(names)) {
		shown /= 1024;
		unit++;
	}
	const char *form = unit == 0 || fabs(shown) >= 99.95 ? "%.0f %s" : "%.1f %s";
	snprintf(buf, UNIT_TEXT_SIZE, form, shown, names[unit]);
	return buf;
}

const char *format_duration(double seconds, char buf[UNIT_TEXT_SIZE])
{
	double size = fabs(seconds);
	if (size < 0.9995) /* 999.5 ms would show as 1e+03 */
		snprintf(buf, UNIT_TEXT_SIZE, "%.3g ms", seconds * 1e3);
	else if (size < 120)
		snprintf(buf, UNIT_TEXT_SIZE, "%.1f s", seconds);
	else if (size < 7200)
		snprintf(buf, UNIT_TEXT_SIZE, "%.1f min", seconds / 60);
	else if (size < 172800)
		snprintf(buf, UNIT_TEXT_SIZE, "%.1f h", seconds / 3600);
	else
		snprintf(buf, UNIT_TEXT_SIZE, "%.1f days", seconds / 86400);
	return buf;
}

const char *format_speedup(double ln_ratio, char buf[UNIT_TEXT_SIZE])
{
	snprintf(buf, UNIT_TEXT_SIZE, "%.2fx", exp(ln_ratio));
	return buf;
}

static size_t edit_distance(const char *a, const char *b)
{
	enum { LIMIT = 64 };
	size_t n = strnlen(a, LIMIT), m = strnlen(b, LIMIT);
	size_t row[LIMIT + 1];
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t substitution = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			size_t gap = MIN_OF(row[j], row[j - 1]) + 1;
			row[j] = MIN_OF(substitution, gap);
		}
	}
	return row[m];
}

const char *closest_name(const char *name, const char *const *candidates, size_t count)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;
	for (size_t i = 0; i < count; i++) {
		size_t distance = edit_distance(name, candidates[i]);
		size_t allowed = MAX_OF(strlen(candidates[i]) / 3, (size_t)1);
		if (distance <= allowed && distance < best_distance) {
			best = candidates[i];
			best_distance = distance;
		}
	}
	return best;
}

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapter/ascii_int.h"
#include "adapter/decimal_int.h"
#include "adapter/reader_int.h"

enum { NUMBER_TEXT_MAX = 64 };

/* ---- numbers ---- */

static const double powers_of_ten[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The decimal number as it is taken apart. */
struct decimal {
	uint64_t digits; /* of the mantissa, as one integer; of more than MAX_DIGITS the first ones */
	int n_digits;    /* so many at most, zeros in front included */
	int exponent;    /* of ten, to apply to digits */
	bool negative;
	size_t length; /* bytes in the text */
};
enum { MAX_DIGITS = 19 }; /* that an integer of 64 bits always holds */

static const char *take_digits(const char *p, uint64_t *digits)
{
	for (; is_digit(*p); p++)
		*digits = *digits * 10 + (uint64_t)(*p - '0');
	return p;
}

/* "204" of "1,204" or "1,204,355": three digits that no fourth follows. */
static bool at_group(const char *text)
{
	return text[0] == ',' && is_digit(text[1]) && is_digit(text[2]) && is_digit(text[3]) &&
	       !is_digit(text[4]);
}

/* A mantissa of more digits than fit: the significant ones, of which the rest only counts. */
static void take_many_digits(const char *text, const char *end, struct decimal *d)
{
	bool fraction = false;
	d->digits = 0;
	d->n_digits = d->exponent = 0;
	for (const char *p = text; p < end; p++) {
		fraction |= *p == '.';
		if (!is_digit(*p))
			continue;
		if (d->n_digits >= MAX_DIGITS) {
			d->n_digits++;
			d->exponent += !fraction;
			continue;
		}
		d->digits = d->digits * 10 + (uint64_t)(*p - '0');
		d->n_digits += d->digits != 0;
		d->exponent -= fraction;
	}
}

static const char *take_exponent(const char *p, int *exponent)
{
	if (*p != 'e' && *p != 'E')
		return p;
	const char *digits = p + 1 + (p[1] == '+' || p[1] == '-');
	if (!is_digit(*digits))
		return p;
	int value = 0;
	const char *end = digits;
	for (; is_digit(*end); end++)
		value = MIN_OF(value * 10 + (*end - '0'), 9999);
	*exponent += p[1] == '-' ? -value : value;
	return end;
}

static bool take_decimal(const char *text, struct decimal *d)
{
	const char *start = text + (*text == '-' || *text == '+');
	*d = (struct decimal){.negative = *text == '-'};
	const char *p = take_digits(start, &d->digits);
	d->n_digits = (int)(p - start);
	if (*p == ',' && d->n_digits > 0 && d->n_digits <= 3)
		for (; at_group(p); d->n_digits += 3)
			p = take_digits(p + 1, &d->digits);
	if (*p == '.' && (d->n_digits > 0 || is_digit(p[1]))) {
		const char *fraction = p + 1;
		p = take_digits(fraction, &d->digits);
		d->exponent = -(int)(p - fraction);
		d->n_digits -= d->exponent;
	}
	if (d->n_digits == 0)
		return false;
	if (d->n_digits > MAX_DIGITS)
		take_many_digits(start, p, d);
	p = take_exponent(p, &d->exponent);
	d->length = (size_t)(p - text);
	return true;
}

/* Correctly rounded. Up to 15 digits and 10^22 both factors are exact, so that one rounding is left (Clinger
 * 1990); what has no more than 19 digits, as Python prints them, is reckoned. False where that is not enough.
 */
static bool reckon(uint64_t digits, ptrdiff_t n_digits, int exponent, double *ret_value)
{
	enum { EXACT_DIGITS = 15, EXACT_POWER = ARRAY_LEN(powers_of_ten) - 1 };
	double value = (double)digits;
	if (n_digits > EXACT_DIGITS || exponent < -EXACT_POWER || exponent > EXACT_POWER)
		return n_digits <= MAX_DIGITS && decimal_to_double(digits, exponent, ret_value);
	*ret_value = exponent < 0 ? value / powers_of_ten[-exponent] : value * powers_of_ten[exponent];
	return true;
}

/* Everything that cannot be reckoned goes through the C library. */
static double decimal_value(const struct decimal *d, const char *text, int power_of_ten)
{
	int exponent = d->exponent + power_of_ten;
	double value;
	if (reckon(d->digits, d->n_digits, exponent, &value))
		return d->negative ? -value : value;
	char copy[NUMBER_TEXT_MAX];
	size_t used = 0;
	if (power_of_ten == 0 && d->length < sizeof(copy)) {
		for (size_t i = 0; i < d->length; i++)
			if (text[i] != ',')
				copy[used++] = text[i];
		copy[used] = '\0';
	} else {
		/* The mantissa has at least 19 digits here, more than a double holds. */
		snprintf(copy, sizeof(copy), "%s%llue%d", d->negative ? "-" : "",
			(unsigned long long)d->digits, exponent);
	}
	return strtod(copy, NULL);
}

/* Not a number or infinite, as C, Python, JavaScript and the old Windows run-time library write it. */
static size_t take_not_finite(const char *text, double *ret_value)
{
	static const struct {
		const char *word;
		double value;
	} words[] = {
		{"nan.0", NAN},
		{"nan", NAN},
		{"infinity", INFINITY},
		{"inf", INFINITY},
		{"1.#qnan", NAN},
		{"1.#snan", NAN},
		{"1.#ind", NAN},
		{"1.#inf", INFINITY},
	};
	size_t sign = *text == '-' || *text == '+';
	const char *p = text + sign;
	if (*p != 'n' && *p != 'N' && *p != 'i' && *p != 'I' && (*p != '1' || p[1] != '.' || p[2] != '#'))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t length = strlen(words[i].word);
		if (strncasecmp(p, words[i].word, length) != 0)
			continue;
		/* "1.#INF00": the old library pads with digits. */
		const char *end = p + length;
		while (words[i].word[0] == '1' && is_digit(*end))
			end++;
		if (is_word(*end))
			continue;
		*ret_value = *text == '-' ? -words[i].value : words[i].value;
		return (size_t)(end - text);
	}
	return 0;
}

/* "np.float64(", "tensor(": the repr of a scalar of NumPy or PyTorch. */
static size_t take_wrapper(const char *text)
{
	static const char *const wrappers[] = {"np.float64(", "np.float32(", "np.float16(", "np.int64(",
		"np.int32(", "numpy.float64(", "numpy.float32(", "jnp.float32(", "tensor(", "Array("};
	if (!is_letter(*text))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(wrappers); i++)
		if (strncmp(text, wrappers[i], strlen(wrappers[i])) == 0)
			return strlen(wrappers[i]);
	return 0;
}

/* Numbers as most are: few digits, perhaps a point and an exponent. 0 = it may be another one. */
static size_t take_plain(const char *text, int power_of_ten, double *ret_value)
{
	bool negative = *text == '-';
	uint64_t digits = 0;
	int exponent = power_of_ten;
	const char *start = text + negative, *p = take_digits(start, &digits);
	if (p == start)
		return 0;
	if (*p == '.') {
		const char *fraction = p + 1;
		p = take_digits(fraction, &digits);
		exponent -= (int)(p - fraction);
	}
	ptrdiff_t n_digits = p - start; /* and the point, if there is one */
	p = take_exponent(p, &exponent);
	/* Thousands; "1.#INF". */
	double value;
	if ((*p == ',' && is_digit(p[1])) || *p == '#' || !reckon(digits, n_digits, exponent, &value))
		return 0;
	*ret_value = negative ? -value : value;
	return (size_t)(p - text);
}

static size_t take_any(const char *text, int power_of_ten, double *ret_value)
{
	const char *p = text;
	size_t wrapper = take_wrapper(p);
	p += wrapper;
	struct decimal d;
	double value;
	size_t length = take_not_finite(p, &value);
	if (!length) {
		if (!take_decimal(p, &d))
			return 0;
		value = decimal_value(&d, p, power_of_ten);
		length = d.length;
	}
	p += length;
	if (wrapper) {
		/* ", device='cuda:0')" and ", dtype=float32)" behind the number belong to it. */
		const char *end = strchr(p, ')');
		if (!end)
			return 0;
		p = end + 1;
	}
	*ret_value = value;
	return (size_t)(p - text);
}

size_t read_number_scaled(const char *text, int power_of_ten, double *ret_value)
{
	const char *p = skip_blanks(text);
	size_t length = take_plain(p, power_of_ten, ret_value);
	if (!length)
		length = take_any(p, power_of_ten, ret_value);
	return length ? (size_t)(p - text) + length : 0;
}

size_t read_number(const char *text, double *ret_value)
{
	return read_number_scaled(text, 0, ret_value);
}

size_t read_scaled(const char *text, double *ret_value)
{
	double value;
	size_t length = read_number(text, &value);
	if (!length)
		return 0;
	length += read_scale(text + length, &value);
	*ret_value = value;
	return length;
}

size_t read_scale(const char *text, double *value)
{
	static const double scales[256] = {
		['K'] = 1e3, ['k'] = 1e3, ['M'] = 1e6, ['B'] = 1e9, ['G'] = 1e9, ['T'] = 1e12};
	double scale = scales[(unsigned char)*text];
	if (!(scale > 0.0) || is_word(text[1]))
		return 0;
	*value *= scale;
	return 1;
}

size_t read_memory(const char *text, bool binary, double *ret_bytes)
{
	double value;
	size_t length = read_number(text, &value);
	if (!length)
		return 0;
	const char *unit = skip_blanks(text + length);
	static const char prefixes[] = "KMGTPE";
	const char *end = unit;
	double base = binary ? 1024.0 : 1000.0;
	const char *prefix = is_letter(*end) ? strchr(prefixes, *end & ~0x20) : NULL;
	int power = 0;
	if (prefix) {
		power = (int)(prefix - prefixes) + 1;
		end++;
		if (*end == 'i') {
			base = 1024.0;
			end++;
		}
		end += *end == 'B' || *end == 'b';
	} else if (begins_with(end, "bytes")) {
		end += 5;
	} else if (*end == 'B') {
		end++;
	}
	if (end == unit || is_word(*end))
		return 0;
	double scale = 1.0;
	for (; power > 0; power--)
		scale *= base; /* exact: 1000^6 has 42 bits beside its zeros */
	*ret_bytes = value * scale;
	return (size_t)(end - text);
}

/* ---- keys ---- */

/* True where the key at `at` begins a name of its own. "lm loss: 2" is another name than "loss"; in
 * "phase=train loss=2" the blank ends what stands before. */
static bool begins_name(const char *line, const char *at, size_t key_length)
{
	if (at == line)
		return true;
	char before = at[-1];
	if (is_word(before) || before == '/' || before == '.' || before == '-')
		return !is_word(*at);
	if (before != ' ' || at[key_length] == '=' || at[key_length - 1] == '=')
		return true;
	const char *p = at - 1;
	while (p > line && *p == ' ')
		p--;
	return !is_letter(*p) && *p != '_' && *p != ')';
}

static bool ends_name(const char *at, size_t key_length)
{
	char next = at[key_length];
	if (!is_word(at[key_length - 1]))
		return true;
	return !is_word(next) && next != '/' && (next != '.' || !is_word(at[key_length + 1])) &&
	       (next != '-' || !is_letter(at[key_length + 1]));
}

static const char *next_value(const char *line, const char *from, const char *key)
{
	size_t key_length = strlen(key);
	for (const char *at = from; (at = strstr(at, key)) != NULL; at++) {
		if (!begins_name(line, at, key_length) || !ends_name(at, key_length))
			continue;
		const char *p = at + key_length;
		while (*p == ' ' || *p == '\t' || *p == ':' || *p == '=')
			p++;
		return p;
	}
	return NULL;
}

const char *value_of(const char *line, const char *key)
{
	return next_value(line, line, key);
}

struct opt_number scaled_number_of(const char *line, const char *key, int power_of_ten)
{
	struct opt_number number = {false, NAN};
	const char *p = line;
	while (!number.has && (p = next_value(line, p, key)) != NULL)
		number.has = read_number_scaled(p, power_of_ten, &number.value) > 0;
	return number;
}

struct opt_number number_of(const char *line, const char *key)
{
	return scaled_number_of(line, key, 0);
}

struct opt_number dictionary_number(const char *line, const char *key)
{
	struct opt_number number = {false, NAN};
	size_t key_length = strlen(key);
	for (const char *at = line; !number.has && (at = strstr(at, key)) != NULL; at++) {
		char quote = at > line ? at[-1] : '\0';
		if ((quote != '\'' && quote != '"') || at[key_length] != quote)
			continue;
		const char *p = skip_blanks(at + key_length + 1);
		if (*p++ != ':')
			continue;
		p = skip_blanks(p);
		p += *p == '\'' || *p == '"';
		number.has = read_number(p, &number.value) > 0;
	}
	return number;
}

/* ---- progress bars ---- */

/* "05", "01:05", "1:02:33": seconds. NULL = no time. */
static const char *take_clock(const char *p, double *ret_s)
{
	double total = 0.0;
	bool colon = false;
	for (;;) {
		const char *start = p;
		double part = 0.0;
		for (; is_digit(*p); p++)
			part = part * 10.0 + (*p - '0');
		if (p == start)
			return NULL;
		total = total * 60.0 + part;
		if (*p != ':' || !is_digit(p[1]))
			break;
		colon = true;
		p++;
	}
	*ret_s = total;
	return colon ? p : NULL;
}

/* Behind "3.40s/it", "2.1it/s", "?it/s", "5.02s/step". Its value, smoothed by tqdm, is the time of no step.
 */
static const char *behind_rate(const char *p)
{
	struct decimal d;
	double value;
	p = skip_blanks(p);
	size_t length = 1;
	if (*p != '?')
		length = take_decimal(p, &d) && p[d.length] != '#' ? d.length : read_number(p, &value);
	if (!length)
		return NULL;
	p += length;
	while (is_letter(*p) || *p == ' ')
		p++;
	if (*p != '/')
		return NULL;
	p++;
	while (is_letter(*p))
		p++;
	return p;
}

/* Back over "n/total" that ends at end; NULL = something else stands there. */
static const char *counts_before(const char *line, const char *end, struct progress_bar *bar)
{
	const char *p = end;
	while (p > line && (is_word(p[-1]) || p[-1] == '/' || p[-1] == '.'))
		p--;
	double done, total;
	size_t length = read_scaled(p, &done);
	if (!length || p[length] != '/' || !read_scaled(p + length + 1, &total))
		return NULL;
	if (!(done >= 0.0 && done <= 1e15 && total >= 0.0 && total <= 1e15))
		return NULL;
	bar->done = (long)done;
	bar->total = (long)total;
	return p;
}

bool read_progress_bar(const char *line, struct progress_bar *ret_bar)
{
	for (const char *at = line; (at = strchr(at, '[')) != NULL; at++) {
		struct progress_bar bar = {.postfix = ""};
		const char *end = at;
		while (end > line && end[-1] == ' ')
			end--;
		if (end == line || !counts_before(line, end, &bar))
			continue;
		const char *p = take_clock(at + 1, &bar.elapsed_s);
		if (!p || *p != '<')
			continue;
		while (*p && *p != ',' && *p != ']')
			p++;
		if (!*p)
			continue;
		if (*p == ',') {
			const char *rate_end = behind_rate(p + 1);
			p = rate_end ? rate_end : p;
		}
		bar.postfix = *p == ',' ? skip_blanks(p + 1) : "";
		*ret_bar = bar;
		return true;
	}
	return false;
}

#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "propose/secret.h"

/* One character of text as JSON may spell it. Returns how many bytes of text it takes, 0 where it is none;
 * *ret_bytes: UTF-8, *ret_n of them. */
static size_t decode(const char *text, size_t length, char ret_bytes[4], size_t *ret_n)
{
	static const char escaped[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	unsigned code = 0;
	*ret_n = 1;
	if (length < 2 || text[0] != '\\') {
		ret_bytes[0] = text[0];
		return length > 0;
	}
	const char *simple = text[1] ? strchr(escaped, text[1]) : NULL;
	if (simple) {
		ret_bytes[0] = meant[simple - escaped];
		return 2;
	}
	if (text[1] != 'u' || length < 6)
		return 0;
	for (int i = 2; i < 6; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return 0;
		int digit = tolower((unsigned char)text[i]);
		code = code << 4 | (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
	}
	if (code < 0x80) {
		ret_bytes[0] = (char)code;
	} else if (code < 0x800) {
		ret_bytes[0] = (char)(0xC0 | code >> 6);
		ret_bytes[1] = (char)(0x80 | (code & 0x3F));
		*ret_n = 2;
	} else {
		ret_bytes[0] = (char)(0xE0 | code >> 12);
		ret_bytes[1] = (char)(0x80 | (code >> 6 & 0x3F));
		ret_bytes[2] = (char)(0x80 | (code & 0x3F));
		*ret_n = 3;
	}
	return 6;
}

/* Bytes of text that spell the secret with JSON's escapes; 0 = they do not. */
static size_t spelled_length(const char *text, size_t length, const char *secret, size_t n)
{
	size_t at = 0, found = 0;
	while (found < n) {
		char bytes[4];
		size_t n_bytes, used = decode(text + at, length - at, bytes, &n_bytes);
		if (!used || n_bytes > n - found || memcmp(secret + found, bytes, n_bytes) != 0)
			return 0;
		at += used;
		found += n_bytes;
	}
	return at;
}

void secret_hide(char *text, size_t length, const char *secret, bool was_cut)
{
	size_t n = secret ? strlen(secret) : 0;
	if (n < SECRET_LEAST_BYTES)
		return;
	char *end = text + length;
	for (char *p = text; (p = memmem(p, (size_t)(end - p), secret, n)); p += n)
		memset(p, '*', n);
	for (size_t i = 0; memchr(text + i, '\\', length - i) && i < length; i++) {
		size_t spelled = spelled_length(text + i, length - i, secret, n);
		memset(text + i, '*', spelled);
	}
	for (size_t part = MIN_OF(n - 1, length); was_cut && part > 0; part--)
		if (memcmp(end - part, secret, part) == 0) {
			memset(end - part, '*', part);
			return;
		}
}

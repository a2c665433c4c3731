#include "base/base.h"

#include <string.h>

#include "propose/secret.h"

void secret_hide(char *text, size_t length, const char *secret, bool was_cut)
{
	size_t n = secret ? strlen(secret) : 0;
	if (n < SECRET_LEAST_BYTES)
		return;
	char *end = text + length;
	for (char *p = text; (p = memmem(p, (size_t)(end - p), secret, n)); p += n)
		memset(p, '*', n);
	for (size_t part = MIN_OF(n - 1, length); was_cut && part > 0; part--)
		if (memcmp(end - part, secret, part) == 0) {
			memset(end - part, '*', part);
			return;
		}
}

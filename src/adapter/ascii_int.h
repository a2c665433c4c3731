/* Bytes of a log, by their class. Plainer than ctype.h, which looks at the locale, and inline: readers ask
 * for most bytes of most lines. Internal to adapter/. */
#ifndef INFRARSI_ADAPTER_ASCII_INT_H
#define INFRARSI_ADAPTER_ASCII_INT_H

#include <string.h>

#include "base/base.h"

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool is_letter(char c)
{
	return is_lower((char)(c | 0x20));
}

static inline bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_';
}

static inline char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static inline const char *skip_digits(const char *p)
{
	while (is_digit(*p))
		p++;
	return p;
}

/* Blanks and tabs. */
static inline const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

static inline bool begins_with(const char *text, const char *word)
{
	while (*word && *text == *word) {
		text++;
		word++;
	}
	return !*word;
}

/* strstr() for a word that mostly stands at the start. */
static inline const char *find_first(const char *text, const char *word)
{
	return begins_with(text, word) ? text : strstr(text, word);
}

#endif

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"

char strbuf_empty[1];

static void reserve(struct strbuf *s, size_t extra)
{
	size_t need;
	if (__builtin_add_overflow(s->len, extra, &need) || need >= SIZE_MAX / 2)
		die_oom(SIZE_MAX);
	need++; /* the NUL */
	if (need <= s->capacity)
		return;
	char *old = s->capacity ? s->buf : NULL;
	size_t wanted = MAX_OF(need, s->capacity * 2);
	wanted = MAX_OF(wanted, (size_t)64);
	s->buf = xrealloc(old, wanted, 1);
	s->capacity = wanted;
	s->buf[s->len] = '\0';
}

void strbuf_release(struct strbuf *s)
{
	if (s->capacity)
		free(s->buf);
	*s = (struct strbuf)STRBUF_INIT;
}

void strbuf_clear(struct strbuf *s)
{
	s->len = 0;
	if (s->capacity)
		s->buf[0] = '\0';
}

void strbuf_add(struct strbuf *s, const void *bytes, size_t length)
{
	if (!length)
		return;
	reserve(s, length);
	memcpy(s->buf + s->len, bytes, length);
	s->len += length;
	s->buf[s->len] = '\0';
}

void strbuf_addstr(struct strbuf *s, const char *text)
{
	strbuf_add(s, text, strlen(text));
}

void strbuf_addch(struct strbuf *s, char c)
{
	strbuf_add(s, &c, 1);
}

void strbuf_addf(struct strbuf *s, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int length = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (length > 0) {
		reserve(s, (size_t)length);
		vsnprintf(s->buf + s->len, (size_t)length + 1, fmt, again);
		s->len += (size_t)length;
	}
	va_end(again);
}

char *strbuf_detach(struct strbuf *s)
{
	reserve(s, 0);
	char *bytes = s->buf;
	*s = (struct strbuf)STRBUF_INIT;
	return bytes;
}

/* Length of the valid UTF-8 sequence at p (RFC 3629: no overlong forms, no surrogates), or 0. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
	static const struct {
		unsigned char first_low, first_high, second_low, second_high;
		size_t length;
	} forms[] = {
		{0xC2, 0xDF, 0x80, 0xBF, 2},
		{0xE0, 0xE0, 0xA0, 0xBF, 3},
		{0xE1, 0xEC, 0x80, 0xBF, 3},
		{0xED, 0xED, 0x80, 0x9F, 3},
		{0xEE, 0xEF, 0x80, 0xBF, 3},
		{0xF0, 0xF0, 0x90, 0xBF, 4},
		{0xF1, 0xF3, 0x80, 0xBF, 4},
		{0xF4, 0xF4, 0x80, 0x8F, 4},
	};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (p[0] < forms[i].first_low || p[0] > forms[i].first_high)
			continue;
		if (left < forms[i].length || p[1] < forms[i].second_low || p[1] > forms[i].second_high)
			return 0;
		for (size_t k = 2; k < forms[i].length; k++)
			if ((p[k] & 0xC0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}

/* Controls, bidirectional overrides and characters without width can make shown text lie about what it says.
 * (The joiners U+200C and U+200D stay: some scripts and emoji need them.) */
static bool utf8_is_deceptive(const unsigned char *p, size_t length)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x80, 0x9F},       /* C1 controls */
		{0xAD, 0xAD},       /* soft hyphen */
		{0x61C, 0x61C},     /* Arabic letter mark */
		{0x200B, 0x200B},   /* zero width space */
		{0x200E, 0x200F},   /* direction marks */
		{0x2028, 0x202E},   /* line and paragraph separator, embeddings, overrides */
		{0x2060, 0x206F},   /* word joiner, invisible operators, isolates */
		{0xFEFF, 0xFEFF},   /* byte order mark */
		{0xFFF9, 0xFFFB},   /* interlinear annotation */
		{0xE0000, 0xE007F}, /* tags */
	};
	uint32_t c = p[0] & (0x7Fu >> length);
	for (size_t i = 1; i < length; i++)
		c = c << 6 | (p[i] & 0x3Fu);
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

void strbuf_add_escaped(struct strbuf *s, const char *text, size_t length)
{
	const unsigned char *p = (const unsigned char *)text;
	for (size_t i = 0; i < length;) {
		if (p[i] >= 0x20 && p[i] < 0x7F) {
			strbuf_addch(s, (char)p[i++]);
			continue;
		}
		size_t n = p[i] >= 0x80 ? utf8_length(p + i, length - i) : 0;
		if (n && !utf8_is_deceptive(p + i, n)) {
			strbuf_add(s, p + i, n);
			i += n;
		} else if (p[i] == '\t') {
			strbuf_addch(s, ' ');
			i++;
		} else {
			strbuf_addf(s, "\\x%02x", p[i++]);
		}
	}
}

void strbuf_add_markdown(struct strbuf *s, const char *text, size_t length)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, text, length);
	for (size_t i = 0; i < safe.len; i++) {
		char c = safe.buf[i];
		if (c == '<')
			strbuf_addstr(s, "&lt;");
		else if (c == '>')
			strbuf_addstr(s, "&gt;");
		else if (c == '&')
			strbuf_addstr(s, "&amp;");
		else {
			if (strchr("\\|`*_[]#~$", c))
				strbuf_addch(s, '\\');
			strbuf_addch(s, c);
		}
	}
}

void strbuf_add_shell(struct strbuf *s, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./:,@%";
	if (*word && strspn(word, plain) == strlen(word)) {
		strbuf_addstr(s, word);
		return;
	}
	strbuf_addch(s, '\'');
	for (const char *p = word; *p; p++) {
		if (*p == '\'')
			strbuf_addstr(s, "'\\''");
		else
			strbuf_addch(s, *p);
	}
	strbuf_addch(s, '\'');
}

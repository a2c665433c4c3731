/* What base/ does with text from outside: escaping, patterns, quantities. The input is a first line and the
 * rest. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_escaping(const char *text, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf markdown = STRBUF_INIT;
	strbuf_add_escaped(&shown, text, size);
	require(strlen(shown.buf) == shown.len);
	for (size_t i = 0; i < shown.len; i++)
		require((unsigned char)shown.buf[i] >= 0x20 && shown.buf[i] != 0x7F);
	/* safe text stays as it is */
	strbuf_add_escaped(&again, shown.buf, shown.len);
	require(strcmp(shown.buf, again.buf) == 0);
	strbuf_add_markdown(&markdown, text, size);
	require(!strpbrk(markdown.buf, "<>\n"));
}

static void check_quantities(const char *text)
{
	double value;
	int64_t integer;
	char buf[UNIT_TEXT_SIZE];
	if (parse_duration_s(text, &value)) {
		require(isfinite(value) && value >= 0);
		require(strlen(format_duration(value, buf)) < sizeof(buf));
	}
	if (parse_bytes(text, &value)) {
		require(isfinite(value));
		require(strlen(format_bytes(value, buf)) < sizeof(buf));
	}
	require(!parse_fraction(text, &value) || isfinite(value));
	require(!parse_integer(text, &integer) || parse_number(text, &value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free_ptr) char *text = xmalloc(size + 1);
	memcpy(text, size ? (const void *)data : "", size);
	text[size] = '\0';
	check_escaping(text, size);
	char *rest = strchr(text, '\n');
	if (rest)
		*rest++ = '\0';
	else
		rest = text + size;
	check_quantities(text);
	(void)glob_match(text, rest);
	require(glob_match("**", rest));
	require(strpbrk(text, "*?[") || glob_match(text, rest) == (strcmp(text, rest) == 0));
	if (path_is_contained(rest))
		require(*rest != '/' && !strstr(rest, "//") && strncmp(rest, "../", 3) != 0);
	CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT;
	strbuf_add_shell(&word, text);
	require(word.len >= strlen(text));
	const char *const names[] = {text, rest};
	(void)closest_name(rest, names, ARRAY_LEN(names));
	return 0;
}

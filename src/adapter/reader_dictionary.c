#include "base/base.h"

#include <math.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_dictionary_int.h"

enum { NESTING_MAX = 64 };

bool item_is(const struct dictionary_item *item, const char *key)
{
	return *item->key == *key && strncmp(item->key, key, item->key_length) == 0 &&
	       key[item->key_length] == '\0';
}

const char *dictionary_begin(const char *text)
{
	for (const char *p = text; (p = strchr(p, '{')) != NULL; p++) {
		const char *quote = skip_blanks(p + 1);
		if (*quote == '\'' || *quote == '"')
			return p;
	}
	return NULL;
}

/* p is at a quote; to the quote that closes, NULL = none. */
static const char *end_of_string(const char *p)
{
	static const bool special[256] = {['\0'] = true, ['\''] = true, ['"'] = true, ['\\'] = true};
	char quote = *p++;
	for (;; p++) {
		while (!special[(unsigned char)*p])
			p++;
		if (*p == quote)
			return p;
		if (!*p)
			return NULL;
		if (*p == '\\' && p[1])
			p++;
	}
}

static char closing_of(char opening)
{
	switch (opening) {
	case '{':
		return '}';
	case '[':
		return ']';
	case '(':
		return ')';
	default:
		return '\0';
	}
}

/* p is at an opening bracket; behind the one that closes it, NULL = none. */
static const char *end_of_nested(const char *p)
{
	static const bool special[256] = {['\0'] = true,
		['\''] = true,
		['"'] = true,
		['{'] = true,
		['['] = true,
		['('] = true,
		['}'] = true,
		[']'] = true,
		[')'] = true};
	char closing[NESTING_MAX];
	int depth = 0;
	for (; *p; p++) {
		if (!special[(unsigned char)*p])
			continue;
		if (*p == '\'' || *p == '"') {
			p = end_of_string(p);
			if (!p)
				return NULL;
		} else if (closing_of(*p)) {
			if (depth == NESTING_MAX)
				return NULL;
			closing[depth++] = closing_of(*p);
		} else {
			if (*p != closing[--depth])
				return NULL;
			if (depth == 0)
				return p + 1;
		}
	}
	return NULL;
}

/* 2.1e-05, True, None, null, tensor(0.5, device='cuda:0'), np.float64(0.5). */
static const char *end_of_word(const char *p)
{
	static const bool of_word[256] = {['a' ... 'z'] = true,
		['A' ... 'Z'] = true,
		['0' ... '9'] = true,
		['_'] = true,
		['.'] = true,
		['-'] = true,
		['+'] = true};
	while (of_word[(unsigned char)*p])
		p++;
	return *p == '(' ? end_of_nested(p) : p;
}

/* Behind the value at p; NULL = it does not end. */
static const char *take_value(const char *p, struct dictionary_item *item)
{
	const char *end;
	item->value = p;
	if (*p == '\'' || *p == '"') {
		end = end_of_string(p);
		if (!end)
			return NULL;
		item->value = p + 1;
		item->value_length = (size_t)(end - item->value);
		return end + 1;
	}
	end = closing_of(*p) ? end_of_nested(p) : end_of_word(p);
	if (!end || end == p)
		return NULL;
	item->value_length = (size_t)(end - p);
	return end;
}

struct opt_number item_number(const struct dictionary_item *item)
{
	struct opt_number number = {false, NAN};
	size_t length = read_number(item->value, &number.value);
	number.has = length > 0 && length == item->value_length;
	return number;
}

enum dictionary_result dictionary_next(const char **position, struct dictionary_item *ret_item)
{
	const char *p = *position;
	if (*p == '}') {
		*position = p + 1;
		return DICTIONARY_END;
	}
	if (*p != '{' && *p != ',')
		return DICTIONARY_BROKEN;
	p = skip_blanks(p + 1);
	if (*p == '}') {
		*position = p + 1;
		return DICTIONARY_END;
	}
	const char *end = *p == '\'' || *p == '"' ? end_of_string(p) : NULL;
	if (!end)
		return DICTIONARY_BROKEN;
	ret_item->key = p + 1;
	ret_item->key_length = (size_t)(end - ret_item->key);
	p = skip_blanks(end + 1);
	if (*p != ':')
		return DICTIONARY_BROKEN;
	p = take_value(skip_blanks(p + 1), ret_item);
	if (!p)
		return DICTIONARY_BROKEN;
	*position = skip_blanks(p);
	return **position == ',' || **position == '}' ? DICTIONARY_ITEM : DICTIONARY_BROKEN;
}

#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "spec/expression_names.h"

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_name_part(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Past a long bracket [[ ... ]] or [=[ ... ]=]; NULL where none begins here. */
static const char *skip_long_bracket(const char *p)
{
	size_t level = strspn(p + 1, "=");
	if (*p != '[' || p[1 + level] != '[')
		return NULL;
	for (p += level + 2; *p; p++)
		if (*p == ']' && strspn(p + 1, "=") == level && p[1 + level] == ']')
			return p + level + 2;
	return p;
}

static const char *skip_comment(const char *p)
{
	const char *end = p[2] == '[' ? skip_long_bracket(p + 2) : NULL;
	return end ? end : p + strcspn(p, "\n");
}

static const char *skip_quoted(const char *p)
{
	char quote = *p++;
	while (*p && *p != quote)
		p += p[0] == '\\' && p[1] ? 2 : 1;
	return *p ? p + 1 : p;
}

static const char *skip_number(const char *p)
{
	bool is_hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
	const char *exponent = is_hex ? "pP" : "eE";
	for (; is_name_part(*p) || (*p == '.' && p[1] != '.'); p++)
		if (strchr(exponent, *p) && (p[1] == '+' || p[1] == '-'))
			p++;
	return p;
}

/* Past what cannot hold a name: blanks, comments, strings, numbers; `p` itself when a token begins here. */
static const char *skip_nameless(const char *p)
{
	const char *end;
	if (isspace((unsigned char)*p))
		return p + 1;
	if (p[0] == '-' && p[1] == '-')
		return skip_comment(p);
	if (*p == '"' || *p == '\'')
		return skip_quoted(p);
	if (*p == '[' && (end = skip_long_bracket(p)))
		return end;
	if (isdigit((unsigned char)*p))
		return skip_number(p);
	return p;
}

static bool is_value_word(const char *word)
{
	static const char *const words[] = {"and", "or", "not", "true", "false", "nil", "if", "then", "else",
		"elseif", "end", "return", "local", "for", "in", "do", "while", "repeat", "until", "break",
		"goto", "function"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

static void add_name(
	struct name_uses *uses, size_t *capacity, struct arena *arena, const char *name, size_t offset)
{
	if (uses->count == *capacity) {
		*capacity = MAX_OF(*capacity * 2, (size_t)8);
		struct name_use *grown = arena_array(arena, *capacity, sizeof(*grown));
		for (size_t i = 0; i < uses->count; i++)
			grown[i] = uses->items[i];
		uses->items = grown;
	}
	uses->items[uses->count++] = (struct name_use){name, offset};
}

void expression_names(const char *text, struct arena *arena, struct name_uses *ret_uses)
{
	struct name_uses uses = {0};
	size_t capacity = 0;
	bool after_dot = false;
	for (const char *p = text; *p;) {
		const char *next = skip_nameless(p);
		if (next != p) {
			after_dot &= isspace((unsigned char)*p) != 0;
			p = next;
		} else if (is_name_start(*p)) {
			while (is_name_part(*next))
				next++;
			const char *word = arena_strndup(arena, p, (size_t)(next - p));
			const char *behind = next + strspn(next, " \t\r\n");
			bool is_target = behind[0] == '=' && behind[1] != '=';
			uses.has_function |= strcmp(word, "function") == 0;
			if (!after_dot && !is_target && !is_value_word(word))
				add_name(&uses, &capacity, arena, word, (size_t)(p - text));
			after_dot = false;
			p = next;
		} else if (p[0] == '.' && p[1] == '.') {
			after_dot = false;
			p += 2;
		} else {
			after_dot = *p == '.' || *p == ':';
			p++;
		}
	}
	*ret_uses = uses;
}

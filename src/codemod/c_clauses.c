#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "codemod/c_clauses.h"

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char *p)
{
	size_t n = 0;
	while (is_word_byte(p[n]))
		n++;
	return n;
}

/* The word at *p, which then stands behind it. */
static bool take_word(const char **p, const char *word)
{
	const char *at = skip_blanks(*p);
	size_t n = strlen(word);
	if (word_length(at) != n || strncmp(at, word, n) != 0)
		return false;
	*p = at + n;
	return true;
}

/* What stands behind the three words; NULL without them. */
static const char *behind_words(const char *text)
{
	if (*text++ != '#')
		return NULL;
	return take_word(&text, "pragma") && take_word(&text, "omp") && take_word(&text, "parallel") &&
			       take_word(&text, "for")
		       ? text
		       : NULL;
}

bool c_is_parallel_for(struct rewrite *r, TSNode directive)
{
	return node_is_kind(directive, "preproc_call") && behind_words(code_text(r, directive));
}

/* "(...)" at p, brackets in it closed; its length with the brackets, or 0. */
static size_t bracket_length(const char *p)
{
	int depth = 0;
	for (size_t n = 0; p[n] && p[n] != '\n'; n++) {
		depth += (p[n] == '(') - (p[n] == ')');
		if (!depth)
			return n + 1;
	}
	return 0;
}

static bool read_clause(struct rewrite *r, const char **p, struct c_clause *ret_clause)
{
	size_t n = word_length(*p);
	if (!n)
		return false;
	*ret_clause = (struct c_clause){arena_strndup(r->arena, *p, n), NULL};
	*p = skip_blanks(*p + n);
	if (**p != '(')
		return true;
	size_t length = bracket_length(*p);
	if (!length)
		return false;
	ret_clause->argument = arena_strndup(r->arena, *p + 1, length - 2);
	*p += length;
	return true;
}

bool c_read_clauses(struct rewrite *r, TSNode directive, struct c_clause *ret_clauses, int *ret_n)
{
	const char *p = behind_words(code_text(r, directive));
	*ret_n = 0;
	if (!p)
		return false;
	for (p = skip_blanks(p); *p && *p != '\n' && *p != '\r'; p = skip_blanks(p)) {
		if (*ret_n == CLAUSES || !read_clause(r, &p, &ret_clauses[*ret_n]))
			return false;
		++*ret_n;
		p = skip_blanks(p);
		p += *p == ',';
	}
	return true;
}

int c_read_names(struct rewrite *r, const char *list, const char **ret_names, int cap)
{
	int n = 0;
	for (const char *p = skip_blanks(list);; p = skip_blanks(p + 1)) {
		size_t length = word_length(p);
		if (!length || n == cap)
			return -1;
		ret_names[n++] = arena_strndup(r->arena, p, length);
		p = skip_blanks(p + length);
		if (!*p)
			return n;
		if (*p != ',')
			return -1;
	}
}

/* ---- conditions ---- */

/* (long) or (size_t): it keeps the product from overflowing. */
static const char *skip_cast(const char *p)
{
	static const char *const casts[] = {"(long)", "(size_t)"};
	for (size_t i = 0; i < ARRAY_LEN(casts); i++)
		if (strncmp(p, casts[i], strlen(casts[i])) == 0)
			return skip_blanks(p + strlen(casts[i]));
	return p;
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* "(long)rows * in > 131072", up to the end or "||"; NULL where it is something else. */
static const char *read_comparison(struct rewrite *r, const char *p, const struct c_loop *loop)
{
	bool has_bound = false;
	for (;; p++) {
		p = skip_cast(skip_blanks(p));
		const char *factor = arena_strndup(r->arena, p, word_length(p));
		struct c_name name = c_find_name(r, loop->loop, factor);
		if (!is_number(factor) && !c_is_whole(&name))
			return NULL;
		has_bound |= strcmp(factor, loop->bound) == 0;
		p = skip_blanks(p + strlen(factor));
		if (*p != '*')
			break;
	}
	if (!has_bound || *p != '>')
		return NULL;
	p = skip_blanks(p + 1);
	size_t digits = strspn(p, "0123456789");
	return digits ? skip_blanks(p + digits) : NULL;
}

bool c_is_size_condition(struct rewrite *r, const char *condition, const struct c_loop *loop)
{
	for (const char *p = condition;; p += 2) {
		p = read_comparison(r, p, loop);
		if (!p || !*p)
			return p;
		if (strncmp(p, "||", 2) != 0)
			return false;
	}
}

/* Tokens and operators of integer expressions. */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "audit/evaluate.h"

enum { SHIFT_CAP = 30 };

static const long magnitude_cap = 1L << 40;

static const struct binary_operator operators[] = {{"*", 10}, {"/", 10}, {"//", 10}, {"%", 10}, {"+", 9},
	{"-", 9}, {"<<", 8}, {">>", 8}, {"<", 7}, {"<=", 7}, {">", 7}, {">=", 7}, {"==", 6}, {"!=", 6},
	{"&", 5}, {"^", 4}, {"|", 3}, {"&&", 2}, {"||", 1}};

bool read_token(const char **at, struct token *ret_token)
{
	static const char *const pairs[] = {"<=", ">=", "==", "!=", "&&", "||", "<<", ">>", "->", "++", "--",
		"+=", "-=", "*=", "/=", "//"};
	const char *p = *at + strspn(*at, " \t");
	size_t length = 0;
	if (!*p)
		return false;
	while (isalnum((unsigned char)p[length]) || p[length] == '_' ||
		(length && p[length] == '.' && isdigit((unsigned char)p[0])))
		length++;
	for (size_t i = 0; !length && i < ARRAY_LEN(pairs); i++)
		if (strncmp(p, pairs[i], 2) == 0)
			length = 2;
	length = length ? length : 1;
	*ret_token = (struct token){p, length};
	*at = p + length;
	return true;
}

const struct binary_operator *find_operator(const struct token *token)
{
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (token_is(token, operators[i].text))
			return &operators[i];
	return NULL;
}

/* Python's // rounds down, also below zero. */
static bool multiply(const char *op, long a, long b, long *ret_value)
{
	if (op[0] == '*')
		return !__builtin_mul_overflow(a, b, ret_value) && labs(*ret_value) <= magnitude_cap;
	if (b == 0)
		return false;
	bool rounds_down = op[1] == '/' && a % b != 0 && (a < 0) != (b < 0);
	*ret_value = op[0] == '/' ? a / b - rounds_down : a % b;
	return true;
}

static bool shift(char op, long a, long b, long *ret_value)
{
	if (b < 0 || b > SHIFT_CAP || a < 0 || a > magnitude_cap >> SHIFT_CAP)
		return false;
	*ret_value = op == '<' ? a << b : a >> b;
	return true;
}

static bool compare(const char *op, long a, long b)
{
	bool equal = op[1] == '=';
	switch (op[0]) {
	case '<':
		return equal ? a <= b : a < b;
	case '>':
		return equal ? a >= b : a > b;
	case '=':
		return a == b;
	default:
		return a != b;
	}
}

static long combine(const char *op, long a, long b)
{
	switch (op[0]) {
	case '&':
		return op[1] ? a && b : (a & b);
	case '|':
		return op[1] ? a || b : (a | b);
	case '^':
		return a ^ b;
	case '+':
		return a + b;
	default:
		return a - b;
	}
}

bool apply_operator(const struct binary_operator *op, long a, long b, long *ret_value)
{
	if (labs(a) > magnitude_cap || labs(b) > magnitude_cap)
		return false;
	if (op->rank == 10)
		return multiply(op->text, a, b, ret_value);
	if (op->rank == 8)
		return shift(op->text[0], a, b, ret_value);
	*ret_value = op->rank == 7 || op->rank == 6 ? compare(op->text, a, b) : combine(op->text, a, b);
	return true;
}

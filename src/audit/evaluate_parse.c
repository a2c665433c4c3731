/* Integer expressions of C and Python, as normalised texts. */
#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "audit/evaluate_int.h"
#include "base/memory.h"

enum { NESTING_CAP = 64 /* of parentheses and signs */ };

struct parser {
	struct evaluation *e;
	const char *at;
	struct place place;
	int nesting;
	bool failed;
};

static long parse_choice(struct parser *p);
static long parse_operand(struct parser *p);

/* ---- calls ---- */

static long parse_call(struct parser *p, const char *name)
{
	long values[EVALUATION_ARGUMENTS_CAP] = {0}, result = 0;
	size_t n = 0;
	struct token t;
	const char *at = p->at;
	if (read_token(&at, &t) && token_is(&t, ")")) {
		p->at = at;
	} else {
		do {
			long value = parse_choice(p);
			if (n < EVALUATION_ARGUMENTS_CAP)
				values[n] = value;
			n++;
			p->failed |= n > EVALUATION_ARGUMENTS_CAP || !read_token(&p->at, &t);
		} while (!p->failed && token_is(&t, ","));
		p->failed |= p->failed || !token_is(&t, ")");
	}
	p->failed |= p->failed || !evaluation_call(p->e, name, values, n, p->place, &result);
	return result;
}

/* ---- expressions ---- */

static bool peek(const struct parser *p, struct token *ret_token)
{
	const char *at = p->at;
	return read_token(&at, ret_token);
}

static bool accept(struct parser *p, const char *text)
{
	const char *at = p->at;
	struct token t;
	if (!read_token(&at, &t) || !token_is(&t, text))
		return false;
	p->at = at;
	return true;
}

/* After "(": the tokens of an integer type and ")". */
static bool accept_type(struct parser *p)
{
	static const char *const types[] = {"size_t", "ssize_t", "ptrdiff_t", "int", "long", "unsigned",
		"signed", "short", "const", "int32_t", "uint32_t", "int64_t", "uint64_t", "intptr_t",
		"uintptr_t"};
	const char *at = p->at;
	struct token t;
	size_t n = 0;
	for (; read_token(&at, &t); n++) {
		if (n > 0 && token_is(&t, ")")) {
			p->at = at;
			return true;
		}
		size_t i = 0;
		while (i < ARRAY_LEN(types) && !token_is(&t, types[i]))
			i++;
		if (i == ARRAY_LEN(types))
			return false;
	}
	return false;
}

static long parse_number(struct parser *p, const struct token *t)
{
	char text[32] = "", *end;
	if (t->length >= sizeof(text)) {
		p->failed = true;
		return 0;
	}
	memcpy(text, t->text, t->length);
	long value = strtol(text, &end, 0);
	p->failed |= strspn(end, "uUlL") != strlen(end) || value > (1L << 40);
	return value;
}

/* Behind an opening bracket: what is up to the one that closes it. */
static void skip_brackets(struct parser *p)
{
	struct token t;
	for (int depth = 1; depth > 0 && read_token(&p->at, &t);) {
		char c = t.length == 1 ? t.text[0] : '\0';
		depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
	}
}

static bool is_read_call(struct parser *p, const struct token *name)
{
	static const char *const known[] = {"min", "max", "int", "cdiv"};
	CLEANUP(free_ptr) char *text = xasprintf("%.*s", (int)name->length, name->text);
	return name_is_one_of(text, known, ARRAY_LEN(known)) || evaluation_defines(p->e, text);
}

/* Python: x.size(0), len(x) and x.shape[1] are names for numbers that nothing explains. False: `first` is a
 * plain name, or a call that can be read. */
static bool parse_opaque(struct parser *p, const struct token *first, long *ret_value)
{
	struct token t;
	const char *start = p->at;
	bool opaque = false, is_name = true;
	while (peek(p, &t) && (token_is(&t, ".") || token_is(&t, "(") || token_is(&t, "["))) {
		(void)read_token(&p->at, &t);
		if (token_is(&t, ".")) {
			(void)read_token(&p->at, &t);
		} else if (is_name && token_is(&t, "(") && is_read_call(p, first)) {
			break;
		} else {
			skip_brackets(p);
			opaque = true;
		}
		is_name = false;
	}
	if (!opaque) {
		p->at = start;
		return false;
	}
	size_t length = (size_t)(p->at - first->text);
	char name[EVALUATION_NAME_CAP] = "";
	memcpy(name, first->text, MIN_OF(length, sizeof(name) - 1));
	p->failed |= length >= sizeof(name);
	*ret_value = evaluation_free_value(p->e, name);
	return true;
}

/* model -> shape . width is one name. */
static long parse_name(struct parser *p, const struct token *first)
{
	char name[EVALUATION_NAME_CAP] = "";
	size_t length = first->length;
	struct token t;
	long opaque;
	if (p->e->source->language == LANGUAGE_PYTHON && parse_opaque(p, first, &opaque))
		return opaque;
	if (length >= EVALUATION_NAME_CAP) {
		p->failed = true;
		return 0;
	}
	memcpy(name, first->text, length);
	while (peek(p, &t) && (token_is(&t, ".") || token_is(&t, "->"))) {
		struct token field;
		const char *from = t.text;
		(void)read_token(&p->at, &t);
		if (!read_token(&p->at, &field))
			break;
		size_t more = (size_t)(field.text + field.length - from);
		if (length + 1 + more >= EVALUATION_NAME_CAP) {
			p->failed = true;
			return 0;
		}
		name[length++] = ' ';
		memcpy(name + length, from, more);
		length += more;
	}
	if (accept(p, "("))
		return parse_call(p, name);
	long value = 0;
	if (peek(p, &t) && (token_is(&t, "[") || token_is(&t, "++") || token_is(&t, "--")))
		p->failed = true;
	else
		p->failed |= !evaluation_name(p->e, name, p->place, &value);
	return value;
}

static long parse_operand_after(struct parser *p, struct token t)
{
	if (token_is(&t, "!"))
		return !parse_operand(p);
	if (token_is(&t, "-"))
		return -parse_operand(p);
	if (token_is(&t, "+"))
		return parse_operand(p);
	if (token_is(&t, "~"))
		return ~parse_operand(p);
	if (token_is(&t, "(")) {
		if (accept_type(p))
			return parse_operand(p);
		long value = parse_choice(p);
		p->failed |= !accept(p, ")");
		return value;
	}
	if (isdigit((unsigned char)t.text[0]))
		return parse_number(p, &t);
	if (!isalpha((unsigned char)t.text[0]) && t.text[0] != '_')
		p->failed = true;
	return p->failed ? 0 : parse_name(p, &t);
}

static long parse_operand(struct parser *p)
{
	struct token t;
	if (p->failed || ++p->nesting > NESTING_CAP || !read_token(&p->at, &t)) {
		p->failed = true;
		return 0;
	}
	long value = parse_operand_after(p, t);
	p->nesting--;
	return value;
}

static long parse_binary(struct parser *p, int rank)
{
	long left = parse_operand(p);
	for (;;) {
		struct token t;
		if (p->failed || !peek(p, &t))
			return left;
		const struct binary_operator *op = find_operator(&t);
		if (!op || op->rank < rank)
			return left;
		(void)read_token(&p->at, &t);
		long right = parse_binary(p, op->rank + 1);
		p->failed |= p->failed || !apply_operator(op, left, right, &left);
	}
}

static long parse_choice(struct parser *p)
{
	long condition = parse_binary(p, 1);
	if (p->failed || !accept(p, "?"))
		return condition;
	long yes = parse_choice(p);
	p->failed |= !accept(p, ":");
	long no = parse_choice(p);
	return condition ? yes : no;
}

bool evaluate(struct evaluation *e, const char *text, struct place place, long *ret_value)
{
	struct parser p = {.e = e, .at = text, .place = place, .failed = place.depth > EVALUATION_DEPTH_CAP};
	long value = parse_choice(&p);
	struct token t;
	if (p.failed || read_token(&p.at, &t))
		return false;
	*ret_value = value;
	return true;
}

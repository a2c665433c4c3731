#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "init/c_tokens.h"

struct lexer {
	struct arena *arena;
	const char *begin, *p, *end;
	int line;
	bool line_is_empty; /* so far: a '#' here begins a directive */
	struct c_token *items;
	size_t count, capacity;
	struct strbuf text;
	bool string_is_open; /* `text` belongs to the last token, a string that another may still follow */
};

static bool at(const struct lexer *lx, const char *word)
{
	size_t n = strlen(word);
	return (size_t)(lx->end - lx->p) >= n && memcmp(lx->p, word, n) == 0;
}

static void step(struct lexer *lx)
{
	if (*lx->p == '\n') {
		lx->line++;
		lx->line_is_empty = true;
	}
	lx->p++;
}

static void skip_comment(struct lexer *lx)
{
	if (at(lx, "//")) {
		while (lx->p < lx->end && *lx->p != '\n')
			step(lx);
		return;
	}
	step(lx);
	step(lx);
	while (lx->p < lx->end && !at(lx, "*/"))
		step(lx);
	for (int i = 0; i < 2 && lx->p < lx->end; i++)
		step(lx);
}

static void skip_blank(struct lexer *lx)
{
	while (lx->p < lx->end) {
		if (at(lx, "//") || at(lx, "/*"))
			skip_comment(lx);
		else if (at(lx, "\\\n"))
			lx->p += 2, lx->line++;
		else if (isspace((unsigned char)*lx->p) || *lx->p == '\0')
			step(lx);
		else
			return;
	}
}

static void add_token(struct lexer *lx, enum c_token_kind kind, const char *start, int line, const char *text)
{
	grow_array(&lx->items, &lx->capacity, lx->count + 1, sizeof(*lx->items));
	bool at_margin = start == lx->begin || start[-1] == '\n';
	lx->items[lx->count++] = (struct c_token){kind, line, at_margin, 0, text};
}

static void close_string(struct lexer *lx)
{
	if (lx->string_is_open)
		lx->items[lx->count - 1].text = arena_strndup(lx->arena, lx->text.buf, lx->text.len);
	lx->string_is_open = false;
}

static void lex_directive(struct lexer *lx)
{
	const char *start = lx->p;
	int line = lx->line;
	strbuf_clear(&lx->text);
	while (lx->p < lx->end && *lx->p != '\n') {
		if (at(lx, "/*") || at(lx, "//")) {
			skip_comment(lx);
		} else if (at(lx, "\\\n")) {
			lx->p += 2;
			lx->line++;
			strbuf_addch(&lx->text, ' ');
		} else {
			if (*lx->p)
				strbuf_addch(&lx->text, *lx->p);
			lx->p++;
		}
	}
	add_token(lx, C_DIRECTIVE, start, line, arena_strndup(lx->arena, lx->text.buf, lx->text.len));
}

static int decode_octal(struct lexer *lx)
{
	int value = 0;
	for (int i = 0; i < 3 && lx->p < lx->end && *lx->p >= '0' && *lx->p <= '7'; i++)
		value = value * 8 + (*lx->p++ - '0');
	return value;
}

static int decode_hex(struct lexer *lx)
{
	unsigned value = 0;
	lx->p++;
	for (int i = 0; i < 8 && lx->p < lx->end && isxdigit((unsigned char)*lx->p); i++, lx->p++) {
		int digit = tolower((unsigned char)*lx->p);
		value = value * 16 + (unsigned)(isdigit(digit) ? digit - '0' : digit - 'a' + 10);
	}
	return (int)(value & 0xFF);
}

/* After the backslash. A NUL is dropped: the text is a C string here too. */
static void lex_escape(struct lexer *lx)
{
	static const char codes[] = "n\nt\tr\ra\ab\bf\fv\v";
	int c = (unsigned char)*lx->p;
	if (c >= '0' && c <= '7') {
		c = decode_octal(lx);
	} else if (c == 'x') {
		c = decode_hex(lx);
	} else {
		const char *code = c && isalpha(c) ? strchr(codes, c) : NULL;
		if (code && (code - codes) % 2 == 0)
			c = (unsigned char)code[1];
		else if (c == '\n')
			lx->line++, c = 0;
		lx->p++;
	}
	if (c)
		strbuf_addch(&lx->text, (char)c);
}

/* A literal ends at its quote or, where the quote is missing, at the end of the line. */
static void lex_quoted(struct lexer *lx)
{
	const char *start = lx->p;
	int line = lx->line;
	char quote = *lx->p++;
	bool continues = lx->string_is_open;
	if (!continues)
		strbuf_clear(&lx->text);
	while (lx->p < lx->end && *lx->p != quote && *lx->p != '\n') {
		if (*lx->p == '\\' && lx->p + 1 < lx->end) {
			lx->p++;
			lex_escape(lx);
		} else {
			if (*lx->p)
				strbuf_addch(&lx->text, *lx->p);
			lx->p++;
		}
	}
	if (lx->p < lx->end && *lx->p == quote)
		lx->p++;
	if (quote == '\'')
		add_token(lx, C_CHARACTER, start, line, arena_strndup(lx->arena, lx->text.buf, lx->text.len));
	else if (!continues)
		add_token(lx, C_STRING, start, line, "");
	lx->string_is_open = quote == '"';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static void lex_word(struct lexer *lx)
{
	const char *start = lx->p;
	bool number = isdigit((unsigned char)*start) || *start == '.';
	while (lx->p < lx->end) {
		char previous = lx->p > start ? (char)tolower((unsigned char)lx->p[-1]) : '\0';
		bool exponent = (*lx->p == '+' || *lx->p == '-') && (previous == 'e' || previous == 'p');
		if (!is_word(*lx->p) && !(number && (*lx->p == '.' || exponent)))
			break;
		lx->p++;
	}
	add_token(lx, number ? C_NUMBER : C_IDENTIFIER, start, lx->line,
		arena_strndup(lx->arena, start, (size_t)(lx->p - start)));
}

static void lex_punctuation(struct lexer *lx)
{
	static const char *const pairs[] = {
		"->", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/="};
	const char *start = lx->p;
	size_t length = 1;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		if (at(lx, pairs[i]))
			length = 2;
	lx->p += length;
	add_token(lx, C_PUNCTUATION, start, lx->line, arena_strndup(lx->arena, start, length));
}

static void lex_token(struct lexer *lx)
{
	char c = *lx->p;
	bool directive = c == '#' && lx->line_is_empty;
	lx->line_is_empty = false;
	if (c != '"')
		close_string(lx);
	if (directive)
		lex_directive(lx);
	else if (c == '"' || c == '\'')
		lex_quoted(lx);
	else if (is_word(c) || (c == '.' && lx->p + 1 < lx->end && isdigit((unsigned char)lx->p[1])))
		lex_word(lx);
	else
		lex_punctuation(lx);
}

static char opening_of(char closing)
{
	return closing == ')' ? '(' : closing == ']' ? '[' : closing == '}' ? '{' : '\0';
}

/* Takes the openers that the bracket at i closes off the stack. A '}' takes what was left open inside it, and
 * one at the margin everything: conditional compilation can leave a brace more than it closes. */
static void close_bracket(struct c_token *items, size_t i, const uint32_t *open, size_t *depth)
{
	char opening = opening_of(items[i].text[0]);
	bool is_brace = opening == '{', to_bottom = is_brace && items[i].at_margin;
	if (!is_brace && *depth && items[open[*depth - 1]].text[0] != opening)
		return;
	while (*depth) {
		struct c_token *opener = &items[open[--*depth]];
		bool is_partner = opener->text[0] == opening;
		if (is_partner)
			opener->closing = (uint32_t)i;
		if (is_partner && !to_bottom)
			return;
	}
}

static void match_brackets(struct c_token *items, size_t count)
{
	CLEANUP(free_ptr) uint32_t *open = xcalloc(count, sizeof(*open));
	size_t depth = 0;
	for (size_t i = 0; i < count; i++) {
		char c = items[i].kind == C_PUNCTUATION ? items[i].text[0] : '\0';
		if (c == '(' || c == '[' || c == '{') {
			items[i].closing = (uint32_t)count;
			open[depth++] = (uint32_t)i;
		} else if (opening_of(c)) {
			close_bracket(items, i, open, &depth);
		}
	}
}

void c_tokenise(struct arena *arena, const char *text, size_t length, struct c_tokens *ret_tokens)
{
	struct lexer lx = {.arena = arena,
		.begin = text,
		.p = text,
		.end = text + length,
		.line = 1,
		.line_is_empty = true,
		.text = STRBUF_INIT};
	for (skip_blank(&lx); lx.p < lx.end && lx.count < C_TOKENS_MAX; skip_blank(&lx))
		lex_token(&lx);
	close_string(&lx);
	match_brackets(lx.items, lx.count);
	*ret_tokens = (struct c_tokens){.count = lx.count, .truncated = lx.p < lx.end};
	ret_tokens->items = arena_array(arena, lx.count, sizeof(*lx.items));
	if (lx.count)
		memcpy(ret_tokens->items, lx.items, lx.count * sizeof(*lx.items));
	free(lx.items);
	strbuf_release(&lx.text);
}

const struct c_token *c_token_at(const struct c_tokens *tokens, size_t i)
{
	static const struct c_token end = {C_END, 0, false, 0, ""};
	return i < tokens->count ? &tokens->items[i] : &end;
}

bool c_token_is(const struct c_tokens *tokens, size_t i, const char *punctuation_or_word)
{
	const struct c_token *t = c_token_at(tokens, i);
	return (t->kind == C_PUNCTUATION || t->kind == C_IDENTIFIER) &&
	       strcmp(t->text, punctuation_or_word) == 0;
}

size_t c_token_closing(const struct c_tokens *tokens, size_t open)
{
	const struct c_token *t = c_token_at(tokens, open);
	bool is_open = t->kind == C_PUNCTUATION && (*t->text == '(' || *t->text == '[' || *t->text == '{');
	return is_open ? t->closing : tokens->count;
}

/*
 * The tokens of a C file, for reading facts out of sources that need not compile here. Comments vanish,
 * adjacent strings become one, strings are decoded, a preprocessor directive is one token. Works on any
 * bytes; nothing is ever expanded or executed.
 */
#ifndef INFRARSI_INIT_C_TOKENS_H
#define INFRARSI_INIT_C_TOKENS_H

#include "base/base.h"

struct arena;

enum c_token_kind { C_END, C_IDENTIFIER, C_NUMBER, C_STRING, C_CHARACTER, C_PUNCTUATION, C_DIRECTIVE };

struct c_token {
	enum c_token_kind kind;
	int line;
	bool at_margin; /* the first character of its line */
	uint32_t
		closing; /* of '(', '[' and '{': the index of its partner, or the count where there is none */
	const char *text; /* strings and characters: decoded, without quotes; directives: the whole line from
			     '#' */
};

enum { C_TOKENS_MAX = 1 << 19 };

struct c_tokens {
	struct c_token *items;
	size_t count;
	bool truncated; /* C_TOKENS_MAX reached: the rest of the file was not looked at */
};

/* Everything lives in `arena`. */
void c_tokenise(struct arena *arena, const char *text, size_t length, struct c_tokens *ret_tokens);

/* Token i, or a C_END token past the end. */
const struct c_token *c_token_at(const struct c_tokens *tokens, size_t i);
bool c_token_is(const struct c_tokens *tokens, size_t i, const char *punctuation_or_word);
/* The index of the bracket that closes the one at `open`, or tokens->count. */
size_t c_token_closing(const struct c_tokens *tokens, size_t open);

#endif

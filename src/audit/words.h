/*
 * Vocabularies: what names of functions and variables mean in a training job. A name is cut into words at
 * underscores, digits and capitals; a word list matches when one of the words is in it.
 */
#ifndef INFRARSI_AUDIT_WORDS_H
#define INFRARSI_AUDIT_WORDS_H

#include "base/base.h"

enum words {
	WORDS_UPDATE, /* optimizer and auxiliary work, gradient synchronisation */
	WORDS_WORK,   /* forward, backward, loss, layers */
	WORDS_DATA,   /* rows, batches, corpus */
	WORDS_LOADER, /* functions that make or fetch rows */
	WORDS_RANDOM, /* generators, shuffles */
	WORDS_REPORT, /* functions that tell the harness or the log */
	WORDS_RESULT, /* variables that are reported: loss, norm, tokens */
	WORDS_TIME,   /* functions and variables of timing */
	WORDS_STEP,   /* counters of updates */
	WORDS_SIZE,   /* batch, sequence, layers, experts */
	WORDS_HYPER,  /* rates, decay, clipping, betas */
	WORDS_LOG,    /* printing */
	WORDS_STALE,  /* previous, cached, reference */
	WORDS_ALLOCATE,
	WORDS_REDUCED, /* precisions below fp32 */
	WORDS_THREAD,  /* identity of a thread or rank */
	WORDS_FAMILY,  /* optimizer families */
	WORDS_TILE,    /* sizes of blocks, which are free to choose */
	WORDS_COUNT
};

bool word_in(const char *name, enum words list);
bool name_is_one_of(const char *name, const char *const *names, size_t count);

/* Reads the next token of a normalised text; false at its end. */
struct token {
	const char *text;
	size_t length;
};
bool next_token(const char **at, struct token *ret_token);
bool token_is(const struct token *token, const char *text);

bool text_has_token(const char *text, const char *token);
bool text_has_word(const char *text, enum words list); /* one of its identifiers */
/* `part` occurs in `text` as a run of whole tokens. */
bool text_contains(const char *text, const char *part);
bool text_is_literal(
	const char *text); /* one number or character, with a sign and parentheses around it perhaps */
bool text_has_identifier(const char *text);
bool text_has_real(const char *text); /* a number with a point or an exponent */
/* A number that `before` does not have; 0 and 1 neither scale nor shift. */
bool text_has_new_number(const char *now, const char *before);
double text_number(const char *text); /* of a literal; NaN otherwise */

#endif

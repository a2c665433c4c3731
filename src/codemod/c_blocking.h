/* A loop whose passes are taken four at a time: c_blocking.c finds it, c_blocking_reasons.c
 * says what stands against it, c_blocking_text.c writes it. */
#ifndef INFRARSI_CODEMOD_C_BLOCKING_H
#define INFRARSI_CODEMOD_C_BLOCKING_H

#include "codemod/c_code.h"

enum { BLOCKING_STATEMENTS = 32, BLOCKING_ROWS = 4 };

struct c_blocking {
	struct c_loop rows, inner; /* inner: the last statement of rows' body */
	TSNode directive;
	TSNode statements[BLOCKING_STATEMENTS]; /* of the body, the inner loop last */
	int n_statements;
	struct c_name row;     /* the variable of `rows` */
	const char *now, *end; /* new names: a row of the block, and the row behind it */
};

/* `float *y = result + row * out;`: a name for a place, worked out from what stays. */
bool c_is_place(const struct c_blocking *b, int statement);
const char *c_place_name(struct rewrite *r, const struct c_blocking *b, int statement); /* or "" */
/* The name is used, or declared, below the node; members of that name are something else. */
bool c_is_mentioned(struct rewrite *r, TSNode node, const char *name);

/* Not the same for all rows. */
bool c_depends_on_row(struct rewrite *r, const struct c_blocking *b, TSNode node);

/* NULL: rows may take turns. */
const char *c_reason_against_blocks(struct rewrite *r, const struct c_blocking *b);
/* NULL: the text can be written. */
const char *c_reason_no_text(struct rewrite *r, const struct c_blocking *b);
void c_write_blocks(struct rewrite *r, const struct c_blocking *b);

#endif

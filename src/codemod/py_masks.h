/* Which mask of attention is the causal one: a square triangle that is made in the expression, in the same
 * function, or as a member of the same class, and never touched otherwise. */
#ifndef INFRARSI_CODEMOD_PY_MASKS_H
#define INFRARSI_CODEMOD_PY_MASKS_H

#include "codemod/rewrite.h"

/* What masked_fill() writes is left with no weight by a softmax. */
bool mask_is_minus_infinity(struct rewrite *r, TSNode value);
/* True exactly where a later position would be looked at. */
bool mask_forbids_later(struct rewrite *r, TSNode condition);
/* Minus infinity there and zero elsewhere, to be added. */
bool mask_adds_causal(struct rewrite *r, TSNode value);

#endif

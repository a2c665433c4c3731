/* Which mask of attention is the causal one: that of a triangle of ones which the same class or function
 * makes. */
#ifndef INFRARSI_CODEMOD_PY_MASKS_H
#define INFRARSI_CODEMOD_PY_MASKS_H

#include "codemod/rewrite.h"

/* "%s" in `form` becomes `word`; in the arena. */
const char *text_with(struct rewrite *r, const char *form, const char *word);
/* Where a name is given its values: the class for self.x, else the function; the file where there is none. */
TSNode owner_of_name(struct rewrite *r, TSNode name);

/* What masked_fill() writes is left with no weight by a softmax. */
bool mask_is_minus_infinity(struct rewrite *r, TSNode value);
/* True exactly where a later position would be looked at. */
bool mask_forbids_later(struct rewrite *r, TSNode condition);
/* Minus infinity there and zero elsewhere, to be added. */
bool mask_adds_causal(struct rewrite *r, TSNode value);

#endif

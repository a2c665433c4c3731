/* What a name of a Python program can be: its one value, where nothing else is ever done to it. */
#ifndef INFRARSI_CODEMOD_PY_SCOPE_H
#define INFRARSI_CODEMOD_PY_SCOPE_H

#include "codemod/rewrite.h"

/* The function or class around a node; a null node = there is none. */
TSNode scope_function(TSNode node);
TSNode scope_class(TSNode node);

/* The value of a local variable that its function gives one value by one plain assignment, and that is
 * otherwise only read in the arithmetic, indexing and calls of torch where it stands: no parameter, no loop
 * or with or unpacking over it, no method called on it that writes, no other name for it. A null node = not
 * so. */
TSNode scope_only_value(struct rewrite *r, TSNode name);
/* The same of self.name: one assignment or register_buffer("name", value) in the class, which nobody derives
 * from, and no write to such a member, or text that names it, anywhere in the program. */
TSNode scope_only_member(struct rewrite *r, TSNode attribute);

/* A Python number and no tensor, as far as can be told: literals, math.sqrt, sizes and shapes of tensors,
 * their arithmetic, and names or members of self that are only ever given one. */
bool scope_is_number(struct rewrite *r, TSNode node);

/* How torch.nn.functional is called in this file: "torch.nn.functional", "F", ...; NULL = it is not imported.
 */
const char *scope_functional(struct rewrite *r);
/* The name ("F", "torch.nn.functional") is torch's functional module in this file. */
bool scope_is_functional(struct rewrite *r, const char *name);

#endif

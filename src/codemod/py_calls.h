/* Statements, calls and modules of torch as the codemods for Python read them. */
#ifndef INFRARSI_CODEMOD_PY_CALLS_H
#define INFRARSI_CODEMOD_PY_CALLS_H

#include "codemod/rewrite.h"

/* Without the parentheses around it. */
TSNode py_peel(TSNode node);
/* The n-th argument where all are positional and there are `of`; a null node else. */
TSNode py_argument(TSNode call, uint32_t n, uint32_t of);
/* What a method is called of; a null node where it is another call. */
TSNode py_method_object(struct rewrite *r, TSNode call, const char *name);
/* torch.<name>() or that of torch.nn.functional, by whatever name the file imports it. */
bool py_is_torch_call(struct rewrite *r, TSNode call, const char *name);
/* The attribute is self.<name>, which its class makes an nn.<kind> and nothing else; that it shares its
 * weight or its bias with another module changes nothing in that. */
bool py_is_module(struct rewrite *r, TSNode attribute, const char *kind);
/* Something in the program does more with self.<name> than to make it in its class, to call it, and to look
 * at its weight and bias; or its class has children, or a parent of the program, which may. */
bool py_is_touched_elsewhere(struct rewrite *r, TSNode attribute);

/* How often the name stands below `top`, whatever is done to it. */
size_t py_count_names(struct rewrite *r, TSNode top, const char *name);

/* Comments are none. */
TSNode py_next_statement(TSNode statement);
/* The assignment that the statement is; a null node for another one. */
TSNode py_assignment_of(TSNode statement);

#endif

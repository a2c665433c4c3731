/* Between facts_c.c, which walks a C tree, and facts_c_shape.c, which reads the shape of single nodes. */
#ifndef INFRARSI_AUDIT_FACTS_C_INT_H
#define INFRARSI_AUDIT_FACTS_C_INT_H

#include "audit/facts_walk.h"

/* The name that an expression is about: the last field, the array's or the pointer's variable. */
const char *c_subject(struct walker *w, TSNode node);
/* The identifier inside a declarator; adds enum declare_flags for what stands around it. */
TSNode c_declared(TSNode node, unsigned *flags);
/* Whether a branch leaves the sequence it stands in, and whether that is an error path. Called with in_loop
 * false and depth 0. */
bool c_leaves(struct walker *w, TSNode node, bool in_loop, int depth, bool *error);
bool c_is_jump(TSNode node);
/* The variable and its bound, from the first comparison of a loop's condition. */
void c_read_bound(struct walker *w, TSNode condition, const char **name, const char **bound);
const char *c_initial_value(struct walker *w, TSNode init);

#endif

/* Between facts_c.c, which walks a C tree, and facts_c_shape.c, which reads the shape of single nodes. */
#ifndef INFRARSI_AUDIT_FACTS_C_INT_H
#define INFRARSI_AUDIT_FACTS_C_INT_H

#include "audit/facts.h"
#include "base/strbuf.h"

struct walker {
	struct source *source;
	struct arena *arena;
	struct strbuf text; /* reused */
	size_t room;
	size_t budget_bytes;
	int depth;
	bool too_deep, too_long;
};

/* The normalised text of a node, in the arena; "" for a null node and when the budget is used up (too_long).
 */
const char *c_text(struct walker *w, TSNode node);
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

/* Between facts_py.c and facts_py_parts.c, which walk a Python tree, and facts_py_shape.c, which reads the
 * shape of single nodes. */
#ifndef INFRARSI_AUDIT_FACTS_PY_INT_H
#define INFRARSI_AUDIT_FACTS_PY_INT_H

#include "audit/facts_walk.h"

/* The name that an expression is about: the last attribute, a string key, the variable that is subscripted or
 * called; "" for what has none. */
const char *py_subject(struct walker *w, TSNode node);
/* What a call is made on: "optimizer" of optimizer.step(), "" of a plain function. */
const char *py_receiver(struct walker *w, TSNode function);
/* Without the parentheses around it. */
TSNode py_bare(TSNode node);
/* "( x )", or "! ( x )" when it is negated; `not` and parentheses are folded into that. */
const char *py_condition(struct walker *w, TSNode condition, bool negated);
const char *py_negated(struct walker *w, const char *condition);
/* Whether a branch leaves the sequence that it stands in, and whether that is an error path. */
bool py_leaves(struct walker *w, TSNode node, bool in_loop, int depth, bool *error);
bool py_is_jump(TSNode node);
/* A jump, or a with or finally whose block ends in one. */
bool py_always_leaves(TSNode statement);
bool py_raises(TSNode body, int depth);
/* A string's content, without prefix and quotes. */
const char *py_string_content(struct walker *w, TSNode string);
TSNode py_child_of_type(TSNode node, const char *type);
/* The keyword's value among the arguments; null when it is not there. */
TSNode py_keyword(struct walker *w, TSNode arguments, const char *name);

/* Handlers in facts_py_parts.c. */
void py_walk_nothing(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_assignment(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_augmented(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_walrus(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_keyword(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_pair(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_call(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_binary(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_comparison(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_subscript(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_string(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_with(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_try(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_import(struct walker *w, TSNode node, const struct scope *scope);
void py_walk_import_from(struct walker *w, TSNode node, const struct scope *scope);

#endif

/* Models of a Python program: where one is made, moved and called. */
#ifndef INFRARSI_CODEMOD_PY_MODULES_H
#define INFRARSI_CODEMOD_PY_MODULES_H

#include "codemod/rewrite.h"

struct model_move {
	TSNode statement; /* model = model.to(device), or Net(...).to(device) */
	const char *name;
	int found;
};

/* Moves of models, by variables that are called so. */
struct model_move py_find_move(struct rewrite *r);
bool py_is_conditional(TSNode node); /* in a loop or under a condition */
TSNode py_statement_of(TSNode node);
/* What some file of the program says, as a whole word. */
bool py_program_has(struct rewrite *r, const char *word);
/* A class of the program has the name. */
bool py_is_own_class(struct rewrite *r, const char *name);

#endif

/* The clauses of `#pragma omp parallel for`, read from its text: the grammar has no trees for directives. */
#ifndef INFRARSI_CODEMOD_C_CLAUSES_H
#define INFRARSI_CODEMOD_C_CLAUSES_H

#include "codemod/c_code.h"

enum { CLAUSES = 16 };

struct c_clause {
	const char *name, *argument; /* without the brackets; NULL = it has none */
};

/* The directive is `parallel for`, whatever else it says. */
bool c_is_parallel_for(struct rewrite *r, TSNode directive);
/* Its clauses; false where it has comments, several lines, or something that is no clause. */
bool c_read_clauses(struct rewrite *r, TSNode directive, struct c_clause *ret_clauses, int *ret_n);

/* The names of a list like "i, o"; -1 where it is none of at most `cap` names. */
int c_read_names(struct rewrite *r, const char *list, const char **ret_names, int cap);
/*
 * if(...) only says that few rows are not worth several threads: products with the loop's bound, each above a
 * number. What does not meet with many rows then does not meet with few of them, either; any other condition
 * may be what keeps the passes apart.
 */
bool c_is_size_condition(struct rewrite *r, const char *condition, const struct c_loop *loop);

#endif

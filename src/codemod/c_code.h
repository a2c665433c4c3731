/* What the codemods for C share: where a name is declared, loops that count, directives, and what may be
 * worked out in another order or not at all. Everything is read from the syntax tree: what is not seen there
 * is not known, and a codemod then refuses. */
#ifndef INFRARSI_CODEMOD_C_CODE_H
#define INFRARSI_CODEMOD_C_CODE_H

#include "codemod/rewrite.h"

enum name_place { NAME_UNKNOWN, NAME_LOCAL, NAME_PARAMETER, NAME_FILE };

struct c_name {
	enum name_place place;
	TSNode declaration, declarator; /* the declarator without its initialiser */
	TSNode value;                   /* initialiser; may be null */
	const char *type;               /* without qualifiers and stars */
	int pointers;                   /* stars */
	bool is_array, is_restrict, is_static, is_volatile;
	bool is_odd; /* a function, a pointer to an array, ... */
};

struct c_loop { /* for (v = first; v < bound; v += step) */
	TSNode loop, body;
	const char *variable, *first, *bound; /* text without blanks; bound as one operand */
	TSNode bound_node;
	bool is_inclusive, is_declared_here;
	int step;
};

TSNode c_function_of(TSNode node);
bool c_is_loop(TSNode node);
/* The variable that a for loop counts; "". */
const char *c_loop_variable(struct rewrite *r, TSNode loop);
/* A canonical loop that counts up by a number and whose head has no side effects. */
bool c_read_loop(struct rewrite *r, TSNode loop, struct c_loop *ret_loop);

/* The declaration that `name` means at `at`. */
struct c_name c_find_name(struct rewrite *r, TSNode at, const char *name);
bool c_is_declared_in(const struct c_name *name, TSNode scope);
bool c_is_float(const struct c_name *name);  /* float or double, no pointer or array */
bool c_is_whole(const struct c_name *name);  /* an integer */
bool c_is_vector(const struct c_name *name); /* one pointer to, or an array of, numbers */

/* Written, declared anew or its address taken below `scope`. */
bool c_is_written(struct rewrite *r, TSNode scope, const char *name);
bool c_is_address_taken(struct rewrite *r, TSNode scope, const char *name);
/* Each use of the variable in the function stands in a loop that sets it first. */
bool c_is_only_counter(struct rewrite *r, TSNode function, const char *name);

/* Without side effects, of names whose declarations are seen, and no calls but those of the mathematical
 * library. NULL = it is; else why not. */
const char *c_reason_impure(struct rewrite *r, TSNode expression);
/* The same for one name. */
const char *c_reason_unknown(struct rewrite *r, TSNode identifier);
bool c_is_math_call(struct rewrite *r, TSNode call);

/* The #pragma before a statement, or the #if that it may stand in; a null node without. */
TSNode c_directive_of(TSNode statement);
/* The #pragma is one of OpenMP and has the word. */
bool c_directive_has(struct rewrite *r, TSNode directive, const char *word);
TSNode c_next_statement(TSNode directive);
bool c_uses_openmp(const struct rewrite *r); /* some file of the program */
/* A loop that a collapse() or ordered() of an outer directive may take in. */
bool c_is_collapsed(struct rewrite *r, TSNode loop);
/* A clause at its end; false where none can be added. */
bool c_add_clause(struct rewrite *r, TSNode directive, const char *clause);
bool c_directives_at_margin(const struct rewrite *r);
/* Puts a line before the statement, as the file has its directives: at the margin or indented. */
void c_insert_directive(struct rewrite *r, TSNode statement, const char *text);
/* NULL: a directive can stand before the statement. */
const char *c_reason_no_place(struct rewrite *r, TSNode statement);

#endif

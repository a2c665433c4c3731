/*
 * What a source file says, as a flat list of facts that rules compare between the old and the new version:
 * calls, assignments, loops, exits, branches, declarations, names, strings, directives. Every fact knows the
 * function and the conditions and loops around it (`guards`). Python has the same facts and a few of its own:
 * keyword arguments and dictionary entries are assignments with op ":", `range` loops read like those of C,
 * and comprehensions are loops.
 *
 * Texts are normalised: tokens with one blank between them, comments and branch hints (likely) dropped. So
 * white space, line breaks and moved code do not make a difference, and a rule can read an expression token
 * by token (words.h).
 *
 * Everything lives in the arena that is passed in; nodes point into the trees of the sources.
 */
#ifndef INFRARSI_AUDIT_FACTS_H
#define INFRARSI_AUDIT_FACTS_H

#include <tree_sitter/api.h>

#include "base/base.h"
#include "base/memory.h"
#include "patch/syntax.h"

struct strbuf;

enum fact_kind {
	FACT_CALL,    /* name: callee (last field); value: arguments; Python, init: the receiver */
	FACT_ASSIGN,  /* name: variable or last field; op; value: right side; also initialisers, ++ and --  */
	FACT_LOOP,    /* name: induction variable; value: bound; init, step */
	FACT_EXIT,    /* name: return, break, continue, goto; value: what is returned */
	FACT_BRANCH,  /* name: if, ?:, switch; value: condition */
	FACT_DECLARE, /* name; value: type; flags */
	FACT_NAME,    /* an identifier in use */
	FACT_BINARY,  /* op, left in init, right in value */
	FACT_CAST,    /* name: type; value: operand */
	FACT_STRING,  /* a string literal */
	FACT_DEFINE,  /* name: macro; value: its text */
	FACT_INCLUDE, /* name: path with its quotes; Python: the name that is bound, value: module and name */
	FACT_DIRECTIVE, /* #pragma, #undef, #line, ...: the whole text */
	FACT_ATTRIBUTE, /* __attribute__ */
	FACT_ASM,
	FACT_FUNCTION, /* name of a function that is defined; Python: with its class, init: without, value:
			  parameters */
	/* of Python alone */
	FACT_SLICE, /* with a slice or a variable; name: what is cut; init: its text; value: the subscript */
	FACT_HANDLER,   /* name: the exceptions; value: the body; flags */
	FACT_WITH,      /* name: the context's function; value: the context */
	FACT_DECORATOR, /* name; value: the expression; function: what is decorated */
	FACT_CLASS,     /* name; value: bases */
	FACT_DELETE,    /* name; value: target */
	FACT_KINDS
};

enum declare_flags {
	DECLARE_STATIC = 1, /* keeps its value: static, thread-local or at file level */
	DECLARE_CONST = 2,
	DECLARE_POINTER = 4,
	DECLARE_ARRAY = 8,
	DECLARE_PARAMETER = 16,
	DECLARE_FIELD = 32,
	DECLARE_FUNCTION = 64, /* a prototype */
	HANDLER_RAISES = 128,  /* Python: an exception handler that raises */
};

enum guard_kind {
	GUARD_IF,         /* then or else branch, also of ?: and && || */
	GUARD_CASE,       /* a switch */
	GUARD_DIRECTIVE,  /* #if, #ifdef */
	GUARD_AFTER_EXIT, /* stands after a conditional return, break, continue or goto */
	GUARD_LOOP,
	GUARD_WITH,  /* Python: a context */
	GUARD_TRY,   /* Python: the body of a try with handlers */
	GUARD_EXCEPT /* Python: a handler */
};

struct guard {
	const struct guard *up;
	enum guard_kind kind;
	const char *text;    /* the condition; "! ( ... )" for else branches and exits */
	TSNode node;         /* the if, ?:, switch, loop or #if */
	TSNode inside;       /* Python: the part of it that is guarded; null after an exit */
	bool is_error_path;  /* GUARD_AFTER_EXIT: leaves with an error */
	uint64_t conditions; /* a hash of the conditions from here up; loops do not count */
};

struct source;

struct fact {
	enum fact_kind kind;
	unsigned flags;                                /* enum declare_flags */
	const char *name, *text, *value, *init, *step; /* never NULL */
	const char *op, *condition;                    /* condition: of a loop */
	const char *function;                          /* "" at file level */
	const struct guard *guards;
	const struct source *source;
	TSNode node;
	int loops;     /* loops around it in its function */
	int line;      /* 1-based */
	size_t index;  /* in the change's list of its version */
	uint64_t hash; /* of kind and text */
	int trade;     /* Python, of a call: what a function of the job does (enum py_trade); 0 = not known */
	struct fact *twin; /* in the other version; NULL = added or removed */
	bool same;         /* the twin has the same text */
};

struct source {
	const char *path;
	const char *text;
	size_t length;
	enum language language;
	TSTree *tree;
	struct fact *facts; /* in order of appearance */
	size_t n_facts;
	const struct fact **includes; /* Python: those of kind FACT_INCLUDE */
	size_t n_includes;
};

/* Fills facts of a parsed C source. ERR_LIMIT when the source nests too deeply or the normalised texts get
 * too long. */
enum err_code facts_read_c(struct source *source, struct arena *arena, struct err *reterr) MUST_CHECK;

enum err_code facts_read_python(struct source *source, struct arena *arena, struct err *reterr) MUST_CHECK;

/* Pairs old with new facts: equal text in the same function under equal conditions first, then in the same
 * function, then equal text anywhere, then equal name
 * in the same function, then equal name. `same` is set where the text is equal. */
void facts_pair(struct fact **old, size_t n_old, struct fact **new, size_t n_new);

/* The normalised text of a node. */
void node_text(const struct source *source, TSNode node, struct strbuf *text);

/* Of a null node, as broken sources have them: null, 0, "", false. Everything here asks for nodes this way.
 */
TSNode node_parent(TSNode node);
TSNode node_next(TSNode node); /* named sibling */
TSNode node_child(TSNode node, uint32_t index);
TSNode node_field(TSNode node, const char *field);
TSNode node_named(TSNode node, uint32_t index);
uint32_t node_count(TSNode node, uint32_t cap); /* of named children */
uint32_t node_start(TSNode node);               /* bytes */
uint32_t node_end(TSNode node);
const char *node_type(TSNode node);
bool node_is(TSNode node, const char *type);
bool node_contains(TSNode outer, TSNode inner);

#endif

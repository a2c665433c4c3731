/*
 * The value of an integer expression at a place in a source, for numbers given to what the source does not
 * explain. Variables are followed through their assignments before that place, macros and one-line functions
 * through their definitions. Whatever cannot be told makes the evaluation fail; it never guesses.
 */
#ifndef INFRARSI_AUDIT_EVALUATE_H
#define INFRARSI_AUDIT_EVALUATE_H

#include "audit/audit_int.h"

enum { EVALUATION_BOUND_CAP = 16 };

struct bound_name {
	const char *name;
	long value;
};

/* A run of a source's facts. */
struct span {
	const struct source *source;
	const char *function; /* NULL: the macros */
	size_t from, to;
};

struct evaluation {
	const struct change *change;
	const struct source *source;
	const char *wanted; /* the old bound: its names are given large numbers */
	size_t trial;
	long scale; /* the largest number that the function names */
	long thread, threads;
	bool parallel;
	bool even_constants; /* constants that nothing explains are powers of two */
	/* loop counters and parameters, innermost last */
	struct bound_name bound[EVALUATION_BOUND_CAP];
	size_t n_bound;
	/* loops whose use is noted */
	const struct fact *const *watched;
	size_t n_watched;
	unsigned watched_used;
	bool thread_used;
	size_t facts_seen;
	struct span spans[4]; /* found before: both versions' function and macros */
	size_t n_spans;
};

/* Where an expression stands. */
struct place {
	const char *function;
	uint32_t byte;
	int depth; /* of the definitions that led here */
};

bool evaluate(struct evaluation *e, const char *text, struct place place, long *ret_value);

/* The value of a condition that stands around `at`. */
bool evaluate_guard(struct evaluation *e, const struct guard *guard, const struct fact *at, long *ret_value);

void evaluation_watch(struct evaluation *e, const struct fact *const *loops, size_t n);
/* Notes which of the watched loops a range or a condition depends on. */
void evaluation_touch(struct evaluation *e, const struct fact *loop);
void evaluation_touch_guard(struct evaluation *e, const struct guard *guard, const struct fact *at);
void evaluation_find_scale(struct evaluation *e, const struct fact *at);
bool is_constant_name(const char *name); /* WIDTH */
bool is_in_parallel_region(const struct fact *f);

/* As next_token() of words.h, for texts that blanks do not cut: a macro's has no blanks but its own. */
bool read_token(const char **at, struct token *ret_token);

struct binary_operator {
	const char *text;
	int rank; /* binds tighter when larger */
};
const struct binary_operator *find_operator(const struct token *token);
/* False for what C leaves undefined, and for results that no size of a loop has. */
bool apply_operator(const struct binary_operator *op, long a, long b, long *ret_value);

/* The turns of one loop. */
struct turns {
	long at, stride, end;
	const char *op;   /* of `counter op end`; NULL when the condition is evaluated every turn */
	size_t evaluated; /* conditions */
	bool failed;
};
bool turns_begin(struct evaluation *e, const struct fact *loop, struct turns *ret_turns);
bool turns_go_on(struct evaluation *e, const struct fact *loop, struct turns *t);

#endif

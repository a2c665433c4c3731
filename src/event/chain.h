/*
 * What a set of receipts says about each other: the same receipt given twice, one execution's events
 * presented as another's (a nonce or a place in the chain used twice), a chain that does not join. Any subset
 * of a campaign's receipts may be given: gaps are no problem, contradictions are.
 */
#ifndef INFRARSI_EVENT_CHAIN_H
#define INFRARSI_EVENT_CHAIN_H

#include "base/base.h"
#include "base/memory.h"

struct receipt;

struct chain_file {
	const char *path;
	const struct receipt *receipt; /* payload_digest set, as after receipt_read() */
};

enum chain_problem_kind {
	CHAIN_DUPLICATE, /* the same payload twice */
	CHAIN_REPLAYED,  /* one nonce, or one place in one campaign's chain, in two receipts */
	CHAIN_BROKEN,    /* prev does not name the receipt before it */
	N_CHAIN_PROBLEM_KINDS
};
extern const char *const chain_problem_names[N_CHAIN_PROBLEM_KINDS];

struct chain_problem {
	enum chain_problem_kind kind;
	/* Indices: the one not to believe, and the one that it contradicts (itself, where it is alone). Which
	 * of two it is depends on their places in the chain, then on the order in which they were given. */
	size_t file, other;
	const char *text; /* one line that names both paths */
};

/* The problems in order of the files' campaigns and places; the array and its texts live in `arena`. */
size_t receipt_chain_check(const struct chain_file *files, size_t n_files, struct arena *arena,
	struct chain_problem **ret_problems);

#endif

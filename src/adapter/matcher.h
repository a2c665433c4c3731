/*
 * Many literals looked for in one pass, in any case. Each belongs to a set of at most 64 owners; what a text
 * holds is the union.
 *
 *     struct matcher *m = matcher_new();
 *     matcher_add(m, "lm loss", 1 << 0, 0);
 *     matcher_compile(m);
 *     struct matcher_hits hits = matcher_find(m, ~(uint64_t)0, line, length);
 *     matcher_free(m);
 *
 * Every four bytes of the text are hashed and looked up in a map of the rarest four bytes of each
 * literal; only where it has a mark are literals compared. An automaton (Aho and Corasick) was tried first:
 * each of its look-ups waits for the one before, which made it four times slower.
 *
 * Constant once compiled: any number of scans may share one.
 */
#ifndef INFRARSI_ADAPTER_MATCHER_H
#define INFRARSI_ADAPTER_MATCHER_H

#include "base/base.h"

struct matcher;

/* The owners of all bits of a byte's position (0, 8, 16, ...) are a group: where each of a group is unwanted
 * or has been found, its literals cost nothing more. */
enum { MATCHER_GROUPS = 8 };

struct matcher *matcher_new(void);
/* Lower case. One of fewer than four bytes needs a byte that is no letter, and there are few such. Borrowed:
 * it must live as long as the matcher. notes: bits that a text with this literal gets beside its owners;
 * literals with notes are looked for even where all of their owners have been found. */
void matcher_add(struct matcher *matcher, const char *literal, uint64_t owners, uint64_t notes);
void matcher_compile(struct matcher *matcher);

struct matcher_hits {
	uint64_t owners; /* of the wanted ones only */
	uint64_t notes;  /* also of literals that only others own */
};
struct matcher_hits matcher_find(
	const struct matcher *matcher, uint64_t wanted, const char *text, size_t length);
void matcher_free(struct matcher *matcher);

#endif

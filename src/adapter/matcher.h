/*
 * Many literals looked for in one pass, in any case. Each belongs to a set of at most 64 owners; what a text
 * holds is the union.
 *
 *     struct matcher *m = matcher_new();
 *     matcher_add(m, "lm loss", 1 << 0);
 *     matcher_compile(m);
 *     uint64_t owners = matcher_find(m, ~(uint64_t)0, line, length);
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

struct matcher *matcher_new(void);
/* Lower case. One of fewer than four bytes needs a byte that is no letter, and there are few such. Borrowed:
 * it must live as long as the matcher. */
void matcher_add(struct matcher *matcher, const char *literal, uint64_t owners);
void matcher_compile(struct matcher *matcher);
/* Of the wanted owners only. */
uint64_t matcher_find(const struct matcher *matcher, uint64_t wanted, const char *text, size_t length);
void matcher_free(struct matcher *matcher);

#endif

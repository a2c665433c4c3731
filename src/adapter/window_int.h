/* Windows of four bytes, by which literals are looked for. Internal to adapter/. */
#ifndef INFRARSI_ADAPTER_WINDOW_INT_H
#define INFRARSI_ADAPTER_WINDOW_INT_H

#include <endian.h>
#include <string.h>

#include "base/base.h"

enum { WINDOW = 4, HASH_BITS = 15, HASH_SIZE = 1 << HASH_BITS };

/* Little endian on every machine: several windows are taken out of one word. */
static inline uint32_t load_window(const char *p)
{
	uint32_t window;
	memcpy(&window, p, sizeof(window));
	return le32toh(window);
}

/* Folds case, and some other pairs of bytes, which a comparison tells apart. */
static inline uint32_t folded(uint32_t window)
{
	return window | 0x20202020u;
}

/* Multiplicative hashing; of the constants of xxHash this one gives the literals of four bytes, which have no
 * choice, hashes that logs rarely hit. */
static inline size_t hash_of_folded(uint32_t window)
{
	return (window * 3266489917u) >> (32 - HASH_BITS);
}

static inline size_t hash_of(const char *p)
{
	return hash_of_folded(folded(load_window(p)));
}

/* How often hashes are met in what logs typically hold. */
struct window_counts {
	uint8_t of[HASH_SIZE];
};
struct window_counts *window_counts_new(void); /* free() */
/* Where the rarest window of a literal begins; it has WINDOW bytes at least. */
size_t rarest_window(const struct window_counts *counts, const char *literal, size_t length);

#endif

/*
 * The one seeded generator (xoshiro256**, Blackman and Vigna 2018, seeded by SplitMix64). The numbers of
 * decision k of a campaign come from random_init(seed, "purpose", k), so a decision never depends on how
 * often another one drew.
 */
#ifndef INFRARSI_BASE_RANDOM_H
#define INFRARSI_BASE_RANDOM_H

#include "base/base.h"

struct random {
	uint64_t state[4];
	bool has_spare;
	double spare;
};

void random_init(struct random *r, uint64_t seed, const char *purpose, uint64_t index);
uint64_t random_u64(struct random *r);
double random_uniform(struct random *r);             /* [0, 1), 53 bits */
uint64_t random_below(struct random *r, uint64_t n); /* 0 .. n-1 without bias; n > 0 */
double random_normal(struct random *r); /* polar method in plain arithmetic: the same on every libm */

#endif

/* SplitMix64: small, fast, and every stream can be reached directly from its seed. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* An independent stream for each (seed, index). */
static inline uint64_t random_stream(uint64_t seed, uint64_t index)
{
	uint64_t state = seed ^ (index + 1) * 0xd1342543de82ef95ULL;

	return random_next(&state);
}

#define RANDOM_ONE (1u << 24)

/* A fraction of RANDOM_ONE, in whole numbers: floats would be rounded otherwise under -ffast-math. */
static inline uint32_t random_fraction(uint64_t *state)
{
	return (uint32_t)(random_next(state) >> 40);
}

/* Mean 0, variance 1, from four uniforms added as whole numbers: the same bits under every compiler flag. */
static inline float random_normal(uint64_t *state)
{
	uint32_t sum = random_fraction(state);

	sum += random_fraction(state);
	sum += random_fraction(state);
	sum += random_fraction(state);
	return (float)((int32_t)sum - 2 * (int32_t)RANDOM_ONE) * (1.7320508f / RANDOM_ONE);
}

#endif

#include "base/base.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"

static uint64_t splitmix64(uint64_t *x)
{
	uint64_t z = (*x += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

void random_init(struct random *r, uint64_t seed, const char *purpose, uint64_t index)
{
	unsigned char key[16 + 64] = {0};
	for (int i = 0; i < 8; i++) {
		key[i] = (unsigned char)(seed >> (8 * i));
		key[8 + i] = (unsigned char)(index >> (8 * i));
	}
	size_t length = MIN_OF(strlen(purpose), (size_t)64);
	memcpy(key + 16, purpose, length);
	uint64_t x = sha256_u64(key, 16 + length);
	for (int i = 0; i < 4; i++)
		r->state[i] = splitmix64(&x);
	r->has_spare = false;
	r->spare = 0;
}

static uint64_t rotate_left(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

uint64_t random_u64(struct random *r)
{
	uint64_t *s = r->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

double random_uniform(struct random *r)
{
	return (double)(random_u64(r) >> 11) * 0x1.0p-53;
}

uint64_t random_below(struct random *r, uint64_t n)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % n;
	uint64_t x;
	do
		x = random_u64(r);
	while (x >= limit);
	return x % n;
}

/* ln x for x > 0 in plain arithmetic, to about 1e-16: the log() of one libm differs from another's in the
 * last bit, and a draw must not. */
static double plain_ln(double x)
{
	int exponent;
	double m = frexp(x, &exponent);
	if (m < M_SQRT1_2) {
		m *= 2;
		exponent--;
	}
	/* ln m = 2 artanh(t); |t| <= 0.172, so the series ends below 1e-17 after t^21 */
	double t = (m - 1) / (m + 1), square = t * t, sum = 0;
	for (int k = 21; k >= 1; k -= 2)
		sum = sum * square + 1.0 / k;
	return 2 * t * sum + exponent * M_LN2;
}

double random_normal(struct random *r)
{
	if (r->has_spare) {
		r->has_spare = false;
		return r->spare;
	}
	double u, v, s;
	do {
		u = 2 * random_uniform(r) - 1;
		v = 2 * random_uniform(r) - 1;
		s = u * u + v * v;
	} while (s >= 1 || s == 0);
	double scale = sqrt(-2 * plain_ln(s) / s);
	r->spare = v * scale;
	r->has_spare = true;
	return u * scale;
}

/* The two loops that most of a transformer consists of, for everything that is not a big product. */
#ifndef VECTOR_H
#define VECTOR_H

/* The order of the additions is left to the compiler, or no vector could be used. */
static inline float dot(const float *a, const float *b, int count)
{
	float sum = 0;
	int i;

#pragma omp simd reduction(+ : sum)
	for (i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
}

static inline void add_scaled(float *y, float scale, const float *x, int count)
{
	int i;

	for (i = 0; i < count; i++)
		y[i] += scale * x[i];
}

#endif

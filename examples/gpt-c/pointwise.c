#include "layers.h"

#include <math.h>

#define NORM_EPSILON 1e-5f
#define GELU_SCALE 0.7978845608f /* sqrt(2 / pi) */
#define GELU_CUBIC 0.044715f

void norm_forward(float *y, float *inverse_rms, const float *x, const float *weight, int tokens, int width)
{
	int n, i;

#pragma omp parallel for private(i)
	for (n = 0; n < tokens; n++) {
		const float *from = x + (size_t)n * width;
		float *to = y + (size_t)n * width;
		float squares = 0, inverse;

		for (i = 0; i < width; i++)
			squares += from[i] * from[i];
		inverse = 1.0f / sqrtf(squares / width + NORM_EPSILON);
		for (i = 0; i < width; i++)
			to[i] = from[i] * inverse * weight[i];
		inverse_rms[n] = inverse;
	}
}

void norm_backward(float *gradient, float *weight_gradient, const float *dy, const float *x, const float *inverse_rms,
		   const float *weight, int tokens, int width)
{
	int n, i;

#pragma omp parallel for private(i)
	for (n = 0; n < tokens; n++) {
		const float *from = x + (size_t)n * width, *dto = dy + (size_t)n * width;
		float *dfrom = gradient + (size_t)n * width;
		float inverse = inverse_rms[n], mean = 0;

		for (i = 0; i < width; i++)
			mean += dto[i] * weight[i] * from[i] * inverse;
		mean /= width;
		for (i = 0; i < width; i++)
			dfrom[i] += inverse * (dto[i] * weight[i] - from[i] * inverse * mean);
	}
	for (n = 0; n < tokens; n++) /* not shared out: every token adds to the same weights */
		for (i = 0; i < width; i++)
			weight_gradient[i] += dy[(size_t)n * width + i] * x[(size_t)n * width + i] * inverse_rms[n];
}

void gelu_forward(float *y, const float *x, size_t count)
{
	size_t i;

#pragma omp parallel for
	for (i = 0; i < count; i++) {
		float cube = GELU_CUBIC * x[i] * x[i] * x[i];

		y[i] = 0.5f * x[i] * (1.0f + tanhf(GELU_SCALE * (x[i] + cube)));
	}
}

void gelu_backward(float *gradient, const float *x, size_t count)
{
	size_t i;

#pragma omp parallel for
	for (i = 0; i < count; i++) {
		float cube = GELU_CUBIC * x[i] * x[i] * x[i];
		float tangent = tanhf(GELU_SCALE * (x[i] + cube));
		float slope = GELU_SCALE * (1.0f + 3.0f * GELU_CUBIC * x[i] * x[i]);

		gradient[i] *= 0.5f * (1.0f + tangent) + 0.5f * x[i] * (1.0f - tangent * tangent) * slope;
	}
}

void add_into(float *y, const float *x, size_t count)
{
	size_t i;

#pragma omp parallel for
	for (i = 0; i < count; i++)
		y[i] += x[i];
}

/*
 * The residual sub-layers y = x + f(norm(x)), and what they are made of.
 *
 * A sub-layer's parameters, and their gradients likewise, are one dense run of floats; its activations (what backward
 * needs beside x) are a run of floats and a run of ints.  The *_size functions tell how long, and the structs below
 * name the places.  Forward and backward leave the arena as they found it.
 */
#ifndef LAYERS_H
#define LAYERS_H

#include "context.h"

struct activations {
	float *floats;
	int *ints;
};

/* Tells the name, shape and weight decay of each tensor in the order in which they lie in memory. */
typedef void tensor_visitor(void *context, const char *name, int rows, int columns);

struct sublayer {
	const char *name;
	void (*describe)(const struct config *config, tensor_visitor *visit, void *context);
	size_t (*float_count)(const struct context *context);
	size_t (*int_count)(const struct context *context);
	void (*forward)(const struct context *context, float *weights, const float *x, struct activations acts, float *y);
	/* gradient holds dL/dy on entry and dL/dx on return; weight_gradients are added to. */
	void (*backward)(const struct context *context, float *weights, float *weight_gradients, const float *x,
			 struct activations acts, float *gradient);
};

extern const struct sublayer attention_sublayer, mlp_sublayer, moe_sublayer;

/* Cuts a run of floats into its parts. */
static inline float *take_floats(float **run, size_t count)
{
	float *part = *run;

	*run += count;
	return part;
}

static inline int *take_ints(int **run, size_t count)
{
	int *part = *run;

	*run += count;
	return part;
}

/* ---- RMS norm: y = x / rms(x) * weight ---- */

void norm_forward(float *y, float *inverse_rms, const float *x, const float *weight, int tokens, int width);
/* Adds to gradient (dL/dx) and to weight_gradient. */
void norm_backward(float *gradient, float *weight_gradient, const float *dy, const float *x, const float *inverse_rms,
		   const float *weight, int tokens, int width);

/* ---- GELU, tanh form ---- */

void gelu_forward(float *y, const float *x, size_t count);
/* Turns dL/dy into dL/dx in place. */
void gelu_backward(float *gradient, const float *x, size_t count);

/* ---- y += x ---- */

void add_into(float *y, const float *x, size_t count);

/* ---- the attention itself: qkv is tokens x (q, k, v), width each; context and its gradient are tokens x width ---- */

/* probabilities: rows x heads x seq_len x seq_len. */
void attention_materialised_forward(const struct context *context, const float *qkv, float *probabilities, float *out);
void attention_materialised_backward(const struct context *context, const float *qkv, const float *probabilities,
				     const float *out_gradient, float *qkv_gradient);

/* log_sums: rows x heads x seq_len, the logarithm of each softmax's denominator. */
void attention_tiled_forward(const struct context *context, const float *qkv, float *log_sums, float *out);
void attention_tiled_backward(const struct context *context, const float *qkv, const float *log_sums, const float *out,
			      const float *out_gradient, float *qkv_gradient);

#endif

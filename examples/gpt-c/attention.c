/* The attention sub-layer: norm, q k v, rotary positions, attention, output projection, residual. */
#include "layers.h"

#include <math.h>

#define ROTARY_BASE 10000.0f

struct attention_weights {
	float *norm, *qkv, *out;
};

struct attention_acts {
	float *normed, *inverse_rms, *qkv, *saved, *context;
};

static struct attention_weights weights_at(const struct config *config, float *run)
{
	size_t width = config->width;
	struct attention_weights weights;

	weights.norm = take_floats(&run, width);
	weights.qkv = take_floats(&run, width * 3 * width);
	weights.out = take_floats(&run, width * width);
	return weights;
}

static void describe(const struct config *config, tensor_visitor *visit, void *context)
{
	visit(context, "norm", 1, config->width);
	visit(context, "qkv", config->width, 3 * config->width);
	visit(context, "out", config->width, config->width);
}

/* The matrix of probabilities, or one logarithm for each of its rows. */
static size_t saved_count(const struct context *context)
{
	size_t softmaxes = (size_t)context->tokens * context->config->heads;

	return context->settings->attention == ATTENTION_TILED ? softmaxes : softmaxes * context->config->seq_len;
}

static size_t float_count(const struct context *context)
{
	size_t tokens = context->tokens, width = context->config->width;

	return tokens * (1 + 5 * width) + saved_count(context);
}

static size_t int_count(const struct context *context)
{
	(void)context;
	return 0;
}

static struct attention_acts acts_at(const struct context *context, float *run)
{
	size_t tokens = context->tokens, width = context->config->width;
	struct attention_acts acts;

	acts.normed = take_floats(&run, tokens * width);
	acts.inverse_rms = take_floats(&run, tokens);
	acts.qkv = take_floats(&run, tokens * 3 * width);
	acts.saved = take_floats(&run, saved_count(context));
	acts.context = take_floats(&run, tokens * width);
	return acts;
}

/* Turns each pair of q and k by an angle that grows with the position; direction -1 turns back (for gradients). */
static void rotate(const struct context *context, float *qkv, float direction)
{
	int width = context->config->width, head_width = width / context->config->heads;
	int n, i;

#pragma omp parallel for private(i)
	for (n = 0; n < context->tokens; n++) {
		float *q = qkv + (size_t)n * 3 * width, *k = q + width;
		int position = n % context->config->seq_len;

		for (i = 0; i < width; i += 2) {
			float frequency = 1.0f / powf(ROTARY_BASE, (float)(i % head_width) / (float)head_width);
			float cosine = cosf(position * frequency), sine = direction * sinf(position * frequency);
			float q0 = q[i], q1 = q[i + 1], k0 = k[i], k1 = k[i + 1];

			q[i] = q0 * cosine - q1 * sine;
			q[i + 1] = q0 * sine + q1 * cosine;
			k[i] = k0 * cosine - k1 * sine;
			k[i + 1] = k0 * sine + k1 * cosine;
		}
	}
}

static void forward(const struct context *context, float *weight_run, const float *x, struct activations activations,
		    float *y)
{
	struct attention_weights weights = weights_at(context->config, weight_run);
	struct attention_acts acts = acts_at(context, activations.floats);
	int tokens = context->tokens, width = context->config->width;

	norm_forward(acts.normed, acts.inverse_rms, x, weights.norm, tokens, width);
	context->matmul->forward(context->arena, acts.qkv, acts.normed, weights.qkv, tokens, width, 3 * width);
	rotate(context, acts.qkv, 1);
	if (context->settings->attention == ATTENTION_TILED)
		attention_tiled_forward(context, acts.qkv, acts.saved, acts.context);
	else
		attention_materialised_forward(context, acts.qkv, acts.saved, acts.context);
	context->matmul->forward(context->arena, y, acts.context, weights.out, tokens, width, width);
	add_into(y, x, (size_t)tokens * width);
}

static void backward(const struct context *context, float *weight_run, float *gradient_run, const float *x,
		     struct activations activations, float *gradient)
{
	struct attention_weights weights = weights_at(context->config, weight_run);
	struct attention_weights grads = weights_at(context->config, gradient_run);
	struct attention_acts acts = acts_at(context, activations.floats);
	const struct matmul *matmul = context->matmul;
	int tokens = context->tokens, width = context->config->width;
	size_t mark = arena_mark(context->arena), count = (size_t)tokens * width;
	float *dcontext = arena_floats(context->arena, count, "attention context gradient");
	float *dqkv = arena_floats(context->arena, 3 * count, "attention qkv gradient");
	float *dnormed = arena_floats(context->arena, count, "attention norm gradient");

	matmul->weight_gradient(context->arena, grads.out, acts.context, gradient, tokens, width, width);
	matmul->input_gradient(context->arena, dcontext, gradient, weights.out, tokens, width, width);
	if (context->settings->attention == ATTENTION_TILED)
		attention_tiled_backward(context, acts.qkv, acts.saved, acts.context, dcontext, dqkv);
	else
		attention_materialised_backward(context, acts.qkv, acts.saved, dcontext, dqkv);
	rotate(context, dqkv, -1);
	matmul->weight_gradient(context->arena, grads.qkv, acts.normed, dqkv, tokens, width, 3 * width);
	matmul->input_gradient(context->arena, dnormed, dqkv, weights.qkv, tokens, width, 3 * width);
	norm_backward(gradient, grads.norm, dnormed, x, acts.inverse_rms, weights.norm, tokens, width);
	arena_release(context->arena, mark);
}

const struct sublayer attention_sublayer = {"attention", describe, float_count, int_count, forward, backward};

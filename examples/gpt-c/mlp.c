/* The dense sub-layer: norm, up, GELU, down, residual. */
#include "layers.h"

struct mlp_weights {
	float *norm, *up, *down;
};

struct mlp_acts {
	float *normed, *inverse_rms, *before, *after; /* before and after the GELU */
};

static struct mlp_weights weights_at(const struct config *config, float *run)
{
	size_t width = config->width, hidden = config->hidden;
	struct mlp_weights weights;

	weights.norm = take_floats(&run, width);
	weights.up = take_floats(&run, width * hidden);
	weights.down = take_floats(&run, hidden * width);
	return weights;
}

static void describe(const struct config *config, tensor_visitor *visit, void *context)
{
	visit(context, "norm", 1, config->width);
	visit(context, "up", config->width, config->hidden);
	visit(context, "down", config->hidden, config->width);
}

static size_t float_count(const struct context *context)
{
	return (size_t)context->tokens * (1 + context->config->width + 2 * context->config->hidden);
}

static size_t int_count(const struct context *context)
{
	(void)context;
	return 0;
}

static struct mlp_acts acts_at(const struct context *context, float *run)
{
	size_t tokens = context->tokens, width = context->config->width, hidden = context->config->hidden;
	struct mlp_acts acts;

	acts.normed = take_floats(&run, tokens * width);
	acts.inverse_rms = take_floats(&run, tokens);
	acts.before = take_floats(&run, tokens * hidden);
	acts.after = take_floats(&run, tokens * hidden);
	return acts;
}

static void forward(const struct context *context, float *weight_run, const float *x, struct activations activations,
		    float *y)
{
	struct mlp_weights weights = weights_at(context->config, weight_run);
	struct mlp_acts acts = acts_at(context, activations.floats);
	int tokens = context->tokens, width = context->config->width, hidden = context->config->hidden;

	norm_forward(acts.normed, acts.inverse_rms, x, weights.norm, tokens, width);
	context->matmul->forward(context->arena, acts.before, acts.normed, weights.up, tokens, width, hidden);
	gelu_forward(acts.after, acts.before, (size_t)tokens * hidden);
	context->matmul->forward(context->arena, y, acts.after, weights.down, tokens, hidden, width);
	add_into(y, x, (size_t)tokens * width);
}

static void backward(const struct context *context, float *weight_run, float *gradient_run, const float *x,
		     struct activations activations, float *gradient)
{
	struct mlp_weights weights = weights_at(context->config, weight_run);
	struct mlp_weights grads = weights_at(context->config, gradient_run);
	struct mlp_acts acts = acts_at(context, activations.floats);
	const struct matmul *matmul = context->matmul;
	int tokens = context->tokens, width = context->config->width, hidden = context->config->hidden;
	size_t mark = arena_mark(context->arena);
	float *dhidden = arena_floats(context->arena, (size_t)tokens * hidden, "MLP hidden gradient");
	float *dnormed = arena_floats(context->arena, (size_t)tokens * width, "MLP norm gradient");

	matmul->weight_gradient(context->arena, grads.down, acts.after, gradient, tokens, hidden, width);
	matmul->input_gradient(context->arena, dhidden, gradient, weights.down, tokens, hidden, width);
	gelu_backward(dhidden, acts.before, (size_t)tokens * hidden);
	matmul->weight_gradient(context->arena, grads.up, acts.normed, dhidden, tokens, width, hidden);
	matmul->input_gradient(context->arena, dnormed, dhidden, weights.up, tokens, width, hidden);
	norm_backward(gradient, grads.norm, dnormed, x, acts.inverse_rms, weights.norm, tokens, width);
	arena_release(context->arena, mark);
}

const struct sublayer mlp_sublayer = {"mlp", describe, float_count, int_count, forward, backward};

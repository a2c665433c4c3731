#include "loss.h"

#include <math.h>
#include <string.h>

#define CHUNK_TOKENS 32

struct head_weights {
	float *norm, *vocabulary;
};

static struct head_weights weights_at(const struct config *config, float *run)
{
	struct head_weights weights;

	weights.norm = take_floats(&run, config->width);
	weights.vocabulary = take_floats(&run, (size_t)config->width * config->vocab);
	return weights;
}

void loss_describe(const struct config *config, tensor_visitor *visit, void *context)
{
	visit(context, "norm", 1, config->width);
	visit(context, "vocabulary", config->width, config->vocab);
}

/* Probabilities from logits (they may be the same memory); returns -log p(target). */
static float softmax_loss(float *probabilities, const float *logits, int count, int target)
{
	float largest = logits[0], sum = 0, target_logit = logits[target];
	int i;

	for (i = 1; i < count; i++)
		largest = logits[i] > largest ? logits[i] : largest;
	for (i = 0; i < count; i++) {
		probabilities[i] = expf(logits[i] - largest);
		sum += probabilities[i];
	}
	for (i = 0; i < count; i++)
		probabilities[i] /= sum;
	return logf(sum) + largest - target_logit;
}

static void softmax_rows(const struct context *context, float *probabilities, const float *logits, const int *targets,
			 int tokens, float *ret_losses)
{
	int vocab = context->config->vocab, n;

#pragma omp parallel for
	for (n = 0; n < tokens; n++)
		ret_losses[n] = softmax_loss(probabilities + (size_t)n * vocab, logits + (size_t)n * vocab, vocab,
					     targets[n]);
}

/* dL/dlogit = (p - [target]) / tokens in the global batch, in place. */
static void softmax_backward(const struct context *context, float *probabilities, const int *targets, int tokens)
{
	int vocab = context->config->vocab, n, i;
	float scale = 1.0f / ((float)context->settings->global_batch * context->config->seq_len);

#pragma omp parallel for private(i)
	for (n = 0; n < tokens; n++) {
		float *row = probabilities + (size_t)n * vocab;

		row[targets[n]] -= 1.0f;
		for (i = 0; i < vocab; i++)
			row[i] *= scale;
	}
}

static void project_backward(const struct context *context, const struct head_weights *weights,
			     struct head_weights *grads, const float *normed, const float *dlogits, int tokens,
			     float *dnormed)
{
	int width = context->config->width, vocab = context->config->vocab;

	context->matmul->weight_gradient(context->arena, grads->vocabulary, normed, dlogits, tokens, width, vocab);
	context->matmul->input_gradient(context->arena, dnormed, dlogits, weights->vocabulary, tokens, width, vocab);
}

static void run_full(const struct context *context, const struct head_weights *weights, struct head_weights *grads,
		     const float *normed, const int *targets, float *losses, float *dnormed, double *clock)
{
	int width = context->config->width, vocab = context->config->vocab, tokens = context->tokens;
	size_t mark = arena_mark(context->arena);
	float *logits = arena_floats(context->arena, (size_t)tokens * vocab, "logits");
	float *probabilities = arena_floats(context->arena, (size_t)tokens * vocab, "probabilities");

	context->matmul->forward(context->arena, logits, normed, weights->vocabulary, tokens, width, vocab);
	softmax_rows(context, probabilities, logits, targets, tokens, losses);
	clock_charge(&context->phases->forward, clock);
	softmax_backward(context, probabilities, targets, tokens);
	project_backward(context, weights, grads, normed, probabilities, tokens, dnormed);
	arena_release(context->arena, mark);
}

/* The gradient of each chunk is known as soon as its logits are: rows of a softmax do not meet. */
static void run_chunked(const struct context *context, const struct head_weights *weights, struct head_weights *grads,
			const float *normed, const int *targets, float *losses, float *dnormed, double *clock)
{
	int width = context->config->width, vocab = context->config->vocab, first;
	int chunk = context->tokens < CHUNK_TOKENS ? context->tokens : CHUNK_TOKENS;
	size_t mark = arena_mark(context->arena);
	float *logits = arena_floats(context->arena, (size_t)chunk * vocab, "logits of a chunk");

	for (first = 0; first < context->tokens; first += chunk) {
		int tokens = context->tokens - first < chunk ? context->tokens - first : chunk;
		const float *part = normed + (size_t)first * width;

		context->matmul->forward(context->arena, logits, part, weights->vocabulary, tokens, width, vocab);
		softmax_rows(context, logits, logits, targets + first, tokens, losses + first);
		clock_charge(&context->phases->forward, clock);
		softmax_backward(context, logits, targets + first, tokens);
		project_backward(context, weights, grads, part, logits, tokens, dnormed + (size_t)first * width);
		clock_charge(&context->phases->backward, clock);
	}
	arena_release(context->arena, mark);
}

double loss_run(const struct context *context, float *weight_run, float *gradient_run, const float *x,
		const int *targets, float *gradient)
{
	struct head_weights weights = weights_at(context->config, weight_run);
	struct head_weights grads = weights_at(context->config, gradient_run);
	int width = context->config->width, tokens = context->tokens, n;
	size_t mark = arena_mark(context->arena), count = (size_t)tokens * width;
	float *normed = arena_floats(context->arena, count, "final norm");
	float *dnormed = arena_floats(context->arena, count, "final norm gradient");
	float *inverse_rms = arena_floats(context->arena, tokens, "final norm scale");
	float *losses = arena_floats(context->arena, tokens, "losses");
	double clock = clock_seconds(), sum = 0;

	norm_forward(normed, inverse_rms, x, weights.norm, tokens, width);
	if (context->settings->loss == LOSS_CHUNKED)
		run_chunked(context, &weights, &grads, normed, targets, losses, dnormed, &clock);
	else
		run_full(context, &weights, &grads, normed, targets, losses, dnormed, &clock);
	memset(gradient, 0, count * sizeof(float));
	norm_backward(gradient, grads.norm, dnormed, x, inverse_rms, weights.norm, tokens, width);
	for (n = 0; n < tokens; n++)
		sum += losses[n];
	clock_charge(&context->phases->backward, &clock);
	arena_release(context->arena, mark);
	return sum;
}

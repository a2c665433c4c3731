/* Running the experts: token by token, or gathered into one group per expert. */
#include "moe.h"
#include "vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void experts_plan(const struct context *context, struct moe_acts *acts)
{
	int slots = moe_slots(context), active = context->config->active_experts, next = 0, pair, e;

	if (context->settings->dispatch == DISPATCH_TOKEN) {
		for (pair = 0; pair < slots; pair++) {
			acts->slot[pair] = pair;
			acts->token[pair] = pair / active;
		}
		return;
	}
	for (e = 0; e < context->config->experts; e++) {
		acts->first_slot[e] = next;
		for (pair = 0; pair < slots; pair++)
			if (acts->chosen[pair] == e) {
				acts->slot[pair] = next;
				acts->token[next++] = pair / active;
			}
	}
	acts->first_slot[e] = next;
}

/* ---- token by token ---- */

/* y[out] = x[in] * weights[in][out] */
static void apply(float *y, const float *x, const float *weights, int in, int out)
{
	int i, o;

	for (o = 0; o < out; o++)
		y[o] = 0;
	for (i = 0; i < in; i++)
		add_scaled(y, x[i], weights + (size_t)i * out, out);
}

/* dx[in] (+)= transposed weights[in][out] * dy[out] */
static void apply_transposed(float *dx, const float *dy, const float *weights, int in, int out, int accumulate)
{
	int i;

	for (i = 0; i < in; i++)
		dx[i] = (accumulate ? dx[i] : 0) + dot(dy, weights + (size_t)i * out, out);
}

/* dw[in][out] += x[in] * dy[out] */
static void add_outer(float *gradient, const float *x, const float *dy, int in, int out)
{
	int i;

	for (i = 0; i < in; i++)
		add_scaled(gradient + (size_t)i * out, x[i], dy, out);
}

static void token_forward(const struct context *context, const struct moe_weights *weights, struct moe_acts *acts)
{
	int width = context->config->width, hidden = context->config->expert_hidden;
	size_t matrix = (size_t)width * hidden;
	int slot;

#pragma omp parallel for
	for (slot = 0; slot < moe_slots(context); slot++)
		apply(acts->before + (size_t)slot * hidden, acts->normed + (size_t)acts->token[slot] * width,
		      weights->up + acts->chosen[slot] * matrix, width, hidden);
	gelu_forward(acts->after, acts->before, (size_t)moe_slots(context) * hidden);
#pragma omp parallel for
	for (slot = 0; slot < moe_slots(context); slot++)
		apply(acts->out + (size_t)slot * width, acts->after + (size_t)slot * hidden,
		      weights->down + acts->chosen[slot] * matrix, hidden, width);
}

/* Shared out by expert, since all tokens of an expert add to the same weights. */
static void token_weight_gradients(const struct context *context, struct moe_weights *gradients,
				   const struct moe_acts *acts, const float *dout, const float *dhidden)
{
	int width = context->config->width, hidden = context->config->expert_hidden;
	size_t matrix = (size_t)width * hidden;
	int e, slot;

#pragma omp parallel for private(slot) schedule(dynamic)
	for (e = 0; e < context->config->experts; e++)
		for (slot = 0; slot < moe_slots(context); slot++) {
			if (acts->chosen[slot] != e)
				continue;
			add_outer(gradients->down + e * matrix, acts->after + (size_t)slot * hidden,
				  dout + (size_t)slot * width, hidden, width);
			add_outer(gradients->up + e * matrix, acts->normed + (size_t)acts->token[slot] * width,
				  dhidden + (size_t)slot * hidden, width, hidden);
		}
}

static void token_backward(const struct context *context, const struct moe_weights *weights,
			   struct moe_weights *gradients, const struct moe_acts *acts, const float *dout,
			   float *dhidden, float *dnormed)
{
	int width = context->config->width, hidden = context->config->expert_hidden;
	int active = context->config->active_experts;
	size_t matrix = (size_t)width * hidden;
	int slot, n, k;

#pragma omp parallel for
	for (slot = 0; slot < moe_slots(context); slot++)
		apply_transposed(dhidden + (size_t)slot * hidden, dout + (size_t)slot * width,
				 weights->down + acts->chosen[slot] * matrix, hidden, width, 0);
	gelu_backward(dhidden, acts->before, (size_t)moe_slots(context) * hidden);
#pragma omp parallel for private(k)
	for (n = 0; n < context->tokens; n++)
		for (k = 0; k < active; k++)
			apply_transposed(dnormed + (size_t)n * width, dhidden + (size_t)(n * active + k) * hidden,
					 weights->up + acts->chosen[n * active + k] * matrix, width, hidden, k > 0);
	token_weight_gradients(context, gradients, acts, dout, dhidden);
}

/* ---- by group ---- */

/* Group sizes are whatever the router decided: a kernel that takes only multiples of its tile cannot be used. */
static void check_groups(const struct context *context, const struct moe_acts *acts)
{
	int multiple = context->matmul->row_multiple, e;

	for (e = 0; e < context->config->experts; e++) {
		int rows = acts->first_slot[e + 1] - acts->first_slot[e];

		if (rows % multiple == 0)
			continue;
		fflush(stdout);
		fprintf(stderr,
			"error: --matmul %s takes rows in multiples of %d, but --moe-dispatch grouped gave expert %d "
			"a group of %d\n",
			context->matmul->name, multiple, e, rows);
		exit(1);
	}
}

static void grouped_forward(const struct context *context, const struct moe_weights *weights, struct moe_acts *acts)
{
	int width = context->config->width, hidden = context->config->expert_hidden;
	size_t matrix = (size_t)width * hidden;
	int slot, e;

	check_groups(context, acts);
#pragma omp parallel for
	for (slot = 0; slot < moe_slots(context); slot++)
		memcpy(acts->gathered + (size_t)slot * width, acts->normed + (size_t)acts->token[slot] * width,
		       width * sizeof(float));
	for (e = 0; e < context->config->experts; e++) {
		size_t first = acts->first_slot[e];
		int rows = acts->first_slot[e + 1] - acts->first_slot[e];
		float *before = acts->before + first * hidden, *after = acts->after + first * hidden;

		context->matmul->forward(context->arena, before, acts->gathered + first * width,
					 weights->up + e * matrix, rows, width, hidden);
		gelu_forward(after, before, (size_t)rows * hidden);
		context->matmul->forward(context->arena, acts->out + first * width, after, weights->down + e * matrix,
					 rows, hidden, width);
	}
}

static void scatter(const struct context *context, const struct moe_acts *acts, const float *dgathered, float *dnormed)
{
	int width = context->config->width, active = context->config->active_experts;
	int n, k, i;

#pragma omp parallel for private(k, i)
	for (n = 0; n < context->tokens; n++) {
		float *to = dnormed + (size_t)n * width;

		memset(to, 0, width * sizeof(float));
		for (k = 0; k < active; k++) {
			const float *from = dgathered + (size_t)acts->slot[n * active + k] * width;

			for (i = 0; i < width; i++)
				to[i] += from[i];
		}
	}
}

/* dout is used up: an expert's part becomes the gradient of its input. */
static void grouped_backward(const struct context *context, const struct moe_weights *weights,
			     struct moe_weights *gradients, const struct moe_acts *acts, float *dout, float *dhidden,
			     float *dnormed)
{
	int width = context->config->width, hidden = context->config->expert_hidden;
	const struct matmul *matmul = context->matmul;
	size_t matrix = (size_t)width * hidden;
	int e;

	for (e = 0; e < context->config->experts; e++) {
		size_t first = acts->first_slot[e];
		int rows = acts->first_slot[e + 1] - acts->first_slot[e];
		float *part = dout + first * width, *dpart = dhidden + first * hidden;

		matmul->weight_gradient(context->arena, gradients->down + e * matrix, acts->after + first * hidden,
					part, rows, hidden, width);
		matmul->input_gradient(context->arena, dpart, part, weights->down + e * matrix, rows, hidden, width);
		gelu_backward(dpart, acts->before + first * hidden, (size_t)rows * hidden);
		matmul->weight_gradient(context->arena, gradients->up + e * matrix, acts->gathered + first * width,
					dpart, rows, width, hidden);
		matmul->input_gradient(context->arena, part, dpart, weights->up + e * matrix, rows, width, hidden);
	}
	scatter(context, acts, dout, dnormed);
}

void experts_forward(const struct context *context, const struct moe_weights *weights, struct moe_acts *acts)
{
	if (context->settings->dispatch == DISPATCH_GROUPED)
		grouped_forward(context, weights, acts);
	else
		token_forward(context, weights, acts);
}

void experts_backward(const struct context *context, const struct moe_weights *weights, struct moe_weights *gradients,
		      const struct moe_acts *acts, float *dout, float *dnormed)
{
	size_t mark = arena_mark(context->arena);
	size_t count = (size_t)moe_slots(context) * context->config->expert_hidden;
	float *dhidden = arena_floats(context->arena, count, "expert hidden gradient");

	if (context->settings->dispatch == DISPATCH_GROUPED)
		grouped_backward(context, weights, gradients, acts, dout, dhidden, dnormed);
	else
		token_backward(context, weights, gradients, acts, dout, dhidden, dnormed);
	arena_release(context->arena, mark);
}

/* The mixture-of-experts sub-layer: norm, router, the chosen experts weighted by their gates, residual. */
#include "moe.h"

#include <math.h>
#include <string.h>

static struct moe_weights weights_at(const struct config *config, float *run)
{
	size_t width = config->width, hidden = config->expert_hidden, experts = config->experts;
	struct moe_weights weights;

	weights.norm = take_floats(&run, width);
	weights.router = take_floats(&run, width * experts);
	weights.up = take_floats(&run, experts * width * hidden);
	weights.down = take_floats(&run, experts * hidden * width);
	return weights;
}

static void describe(const struct config *config, tensor_visitor *visit, void *context)
{
	visit(context, "norm", 1, config->width);
	visit(context, "router", config->width, config->experts);
	visit(context, "up", config->experts * config->width, config->expert_hidden);
	visit(context, "down", config->experts * config->expert_hidden, config->width);
}

static size_t float_count(const struct context *context)
{
	const struct config *config = context->config;
	size_t tokens = context->tokens, slots = moe_slots(context);
	size_t per_slot = 2 * config->expert_hidden + config->width;

	if (context->settings->dispatch == DISPATCH_GROUPED)
		per_slot += config->width;
	return tokens * (config->width + 1 + config->experts) + slots * (1 + per_slot);
}

static size_t int_count(const struct context *context)
{
	return 3 * (size_t)moe_slots(context) + context->config->experts + 1;
}

static struct moe_acts acts_at(const struct context *context, struct activations run)
{
	const struct config *config = context->config;
	size_t tokens = context->tokens, slots = moe_slots(context);
	struct moe_acts acts;

	acts.normed = take_floats(&run.floats, tokens * config->width);
	acts.inverse_rms = take_floats(&run.floats, tokens);
	acts.probabilities = take_floats(&run.floats, tokens * config->experts);
	acts.gates = take_floats(&run.floats, slots);
	acts.before = take_floats(&run.floats, slots * config->expert_hidden);
	acts.after = take_floats(&run.floats, slots * config->expert_hidden);
	acts.out = take_floats(&run.floats, slots * config->width);
	acts.gathered = run.floats;
	acts.chosen = take_ints(&run.ints, slots);
	acts.slot = take_ints(&run.ints, slots);
	acts.token = take_ints(&run.ints, slots);
	acts.first_slot = take_ints(&run.ints, config->experts + 1);
	return acts;
}

static void softmax(float *values, int count)
{
	float largest = values[0], sum = 0;
	int i;

	for (i = 1; i < count; i++)
		largest = values[i] > largest ? values[i] : largest;
	for (i = 0; i < count; i++) {
		values[i] = expf(values[i] - largest);
		sum += values[i];
	}
	for (i = 0; i < count; i++)
		values[i] /= sum;
}

/* The most probable experts in order; of equals, the first.  Gates are their probabilities, scaled to sum to 1. */
static void choose(const struct config *config, const float *probabilities, int *chosen, float *gates)
{
	float sum = 0;
	int k, e, other;

	for (k = 0; k < config->active_experts; k++) {
		chosen[k] = -1;
		for (e = 0; e < config->experts; e++) {
			for (other = 0; other < k && chosen[other] != e; other++)
				;
			if (other == k && (chosen[k] < 0 || probabilities[e] > probabilities[chosen[k]]))
				chosen[k] = e;
		}
		gates[k] = probabilities[chosen[k]];
		sum += gates[k];
	}
	for (k = 0; k < config->active_experts; k++)
		gates[k] /= sum;
}

static void route(const struct context *context, const struct moe_weights *weights, struct moe_acts *acts)
{
	const struct config *config = context->config;
	int n;

	context->matmul->forward(context->arena, acts->probabilities, acts->normed, weights->router, context->tokens,
				 config->width, config->experts);
#pragma omp parallel for
	for (n = 0; n < context->tokens; n++) {
		float *probabilities = acts->probabilities + (size_t)n * config->experts;
		size_t first = (size_t)n * config->active_experts;

		softmax(probabilities, config->experts);
		choose(config, probabilities, acts->chosen + first, acts->gates + first);
	}
}

static void forward(const struct context *context, float *weight_run, const float *x, struct activations activations,
		    float *y)
{
	const struct config *config = context->config;
	struct moe_weights weights = weights_at(config, weight_run);
	struct moe_acts acts = acts_at(context, activations);
	int width = config->width, active = config->active_experts;
	int n, k, i;

	norm_forward(acts.normed, acts.inverse_rms, x, weights.norm, context->tokens, width);
	route(context, &weights, &acts);
	experts_plan(context, &acts);
	experts_forward(context, &weights, &acts);
#pragma omp parallel for private(k, i)
	for (n = 0; n < context->tokens; n++) {
		float *to = y + (size_t)n * width;

		memcpy(to, x + (size_t)n * width, width * sizeof(float));
		for (k = 0; k < active; k++) {
			const float *out = acts.out + (size_t)acts.slot[n * active + k] * width;
			float gate = acts.gates[n * active + k];

			for (i = 0; i < width; i++)
				to[i] += gate * out[i];
		}
	}
}

/* Splits dL/dy of each token into dL/d(expert's result) by slot and dL/d(gate). */
static void combine_backward(const struct context *context, const struct moe_acts *acts, const float *gradient,
			     float *dout, float *dgates)
{
	int width = context->config->width, active = context->config->active_experts;
	int n, k, i;

#pragma omp parallel for private(k, i)
	for (n = 0; n < context->tokens; n++) {
		const float *dy = gradient + (size_t)n * width;

		for (k = 0; k < active; k++) {
			size_t slot = acts->slot[n * active + k];
			const float *out = acts->out + slot * width;
			float gate = acts->gates[n * active + k], sum = 0;

			for (i = 0; i < width; i++) {
				sum += dy[i] * out[i];
				dout[slot * width + i] = gate * dy[i];
			}
			dgates[n * active + k] = sum;
		}
	}
}

/*
 * Load balance of one sequence: experts * sum over e of (share of slots that went to e) * (mean probability of e),
 * which is 1 at best.  Only the probabilities carry a gradient; pushes[e] is what each token's p[e] gets.  Returns the
 * sequence's part of the loss.
 */
static double balance_backward(const struct context *context, const struct moe_acts *acts, int row, float *pushes)
{
	const struct config *config = context->config;
	const float *p = acts->probabilities + (size_t)row * config->seq_len * config->experts;
	int slots = config->seq_len * config->active_experts, i;
	double loss = 0;
	float unit = BALANCE_COEFFICIENT * config->experts /
		     ((float)slots * config->seq_len * context->settings->global_batch);

	for (i = 0; i < config->experts; i++)
		pushes[i] = 0;
	for (i = 0; i < slots; i++)
		pushes[acts->chosen[row * slots + i]] += unit;
	for (i = 0; i < config->seq_len * config->experts; i++)
		loss += p[i] * pushes[i % config->experts];
	return loss;
}

/* Through the gates' scaling, the balance loss and the softmax, to the router's logits. */
static void gates_backward(const struct context *context, const struct moe_acts *acts, const float *dgates,
			   const float *pushes, float *dlogits)
{
	int active = context->config->active_experts, experts = context->config->experts;
	int n, k, e;

#pragma omp parallel for private(k, e)
	for (n = 0; n < context->tokens; n++) {
		const float *p = acts->probabilities + (size_t)n * experts;
		const float *push = pushes + n / context->config->seq_len * experts;
		float *dlogit = dlogits + (size_t)n * experts;
		float mean = 0, chosen_sum = 0, weighted = 0;

		memcpy(dlogit, push, experts * sizeof(float));
		for (k = 0; k < active; k++) {
			mean += acts->gates[n * active + k] * dgates[n * active + k];
			chosen_sum += p[acts->chosen[n * active + k]];
		}
		for (k = 0; k < active; k++)
			dlogit[acts->chosen[n * active + k]] += (dgates[n * active + k] - mean) / chosen_sum;
		for (e = 0; e < experts; e++)
			weighted += p[e] * dlogit[e];
		for (e = 0; e < experts; e++)
			dlogit[e] = p[e] * (dlogit[e] - weighted);
	}
}

static void router_backward(const struct context *context, const struct moe_weights *weights,
			    struct moe_weights *grads, const struct moe_acts *acts, const float *dgates, float *dnormed)
{
	const struct config *config = context->config;
	int tokens = context->tokens, width = config->width, experts = config->experts, row;
	size_t mark = arena_mark(context->arena);
	float *dlogits = arena_floats(context->arena, (size_t)tokens * experts, "router logit gradient");
	float *pushes = arena_floats(context->arena, (size_t)context->rows * experts, "router balance");
	float *part = arena_floats(context->arena, (size_t)tokens * width, "router input gradient");

	for (row = 0; row < context->rows; row++)
		*context->balance += balance_backward(context, acts, row, pushes + row * experts);
	gates_backward(context, acts, dgates, pushes, dlogits);
	context->matmul->weight_gradient(context->arena, grads->router, acts->normed, dlogits, tokens, width, experts);
	context->matmul->input_gradient(context->arena, part, dlogits, weights->router, tokens, width, experts);
	add_into(dnormed, part, (size_t)tokens * width);
	arena_release(context->arena, mark);
}

static void backward(const struct context *context, float *weight_run, float *gradient_run, const float *x,
		     struct activations activations, float *gradient)
{
	const struct config *config = context->config;
	struct moe_weights weights = weights_at(config, weight_run), grads = weights_at(config, gradient_run);
	struct moe_acts acts = acts_at(context, activations);
	size_t mark = arena_mark(context->arena), slots = moe_slots(context);
	float *dnormed = arena_floats(context->arena, (size_t)context->tokens * config->width, "MoE norm gradient");
	float *dgates = arena_floats(context->arena, slots, "gate gradient");
	float *dout = arena_floats(context->arena, slots * config->width, "expert output gradient");

	combine_backward(context, &acts, gradient, dout, dgates);
	experts_backward(context, &weights, &grads, &acts, dout, dnormed);
	router_backward(context, &weights, &grads, &acts, dgates, dnormed);
	norm_backward(gradient, grads.norm, dnormed, x, acts.inverse_rms, weights.norm, context->tokens,
		      config->width);
	arena_release(context->arena, mark);
}

const struct sublayer moe_sublayer = {"moe", describe, float_count, int_count, forward, backward};

/*
 * Mixture of experts: what routing decides, and the two ways to run the experts.
 *
 * A slot is one (token, chosen expert) pair; there are tokens * active_experts of them.  With --moe-dispatch token,
 * slots follow the tokens and each expert is applied to one token at a time.  With grouped, slots are sorted by expert
 * and each expert multiplies its whole group at once.
 */
#ifndef MOE_H
#define MOE_H

#include "layers.h"

struct moe_weights {
	float *norm, *router;
	float *up, *down; /* experts x width x expert_hidden, and the other way round */
};

struct moe_acts {
	float *normed, *inverse_rms;
	float *probabilities; /* tokens x experts */
	float *gates;         /* tokens x active_experts; a token's gates sum to 1 */
	float *before, *after, *out; /* by slot: before and after the GELU, expert's result */
	float *gathered;      /* by slot: the expert's input; grouped only */
	int *chosen;          /* tokens x active_experts: the expert */
	int *slot;            /* tokens x active_experts */
	int *token;           /* by slot */
	int *first_slot;      /* by expert, and the end; grouped only */
};

static inline int moe_slots(const struct context *context)
{
	return context->tokens * context->config->active_experts;
}

/* Numbers the slots, once chosen is known. */
void experts_plan(const struct context *context, struct moe_acts *acts);

/* normed -> before, after, out */
void experts_forward(const struct context *context, const struct moe_weights *weights, struct moe_acts *acts);

/* dout (by slot) -> gradients of up and down are added to, dnormed is set. */
void experts_backward(const struct context *context, const struct moe_weights *weights, struct moe_weights *gradients,
		      const struct moe_acts *acts, float *dout, float *dnormed);

#endif

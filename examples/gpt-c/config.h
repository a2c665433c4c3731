/*
 * Shape of the network.  It is part of the contract, hence constants instead of flags; check.c uses a smaller one.
 * Every size but layers, heads, active_experts and seq_len is a multiple of 8, which the blocked product relies on.
 */
#ifndef CONFIG_H
#define CONFIG_H

struct config {
	int vocab;
	int width;          /* of the residual stream */
	int heads;          /* width / heads is the width of a head, at most HEAD_WIDTH_MAX */
	int layers;         /* even ones have a dense MLP, odd ones a mixture of experts */
	int hidden;         /* inside the dense MLP */
	int experts;
	int active_experts; /* per token */
	int expert_hidden;
	int seq_len;
};

#define HEAD_WIDTH_MAX 64

/* Load-balancing loss of the router: computed per sequence, so that it does not depend on the micro-batch. */
#define BALANCE_COEFFICIENT 0.01f

static const struct config default_config = {
	.vocab = 2432,
	.width = 64,
	.heads = 4,
	.layers = 4,
	.hidden = 256,
	.experts = 8,
	.active_experts = 2,
	.expert_hidden = 128,
	.seq_len = 64,
};

#endif

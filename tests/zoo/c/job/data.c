#include "model.h"

static uint64_t next_random(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return *rng;
}

void loader_next(struct loader *loader, int *tokens, int *targets, int B, int T)
{
	for (int b = 0; b < B; b++) {
		loader->position = next_random(&loader->rng) % (loader->n_tokens - T - 1);
		for (int t = 0; t < T; t++) {
			tokens[b * T + t] = loader->corpus[loader->position + t];
			targets[b * T + t] = loader->corpus[loader->position + t + 1];
		}
	}
}

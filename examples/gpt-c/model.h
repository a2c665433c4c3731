/*
 * The network: embedding, 2 * layers residual sub-layers (attention and MLP or MoE in turn), loss.
 *
 * Parameters are cut into groups, one per sub-layer and one each for embedding and loss: a group is what is expanded
 * to fp32 at a time when the storage is bf16.
 */
#ifndef MODEL_H
#define MODEL_H

#include "context.h"
#include "layers.h"
#include "storage.h"

#define TENSORS_MAX 64
#define GROUPS_MAX 32

struct tensor {
	char name[48];
	int rows, columns;
	int fan_in;    /* rows of one matrix: those of all experts lie below each other */
	size_t first;  /* in the run of all parameters */
	size_t active; /* elements that take part in one token */
};

struct group {
	size_t first, count;
	const struct sublayer *sublayer; /* NULL for embedding (the first) and loss (the last) */
};

struct model {
	const struct config *config;
	struct tensor tensors[TENSORS_MAX];
	struct group groups[GROUPS_MAX];
	int tensor_count, group_count;
	size_t parameter_count, active_count;
	struct block parameters, gradients;
};

void model_init(struct model *model, struct arena *arena, const struct config *config, enum storage_type storage,
		uint64_t seed);

/*
 * One micro-batch: rows * (seq_len + 1) ids in, gradients added to.  Returns the sum of the tokens' losses.
 */
double model_run(const struct context *context, struct model *model, const int *ids);

#endif

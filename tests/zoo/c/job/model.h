#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include <stdint.h>

#define N_LAYER 6
#define N_HEAD 4
#define SEQ_LEN 64
#define BATCH 4
#define WIDTH 64
#define VOCAB 512
#define TOP_K 2

struct model {
	float *params, *grads, *m, *v;
	size_t n_params;
	float *acts, *probs;
	int opt_step;
};

float model_forward(struct model *model, const int *tokens, const int *targets, int B, int T);
void model_backward(struct model *model, const int *tokens, const int *targets, int B, int T);
void zero_gradients(struct model *model);
float clip_gradients(struct model *model, float max_norm);
void adamw_update(struct model *model, float lr, float weight_decay);
float learning_rate(int step, int total);

struct loader {
	const int *corpus;
	size_t n_tokens, position;
	uint64_t rng;
};
void loader_next(struct loader *loader, int *tokens, int *targets, int B, int T);

#endif

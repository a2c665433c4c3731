/* AdamW with global gradient clipping, warm-up and cosine decay of the learning rate. */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include "model.h"

struct optimizer {
	struct block first, second; /* moments, by parameter */
	int steps;             /* taken so far */
};

/* Exits with 1 when the settings ask for a kernel that does not take the storage. */
void optimizer_init(struct optimizer *optimizer, struct arena *arena, const struct model *model,
		    const struct settings *settings);

/* Learning rate of step number step (from 1) of total. */
double optimizer_rate(int step, int total);

/* Takes one step and returns the gradient's norm before clipping; gradients are used up. */
double optimizer_step(struct optimizer *optimizer, const struct context *context, struct model *model, double rate);

#endif

/* The end of the network: final norm, vocabulary projection, cross-entropy; forward and backward in one call. */
#ifndef LOSS_H
#define LOSS_H

#include "context.h"
#include "layers.h"

void loss_describe(const struct config *config, tensor_visitor *visit, void *context);

/*
 * Returns the sum over tokens of -log p(target); sets gradient to dL/dx of the mean over the global batch and adds to
 * the weights' gradients.
 */
double loss_run(const struct context *context, float *weights, float *weight_gradients, const float *x,
		const int *targets, float *gradient);

#endif

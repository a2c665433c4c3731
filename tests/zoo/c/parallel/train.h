#ifndef TRAIN_H
#define TRAIN_H

#include "model.h"

#define CLIP 1.0f
#define DECAY 0.1f
#define DROPOUT 0.1f
#define EMA_DECAY 0.999f
#define BALANCE 0.01f
#define EVAL_BATCHES 8

/* device.c: kernels are queued and run by a thread of their own */
struct device;
struct device *device_open(void);
void device_run(struct device *device, void (*kernel)(void *), void *context);
void device_wait(struct device *device);

/* comm.c */
struct comm {
	int rank, size;
};
void comm_open(struct comm *comm);
void comm_sum(struct comm *comm, float *values, size_t n);
float comm_mean(struct comm *comm, float value);

/* layers.c */
void dropout(float *x, size_t n, float p, uint64_t *rng);
float route(const struct model *model, const float *x, int *chosen, float *gates, int rows, int n_experts);
float chunked_loss(float *dlogits, const float *logits, const int *targets, int rows, int vocab);

/* averages.c */
struct averages {
	float *shadow;
	size_t n;
};
void averages_update(struct averages *a, const struct model *model);

/* usage.c */
long peak_bytes(void);
float evaluate(struct model *model, struct loader *loader, int n_batches);

#endif

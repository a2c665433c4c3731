#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "infrarsi_hook.h"
#include "train.h"

struct step {
	struct model *model;
	const int *tokens, *targets;
	float loss;
};

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + 1e-9 * ts.tv_nsec;
}

static void forward_kernel(void *context)
{
	struct step *s = context;
	s->loss += model_forward(s->model, s->tokens, s->targets, BATCH, SEQ_LEN);
}

static void backward_kernel(void *context)
{
	struct step *s = context;
	model_backward(s->model, s->tokens, s->targets, BATCH, SEQ_LEN);
}

static void check_finite(float loss, int step)
{
	if (!isfinite(loss)) {
		fprintf(stderr, "loss is not finite at step %d\n", step);
		exit(1);
	}
}

int train(struct model *model, struct loader *loader, struct loader *held_out, struct averages *averages,
	struct infrarsi *hook, int n_steps, int n_accum)
{
	int tokens[BATCH * SEQ_LEN], targets[BATCH * SEQ_LEN];
	struct comm comm;
	struct device *device = device_open();
	uint64_t dropout_rng = 88172645463325252u;
	comm_open(&comm);
	for (int step = 0; step < n_steps; step++) {
		double start = now_s();
		struct step s = {model, tokens, targets, 0};
		zero_gradients(model);
		for (int micro = 0; micro < n_accum; micro++) {
			loader_next(loader, tokens, targets, BATCH, SEQ_LEN);
			for (int b = 0; b < BATCH; b++)
				infrarsi_row(hook, tokens + b * SEQ_LEN, SEQ_LEN);
			dropout(model->acts, BATCH * SEQ_LEN * WIDTH, DROPOUT, &dropout_rng);
			device_run(device, forward_kernel, &s);
			device_run(device, backward_kernel, &s);
			device_wait(device);
		}
		comm_sum(&comm, model->grads, model->n_params);
		float loss = comm_mean(&comm, s.loss / n_accum);
		check_finite(loss, step);
		float grad_norm = clip_gradients(model, CLIP);
		float lr = learning_rate(step, n_steps);
		adamw_update(model, lr, DECAY);
		averages_update(averages, model);
		double step_s = now_s() - start;
		infrarsi_update(hook, &(struct infrarsi_update_info){.loss = loss,
					      .grad_norm = grad_norm,
					      .lr = lr,
					      .opt_step = model->opt_step,
					      .tokens = BATCH * SEQ_LEN * n_accum,
					      .step_s = step_s,
					      .mem = peak_bytes()});
		if (comm.rank == 0)
			printf("step %d loss %.4f norm %.3f %.1f ms\n", step, loss, grad_norm, 1e3 * step_s);
		if ((step + 1) % 100 == 0)
			printf("held out %.4f\n", evaluate(model, held_out, EVAL_BATCHES));
	}
	return 0;
}

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "infrarsi_hook.h"
#include "model.h"

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + 1e-9 * ts.tv_nsec;
}

static void check_finite(float loss, int step)
{
	if (!isfinite(loss)) {
		fprintf(stderr, "loss is not finite at step %d\n", step);
		exit(1);
	}
}

int train(struct model *model, struct loader *loader, struct infrarsi *hook, int n_steps, int n_accum)
{
	int tokens[BATCH * SEQ_LEN], targets[BATCH * SEQ_LEN];
	for (int step = 0; step < n_steps; step++) {
		double start = now_s();
		float loss = 0;
		zero_gradients(model);
		for (int micro = 0; micro < n_accum; micro++) {
			loader_next(loader, tokens, targets, BATCH, SEQ_LEN);
			for (int b = 0; b < BATCH; b++)
				infrarsi_row(hook, tokens + b * SEQ_LEN, SEQ_LEN);
			loss += model_forward(model, tokens, targets, BATCH, SEQ_LEN);
			model_backward(model, tokens, targets, BATCH, SEQ_LEN);
		}
		loss /= n_accum;
		check_finite(loss, step);
		float grad_norm = clip_gradients(model, 1.0f);
		float lr = learning_rate(step, n_steps);
		adamw_update(model, lr, 0.1f);
		double step_s = now_s() - start;
		infrarsi_update(hook, &(struct infrarsi_update_info){.loss = loss,
					      .grad_norm = grad_norm,
					      .lr = lr,
					      .opt_step = model->opt_step,
					      .tokens = BATCH * SEQ_LEN * n_accum,
					      .step_s = step_s});
		printf("step %d loss %.4f norm %.3f %.1f ms\n", step, loss, grad_norm, 1e3 * step_s);
	}
	return 0;
}

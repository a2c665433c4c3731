#include "model.h"

#include <math.h>
#include <string.h>

#define BETA1 0.9f
#define BETA2 0.95f
#define EPSILON 1e-8f
#define PEAK_RATE 3e-4f
#define WARMUP 10

void zero_gradients(struct model *model)
{
	memset(model->grads, 0, model->n_params * sizeof(float));
}

float clip_gradients(struct model *model, float max_norm)
{
	double squares = 0;
	for (size_t i = 0; i < model->n_params; i++)
		squares += (double)model->grads[i] * model->grads[i];
	float norm = sqrt(squares);
	if (norm > max_norm)
		for (size_t i = 0; i < model->n_params; i++)
			model->grads[i] *= max_norm / norm;
	return norm;
}

void adamw_update(struct model *model, float lr, float weight_decay)
{
	model->opt_step++;
	float correction1 = 1.0f - powf(BETA1, model->opt_step);
	float correction2 = 1.0f - powf(BETA2, model->opt_step);
	for (size_t i = 0; i < model->n_params; i++) {
		float gradient = model->grads[i];
		model->m[i] = BETA1 * model->m[i] + (1.0f - BETA1) * gradient;
		model->v[i] = BETA2 * model->v[i] + (1.0f - BETA2) * gradient * gradient;
		float m_hat = model->m[i] / correction1;
		float v_hat = model->v[i] / correction2;
		model->params[i] -= lr * (m_hat / (sqrtf(v_hat) + EPSILON) + weight_decay * model->params[i]);
	}
}

float learning_rate(int step, int total)
{
	if (step < WARMUP)
		return PEAK_RATE * (step + 1) / WARMUP;
	return PEAK_RATE * 0.5f * (1.0f + cosf(3.14159265f * (step - WARMUP) / (total - WARMUP)));
}

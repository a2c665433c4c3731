#include "optimizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_PEAK 3e-4
#define RATE_FLOOR 0.1 /* of the peak */
#define WARMUP_STEPS 5
#define BETA_FIRST 0.9f
#define BETA_SECOND 0.95f
#define EPSILON 1e-8f
#define WEIGHT_DECAY 0.1f
#define NORM_LIMIT 1.0

/* What one step does to every tensor. */
struct step {
	float rate, clip;
	float first_correction, second_correction; /* of the moments' bias towards 0 */
};

void optimizer_init(struct optimizer *optimizer, struct arena *arena, const struct model *model,
		    const struct settings *settings)
{
	if (settings->optimizer == OPTIMIZER_FUSED && settings->storage != STORAGE_FP32) {
		fprintf(stderr, "error: --optimizer fused updates fp32 parameters in place, --storage bf16 has none\n");
		exit(1);
	}
	optimizer->first = storage_alloc(arena, settings->storage, model->parameter_count, "first moments");
	optimizer->second = storage_alloc(arena, settings->storage, model->parameter_count, "second moments");
	optimizer->steps = 0;
	storage_clear(&optimizer->first);
	storage_clear(&optimizer->second);
}

double optimizer_rate(int step, int total)
{
	double progress;

	if (step <= WARMUP_STEPS)
		return RATE_PEAK * step / WARMUP_STEPS;
	progress = (double)(step - WARMUP_STEPS) / (total > WARMUP_STEPS ? total - WARMUP_STEPS : 1);
	return RATE_PEAK * (RATE_FLOOR + (1 - RATE_FLOOR) * 0.5 * (1 + cos(3.14159265358979323846 * progress)));
}

static double gradient_norm(struct arena *arena, const struct model *model)
{
	size_t mark = arena_mark(arena), i;
	const float *gradients = storage_read(arena, &model->gradients);
	double squares = 0;

	for (i = 0; i < model->parameter_count; i++)
		squares += (double)gradients[i] * gradients[i];
	arena_release(arena, mark);
	return sqrt(squares);
}

/* The formulas one after the other, each over the whole tensor. */
static void step_plain(const struct step *step, float *p, float *g, float *m, float *v, size_t count, float decay)
{
	size_t i;

#pragma omp parallel for
	for (i = 0; i < count; i++)
		g[i] *= step->clip;
#pragma omp parallel for
	for (i = 0; i < count; i++)
		m[i] = BETA_FIRST * m[i] + (1 - BETA_FIRST) * g[i];
#pragma omp parallel for
	for (i = 0; i < count; i++)
		v[i] = BETA_SECOND * v[i] + (1 - BETA_SECOND) * g[i] * g[i];
#pragma omp parallel for
	for (i = 0; i < count; i++)
		p[i] -= step->rate * decay * p[i];
#pragma omp parallel for
	for (i = 0; i < count; i++)
		p[i] -= step->rate * (m[i] / step->first_correction) /
			(sqrtf(v[i] / step->second_correction) + EPSILON);
}

/* The same in one pass over memory, with the divisions that are the same for all elements taken out. */
static void step_fused(const struct step *step, float *p, float *g, float *m, float *v, size_t count, float decay)
{
	float rate = step->rate / step->first_correction, second = 1.0f / step->second_correction;
	float keep = 1.0f - step->rate * decay, clip = step->clip;
	size_t i;

#pragma omp parallel for
	for (i = 0; i < count; i++) {
		float gradient = g[i] * clip;
		float first = BETA_FIRST * m[i] + (1 - BETA_FIRST) * gradient;
		float square = BETA_SECOND * v[i] + (1 - BETA_SECOND) * gradient * gradient;

		m[i] = first;
		v[i] = square;
		p[i] = keep * p[i] - rate * first / (sqrtf(square * second) + EPSILON);
	}
}

static void step_tensor(struct optimizer *optimizer, const struct context *context, const struct model *model,
			const struct tensor *tensor, const struct step *step)
{
	size_t count = (size_t)tensor->rows * tensor->columns, mark = arena_mark(context->arena);
	struct block p = storage_part(&model->parameters, tensor->first, count);
	struct block g = storage_part(&model->gradients, tensor->first, count);
	struct block m = storage_part(&optimizer->first, tensor->first, count);
	struct block v = storage_part(&optimizer->second, tensor->first, count);
	float *parameters = storage_read(context->arena, &p), *gradients = storage_read(context->arena, &g);
	float *first = storage_read(context->arena, &m), *second = storage_read(context->arena, &v);
	float decay = tensor->rows > 1 ? WEIGHT_DECAY : 0; /* not for norms */

	if (context->settings->optimizer == OPTIMIZER_FUSED)
		step_fused(step, parameters, gradients, first, second, count, decay);
	else
		step_plain(step, parameters, gradients, first, second, count, decay);
	storage_commit(&p, parameters);
	storage_commit(&m, first);
	storage_commit(&v, second);
	arena_release(context->arena, mark);
}

double optimizer_step(struct optimizer *optimizer, const struct context *context, struct model *model, double rate)
{
	double norm = gradient_norm(context->arena, model);
	struct step step = {.rate = (float)rate, .clip = norm > NORM_LIMIT ? (float)(NORM_LIMIT / norm) : 1.0f};
	int i;

	optimizer->steps++;
	step.first_correction = 1.0f - powf(BETA_FIRST, (float)optimizer->steps);
	step.second_correction = 1.0f - powf(BETA_SECOND, (float)optimizer->steps);
	for (i = 0; i < model->tensor_count; i++)
		step_tensor(optimizer, context, model, &model->tensors[i], &step);
	return norm;
}

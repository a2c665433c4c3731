/*
 * Are the gradients right?  On a small network:
 *  - every tensor's gradient against central differences of the loss along the gradient and along a random direction;
 *  - every combination of exact settings against the first, loss and gradients.
 *
 * The seed is one for which no token sits where two experts are nearly equally likely: there the loss has a jump, and
 * differences measure the jump.
 */
#include "corpus.h"
#include "model.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 2
#define DIFFERENCE_TOLERANCE 1e-2 /* fp32 loss, second-order differences */
#define SETTINGS_TOLERANCE 1e-4

/* 48 tokens: a whole chunk of the loss and a part of one; 24 keys: a whole tile of attention and a part of one. */
static const struct config small_config = {
	.vocab = 96,
	.width = 16,
	.heads = 2,
	.layers = 2,
	.hidden = 32,
	.experts = 8,
	.active_experts = 2,
	.expert_hidden = 16,
	.seq_len = 24,
};

struct check {
	struct arena arena;
	struct settings settings;
	struct phases phases;
	struct model model;
	double balance;
	int ids[ROWS * 25];
	int failures;
};

static void exhausted(void *context, const struct arena_shortage *shortage)
{
	(void)context;
	fprintf(stderr, "check: arena too small for %s\n", shortage->name);
	exit(1);
}

static double run(struct check *check)
{
	struct context context = {.arena = &check->arena,
				  .config = &small_config,
				  .settings = &check->settings,
				  .matmul = check->settings.matmul,
				  .phases = &check->phases,
				  .balance = &check->balance,
				  .rows = ROWS,
				  .tokens = ROWS * small_config.seq_len};
	double loss;

	check->balance = 0;
	storage_clear(&check->model.gradients);
	loss = model_run(&context, &check->model, check->ids);
	return loss / context.tokens + check->balance;
}

static void expect(struct check *check, const char *what, const char *name, double error, double tolerance)
{
	if (error <= tolerance)
		return;
	printf("FAIL %s %s: relative error %.2e, at most %.0e\n", what, name, error, tolerance);
	check->failures++;
}

/* d(loss)/d(distance) along direction (length 1 over the tensor), from two losses. */
static double difference(struct check *check, const struct tensor *tensor, const float *direction, float distance)
{
	size_t count = (size_t)tensor->rows * tensor->columns, i;
	float *weights = (float *)check->model.parameters.data + tensor->first;
	float *before = malloc(count * sizeof(float));
	double above, below;

	memcpy(before, weights, count * sizeof(float));
	for (i = 0; i < count; i++)
		weights[i] = before[i] + distance * direction[i];
	above = run(check);
	for (i = 0; i < count; i++)
		weights[i] = before[i] - distance * direction[i];
	below = run(check);
	memcpy(weights, before, count * sizeof(float));
	free(before);
	return (above - below) / (2.0 * distance);
}

/* gradient is the whole model's, kept apart because run() overwrites it. */
static void check_tensor(struct check *check, const struct tensor *tensor, const float *gradient)
{
	size_t count = (size_t)tensor->rows * tensor->columns, i;
	const float *g = gradient + tensor->first;
	float *direction = malloc(count * sizeof(float));
	double squares = 0, expected = 0, found;
	uint64_t random = random_stream(7, tensor->first);

	for (i = 0; i < count; i++)
		squares += (double)g[i] * g[i];
	for (i = 0; i < count; i++)
		direction[i] = g[i] / (float)sqrt(squares);
	found = difference(check, tensor, direction, 3e-3f);
	expect(check, "difference along gradient", tensor->name, fabs(found / sqrt(squares) - 1), DIFFERENCE_TOLERANCE);
	printf("%-24s |gradient| %.6f, by differences %.6f\n", tensor->name, sqrt(squares), found);

	for (i = 0; i < count; i++) {
		direction[i] = random_normal(&random) / sqrtf((float)count);
		expected += (double)g[i] * direction[i];
	}
	found = difference(check, tensor, direction, 3e-3f);
	expect(check, "difference along random", tensor->name, fabs(found - expected) / sqrt(squares),
	       DIFFERENCE_TOLERANCE);
	free(direction);
}

static void compare(struct check *check, const float *reference, double reference_loss, double loss)
{
	char what[128];
	const float *gradients = check->model.gradients.data;
	int i;

	snprintf(what, sizeof(what), "recompute %d attention %d loss %d dispatch %d matmul %s:",
		 check->settings.recompute, check->settings.attention, check->settings.loss, check->settings.dispatch,
		 check->settings.matmul->name);
	expect(check, what, "loss", fabs(loss / reference_loss - 1), SETTINGS_TOLERANCE);
	for (i = 0; i < check->model.tensor_count; i++) {
		const struct tensor *tensor = &check->model.tensors[i];
		size_t at = tensor->first, end = at + (size_t)tensor->rows * tensor->columns;
		double squares = 0, error = 0;

		for (; at < end; at++) {
			double apart = (double)gradients[at] - reference[at];

			squares += (double)reference[at] * reference[at];
			error += apart * apart;
		}
		expect(check, what, tensor->name, sqrt(error / squares), SETTINGS_TOLERANCE);
	}
}

/* All settings that must not change the result; blocked products of ragged groups are refused, so left out. */
static int check_settings(struct check *check, const float *reference, double reference_loss)
{
	const struct settings before = check->settings;
	const struct matmul *matmul;
	int combination, compared = 0;

	for (matmul = matmul_table; matmul->name; matmul++)
		for (combination = 0; combination < 24; combination++) {
			check->settings.matmul = matmul;
			check->settings.recompute = combination % 3;
			check->settings.attention = combination / 3 % 2;
			check->settings.loss = combination / 6 % 2;
			check->settings.dispatch = combination / 12;
			if (matmul->row_multiple > 1 && check->settings.dispatch == DISPATCH_GROUPED)
				continue;
			compare(check, reference, reference_loss, run(check));
			compared++;
		}
	check->settings = before;
	return compared;
}

int main(void)
{
	struct check check = {.settings = {.global_batch = ROWS, .matmul = &matmul_table[0]}};
	struct corpus corpus = {1, small_config.vocab, ROWS};
	float *gradient;
	double loss;
	int i, compared;

	if (arena_init(&check.arena, 16 << 20, exhausted, NULL) < 0)
		return 1;
	model_init(&check.model, &check.arena, &small_config, STORAGE_FP32, 2);
	for (i = 0; i < ROWS; i++)
		corpus_row(&corpus, 1, i, check.ids + i * 25, 25);
	gradient = malloc(check.model.parameter_count * sizeof(float));
	loss = run(&check);
	memcpy(gradient, check.model.gradients.data, check.model.parameter_count * sizeof(float));
	for (i = 0; i < check.model.tensor_count; i++)
		check_tensor(&check, &check.model.tensors[i], gradient);
	compared = check_settings(&check, gradient, loss);
	printf("%d tensors by differences, %d combinations of settings; %d failures\n", check.model.tensor_count,
	       compared, check.failures);
	free(gradient);
	arena_release_all(&check.arena);
	return check.failures != 0;
}

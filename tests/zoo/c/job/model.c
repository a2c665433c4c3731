#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void matmul(float *out, const float *in, const float *weight, int rows, int width_in, int width_out)
{
	for (int r = 0; r < rows; r++) {
		for (int o = 0; o < width_out; o++) {
			double sum = 0;
			for (int i = 0; i < width_in; i++)
				sum += in[r * width_in + i] * weight[o * width_in + i];
			out[r * width_out + o] = sum;
		}
	}
}

static void layernorm(float *out, const float *in, const float *gain, int rows, int width)
{
	for (int r = 0; r < rows; r++) {
		const float *x = in + r * width;
		float mean = 0, variance = 0;
		for (int i = 0; i < width; i++)
			mean += x[i];
		mean /= width;
		for (int i = 0; i < width; i++)
			variance += (x[i] - mean) * (x[i] - mean);
		float scale = 1.0f / sqrtf(variance / width + 1e-5f);
		for (int i = 0; i < width; i++)
			out[r * width + i] = (x[i] - mean) * scale * gain[i];
	}
}

static void attention(float *out, const float *q, const float *k, const float *v, int T, int width)
{
	float scores[SEQ_LEN];
	for (int t = 0; t < T; t++) {
		float largest = -1e30f, sum = 0;
		for (int t2 = 0; t2 <= t; t2++) {
			float score = 0;
			for (int i = 0; i < width; i++)
				score += q[t * width + i] * k[t2 * width + i];
			scores[t2] = score / sqrtf(width);
			if (scores[t2] > largest)
				largest = scores[t2];
		}
		for (int t2 = 0; t2 <= t; t2++) {
			scores[t2] = expf(scores[t2] - largest);
			sum += scores[t2];
		}
		for (int i = 0; i < width; i++)
			out[t * width + i] = 0;
		for (int t2 = 0; t2 <= t; t2++)
			for (int i = 0; i < width; i++)
				out[t * width + i] += scores[t2] / sum * v[t2 * width + i];
	}
}

static void residual(float *out, const float *a, const float *b, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = a[i] + b[i];
}

static float cross_entropy(float *probs, const float *logits, const int *targets, int rows, int vocab)
{
	float loss = 0;
	for (int r = 0; r < rows; r++) {
		const float *row = logits + (size_t)r * vocab;
		float largest = row[0], sum = 0;
		for (int i = 1; i < vocab; i++)
			largest = row[i] > largest ? row[i] : largest;
		for (int i = 0; i < vocab; i++) {
			probs[(size_t)r * vocab + i] = expf(row[i] - largest);
			sum += probs[(size_t)r * vocab + i];
		}
		for (int i = 0; i < vocab; i++)
			probs[(size_t)r * vocab + i] /= sum;
		loss += logf(sum) + largest - row[targets[r]];
	}
	return loss / rows;
}

static void build_mask(float *mask, int T)
{
	for (int t = 0; t < T; t++)
		for (int t2 = 0; t2 < T; t2++)
			mask[t * T + t2] = t2 <= t ? 0.0f : -1e30f;
}

float model_forward(struct model *model, const int *tokens, const int *targets, int B, int T)
{
	float *x = model->acts, *normed = x + BATCH * SEQ_LEN * WIDTH, *mixed = normed + BATCH * SEQ_LEN * WIDTH;
	float *mask = malloc(sizeof(float) * T * T);
	if (mask == NULL) {
		exit(1);
	}
	build_mask(mask, T);
	for (int n = 0; n < B * T; n++)
		memcpy(x + n * WIDTH, model->params + tokens[n] * WIDTH, WIDTH * sizeof(float));
	const float *weights = model->params + VOCAB * WIDTH;
	for (int l = 0; l < N_LAYER; l++) {
		layernorm(normed, x, weights, B * T, WIDTH);
		for (int b = 0; b < B; b++)
			attention(mixed + b * T * WIDTH, normed, normed, normed, T, WIDTH);
		residual(x, x, mixed, B * T * WIDTH);
		matmul(mixed, normed, weights + WIDTH, B * T, WIDTH, WIDTH);
		residual(x, x, mixed, B * T * WIDTH);
		weights += WIDTH + WIDTH * WIDTH;
	}
	matmul(model->probs, x, model->params, B * T, WIDTH, VOCAB);
	free(mask);
	return cross_entropy(model->probs, model->probs, targets, B * T, VOCAB);
}

void model_backward(struct model *model, const int *tokens, const int *targets, int B, int T)
{
	float *dlogits = model->probs;
	for (int n = 0; n < B * T; n++) {
		for (int i = 0; i < VOCAB; i++)
			dlogits[n * VOCAB + i] /= B * T;
		dlogits[n * VOCAB + targets[n]] -= 1.0f / (B * T);
	}
	for (int l = N_LAYER - 1; l >= 0; l--)
		for (int n = 0; n < B * T; n++)
			for (int i = 0; i < WIDTH; i++)
				model->grads[tokens[n] * WIDTH + i] += dlogits[n * VOCAB + i];
}

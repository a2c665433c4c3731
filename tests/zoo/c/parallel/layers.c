#include <math.h>

#include "train.h"

static float uniform(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return (*rng >> 40) * 0x1p-24f;
}

void dropout(float *x, size_t n, float p, uint64_t *rng)
{
	float scale = 1.0f / (1.0f - p);
	for (size_t i = 0; i < n; i++)
		x[i] = uniform(rng) < p ? 0.0f : x[i] * scale;
}

/* The TOP_K experts of each row, and the balance loss. */
float route(const struct model *model, const float *x, int *chosen, float *gates, int rows, int n_experts)
{
	const float *weights = model->params;
	float load[64] = {0}, mass[64] = {0}, balance = 0;
	for (int r = 0; r < rows; r++) {
		float score[64], largest = -INFINITY, sum = 0;
		for (int e = 0; e < n_experts; e++) {
			score[e] = 0;
			for (int i = 0; i < WIDTH; i++)
				score[e] += x[r * WIDTH + i] * weights[e * WIDTH + i];
			largest = score[e] > largest ? score[e] : largest;
		}
		for (int e = 0; e < n_experts; e++)
			sum += score[e] = expf(score[e] - largest);
		for (int e = 0; e < n_experts; e++)
			mass[e] += score[e] / sum / rows;
		for (int k = 0; k < TOP_K; k++) {
			int best = 0;
			for (int e = 1; e < n_experts; e++)
				if (score[e] > score[best])
					best = e;
			chosen[r * TOP_K + k] = best;
			gates[r * TOP_K + k] = score[best] / sum;
			load[best] += 1.0f / (rows * TOP_K);
			score[best] = -1.0f;
		}
	}
	for (int e = 0; e < n_experts; e++)
		balance += n_experts * load[e] * mass[e];
	return balance;
}

/* Cross entropy of the rows that have a target (>= 0), 64 at a time; gradients are of the mean over those. */
float chunked_loss(float *dlogits, const float *logits, const int *targets, int rows, int vocab)
{
	double loss = 0;
	int count = 0;
	for (int r = 0; r < rows; r++)
		count += targets[r] >= 0;
	for (int first = 0; first < rows; first += 64) {
		int end = first + 64 < rows ? first + 64 : rows;
		for (int r = first; r < end; r++) {
			const float *row = logits + (size_t)r * vocab;
			float *out = dlogits + (size_t)r * vocab, largest = row[0], sum = 0;
			for (int i = 1; i < vocab; i++)
				largest = row[i] > largest ? row[i] : largest;
			for (int i = 0; i < vocab; i++)
				sum += out[i] = expf(row[i] - largest);
			for (int i = 0; i < vocab; i++)
				out[i] = targets[r] < 0 ? 0.0f : out[i] / sum / count;
			if (targets[r] < 0)
				continue;
			out[targets[r]] -= 1.0f / count;
			loss += logf(sum) + largest - row[targets[r]];
		}
	}
	return loss / count;
}

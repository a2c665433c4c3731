/*
 * Attention over tiles of keys, with a running softmax: no score matrix is kept, only the logarithm of each softmax's
 * denominator, from which backward makes the probabilities again (Milakov and Gimelshein 2018, Dao et al. 2022).
 * Keys and values are transposed first, so that the inner loops run over the keys of a tile.
 */
#include "layers.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define TILE 16 /* keys */

/* One head of one sequence. */
struct head {
	int seq_len, width, padded; /* padded: seq_len rounded up to whole tiles */
	size_t stride, model_width;
	float scale;
	const float *qkv;
	float *keys, *values; /* width x padded */
};

static int padded_length(const struct config *config)
{
	return (config->seq_len + TILE - 1) / TILE * TILE;
}

/* Transposed columns of one kind, zeros in the padding. */
static void transpose(const struct head *head, const float *from, float *to)
{
	int i, j;

	for (i = 0; i < head->width; i++) {
		for (j = 0; j < head->seq_len; j++)
			to[(size_t)i * head->padded + j] = from[j * head->stride + i];
		for (; j < head->padded; j++)
			to[(size_t)i * head->padded + j] = 0;
	}
}

static struct head head_open(const struct context *context, const float *qkv, float *scratch, int row, int index)
{
	const struct config *config = context->config;
	struct head head;

	head.seq_len = config->seq_len;
	head.width = config->width / config->heads;
	head.padded = padded_length(config);
	head.stride = 3 * (size_t)config->width;
	head.model_width = config->width;
	head.scale = 1.0f / sqrtf((float)head.width);
	head.qkv = qkv + (size_t)row * config->seq_len * head.stride + (size_t)index * head.width;
	head.keys = scratch + 2 * ((size_t)row * config->heads + index) * head.width * head.padded;
	head.values = head.keys + (size_t)head.width * head.padded;
	transpose(&head, head.qkv + config->width, head.keys);
	transpose(&head, head.qkv + 2 * (size_t)config->width, head.values);
	return head;
}

static float *scratch_alloc(const struct context *context)
{
	const struct config *config = context->config;
	size_t count = 2 * (size_t)context->rows * config->width * padded_length(config);

	return arena_floats(context->arena, count, "transposed keys and values");
}

/* products[j] = vector . transposed column first + j. */
static void tile_products(const struct head *head, const float *vector, const float *transposed, int first,
			  float products[TILE])
{
	int i, j;

	memset(products, 0, TILE * sizeof(float));
	for (i = 0; i < head->width; i++) {
		const float *from = transposed + (size_t)i * head->padded + first;
		float value = vector[i];

		for (j = 0; j < TILE; j++)
			products[j] += value * from[j];
	}
}

static void query_forward(const struct head *head, int t, float *ret_log_sum, float *out)
{
	const float *q = head->qkv + t * head->stride, *v = head->qkv + 2 * head->model_width;
	float largest = -FLT_MAX, sum = 0, scores[TILE];
	int first, i, j;

	memset(out, 0, head->width * sizeof(float));
	for (first = 0; first <= t; first += TILE) {
		int count = t + 1 - first < TILE ? t + 1 - first : TILE;
		float before = largest, shrink;

		tile_products(head, q, head->keys, first, scores);
		for (j = 0; j < count; j++) {
			scores[j] *= head->scale;
			largest = scores[j] > largest ? scores[j] : largest;
		}
		shrink = first ? expf(before - largest) : 0;
		sum *= shrink;
		for (i = 0; i < head->width; i++)
			out[i] *= shrink;
		for (j = 0; j < count; j++) {
			float weight = expf(scores[j] - largest);

			sum += weight;
			for (i = 0; i < head->width; i++)
				out[i] += weight * v[(first + j) * head->stride + i];
		}
	}
	for (i = 0; i < head->width; i++)
		out[i] /= sum;
	*ret_log_sum = largest + logf(sum);
}

void attention_tiled_forward(const struct context *context, const float *qkv, float *log_sums, float *out)
{
	const struct config *config = context->config;
	size_t mark = arena_mark(context->arena), seq_len = config->seq_len;
	float *scratch = scratch_alloc(context);
	int row, index, t;

#pragma omp parallel for collapse(2) private(t)
	for (row = 0; row < context->rows; row++)
		for (index = 0; index < config->heads; index++) {
			struct head head = head_open(context, qkv, scratch, row, index);
			float *sums = log_sums + ((size_t)row * config->heads + index) * seq_len;
			float *to = out + row * seq_len * config->width + (size_t)index * head.width;

			for (t = 0; t < head.seq_len; t++)
				query_forward(&head, t, sums + t, to + (size_t)t * config->width);
		}
	arena_release(context->arena, mark);
}

/* dqkv points at the head's part for token 0. */
static void query_backward(const struct head *head, int t, float log_sum, const float *out, const float *dout,
			   float *dqkv)
{
	const float *q = head->qkv + t * head->stride, *k = head->qkv + head->model_width;
	float *dq = dqkv + t * head->stride, *dk = dqkv + head->model_width, *dv = dk + head->model_width;
	float scores[TILE], dscores[TILE], weighted = 0;
	int first, i, j;

	for (i = 0; i < head->width; i++)
		weighted += out[i] * dout[i];
	for (first = 0; first <= t; first += TILE) {
		int count = t + 1 - first < TILE ? t + 1 - first : TILE;

		tile_products(head, q, head->keys, first, scores);
		tile_products(head, dout, head->values, first, dscores);
		for (j = 0; j < count; j++) {
			size_t at = (first + j) * head->stride;
			float probability = expf(scores[j] * head->scale - log_sum);
			float dscore = probability * (dscores[j] - weighted) * head->scale;

			for (i = 0; i < head->width; i++) {
				dv[at + i] += probability * dout[i];
				dq[i] += dscore * k[at + i];
				dk[at + i] += dscore * q[i];
			}
		}
	}
}

void attention_tiled_backward(const struct context *context, const float *qkv, const float *log_sums, const float *out,
			      const float *out_gradient, float *qkv_gradient)
{
	const struct config *config = context->config;
	size_t mark = arena_mark(context->arena), seq_len = config->seq_len, width = config->width;
	float *scratch = scratch_alloc(context);
	int row, index, t;

	memset(qkv_gradient, 0, (size_t)context->tokens * 3 * width * sizeof(float));
#pragma omp parallel for collapse(2) private(t)
	for (row = 0; row < context->rows; row++)
		for (index = 0; index < config->heads; index++) {
			struct head head = head_open(context, qkv, scratch, row, index);
			const float *sums = log_sums + ((size_t)row * config->heads + index) * seq_len;
			size_t at = row * seq_len * width + (size_t)index * head.width;
			float *dqkv = qkv_gradient + (head.qkv - qkv);

			for (t = 0; t < head.seq_len; t++)
				query_backward(&head, t, sums[t], out + at + t * width, out_gradient + at + t * width,
					       dqkv);
		}
	arena_release(context->arena, mark);
}

/* Attention as in the formula: every probability is written down, the ones behind the causal mask as zeros. */
#include "layers.h"
#include "vector.h"

#include <math.h>
#include <string.h>

/* Where one head of one sequence lies. */
struct head {
	int seq_len, width; /* of the head */
	size_t stride;      /* between the tokens of qkv */
	size_t qkv, out, matrix;
};

static struct head head_at(const struct context *context, int row, int index)
{
	const struct config *config = context->config;
	size_t first = (size_t)row * config->seq_len;
	struct head head;

	head.seq_len = config->seq_len;
	head.width = config->width / config->heads;
	head.stride = 3 * (size_t)config->width;
	head.qkv = first * head.stride + (size_t)index * head.width;
	head.out = first * config->width + (size_t)index * head.width;
	head.matrix = ((size_t)row * config->heads + index) * config->seq_len * config->seq_len;
	return head;
}

/* Softmax over the first count of seq_len scores; the rest is behind the mask. */
static void softmax_causal(float *scores, int count, int seq_len)
{
	float largest = scores[0], sum = 0;
	int j;

	for (j = 1; j < count; j++)
		largest = scores[j] > largest ? scores[j] : largest;
	for (j = 0; j < count; j++) {
		scores[j] = expf(scores[j] - largest);
		sum += scores[j];
	}
	for (j = 0; j < count; j++)
		scores[j] /= sum;
	for (; j < seq_len; j++)
		scores[j] = 0;
}

static void head_forward(const struct head *head, size_t width, const float *qkv, float *probabilities, float *out)
{
	float scale = 1.0f / sqrtf((float)head->width);
	int t, j;

	for (t = 0; t < head->seq_len; t++) {
		const float *q = qkv + t * head->stride;
		float *row = probabilities + (size_t)t * head->seq_len, *to = out + t * width;

		for (j = 0; j <= t; j++)
			row[j] = scale * dot(q, qkv + width + j * head->stride, head->width);
		softmax_causal(row, t + 1, head->seq_len);
		memset(to, 0, head->width * sizeof(float));
		for (j = 0; j <= t; j++)
			add_scaled(to, row[j], qkv + 2 * width + j * head->stride, head->width);
	}
}

void attention_materialised_forward(const struct context *context, const float *qkv, float *probabilities, float *out)
{
	int row, index;

#pragma omp parallel for collapse(2)
	for (row = 0; row < context->rows; row++)
		for (index = 0; index < context->config->heads; index++) {
			struct head head = head_at(context, row, index);

			head_forward(&head, context->config->width, qkv + head.qkv, probabilities + head.matrix,
				     out + head.out);
		}
}

static void head_backward(const struct head *head, size_t width, const float *qkv, const float *probabilities,
			  const float *dout, float *dscores, float *dqkv)
{
	float scale = 1.0f / sqrtf((float)head->width);
	int t, j;

	for (t = 0; t < head->seq_len; t++) {
		const float *row = probabilities + (size_t)t * head->seq_len, *dto = dout + t * width;
		float *drow = dscores + (size_t)t * head->seq_len;
		const float *q = qkv + t * head->stride;
		float *dq = dqkv + t * head->stride, weighted = 0;

		for (j = 0; j <= t; j++) {
			drow[j] = dot(dto, qkv + 2 * width + j * head->stride, head->width);
			weighted += row[j] * drow[j];
		}
		for (j = 0; j <= t; j++) {
			drow[j] = row[j] * (drow[j] - weighted) * scale;
			add_scaled(dqkv + 2 * width + j * head->stride, row[j], dto, head->width);
			add_scaled(dq, drow[j], qkv + width + j * head->stride, head->width);
			add_scaled(dqkv + width + j * head->stride, drow[j], q, head->width);
		}
	}
}

void attention_materialised_backward(const struct context *context, const float *qkv, const float *probabilities,
				     const float *out_gradient, float *qkv_gradient)
{
	const struct config *config = context->config;
	size_t mark = arena_mark(context->arena);
	size_t matrices = (size_t)context->tokens * config->heads * config->seq_len;
	float *dscores = arena_floats(context->arena, matrices, "attention score gradients");
	int row, index;

	memset(qkv_gradient, 0, (size_t)context->tokens * 3 * config->width * sizeof(float));
#pragma omp parallel for collapse(2)
	for (row = 0; row < context->rows; row++)
		for (index = 0; index < config->heads; index++) {
			struct head head = head_at(context, row, index);

			head_backward(&head, config->width, qkv + head.qkv, probabilities + head.matrix,
				      out_gradient + head.out, dscores + head.matrix, qkv_gradient + head.qkv);
		}
	arena_release(context->arena, mark);
}

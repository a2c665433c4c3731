#include "storage.h"

#include <stdint.h>
#include <string.h>

static float bf16_expand(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* To nearest, ties to even.  A NaN keeps its top bits and is made quiet, or rounding could turn it into infinity. */
static uint16_t bf16_round(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static size_t element_bytes(enum storage_type type)
{
	return type == STORAGE_BF16 ? sizeof(uint16_t) : sizeof(float);
}

struct block storage_alloc(struct arena *arena, enum storage_type type, size_t count, const char *name)
{
	struct block block = {arena_alloc(arena, count * element_bytes(type), name), count, type};

	return block;
}

void storage_clear(const struct block *block)
{
	memset(block->data, 0, block->count * element_bytes(block->type));
}

struct block storage_part(const struct block *block, size_t first, size_t count)
{
	struct block part = {NULL, count, block->type};

	if (block->type == STORAGE_BF16)
		part.data = (uint16_t *)block->data + first;
	else
		part.data = (float *)block->data + first;
	return part;
}

void storage_copy_out(const struct block *block, size_t first, size_t count, float *ret_values)
{
	struct block part = storage_part(block, first, count);
	size_t i;

	if (block->type == STORAGE_FP32) {
		memcpy(ret_values, part.data, count * sizeof(float));
		return;
	}
	for (i = 0; i < count; i++)
		ret_values[i] = bf16_expand(((const uint16_t *)part.data)[i]);
}

float *storage_target(struct arena *arena, const struct block *block)
{
	if (block->type == STORAGE_FP32)
		return block->data;
	return arena_floats(arena, block->count, "fp32 copy of a bf16 block");
}

float *storage_read(struct arena *arena, const struct block *block)
{
	float *values = storage_target(arena, block);
	const uint16_t *halves = block->data;
	size_t i;

	if (block->type == STORAGE_FP32)
		return values;
#pragma omp parallel for
	for (i = 0; i < block->count; i++)
		values[i] = bf16_expand(halves[i]);
	return values;
}

void storage_commit(const struct block *block, const float *values)
{
	uint16_t *halves = block->data;
	size_t i;

	if (block->type == STORAGE_FP32)
		return;
#pragma omp parallel for
	for (i = 0; i < block->count; i++)
		halves[i] = bf16_round(values[i]);
}

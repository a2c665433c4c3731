/*
 * How parameters, gradients, moments and activations are kept in the arena: as fp32, or as bf16 with fp32 arithmetic.
 *
 * A block is read through storage_read() and written through storage_target() and storage_commit().  For fp32 these
 * hand out the block itself and cost nothing; for bf16 they go through a fp32 copy in the arena, which the caller
 * gives back with arena_release().
 */
#ifndef STORAGE_H
#define STORAGE_H

#include "arena.h"

enum storage_type { STORAGE_FP32, STORAGE_BF16 };

struct block {
	void *data;
	size_t count; /* elements */
	enum storage_type type;
};

struct block storage_alloc(struct arena *arena, enum storage_type type, size_t count, const char *name);

/* Elements [first, first + count) of a block, as a block. */
struct block storage_part(const struct block *block, size_t first, size_t count);

float *storage_read(struct arena *arena, const struct block *block);
float *storage_target(struct arena *arena, const struct block *block);
void storage_commit(const struct block *block, const float *values);

/* All zeros, which have the same bits in both types. */
void storage_clear(const struct block *block);

/* Copies count elements from first on. */
void storage_copy_out(const struct block *block, size_t first, size_t count, float *ret_values);

#endif

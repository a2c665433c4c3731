/*
 * The device's memory: a fixed capacity handed out as a stack.
 *
 * Parameters, gradients, optimizer state, activations and scratch all live here, so the peak is exact and the same on
 * every run.  Allocate, remember arena_mark(), and give everything above it back with arena_release().  An allocation
 * that does not fit calls the handler, which must not return; no caller checks for NULL.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>

struct arena_shortage {
	const char *name;
	size_t requested, available, capacity; /* bytes */
};

typedef void arena_handler(void *context, const struct arena_shortage *shortage);

struct arena {
	unsigned char *base;
	size_t capacity, used, peak; /* bytes */
	arena_handler *exhausted;
	void *context;
};

/* Returns 0, or -1 when the host itself has no memory. */
int arena_init(struct arena *arena, size_t capacity, arena_handler *exhausted, void *context);
void arena_release_all(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t bytes, const char *name);
float *arena_floats(struct arena *arena, size_t count, const char *name);
int *arena_ints(struct arena *arena, size_t count, const char *name);

size_t arena_mark(const struct arena *arena);
void arena_release(struct arena *arena, size_t mark);

#endif

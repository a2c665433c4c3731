#include "arena.h"

#include <stdlib.h>

#define ALIGNMENT 64 /* a cache line, and the widest vector */

int arena_init(struct arena *arena, size_t capacity, arena_handler *exhausted, void *context)
{
	capacity -= capacity % ALIGNMENT;
	arena->base = aligned_alloc(ALIGNMENT, capacity);
	arena->capacity = capacity;
	arena->used = 0;
	arena->peak = 0;
	arena->exhausted = exhausted;
	arena->context = context;
	return arena->base ? 0 : -1;
}

void arena_release_all(struct arena *arena)
{
	free(arena->base);
	arena->base = NULL;
}

void *arena_alloc(struct arena *arena, size_t bytes, const char *name)
{
	size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	void *place = arena->base + arena->used;

	if (rounded > arena->capacity - arena->used) {
		struct arena_shortage shortage = {name, bytes, arena->capacity - arena->used, arena->capacity};

		arena->exhausted(arena->context, &shortage);
		abort();
	}
	arena->used += rounded;
	if (arena->peak < arena->used)
		arena->peak = arena->used;
	return place;
}

float *arena_floats(struct arena *arena, size_t count, const char *name)
{
	return arena_alloc(arena, count * sizeof(float), name);
}

int *arena_ints(struct arena *arena, size_t count, const char *name)
{
	return arena_alloc(arena, count * sizeof(int), name);
}

size_t arena_mark(const struct arena *arena)
{
	return arena->used;
}

void arena_release(struct arena *arena, size_t mark)
{
	arena->used = mark;
}

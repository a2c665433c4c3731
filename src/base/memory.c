#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

static void (*oom_last_act)(void); /* set once at start-up by the command line */

void die_oom_set_last_act(void (*last_act)(void))
{
	oom_last_act = last_act;
}

void die_oom(size_t wanted_bytes)
{
	(void)wanted_bytes;
	static const char text[] = "infrarsi: out of memory\n";
	if (oom_last_act)
		oom_last_act();
	ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)ignored;
	_exit(1);
}

void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);
	if (!p)
		die_oom(size);
	return p;
}

void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);
	if (!p)
		die_oom(size);
	return p;
}

void *xrealloc(void *old, size_t count, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(count, size, &total))
		die_oom(SIZE_MAX);
	void *p = realloc(old, total ? total : 1);
	if (!p)
		die_oom(total);
	return p;
}

char *xstrdup(const char *text)
{
	size_t length = strlen(text) + 1;
	return memcpy(xmalloc(length), text, length);
}

char *xasprintf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int length = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (length < 0)
		die_oom(0);
	return text;
}

void free_ptr(void *pointer_to_pointer)
{
	void **p = pointer_to_pointer;
	free(*p);
	*p = NULL;
}

void grow_array(void *pointer_to_array, size_t *capacity, size_t need, size_t element_size)
{
	if (need <= *capacity)
		return;
	if (need > SIZE_MAX / 2)
		die_oom(SIZE_MAX);
	size_t wanted = *capacity ? *capacity : 8;
	while (wanted < need)
		wanted *= 2;
	void **array = pointer_to_array;
	*array = xrealloc(*array, wanted, element_size);
	*capacity = wanted;
}

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	char bytes[] __attribute__((aligned)); /* as malloc(): for any type */
};

enum { ARENA_BLOCK_BYTES = 16 * 1024 };

void *arena_alloc(struct arena *arena, size_t size)
{
	size_t align = _Alignof(max_align_t);
	if (size > SIZE_MAX / 2)
		die_oom(size);
	size = (size + align - 1) / align * align;
	struct arena_block *block = arena->blocks;
	if (!block || block->size - block->used < size) {
		size_t capacity = MAX_OF(size, (size_t)ARENA_BLOCK_BYTES);
		block = xcalloc(1, sizeof(*block) + capacity);
		block->size = capacity;
		block->next = arena->blocks;
		arena->blocks = block;
	}
	void *p = block->bytes + block->used;
	block->used += size;
	return p;
}

void *arena_array(struct arena *arena, size_t count, size_t element_size)
{
	size_t total;
	if (__builtin_mul_overflow(count, element_size, &total))
		die_oom(SIZE_MAX);
	return arena_alloc(arena, total);
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);
	memcpy(copy, text, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int length = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *text = arena_alloc(arena, (size_t)(length < 0 ? 0 : length) + 1);
	if (length > 0)
		vsnprintf(text, (size_t)length + 1, fmt, again);
	va_end(again);
	return text;
}

void arena_release(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *next = arena->blocks->next;
		free(arena->blocks);
		arena->blocks = next;
	}
}

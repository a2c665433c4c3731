/*
 * Memory. Allocation never returns NULL: without memory the program cannot keep its promises, so die_oom()
 * runs the registered last act (a command registers one that kills child groups) and exits.
 *
 * struct arena: a bump allocator per unit of work (a task file, a trial, a reply). Everything in it is freed
 * at once.
 *
 *     struct arena arena = ARENA_INIT;
 *     char *name = arena_strdup(&arena, text);
 *     arena_release(&arena);
 *
 * Pointers from an arena stay valid until arena_release(); blocks never move.
 */
#ifndef INFRARSI_BASE_MEMORY_H
#define INFRARSI_BASE_MEMORY_H

#include "base/base.h"

NORETURN void die_oom(size_t wanted_bytes);
/* Called once by die_oom() before the exit; must be async-signal-safe. NULL removes it. */
void die_oom_set_last_act(void (*last_act)(void));

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t count, size_t size);
char *xstrdup(const char *text);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* For CLEANUP(): frees the pointer that the variable holds. */
void free_ptr(void *pointer_to_pointer);

/* Makes room for `need` elements; doubles. *array and *capacity are updated. */
void grow_array(void *pointer_to_array, size_t *capacity, size_t need, size_t element_size);

struct arena_block;
struct arena {
	struct arena_block *blocks;
};
#define ARENA_INIT                                                                                           \
	{                                                                                                    \
		NULL                                                                                         \
	}

void *arena_alloc(struct arena *arena, size_t size); /* zeroed, aligned for any type */
void *arena_array(struct arena *arena, size_t count, size_t element_size);
char *arena_strdup(struct arena *arena, const char *text); /* NULL gives NULL */
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);
void arena_release(struct arena *arena);

#endif

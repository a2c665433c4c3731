#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"

static void arena_gives_zeroed_aligned_memory_that_stays(void **state)
{
	(void)state;
	enum { COUNT = 2000 };
	struct arena arena = ARENA_INIT;
	unsigned char *parts[COUNT];
	size_t sizes[COUNT];
	for (size_t i = 0; i < COUNT; i++) {
		sizes[i] = i % 97 * (i % 13 == 0 ? 400 : 1);
		parts[i] = arena_alloc(&arena, sizes[i]);
		assert_int_equal((uintptr_t)parts[i] % _Alignof(max_align_t), 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(parts[i][k], 0);
		memset(parts[i], (int)(i % 251), sizes[i]);
	}
	for (size_t i = 0; i < COUNT; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(parts[i][k], i % 251);
	arena_release(&arena);
	arena_release(&arena);
	assert_null(arena.blocks);
}

static void arena_strings(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT;
	assert_null(arena_strdup(&arena, NULL));
	assert_string_equal(arena_strdup(&arena, ""), "");
	assert_string_equal(arena_strndup(&arena, "abcdef", 3), "abc");
	assert_string_equal(arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
	assert_int_equal(strlen(arena_printf(&arena, "%50000d", 1)), 50000);
	int *numbers = arena_array(&arena, 100, sizeof(int));
	assert_int_equal(numbers[99], 0);
	arena_release(&arena);
}

static void arrays_grow_and_keep_their_content(void **state)
{
	(void)state;
	int *array = NULL;
	size_t capacity = 0;
	for (int i = 0; i < 1000; i++) {
		grow_array(&array, &capacity, (size_t)i + 1, sizeof(*array));
		assert_true(capacity > (size_t)i);
		array[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(array[i], i);
	free(array);
}

static void text_helpers(void **state)
{
	(void)state;
	CLEANUP(free_ptr) char *copy = xstrdup("abc");
	CLEANUP(free_ptr) char *made = xasprintf("%s-%d", copy, 5);
	assert_string_equal(made, "abc-5");
	char *kept = made;
	char *taken = take_ptr(made);
	assert_ptr_equal(taken, kept);
	assert_null(made);
	free(taken);
	CLEANUP(free_ptr) void *zero = xcalloc(0, 0);
	assert_non_null(zero);
}

static void last_act(void)
{
	ssize_t ignored = write(STDOUT_FILENO, "", 0);
	(void)ignored;
	_exit(42);
}

/* Sizes that cannot be are met by the last act, not by a crash or an endless loop. */
static void impossible_sizes_end_the_program_orderly(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct arena arena = ARENA_INIT;
			char *array = NULL;
			size_t capacity = 0;
			die_oom_set_last_act(last_act);
			if (kind == 0)
				xrealloc(NULL, SIZE_MAX / 2, 16);
			else if (kind == 1)
				arena_array(&arena, SIZE_MAX / 2, 16);
			else if (kind == 2)
				grow_array(&array, &capacity, SIZE_MAX - 1, 1);
			else
				arena_alloc(&arena, SIZE_MAX - 4);
			_exit(0);
		}
		int status = 0;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 42);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_gives_zeroed_aligned_memory_that_stays),
		cmocka_unit_test(arena_strings),
		cmocka_unit_test(arrays_grow_and_keep_their_content),
		cmocka_unit_test(text_helpers),
		cmocka_unit_test(impossible_sizes_end_the_program_orderly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

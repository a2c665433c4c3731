/* Removing and copying trees that a job may have prepared to do harm. */
#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

struct fixture {
	char dir[64];
	char *inside, *outside, *copy, *precious;
};

static void put(const char *root, const char *name, const char *text)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", root, name);
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), OK);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	strcpy(f->dir, "/tmp/infrarsi-tree-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->inside = xasprintf("%s/inside", f->dir);
	f->outside = xasprintf("%s/outside", f->dir);
	f->copy = xasprintf("%s/copy", f->dir);
	f->precious = xasprintf("%s/outside/precious", f->dir);
	assert_int_equal(mkdir(f->inside, 0700), 0);
	assert_int_equal(mkdir(f->outside, 0700), 0);
	put(f->outside, "precious", "text");
	assert_int_equal(chmod(f->outside, 0500), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(remove_tree(f->dir, NULL), OK);
	free(f->inside);
	free(f->outside);
	free(f->copy);
	free(f->precious);
	free(f);
	return 0;
}

static mode_t mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode;
}

static void links_are_removed_and_not_followed(void **state)
{
	struct fixture *f = *state;
	CLEANUP(free_ptr) char *link_path = xasprintf("%s/link", f->inside);
	CLEANUP(free_ptr) char *link_slash = xasprintf("%s/link///", f->inside);
	assert_int_equal(symlink(f->outside, link_path), 0);
	assert_int_equal(remove_tree(link_slash, NULL), OK); /* the link itself, whatever the slashes say */
	assert_false(path_exists(link_path));
	assert_true(path_exists(f->precious));
	assert_int_equal(symlink(f->outside, link_path), 0);
	assert_int_equal(remove_tree(f->inside, NULL), OK);
	assert_false(path_exists(f->inside));
	assert_true(path_exists(f->precious));
	assert_int_equal(mode_of(f->outside) & 0777, 0500); /* nor made writable */
}

static void absent_is_fine_and_a_file_is_removed(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(remove_tree(f->copy, NULL), OK);
	CLEANUP(free_ptr) char *file = xasprintf("%s/file", f->inside);
	put(f->inside, "file", "x");
	assert_int_equal(remove_tree(file, NULL), OK);
	assert_false(path_exists(file));
}

static void read_only_folders_and_odd_files_go_too(void **state)
{
	struct fixture *f = *state;
	CLEANUP(free_ptr) char *locked = xasprintf("%s/locked", f->inside);
	CLEANUP(free_ptr) char *fifo = xasprintf("%s/fifo", f->inside);
	assert_int_equal(mkdir(locked, 0700), 0);
	put(locked, "file", "x");
	put(locked, "a\nb\xff", "x");
	assert_int_equal(mkfifo(fifo, 0000), 0);
	assert_int_equal(chmod(locked, 0000), 0);
	assert_int_equal(chmod(f->inside, 0500), 0);
	assert_int_equal(remove_tree(f->inside, NULL), OK);
	assert_false(path_exists(f->inside));
}

/* Deeper than there are descriptors and than PATH_MAX; with files on the way and a name that the removal
 * itself uses. */
static void depth_has_no_limit(void **state)
{
	struct fixture *f = *state;
	enum { DEPTH = 3000 };
	put(f->inside, ".infrarsi-removed-0", "x");
	CLEANUP(close_fd) int at = open(f->inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < DEPTH; i++) {
		assert_int_equal(mkdirat(at, "d", 0700), 0);
		if (i % 50 == 0)
			assert_int_equal(symlinkat(f->outside, at, "link"), 0);
		int below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		close_fd(&at);
		at = below;
	}
	struct err e = ERR_INIT;
	if (remove_tree(f->inside, &e) != OK)
		fail_msg("%s", e.message);
	assert_false(path_exists(f->inside));
	assert_true(path_exists(f->precious));
}

static void a_copy_keeps_content_links_modes_and_times(void **state)
{
	struct fixture *f = *state;
	CLEANUP(free_ptr) char *sub = xasprintf("%s/sub", f->inside);
	CLEANUP(free_ptr) char *tool = xasprintf("%s/sub/tool", f->inside);
	CLEANUP(free_ptr) char *link_path = xasprintf("%s/link", f->inside);
	CLEANUP(free_ptr) char *fifo = xasprintf("%s/fifo", f->inside);
	CLEANUP(free_ptr) char *tool_copy = xasprintf("%s/sub/tool", f->copy);
	CLEANUP(free_ptr) char *sub_copy = xasprintf("%s/sub", f->copy);
	CLEANUP(free_ptr) char *link_copy = xasprintf("%s/link", f->copy);
	CLEANUP(free_ptr) char *fifo_copy = xasprintf("%s/fifo", f->copy);
	const struct timespec times[2] = {{1000000000, 5}, {1100000000, 7}};
	assert_int_equal(mkdir(sub, 0700), 0);
	put(sub, "tool", "#!/bin/sh\n");
	assert_int_equal(chmod(tool, 0750), 0);
	assert_int_equal(utimensat(AT_FDCWD, tool, times, 0), 0);
	assert_int_equal(symlink("/etc/passwd", link_path), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(chmod(sub, 0550), 0);
	assert_int_equal(utimensat(AT_FDCWD, sub, times, 0), 0);

	assert_int_equal(copy_tree(f->inside, f->copy, NULL), OK);
	struct stat st;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	assert_int_equal(file_read(tool_copy, 100, &text, NULL), OK);
	assert_string_equal(text.buf, "#!/bin/sh\n");
	assert_int_equal(stat(tool_copy, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	assert_int_equal(st.st_mtim.tv_sec, 1100000000);
	assert_int_equal(stat(sub_copy, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0550);
	assert_int_equal(st.st_mtim.tv_sec, 1100000000);
	char target[64] = "";
	assert_true(readlink(link_copy, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "/etc/passwd");
	assert_false(path_exists(fifo_copy));
}

static void a_copy_of_several_blocks(void **state)
{
	struct fixture *f = *state;
	enum { SIZE = 300001 };
	CLEANUP(free_ptr) char *bytes = xmalloc(SIZE);
	CLEANUP(free_ptr) char *path = xasprintf("%s/big", f->inside);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i * 31 >> 3);
	assert_int_equal(file_write_atomic(path, bytes, SIZE, 0600, NULL), OK);
	assert_int_equal(copy_tree(path, f->copy, NULL), OK);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	assert_int_equal(file_read(f->copy, SIZE, &text, NULL), OK);
	assert_int_equal(text.len, SIZE);
	assert_memory_equal(text.buf, bytes, SIZE);
}

static void nothing_is_overwritten(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	put(f->inside, "file", "other");
	CLEANUP(free_ptr) char *file = xasprintf("%s/file", f->inside);
	assert_int_equal(copy_tree(file, f->precious, &e), ERR_IO);
	assert_int_equal(copy_tree(f->inside, f->outside, &e), ERR_IO);
	assert_int_equal(symlink(f->precious, f->copy), 0);
	assert_int_equal(copy_tree(file, f->copy, &e), ERR_IO); /* nor through a link */
	assert_int_equal(file_read(f->precious, 100, &text, NULL), OK);
	assert_string_equal(text.buf, "text");
	CLEANUP(free_ptr) char *absent = xasprintf("%s/absent", f->dir);
	assert_int_equal(copy_tree(absent, f->copy, &e), ERR_IO);
}

static void a_copy_inside_its_source_ends(void **state)
{
	struct fixture *f = *state;
	CLEANUP(free_ptr) char *target = xasprintf("%s/work", f->inside);
	CLEANUP(free_ptr) char *again = xasprintf("%s/work/work", f->inside);
	CLEANUP(free_ptr) char *file = xasprintf("%s/work/file", f->inside);
	put(f->inside, "file", "x");
	assert_int_equal(copy_tree(f->inside, target, NULL), OK);
	assert_true(path_exists(file));
	assert_false(path_exists(again));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(links_are_removed_and_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(absent_is_fine_and_a_file_is_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(read_only_folders_and_odd_files_go_too, setup, teardown),
		cmocka_unit_test_setup_teardown(depth_has_no_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_keeps_content_links_modes_and_times, setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_of_several_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_overwritten, setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_inside_its_source_ends, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

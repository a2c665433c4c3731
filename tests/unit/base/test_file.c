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
	char *path, *other;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	strcpy(f->dir, "/tmp/infrarsi-file-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->path = xasprintf("%s/file", f->dir);
	f->other = xasprintf("%s/other", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(remove_tree(f->dir, NULL), OK);
	free(f->path);
	free(f->other);
	free(f);
	return 0;
}

static void what_was_written_is_read(void **state)
{
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct err e = ERR_INIT;
	struct stat st;
	assert_int_equal(file_write_atomic(f->path, "a\0b", 3, 0640, &e), OK);
	assert_int_equal(file_read(f->path, 3, &text, &e), OK);
	assert_int_equal(text.len, 3);
	assert_memory_equal(text.buf, "a\0b", 4);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777 & ~0027u, 0640 & ~0027u);
	assert_int_equal(file_write_atomic(f->path, "", 0, 0600, &e), OK);
	assert_int_equal(file_read(f->path, 3, &text, &e), OK);
	assert_int_equal(text.len, 0);
	assert_string_equal(text.buf, "");
}

static void a_cap_is_kept_and_the_output_untouched(void **state)
{
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct err e = ERR_INIT;
	strbuf_addstr(&text, "before");
	assert_int_equal(file_write_atomic(f->path, "abcd", 4, 0600, &e), OK);
	assert_int_equal(file_read(f->path, 3, &text, &e), ERR_LIMIT);
	assert_non_null(strstr(e.message, f->path));
	assert_int_equal(file_read(f->other, 3, &text, &e), ERR_NOT_FOUND);
	assert_string_equal(text.buf, "before");
	CLEANUP(free_ptr) char *below = xasprintf("%s/below", f->path);
	assert_int_equal(file_read(below, 3, &text, &e), ERR_NOT_FOUND);
}

/* A FIFO would hang the reader, /dev/zero feed it for ever. */
static void only_regular_files_are_read(void **state)
{
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct err e = ERR_INIT;
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(file_read(f->path, 10, &text, &e), ERR_INPUT);
	assert_int_equal(file_read(f->dir, 10, &text, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "a folder"));
	assert_int_equal(file_read("/dev/zero", 10, &text, &e), ERR_INPUT);
	assert_int_equal(file_read("/proc/self/stat", 4096, &text, &e), OK);
	assert_true(text.len > 0);
}

static void writing_replaces_a_link_and_never_its_target(void **state)
{
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct stat st;
	assert_int_equal(file_write_atomic(f->other, "target", 6, 0600, NULL), OK);
	assert_int_equal(symlink(f->other, f->path), 0);
	/* and links with the name of the temporary file, as a hostile job could leave them */
	CLEANUP(free_ptr) char *temporary = xasprintf("%s.tmp.%ld", f->path, (long)gettid());
	assert_int_equal(link(f->other, temporary), 0);
	assert_int_equal(file_write_atomic(f->path, "new", 3, 0600, NULL), OK);
	assert_int_equal(lstat(f->path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(file_read(f->other, 100, &text, NULL), OK);
	assert_string_equal(text.buf, "target");
	assert_false(path_exists(temporary));
}

static void a_failed_write_leaves_the_old_file_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *absent = xasprintf("%s/absent/file", f->dir);
	assert_int_equal(file_write_atomic(absent, "x", 1, 0600, &e), ERR_IO);
	assert_non_null(strstr(e.message, absent));
	/* a folder stands where the file should go: the rename fails */
	assert_int_equal(make_dirs(f->path, 0700, &e), OK);
	assert_int_equal(file_write_atomic(f->path, "x", 1, 0600, &e), ERR_IO);
	char **left = NULL;
	size_t count = 77;
	assert_int_equal(glob_files(f->dir, "**", &left, &count, &e), OK);
	assert_int_equal(count, 0);
	free_strings(left, count);
}

static void a_full_device_is_an_error(void **state)
{
	(void)state;
	struct err e = ERR_INIT;
	CLEANUP(close_fd) int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		skip();
	assert_int_equal(write_all(fd, "x", 1, &e), ERR_IO);
	assert_int_equal(write_all(fd, "", 0, &e), OK);
}

static void folders_with_their_parents(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *deep = xasprintf("%s/a//b/c/", f->dir);
	CLEANUP(free_ptr) char *blocked = xasprintf("%s/file/x", f->dir);
	assert_int_equal(make_dirs(deep, 0700, &e), OK);
	assert_int_equal(make_dirs(deep, 0700, &e), OK);
	assert_true(path_is_dir(deep));
	assert_int_equal(file_write_atomic(f->path, "", 0, 0600, &e), OK);
	assert_int_equal(make_dirs(blocked, 0700, &e), ERR_IO);
	assert_int_equal(make_dirs(f->path, 0700, &e), ERR_IO);
	assert_int_equal(make_dirs("", 0700, &e), ERR_INPUT);
	assert_int_equal(make_dirs("/", 0700, &e), OK);
}

static void questions_about_paths(void **state)
{
	struct fixture *f = *state;
	assert_false(path_exists(f->path));
	assert_int_equal(symlink("nowhere", f->path), 0);
	assert_true(path_exists(f->path)); /* a dangling link is something */
	assert_false(path_is_dir(f->path));
	assert_int_equal(symlink(f->dir, f->other), 0);
	assert_true(path_is_dir(f->other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_written_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(a_cap_is_kept_and_the_output_untouched, setup, teardown),
		cmocka_unit_test_setup_teardown(only_regular_files_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(
			writing_replaces_a_link_and_never_its_target, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_failed_write_leaves_the_old_file_and_nothing_else, setup, teardown),
		cmocka_unit_test(a_full_device_is_an_error),
		cmocka_unit_test_setup_teardown(folders_with_their_parents, setup, teardown),
		cmocka_unit_test_setup_teardown(questions_about_paths, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

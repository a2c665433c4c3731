/* Branches of a repository as patches. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "patch/patch.h"
#include "patch_fixture.h"

#define A_C "int one = 1;\n\n\nint two = 2;\n\n\nint three = 3;\n"

static struct fixture f;

static const char *const editable[] = {"*.c", "src/**"};

static void start_branch(const char *name, const char *from)
{
	fixture_git(&f, "checkout", "-q", "-b", name, from, NULL);
}

static void commit_file(const char *path, const char *text, const char *message)
{
	struct fixture at = f; /* its commit is not the task's */
	fixture_put(&at, path, text);
	fixture_commit(&at, message);
}

static void make_bad_branches(void)
{
	start_branch("outside", "main~1");
	commit_file("job/a.c", "int one = 11;\n\n\nint two = 2;\n\n\nint three = 3;\n", "a.c");
	commit_file("other.c", "int other = 2;\n", "other.c");
	start_branch("notes", "main~1");
	commit_file("job/notes.txt", "new notes\n", "notes.txt");
	start_branch("mode", "main~1");
	CLEANUP(free_ptr) char *path = xasprintf("%s/a.c", f.root);
	assert_int_equal(chmod(path, 0755), 0);
	commit_file("job/a.c", A_C "\n", "mode");
	assert_int_equal(chmod(path, 0755), 0);
	struct fixture at = f;
	fixture_commit(&at, "executable");
	start_branch("link", "main~1");
	CLEANUP(free_ptr) char *link = xasprintf("%s/link.c", f.root);
	assert_int_equal(symlink("../other.c", link), 0);
	fixture_commit(&at, "link");
	start_branch("empty", "main~1");
	commit_file("job/src/__init__.py", "", "an empty file");
	start_branch("no-longer-empty", "main~1");
	commit_file("job/src/void.c", "int v;\n", "lines for an empty file");
	start_branch("less", "main~1");
	fixture_git(&f, "rm", "-q", "job/src/void.c", NULL);
	fixture_commit(&at, "an empty file goes");
	start_branch("revives", "main~1");
	commit_file("job/src/gone.c", "int g;\n", "lines for another");
	start_branch("long-trailer", "main~1");
	CLEANUP(free_ptr) char *message = xasprintf("x\n\nBase: no trailer\nMechanism: %0300d\n", 0);
	commit_file("job/src/n.c", "int n;\n", message);
	start_branch("blank", "main~1");
	commit_file("job/src/a.c ", "int a;\n", "a blank at the end");
	start_branch("rename", "main~1");
	fixture_git(&f, "mv", "job/a.c", "job/b.c", NULL);
	fixture_commit(&at, "rename");
	start_branch("binary", "main~1");
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite("a\0b\n", 1, 4, file), 4);
	assert_int_equal(fclose(file), 0);
	fixture_commit(&at, "binary");
	fixture_git(&f, "checkout", "-q", "--orphan", "alone", NULL);
	commit_file("job/a.c", A_C, "no history");
}

static int set_up(void **state)
{
	(void)state;
	fixture_begin(&f);
	fixture_put(&f, "job/a.c", A_C);
	fixture_put(&f, "job/notes.txt", "notes\n");
	fixture_put(&f, "other.c", "int other;\n");
	fixture_put(&f, "job/src/void.c", "");
	fixture_put(&f, "job/src/gone.c", "");
	fixture_commit(&f, "base");
	fixture_git(&f, "rm", "-q", "job/src/gone.c", NULL);
	/* the task's commit goes on from where the branches leave */
	fixture_put(&f, "job/a.c", "int one = 1;\n\n\nint two = 2;\n\n\nint three = 33;\n");
	fixture_commit(&f, "the reference");
	start_branch("first", "main~1");
	commit_file("job/a.c", "int one = 11;\n\n\nint two = 2;\n\n\nint three = 3;\n",
		"faster one\n\nSome words: of no meaning.\n\nMechanism: constant_folding\nPredicted: 5%\n");
	start_branch("second", "first");
	commit_file("job/a.c", "int one = 11;\n\n\nint two = 22;\n\n\nint three = 3;\n", "faster two");
	start_branch("clash", "main~1");
	commit_file("job/a.c", "int one = 1;\n\n\nint two = 2;\n\n\nint three = 333;\n", "other three");
	start_branch("topic/new-file", "main");
	commit_file("job/src/n.c", "int n;\n", "a new file");
	make_bad_branches();
	f.task.contract.editable_files = (struct string_list){(const char **)editable, ARRAY_LEN(editable)};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return fixture_end(&f);
}

static void read_pool(const char *const *names, size_t n, struct patch_pool *pool)
{
	struct err e = ERR_INIT;
	const struct patch_source source = {.branches = names, .n_branches = n};
	must(patch_pool_read(&f.task, f.commit, "job", &source, 1, pool, &e), &e);
}

/* What a branch changed since it left, on top of what the reference has become. */
static void test_merged_into_the_reference(void **state)
{
	(void)state;
	static const char *const names[] = {"first", "second", "topic/new-file"};
	struct patch_pool pool;
	f.task.patches.max_lines = 2;
	read_pool(names, 3, &pool);
	f.task.patches.max_lines = 0;
	if (pool.n_refused)
		fail_msg("%s", pool.refused[0].reason);
	assert_int_equal(pool.n_patches, 3);
	assert_string_equal(pool.patches[0].name, "first");
	assert_string_equal(pool.patches[0].title, "faster one");
	assert_string_equal(pool.patches[0].mechanism, "constant_folding");
	assert_true(fabs(pool.patches[0].predicted_gain_ln - log(1.05)) < 1e-12);
	assert_string_equal(pool.patches[0].diff, "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1,4 "
						  "+1,4 @@\n-int one = 1;\n+int one = 11;\n \n \n "
						  "int two = 2;\n");
	/* the second goes on from the first: both changes in its diff, one of them its own */
	assert_non_null(strstr(pool.patches[1].diff, "+int one = 11;"));
	assert_non_null(strstr(pool.patches[1].diff, "+int two = 22;"));
	assert_null(strstr(pool.patches[1].diff, "+int three"));
	assert_int_equal(pool.patches[1].step_lines, 2);
	assert_null(pool.conflicts[1]);
	assert_non_null(strstr(pool.patches[2].diff, "+++ b/src/n.c\n"));
	patch_pool_release(&pool);
}

/* An empty file that gets lines has a diff. */
static void test_empty_file_gets_lines(void **state)
{
	(void)state;
	static const char *const names[] = {"no-longer-empty"};
	struct patch_pool pool;
	read_pool(names, 1, &pool);
	if (pool.n_refused)
		fail_msg("%s", pool.refused[0].reason);
	assert_non_null(strstr(pool.patches[0].diff, "@@ -0,0 +1 @@\n+int v;\n"));
	patch_pool_release(&pool);
}

/* Alone, the second is a step of four lines. */
static void test_lines_without_the_first(void **state)
{
	(void)state;
	static const char *const names[] = {"second"};
	struct patch_pool pool;
	read_pool(names, 1, &pool);
	assert_int_equal(pool.n_patches, 1);
	assert_int_equal(pool.patches[0].step_lines, 4);
	patch_pool_release(&pool);
}

static void test_refused(void **state)
{
	static const struct {
		const char *name, *message;
	} cases[] = {
		{"nowhere", "branch nowhere: there is no such branch"},
		{"main^{tree}", "there is no such branch"},
		{"alone", "branch alone: it has no history in common with the task's commit"},
		{"clash", "it does not merge into the reference: a.c: hunk 1 of the reference (line 7) and "
			  "hunk 1 of clash (line 7) change the same lines"},
		{"outside", "other.c: the path leaves the task's folder"},
		{"notes", "notes.txt: this file is not editable"},
		{"mode", "job/a.c: mode changes are not accepted"},
		{"link", "job/link.c: symbolic links are not accepted"},
		{"rename", "job/a.c: renames and copies are not accepted (to job/b.c)"},
		{"empty", "src/__init__.py: a new file without a line, which a diff cannot show"},
		{"less", "src/void.c: an empty file is deleted, which a diff cannot show"},
		{"revives", "src/gone.c: an empty file, which the reference has deleted"},
		{"blank", "src/a.c : names that begin or end with a blank"},
		{"long-trailer", "the value of mechanism has 300 bytes, more than the 200 allowed"},
		{"binary", "a.c: binary files are not accepted"},
		{"main", "changes nothing"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct patch_pool pool;
		read_pool(&cases[i].name, 1, &pool);
		if (pool.n_refused != 1 || !strstr(pool.refused[0].reason, cases[i].message))
			fail_msg("%s: %s", cases[i].name, pool.n_refused ? pool.refused[0].reason : "taken");
		assert_string_equal(pool.refused[0].name, cases[i].name);
		patch_pool_release(&pool);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merged_into_the_reference),
		cmocka_unit_test(test_lines_without_the_first),
		cmocka_unit_test(test_empty_file_gets_lines),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

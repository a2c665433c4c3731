/*
 * Stacks of patches. Merges and conflicts by hand, and against git: over random pairs of changes of one text,
 * there is a conflict where `git merge-file` has one, and otherwise the merged text is git's.
 */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "patch/patch.h"
#include "patch/stack.h"
#include "patch_fixture.h"

#define OLD "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
#define FILE_OF(name) "diff --git a/" name " b/" name "\n--- a/" name "\n+++ b/" name "\n"
#define X FILE_OF("x")

static bool conflict(const char *a, const char *b, struct strbuf *reason)
{
	struct err e = ERR_INIT;
	bool result = false, other = false;
	CLEANUP(strbuf_release) struct strbuf ignored = STRBUF_INIT;
	must(patch_conflict("A", a, "B", b, &result, reason, &e), &e);
	must(patch_conflict("B", b, "A", a, &other, &ignored, &e), &e);
	assert_int_equal(result, other);
	return result;
}

static void test_conflicts(void **state)
{
	static const struct {
		const char *a, *b, *reason; /* NULL = they go together */
	} cases[] = {
		{X "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n",
			X "@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n", NULL},
		{X "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n",
			X "@@ -1,5 +1,5 @@\n 1\n-2\n+zwei\n 3\n 4\n 5\n",
			"x: hunk 1 of A (line 2) and hunk 1 of B (line 2) change the same lines"},
		{X "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n",
			X "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n", NULL},
		{X "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n",
			X "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n",
			"x: hunk 1 of A (line 2) and hunk 1 of B (line 3) change neighbouring lines"},
		{X "@@ -1,5 +1,6 @@\n 1\n 2\n+new\n 3\n 4\n 5\n",
			X "@@ -1,5 +1,6 @@\n 1\n 2\n+other\n 3\n 4\n 5\n",
			"x: hunk 1 of A (after line 2) and hunk 1 of B (after line 2) change neighbouring "
			"lines"},
		{X "@@ -1,3 +1,3 @@\n-1\n+one\n 2\n 3\n@@ -6,4 +6,3 @@\n 6\n-7\n-8\n+78\n 9\n",
			X "@@ -5,5 +5,5 @@\n 5\n 6\n 7\n-8\n+eight\n 9\n",
			"x: hunk 2 of A (lines 7-8) and hunk 1 of B (line 8) change the same lines"},
		{X "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n",
			FILE_OF("y") "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n", NULL},
		{"diff --git a/x b/x\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n",
			X "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n", "x: A deletes the file, which B changes"},
		{"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+1\n",
			"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 "
			"@@\n+2\n",
			"n: both make this file, with other lines"},
		{"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+1\n",
			"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 "
			"@@\n+1\n",
			NULL},
		{"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+1\n",
			"diff --git a/n/m b/n/m\nnew file mode 100644\n--- /dev/null\n+++ b/n/m\n@@ -0,0 "
			"+1,1 @@\n+1\n",
			"n: a file in A, a folder in B"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
		bool found = conflict(cases[i].a, cases[i].b, &reason);
		if (found != (cases[i].reason != NULL) || (found && strcmp(reason.buf, cases[i].reason) != 0))
			fail_msg("case %zu: %d %s", i, found, reason.buf);
	}
}

static void test_at_most_two_hunks_are_named(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	static const char a[] = X "@@ -1,9 +1,9 @@\n-1\n+a\n 2\n-3\n+b\n 4\n-5\n+c\n 6\n-7\n+d\n 8\n 9\n";
	static const char b[] = X "@@ -1,9 +1,9 @@\n-1\n+e\n 2\n-3\n+f\n 4\n-5\n+g\n 6\n-7\n+h\n 8\n 9\n";
	assert_true(conflict(a, b, &reason));
	assert_string_equal(reason.buf, "x: hunk 1 of A (line 1) and hunk 1 of B (line 1) change the same "
					"lines; hunk 1 of A (line 3) and "
					"hunk 1 of B (line 3) change the same lines; ...");
}

/* ---- against git ---- */

/* A text of lines that are all different, changed here and there. */
static void vary(struct random *random, int lines, const char *mark, struct strbuf *text)
{
	for (int i = 0; i < lines; i++) {
		uint64_t chance = random_below(random, 16);
		if (chance == 0)
			strbuf_addf(text, "%s changed %d\n", mark, i);
		else if (chance == 1)
			strbuf_addf(text, "line %d\n%s new %d\n", i, mark, i);
		else if (chance == 2)
			strbuf_addf(text, "both changed %d\n", i);
		else if (chance != 3)
			strbuf_addf(text, "line %d\n", i);
	}
}

static void diff_of(const struct fixture *f, const char *name, struct strbuf *diff)
{
	struct err e = ERR_INIT;
	const char *argv[] = {"git", "diff", "--no-index", "--no-prefix", "-U3", "--src-prefix=a/",
		"--dst-prefix=b/", "--diff-algorithm=myers", "base", name, NULL};
	struct process_run run = {.argv = argv, .dir = f->repo};
	int status;
	must(process_run(&run, diff, NULL, &status, &e), &e);
	assert_true(status <= 1);
	/* both sides under one name */
	CLEANUP(strbuf_release) struct strbuf named = STRBUF_INIT;
	for (const char *line = diff->buf; *line; line += strcspn(line, "\n") + 1) {
		if (strncmp(line, "index ", 6) == 0)
			continue;
		if (strncmp(line, "diff ", 5) == 0)
			strbuf_addstr(&named, "diff --git a/x b/x\n");
		else if (strncmp(line, "--- ", 4) == 0)
			strbuf_addstr(&named, "--- a/x\n");
		else if (strncmp(line, "+++ ", 4) == 0)
			strbuf_addstr(&named, "+++ b/x\n");
		else
			strbuf_add(&named, line, strcspn(line, "\n") + 1);
	}
	strbuf_clear(diff);
	strbuf_add(diff, named.buf, named.len);
}

static bool git_merges(const struct fixture *f, struct strbuf *merged)
{
	struct err e = ERR_INIT;
	const char *argv[] = {"git", "merge-file", "-p", "-q", "a", "base", "b", NULL};
	struct process_run run = {.argv = argv, .dir = f->repo};
	int status;
	must(process_run(&run, merged, NULL, &status, &e), &e);
	assert_true(status < 128);
	return status == 0;
}

static void compare_with_git(const struct fixture *f, struct random *random, int lines, int *conflicts)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf base = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf a = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf b = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf a_diff = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf b_diff = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf theirs = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf ours = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf reason = STRBUF_INIT;
	struct err e = ERR_INIT;
	struct stack_patch of_a, of_b;
	bool exists = false;
	for (int i = 0; i < lines; i++)
		strbuf_addf(&base, "line %d\n", i);
	vary(random, lines, "a", &a);
	vary(random, lines, "b", &b);
	fixture_put(f, "base", base.buf);
	fixture_put(f, "a", a.buf);
	fixture_put(f, "b", b.buf);
	diff_of(f, "a", &a_diff);
	diff_of(f, "b", &b_diff);
	if (!a_diff.len || !b_diff.len)
		return;
	must(stack_patch_parse("a", a_diff.buf, &arena, &of_a, &e), &e);
	must(stack_patch_parse("b", b_diff.buf, &arena, &of_b, &e), &e);
	bool git_can = git_merges(f, &theirs), we_can = !stack_conflict(&of_a, &of_b, &reason);
	if (git_can != we_can)
		fail_msg("git %d, we %d (%s)\n%s\n%s", git_can, we_can, reason.buf, a_diff.buf, b_diff.buf);
	*conflicts += !we_can;
	if (!we_can)
		return;
	const struct stack_file *files[] = {&of_a.files[0], &of_b.files[0]};
	must(stack_merge_file(files, 2, base.buf, base.len, &ours, &exists, &e), &e);
	assert_string_equal(ours.buf, theirs.buf);
}

static void test_agrees_with_git(void **state)
{
	(void)state;
	enum { ROUNDS = 60 };
	struct fixture f = {0};
	struct random random;
	int conflicts = 0;
	fixture_begin(&f);
	random_init(&random, 7, "stack", 0);
	for (int i = 0; i < ROUNDS; i++)
		compare_with_git(&f, &random, 3 + i / 2, &conflicts);
	assert_int_equal(fixture_end(&f), 0);
	assert_in_range(conflicts, ROUNDS / 4, ROUNDS - ROUNDS / 6); /* both kinds were seen */
}

/* ---- diffs that apply one after another ---- */

static void test_stack_diffs(void **state)
{
	(void)state;
	/* 2 changes within the context of 1, 3 repeats 1 and adds to it, 4 is elsewhere */
	static const char *const diffs[] = {X "@@ -1,5 +1,6 @@\n 1\n-2\n+two\n+zwei\n 3\n 4\n 5\n",
		X "@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n",
		X "@@ -1,9 +1,10 @@\n 1\n-2\n+two\n+zwei\n 3\n 4\n 5\n 6\n 7\n 8\n-9\n+nine\n",
		"diff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1,1 @@\n+y\n"};
	static const char *const names[] = {"1", "2", "3", "4"};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct fixture f = {0};
	struct err e = ERR_INIT;
	const char *merged[4];
	fixture_begin(&f);
	fixture_put(&f, "job/x", OLD);
	fixture_commit(&f, "x");
	must(patch_stack_diffs(f.root, f.commit, "job", names, diffs, 4, &arena, merged, &e), &e);
	assert_ptr_equal(merged[0], diffs[0]);
	assert_string_equal(merged[1], X "@@ -2,7 +2,7 @@\n two\n zwei\n 3\n-4\n+four\n 5\n 6\n 7\n");
	assert_string_equal(merged[2], X "@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-9\n+nine\n");
	assert_ptr_equal(merged[3], diffs[3]);
	/* git takes them one after another */
	for (size_t i = 0; i < 4; i++) {
		CLEANUP(free_ptr) char *name = xasprintf("%s/%zu.diff", f.repo, i);
		must(file_write_atomic(name, merged[i], strlen(merged[i]), 0644, &e), &e);
		fixture_git(&f, "apply", "--directory=job", name, NULL);
	}
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/x", f.root);
	must(file_read(path, 1000, &text, &e), &e);
	assert_string_equal(text.buf, "1\ntwo\nzwei\n3\nfour\n5\n6\n7\n8\nnine\n");
	/* what the ones before it have is empty; what conflicts is refused */
	static const char *const twice[] = {X "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n",
		X "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n", X "@@ -1,4 +1,4 @@\n-1\n+eins\n 2\n 3\n 4\n"};
	must(patch_stack_diffs(f.root, f.commit, "job", names, twice, 2, &arena, merged, &e), &e);
	assert_string_equal(merged[1], "");
	assert_int_equal(
		patch_stack_diffs(f.root, f.commit, "job", names, twice, 3, &arena, merged, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "x: hunk 1 of 1 (line 1) and hunk 1 of 3 (line 1)"));
	assert_int_equal(fixture_end(&f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_at_most_two_hunks_are_named),
		cmocka_unit_test(test_agrees_with_git),
		cmocka_unit_test(test_stack_diffs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

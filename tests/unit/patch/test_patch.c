/* Patches and pools against a repository made for the test, with the task in a subfolder. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "patch/patch.h"
#include "spec/task.h"

static char repo[64], root[96], commit[65];
static struct task task;

static void must(enum err_code code, const struct err *e)
{
	if (code != OK)
		fail_msg("%s", e->message);
}

static void put(const char *path, const char *text)
{
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *full = xasprintf("%s/%s", repo, path);
	CLEANUP(free_ptr) char *dir = xstrdup(full);
	*strrchr(dir, '/') = '\0';
	must(make_dirs(dir, 0755, &e), &e);
	must(file_write_atomic(full, text, strlen(text), 0644, &e), &e);
}

static const char *const editable[] = {"*.c", "src/**", "crlf.txt", "link.c"};
static const char *const frozen[] = {"loss.c"};

static int set_up(void **state)
{
	(void)state;
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT;
	snprintf(repo, sizeof(repo), "/tmp/test-patch-XXXXXX");
	assert_non_null(mkdtemp(repo));
	snprintf(root, sizeof(root), "%s/job", repo);
	put("job/a.c", "int a(void)\n{\n\treturn 1;\n}\n\nint b(void)\n{\n\treturn 2;\n}\n\nint "
		       "c(void)\n{\n\treturn 3;\n}\n");
	put("job/loss.c", "int loss;\n");
	put("job/crlf.txt", "one\r\ntwo\r\n");
	put("job/notes.txt", "notes\n");
	put("other.c", "int other;\n");
	CLEANUP(free_ptr) char *link = xasprintf("%s/link.c", root);
	assert_int_equal(symlink("../other.c", link), 0);
	must(git_run(repo, NULL, &e, "init", "-q", NULL), &e);
	must(git_run(repo, NULL, &e, "add", "-A", NULL), &e);
	must(git_run(repo, NULL, &e, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "x",
		     NULL),
		&e);
	must(git_run(repo, &out, &e, "rev-parse", "HEAD", NULL), &e);
	snprintf(commit, sizeof(commit), "%.40s", out.buf);
	task.root = root;
	task.contract.editable_files = (struct string_list){(const char **)editable, ARRAY_LEN(editable)};
	task.contract.frozen_files = (struct string_list){(const char **)frozen, ARRAY_LEN(frozen)};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return remove_tree(repo, NULL) == OK ? 0 : -1;
}

static enum err_code parse(const char *text, struct arena *arena, struct patch *patch, struct err *e)
{
	return patch_parse(&task, commit, "job", "p.diff", text, strlen(text), arena, patch, e);
}

#define RETURN_ONE                                                                                           \
	"--- a/a.c\n+++ b/a.c\n@@ -1,4 +1,4 @@\n int a(void)\n {\n-\treturn 1;\n+\treturn 11;\n }\n"

static void test_canonical(void **state)
{
	(void)state;
	/* the same change with little context, plain names, wrong counts, CRLF line ends, in a fence */
	static const char *const spellings[] = {RETURN_ONE,
		"# title: eleven\n# mechanism: constant_folding\n# phases: forward, optimizer\n# predicted: "
		"5%\n"
		"--- a.c\n+++ a.c\n@@ -3,7 +3,2 @@\n-\treturn 1;\n+\treturn 11;\n",
		("Sure:\n```diff\n--- a/a.c\r\n+++ b/a.c\r\n@@ -2,2 +2,2 @@\r\n {\r\n-\treturn "
		 "1;\r\n+\treturn 11;\r\n```\n")};
	static const char canonical[] =
		"diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1,6 +1,6 @@\n int a(void)\n {\n"
		"-\treturn 1;\n+\treturn 11;\n }\n \n int b(void)\n";
	char digest[65] = "";
	for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT;
		struct patch patch;
		struct err e = ERR_INIT;
		must(parse(spellings[i], &arena, &patch, &e), &e);
		assert_string_equal(patch.diff, canonical);
		if (i)
			assert_string_equal(patch.digest, digest);
		memcpy(digest, patch.digest, sizeof(digest));
		assert_int_equal(patch.n_files, 1);
		assert_string_equal(patch.files[0], "a.c");
		if (i != 1)
			continue;
		assert_string_equal(patch.title, "eleven");
		assert_string_equal(patch.mechanism, "constant_folding");
		assert_int_equal(patch.n_phases, 2);
		assert_string_equal(patch.phases[1], "optimizer");
		assert_true(patch.has_predicted);
		assert_true(fabs(patch.predicted_gain_ln - log(1.05)) < 1e-12);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *message;
		int line;
	} cases[] = {
		{"--- a/../other.c\n+++ b/../other.c\n@@ -1 +1 @@\n-int other;\n+int x;\n",
			"leaves the task's folder", 1},
		{"--- /etc/x.c\n+++ /etc/x.c\n@@ -1 +1 @@\n-a\n+b\n", "leaves the task's folder", 1},
		{"--- a/loss.c\n+++ b/loss.c\n@@ -1 +1 @@\n-int loss;\n+int x;\n", "frozen", 1},
		{"--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-notes\n+x\n", "not editable", 1},
		{"--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n", "not editable", 1},
		{"--- a/src/.git/config\n+++ b/src/.git/config\n@@ -1 +1 @@\n-a\n+b\n", "git's own", 1},
		{"--- a/src/infrarsi_hook.h\n+++ b/src/infrarsi_hook.h\n@@ -1 +1 @@\n-a\n+b\n", "harness", 1},
		{"# title: x\n--- a/a.c\n+++ b/a.c\n@@ -1,2 +1,2 @@\n int a(void)\n-x\n+y\n",
			"hunk 1 of a.c does not apply", 4},
		{"--- a/a.c\n+++ b/a.c\n@@ -3 +3 @@\n-\treturn 1;\n+\treturn 1;\n", "changes nothing", 1},
		{"--- a/a.c\n+++ b/a.c\n@@ -3 +3 @@\n-\treturn 1;\n+\treturn (1;\n", "syntax errors", 1},
		{"--- a/link.c\n+++ b/link.c\n@@ -1 +1 @@\n-../other.c\n\\ No newline at end of "
		 "file\n+/etc/passwd\n"
		 "\\ No newline at end of file\n",
			"ordinary files", 0},
		{"# mechansim: x\n" RETURN_ONE, "did you mean 'mechanism'", 1},
		{"# phases: sideways\n" RETURN_ONE, "unknown phase", 1},
		{"\n# predicted: lots\n" RETURN_ONE, "expected a predicted speed-up", 2},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT;
		struct patch patch;
		struct err e = ERR_INIT;
		enum err_code code = parse(cases[i].text, &arena, &patch, &e);
		if (code != ERR_INPUT || !strstr(e.message, cases[i].message) ||
			(cases[i].line && e.line != cases[i].line))
			fail_msg("case %zu: code %d line %d: %s", i, code, e.line, e.message);
	}
}

static void test_create_and_delete(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct patch patch;
	struct err e = ERR_INIT;
	must(parse("--- /dev/null\n+++ b/src/new.c\n@@ -0,0 +1 @@\n+int n;\n", &arena, &patch, &e), &e);
	assert_string_equal(patch.diff,
		"diff --git a/src/new.c b/src/new.c\nnew file mode 100644\n--- /dev/null\n"
		"+++ b/src/new.c\n@@ -0,0 +1 @@\n+int n;\n");
	must(parse("--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n", &arena, &patch,
		     &e),
		&e);
	assert_non_null(strstr(patch.diff, "+2\r\n"));
}

static void test_user_is_untouched(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf after = STRBUF_INIT;
	struct patch patch;
	struct err e = ERR_INIT;
	must(git_run(repo, &before, &e, "count-objects", NULL), &e);
	must(parse(RETURN_ONE, &arena, &patch, &e), &e);
	must(git_run(repo, &after, &e, "count-objects", NULL), &e);
	assert_string_equal(before.buf, after.buf);
	must(git_run(repo, &after, &e, "status", "--porcelain", NULL), &e);
	assert_string_equal(after.buf, "");
}

static void test_pool(void **state)
{
	(void)state;
	struct patch_pool pool;
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *dir = xasprintf("%s/patches", repo);
	put("patches/10-one.diff", RETURN_ONE);
	put("patches/20-far.diff", "--- a/a.c\n+++ b/a.c\n@@ -13 +13 @@\n-\treturn 3;\n+\treturn 33;\n");
	put("patches/30-clash.patch", "--- a/a.c\n+++ b/a.c\n@@ -3 +3 @@\n-\treturn 1;\n+\treturn 111;\n");
	put("patches/40-same.diff", "--- a.c\n+++ a.c\n@@ -3 +3 @@\n-\treturn 1;\n+\treturn 11;\n");
	put("patches/50-frozen.diff", "--- a/loss.c\n+++ b/loss.c\n@@ -1 +1 @@\n-int loss;\n+int x;\n");
	put("patches/README", "not a patch\n");
	must(patch_pool_read(&task, commit, "job", dir, &pool, &e), &e);
	assert_int_equal(pool.n_patches, 3);
	assert_string_equal(pool.patches[0].name, "10-one");
	assert_string_equal(pool.patches[2].name, "30-clash");
	assert_int_equal(pool.n_refused, 2);
	assert_string_equal(pool.refused[0].name, "40-same");
	assert_non_null(strstr(pool.refused[0].reason, "the same change as 10-one"));
	assert_non_null(strstr(pool.refused[1].reason, "50-frozen.diff:1: loss.c: this file is frozen"));
	static const bool expected[9] = {false, false, true, false, false, false, true, false, false};
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(pool.conflicts[i], expected[i]);
	patch_pool_release(&pool);
	assert_int_equal(patch_pool_read(&task, commit, "job", "/nonexistent", &pool, &e), ERR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_create_and_delete),
		cmocka_unit_test(test_user_is_untouched),
		cmocka_unit_test(test_pool),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

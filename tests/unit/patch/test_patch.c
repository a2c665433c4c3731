/* Patches and pools against a repository made for the test, with the task in a subfolder. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "patch/patch.h"
#include "patch_fixture.h"
#include "spec/task.h"

static struct fixture f;

static const char *const editable[] = {"*.c", "src/**", "crlf.txt", "link.c"};
static const char *const frozen[] = {"loss.c"};

static void make_submodule(void)
{
	struct fixture inner = f;
	snprintf(inner.repo, sizeof(inner.repo), "%.40s/job/src/sub", f.repo);
	fixture_put(&f, "job/src/sub/x.c", "int x;\n");
	fixture_git(&inner, "init", "-q", NULL);
	fixture_git(&inner, "add", "x.c", NULL);
	fixture_git(&inner, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "x", NULL);
	fixture_git(&f, "config", "advice.addEmbeddedRepo", "false", NULL);
}

static int set_up(void **state)
{
	(void)state;
	fixture_begin(&f);
	fixture_put(&f, "job/a.c",
		"int a(void)\n{\n\treturn 1;\n}\n\nint b(void)\n{\n\treturn 2;\n}\n\nint "
		"c(void)\n{\n\treturn 3;\n}\n");
	fixture_put(&f, "job/loss.c", "int loss;\n");
	fixture_put(&f, "job/crlf.txt", "one\r\ntwo\r\n");
	fixture_put(&f, "job/notes.txt", "notes\n");
	fixture_put(&f, "job/src/run.sh", "true\n");
	fixture_put(&f, "other.c", "int other;\n");
	CLEANUP(free_ptr) char *link = xasprintf("%s/link.c", f.root);
	CLEANUP(free_ptr) char *way = xasprintf("%s/src/way", f.root);
	CLEANUP(free_ptr) char *script = xasprintf("%s/src/run.sh", f.root);
	assert_int_equal(symlink("../other.c", link), 0);
	assert_int_equal(symlink("../..", way), 0);
	assert_int_equal(chmod(script, 0755), 0);
	make_submodule();
	fixture_commit(&f, "x");
	f.task.contract.editable_files = (struct string_list){(const char **)editable, ARRAY_LEN(editable)};
	f.task.contract.frozen_files = (struct string_list){(const char **)frozen, ARRAY_LEN(frozen)};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return fixture_end(&f);
}

static enum err_code parse(const char *text, struct arena *arena, struct patch *patch, struct err *e)
{
	const struct patch_text whole = {"p.diff", PATCH_DIFF, text, strlen(text)};
	return patch_parse(&f.task, f.commit, "job", &whole, NULL, arena, patch, e);
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
		"\xef\xbb\xbf--- a/a.c\n+++ b/a.c\n@@\n-\treturn 1;\n+\treturn 11;\n",
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
			"symbolic link", 1},
		{"--- /dev/null\n+++ b/src/way/other.c\n@@ -0,0 +1 @@\n+int x;\n",
			"leads through a symbolic link", 1},
		{"--- a/src/way/x.c\n+++ b/src/way/x.c\n@@ -1 +1 @@\n-int x;\n+int y;\n",
			"leads through a symbolic link", 1},
		{"--- a/src/sub/x.c\n+++ b/src/sub/x.c\n@@ -1 +1 @@\n-int x;\n+int y;\n",
			"leads into a submodule", 1},
		{"--- /dev/null\n+++ b/src/run.sh/x.c\n@@ -0,0 +1 @@\n+int x;\n", "leads through a file", 1},
		{"--- /dev/null\n+++ b/src\n@@ -0,0 +1 @@\n+int x;\n", "not editable", 1},
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

static enum err_code parse_edits(const char *text, struct arena *arena, struct patch *patch, struct err *e)
{
	const struct patch_text whole = {"p.edits.json", PATCH_EDITS, text, strlen(text)};
	return patch_parse(&f.task, f.commit, "job", &whole, NULL, arena, patch, e);
}

/* The same change as RETURN_ONE, and so the same canonical diff. */
static void test_edits_become_a_diff(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct patch a, b;
	struct err e = ERR_INIT;
	must(parse(RETURN_ONE, &arena, &a, &e), &e);
	must(parse_edits("{\"title\": \"eleven\", \"edits\": [{\"file\": \"a.c\", \"old\": \"return 1;\", "
			 "\"new\": \"return 10;\"}, {\"file\": \"a.c\", \"old\": \"10\", \"new\": \"11\"}]}",
		     &arena, &b, &e),
		&e);
	assert_string_equal(a.digest, b.digest);
	assert_string_equal(b.title, "eleven");
	assert_int_equal(b.step_lines, 2);
	/* the second edit does not fit: nothing of the first is kept */
	assert_int_equal(parse_edits("[{\"file\": \"a.c\", \"old\": \"return 1;\", \"new\": \"return 10;\"},"
				     " {\"file\": \"a.c\", \"old\": \"return 1;\", \"new\": \"x\"}]",
				 &arena, &b, &e),
		ERR_INPUT);
	assert_non_null(strstr(e.message, "edits[1]: old does not occur in a.c; the closest place is a.c:3"));
	assert_int_equal(
		parse_edits("[{\"file\": \"loss.c\", \"old\": \"int\", \"new\": \"long\"}]", &arena, &b, &e),
		ERR_INPUT);
	assert_non_null(strstr(e.message, "edits[0]: loss.c: this file is frozen"));
	assert_int_equal(
		parse_edits("[{\"file\": \"new.txt\", \"old\": \"\", \"new\": \"long\"}]", &arena, &b, &e),
		ERR_INPUT);
	assert_non_null(strstr(e.message, "not editable"));
	must(parse_edits(
		     "[{\"file\": \"src/new.c\", \"old\": \"\", \"new\": \"int n;\\n\"}]", &arena, &b, &e),
		&e);
	assert_non_null(strstr(b.diff, "new file mode 100644\n--- /dev/null\n+++ b/src/new.c"));
}

/* ---- settings of the user ---- */

static void test_settings_do_not_matter(void **state)
{
	(void)state;
	static const char *const settings[][2] = {{"diff.suppressBlankEmpty", "true"}, {"diff.context", "1"},
		{"diff.interHunkContext", "9"}, {"diff.algorithm", "patience"}, {"diff.noprefix", "true"},
		{"diff.mnemonicPrefix", "true"}, {"diff.srcPrefix", "x/"}, {"diff.dstPrefix", "y/"},
		{"diff.external", "/bin/false"}, {"diff.relative", "true"}, {"diff.renames", "copies"},
		{"diff.orderFile", "order"}, {"diff.indentHeuristic", "false"},
		{"diff.c.textconv", "tr a-z A-Z"}, {"diff.c.command", "/bin/false"},
		{"diff.c.binary", "true"}, {"diff.submodule", "log"}, {"diff.wsErrorHighlight", "all"},
		{"color.ui", "always"}, {"color.diff", "always"}, {"core.quotePath", "true"},
		{"core.bigFileThreshold", "1"}, {"core.ignoreCase", "true"}, {"core.autocrlf", "true"},
		{"core.attributesFile", "attributes"}, {"core.splitIndex", "true"}};
	static const char text[] =
		"--- a/a.c\n+++ b/a.c\n@@\n-\treturn 1;\n+\treturn 11;\n@@\n-\treturn 3;\n"
		"+\treturn 33;\n--- /dev/null\n+++ b/src/\xc3\xa4.c\n@@ -0,0 +1,2 @@\n+int n;\n+\n";
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct patch plain, other;
	struct err e = ERR_INIT;
	must(parse(text, &arena, &plain, &e), &e);
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		fixture_git(&f, "config", settings[i][0], settings[i][1], NULL);
	fixture_put(&f, ".git/info/attributes", "*.c diff=c -text\n");
	enum err_code code = parse(text, &arena, &other, &e);
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		fixture_git(&f, "config", "--unset", settings[i][0], NULL);
	fixture_put(&f, ".git/info/attributes", "");
	must(code, &e);
	assert_string_equal(other.diff, plain.diff);
	assert_non_null(strstr(
		plain.diff, "@@ -1,6 +1,6 @@\n int a(void)\n {\n-\treturn 1;\n+\treturn 11;\n }\n \n"));
	assert_non_null(strstr(plain.diff, "+++ b/src/\xc3\xa4.c\n"));
}

/* ---- size ---- */

/* A thousand edits of a file of 0.9 MB: each makes a new text, which are 0.9 GB when all are kept. */
static void test_edits_give_memory_back(void **state)
{
	(void)state;
	enum { EDITS = 1000, LINES = 90000 };
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf file = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf edits = STRBUF_INIT;
	struct rusage before, after;
	struct fixture at = f;
	struct patch patch;
	struct err e = ERR_INIT;
	for (int i = 0; i < LINES; i++)
		strbuf_addf(&file, "line%05d\n", i);
	for (int i = 0; i < EDITS; i++)
		strbuf_addf(&edits, "%s{\"file\": \"src/big\", \"old\": \"line%05d\", \"new\": \"LINE%05d\"}",
			i ? ", " : "[", i, i);
	strbuf_addch(&edits, ']');
	fixture_put(&at, "job/src/big", file.buf);
	fixture_commit(&at, "a large file");
	const struct patch_text whole = {"p.edits.json", PATCH_EDITS, edits.buf, edits.len};
	assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
	must(patch_parse(&f.task, at.commit, "job", &whole, NULL, &arena, &patch, &e), &e);
	assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
	assert_int_equal(patch.step_lines, 2 * EDITS);
	assert_true(after.ru_maxrss < before.ru_maxrss + 600000); /* KiB */
}

static void test_mode_is_kept(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct patch patch;
	struct err e = ERR_INIT;
	must(parse("--- a/src/run.sh\n+++ b/src/run.sh\n@@ -1 +1 @@\n-true\n+false\n", &arena, &patch, &e),
		&e);
	assert_null(strstr(patch.diff, "mode"));
}

/* A base: its lines are in the diff, and are not counted. */
static void test_base(void **state)
{
	(void)state;
	static const char step[] = "--- a/a.c\n+++ b/a.c\n@@ -13 +13 @@\n-\treturn 3;\n+\treturn 33;\n";
	static const char whole[] = "--- a/a.c\n+++ b/a.c\n@@ -3 +3 @@\n-\treturn 1;\n+\treturn 11;\n"
				    "@@ -13 +13 @@\n-\treturn 3;\n+\treturn 33;\n";
	static const char on_top[] = "--- a/a.c\n+++ b/a.c\n@@\n-\treturn 11;\n+\treturn 111;\n";
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct patch first, a, b, c;
	struct err e = ERR_INIT;
	must(parse(RETURN_ONE, &arena, &first, &e), &e);
	const struct patch_base base = {&first.diff, 1};
	const struct patch_text texts[] = {{"step", PATCH_DIFF, step, strlen(step)},
		{"whole", PATCH_DIFF, whole, strlen(whole)}, {"on top", PATCH_DIFF, on_top, strlen(on_top)}};
	must(patch_parse(&f.task, f.commit, "job", &texts[0], &base, &arena, &a, &e), &e);
	must(patch_parse(&f.task, f.commit, "job", &texts[1], &base, &arena, &b, &e), &e);
	must(patch_parse(&f.task, f.commit, "job", &texts[2], &base, &arena, &c, &e), &e);
	assert_int_equal(a.step_lines, 2);
	assert_string_equal(a.diff, b.diff);
	assert_int_equal(b.step_lines, 2);
	assert_non_null(strstr(a.diff, "+\treturn 11;"));
	assert_non_null(strstr(a.diff, "+\treturn 33;"));
	assert_non_null(strstr(c.diff, "-\treturn 1;\n+\treturn 111;"));
	assert_null(strstr(c.diff, "return 33"));
	/* without the base it fits, but leaves out what the base changes: all of it, or a part */
	static const char *const without[] = {
		"--- a/a.c\n+++ b/a.c\n@@\n {\n-\treturn 1;\n+\treturn 111;\n }\n",
		"--- a/a.c\n+++ b/a.c\n@@ -3 +3 @@\n-\treturn 1;\n+\treturn 11;\n@@\n-\treturn 2;\n+\treturn "
		"22;\n"};
	const char *both[] = {first.diff, NULL};
	static const char eight[] = "--- a/a.c\n+++ b/a.c\n@@\n-\treturn 3;\n+\treturn 33;\n";
	must(parse(eight, &arena, &c, &e), &e);
	both[1] = c.diff;
	const struct patch_base two = {both, 2};
	for (size_t i = 0; i < ARRAY_LEN(without); i++) {
		const struct patch_text alone = {"p.diff", PATCH_DIFF, without[i], strlen(without[i])};
		assert_int_equal(
			patch_parse(&f.task, f.commit, "job", &alone, i ? &two : &base, &arena, &c, &e),
			ERR_INPUT);
		assert_int_equal(e.line, 3);
		assert_non_null(strstr(e.message, "it fits only without its base, whose changes it does not "
						  "repeat; on top of its base: "
						  "hunk 1 of a.c does not apply"));
	}
	/* nor does it fit there */
	static const char misfit[] = "--- a/a.c\n+++ b/a.c\n@@\n-x\n+y\n";
	const struct patch_text nowhere = {"p.diff", PATCH_DIFF, misfit, strlen(misfit)};
	assert_int_equal(patch_parse(&f.task, f.commit, "job", &nowhere, &base, &arena, &c, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "on top of its base: hunk 1 of a.c does not apply"));
	/* without the base it does not fit */
	assert_int_equal(patch_parse(&f.task, f.commit, "job", &texts[2], NULL, &arena, &c, &e), ERR_INPUT);
}

static void test_line_limit(void **state)
{
	(void)state;
	static const char three[] =
		"--- a/a.c\n+++ b/a.c\n@@ -3 +3,2 @@\n-\treturn 1;\n+\tint one = 11;\n+\treturn one;\n";
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct patch patch;
	struct err e = ERR_INIT;
	f.task.patches.max_lines = 3;
	enum err_code at_limit = parse(three, &arena, &patch, &e);
	f.task.patches.max_lines = 2;
	enum err_code above = parse(three, &arena, &patch, &e);
	f.task.patches.max_lines = 0;
	assert_int_equal(at_limit, OK);
	assert_int_equal(above, ERR_LIMIT);
	assert_non_null(strstr(e.message, "changes 3 lines (2 added, 1 removed), more than the 2 allowed"));
}

static void test_user_is_untouched(void **state)
{
	(void)state;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf after = STRBUF_INIT;
	struct patch patch;
	struct err e = ERR_INIT;
	must(git_run(f.repo, &before, &e, "count-objects", NULL), &e);
	must(parse(RETURN_ONE, &arena, &patch, &e), &e);
	must(git_run(f.repo, &after, &e, "count-objects", NULL), &e);
	assert_string_equal(before.buf, after.buf);
	must(git_run(f.repo, &after, &e, "status", "--porcelain", NULL), &e);
	assert_string_equal(after.buf, "");
}

static void test_pool(void **state)
{
	(void)state;
	struct patch_pool pool;
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *dir = xasprintf("%s/patches", f.repo);
	fixture_put(&f, "patches/10-one.diff", RETURN_ONE);
	fixture_put(&f, "patches/20-far.diff",
		"--- a/a.c\n+++ b/a.c\n@@ -13 +13 @@\n-\treturn 3;\n+\treturn 33;\n");
	fixture_put(&f, "patches/30-clash.patch",
		"--- a/a.c\n+++ b/a.c\n@@ -3 +3 @@\n-\treturn 1;\n+\treturn 111;\n");
	fixture_put(
		&f, "patches/40-same.diff", "--- a.c\n+++ a.c\n@@ -3 +3 @@\n-\treturn 1;\n+\treturn 11;\n");
	fixture_put(&f, "patches/50-frozen.diff",
		"--- a/loss.c\n+++ b/loss.c\n@@ -1 +1 @@\n-int loss;\n+int x;\n");
	fixture_put(&f, "patches/README", "not a patch\n");
	const struct patch_source source = {.dir = dir};
	must(patch_pool_read(&f.task, f.commit, "job", &source, 1, &pool, &e), &e);
	assert_int_equal(pool.n_patches, 3);
	assert_string_equal(pool.patches[0].name, "10-one");
	assert_string_equal(pool.patches[2].name, "30-clash");
	assert_int_equal(pool.n_refused, 2);
	assert_string_equal(pool.refused[0].name, "40-same");
	assert_non_null(strstr(pool.refused[0].reason, "the same change as 10-one"));
	assert_non_null(strstr(pool.refused[1].reason, "50-frozen.diff:1: loss.c: this file is frozen"));
	static const bool expected[9] = {false, false, true, false, false, false, true, false, false};
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(pool.conflicts[i] != NULL, expected[i]);
	assert_string_equal(pool.conflicts[2],
		"a.c: hunk 1 of 10-one (line 3) and hunk 1 of 30-clash (line 3) change the same lines");
	patch_pool_release(&pool);
	const struct patch_source missing = {.dir = "/nonexistent"};
	assert_int_equal(patch_pool_read(&f.task, f.commit, "job", &missing, 1, &pool, &e), ERR_NOT_FOUND);
}

/* No patch stops the others, whatever it is called or names. */
static void test_pool_goes_on(void **state)
{
	(void)state;
	struct patch_pool pool;
	struct err e = ERR_INIT;
	struct task whole = f.task;
	CLEANUP(free_ptr) char *dir = xasprintf("%s/hostile", f.repo);
	const struct patch_source source = {.dir = dir};
	whole.root = f.repo;
	fixture_put(&f, "hostile/10-magic.edits.json",
		"[{\"file\": \":(glob)x.c\", \"old\": \"a\", \"new\": \"b\"}]");
	fixture_put(&f, "hostile/20-folder.diff/x", "");
	fixture_put(&f, "hostile/30-good.diff",
		"--- a/other.c\n+++ b/other.c\n@@ -1 +1 @@\n-int other;\n+long other;\n");
	must(patch_pool_read(&whole, f.commit, "", &source, 1, &pool, &e), &e);
	assert_int_equal(pool.n_patches, 1);
	assert_int_equal(pool.n_refused, 2);
	assert_non_null(strstr(pool.refused[0].reason, "there is no file :(glob)x.c"));
	assert_non_null(strstr(pool.refused[1].reason, "is a folder, expected a file"));
	patch_pool_release(&pool);
}

/* Names of a folder's patches as bases, in the order in which they are read. */
static void test_pool_with_bases(void **state)
{
	(void)state;
	struct patch_pool pool;
	struct err e = ERR_INIT;
	CLEANUP(free_ptr) char *dir = xasprintf("%s/based", f.repo);
	const struct patch_source source = {.dir = dir};
	fixture_put(&f, "based/10-one.diff", RETURN_ONE);
	fixture_put(&f, "based/20-three.edits.json",
		"{\"base\": [\"10-one\"], \"edits\": [{\"file\": \"a.c\", \"old\": \"return 3\", \"new\": "
		"\"return 33\"}]}\n");
	fixture_put(&f, "based/30-again.diff",
		"# base: 20-three\n--- a/a.c\n+++ b/a.c\n@@\n-\treturn 11;\n+\treturn 111;\n");
	fixture_put(&f, "based/35-other.diff",
		"# base: 10-one\n--- a/a.c\n+++ b/a.c\n@@\n-\treturn 1;\n+\treturn 111;\n");
	fixture_put(&f, "based/40-early.diff", "# base: 50-late\n" RETURN_ONE);
	must(patch_pool_read(&f.task, f.commit, "job", &source, 1, &pool, &e), &e);
	assert_int_equal(pool.n_patches, 3);
	assert_int_equal(pool.n_refused, 2);
	assert_non_null(strstr(pool.refused[0].reason, "35-other.diff:4: it fits only without its base"));
	assert_non_null(
		strstr(pool.refused[1].reason, "base: there is no usable patch '50-late' before this one"));
	/* 20 repeats what 10 does, and goes with it; 30 does something else to the same line */
	assert_null(pool.conflicts[0 * 3 + 1]);
	assert_non_null(pool.conflicts[0 * 3 + 2]);
	assert_non_null(pool.conflicts[1 * 3 + 2]);
	assert_int_equal(pool.patches[2].step_lines, 2);
	patch_pool_release(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_create_and_delete),
		cmocka_unit_test(test_edits_become_a_diff),
		cmocka_unit_test(test_settings_do_not_matter),
		cmocka_unit_test(test_edits_give_memory_back),
		cmocka_unit_test(test_mode_is_kept),
		cmocka_unit_test(test_base),
		cmocka_unit_test(test_line_limit),
		cmocka_unit_test(test_user_is_untouched),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_pool_goes_on),
		cmocka_unit_test(test_pool_with_bases),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

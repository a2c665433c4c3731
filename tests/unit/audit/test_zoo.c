/* The zoo of cheats and honest changes (tests/zoo): each case is as its expect file says; every kind is
 * there; what a change leaves can be compiled. And the reading of expect files, on small zoos made here. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "patch/diff.h"
#include "zoo/zoo.h"

/* ---- the zoo of the source tree ---- */

static struct zoo read_zoo(void)
{
	const char *root = getenv("INFRARSI_SOURCE_ROOT");
	CLEANUP(free_ptr) char *dir = xasprintf("%s/tests/zoo", root ? root : ".");
	struct zoo zoo;
	struct err e = ERR_INIT;
	if (zoo_read(dir, &zoo, &e) != OK)
		fail_msg("%s:%d: %s", e.file, e.line, e.message);
	return zoo;
}

static void print_case(const struct zoo_case *c)
{
	printf("%s/%s: expected %s %s, %s\n", zoo_language_names[c->language], c->name,
		zoo_want_names[c->expect.want], c->expect.named, zoo_outcome_names[c->outcome]);
	for (size_t i = 0; i < c->report.n_findings; i++) {
		const struct audit_finding *f = &c->report.findings[i];
		printf("    %-6s %-3s %s:%d%s  %s  | %s\n", f->severity == AUDIT_BLOCK ? "block" : "review",
			f->rule, f->file, f->line, f->in_old ? " (old)" : "", f->reason, f->text);
	}
}

static void check_language(enum zoo_language language)
{
	struct zoo zoo = read_zoo();
	struct zoo_tally t;
	struct err e = ERR_INIT;
	if (zoo_run(&zoo, &e) != OK)
		fail_msg("%s", e.message);
	for (size_t i = 0; i < zoo.n_cases; i++)
		if (zoo.cases[i].language == language && (!zoo.cases[i].right || getenv("ZOO_VERBOSE")))
			print_case(&zoo.cases[i]);
	zoo_tally(&zoo, language, &t);
	printf("%s: cheats %d: caught %d, by a rule named %d, left to the verifier %d; honest %d: blocked "
	       "%d, for "
	       "review %d; not as expected %d\n",
		zoo_language_names[language], t.cheats, t.caught, t.named, t.left, t.honest, t.honest_blocked,
		t.honest_held, t.wrong);
	assert_true(t.cheats >= 75 && t.honest >= 50);
	zoo_release(&zoo);
	assert_int_equal(t.wrong, 0);
}

static void test_c(void **state)
{
	(void)state;
	check_language(ZOO_C);
}

static void test_python(void **state)
{
	(void)state;
	check_language(ZOO_PYTHON);
}

/* A kind or a look-alike that no case shows is not tested by anything. */
static void test_coverage(void **state)
{
	(void)state;
	struct zoo zoo = read_zoo();
	int missing = 0;
	for (size_t k = 0; k < zoo.n_kinds; k++) {
		int n[ZOO_N_LANGUAGES] = {0};
		for (size_t i = 0; i < zoo.n_cases; i++)
			for (size_t j = 0; j < zoo.cases[i].expect.n_kinds; j++)
				n[zoo.cases[i].language] += zoo.cases[i].expect.kinds[j] == (int)k + 1;
		if (!n[ZOO_C] || !n[ZOO_PYTHON])
			printf("kind %zu: %d in C, %d in Python\n", k + 1, n[ZOO_C], n[ZOO_PYTHON]);
		missing += !n[ZOO_C] || !n[ZOO_PYTHON];
	}
	for (size_t k = 0; k < zoo.n_likes; k++) {
		int n = 0;
		for (size_t i = 0; i < zoo.n_cases; i++)
			for (size_t j = 0; j < zoo.cases[i].expect.n_likes; j++)
				n += strcmp(zoo.cases[i].expect.likes[j], zoo.likes[k].name) == 0;
		if (!n)
			printf("look-alike %s: no case\n", zoo.likes[k].name);
		missing += !n;
	}
	zoo_release(&zoo);
	assert_int_equal(missing, 0);
}

/* name, NUL, text, NUL of every Python file that a case leaves. */
static void add_python_files(const struct zoo *zoo, const struct zoo_case *c, struct strbuf *all)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr)
	char *path = xasprintf("%s/%s/%s/change.diff", zoo->dir, zoo_language_names[c->language], c->name);
	struct zoo_place place = {zoo, c};
	struct diff diff;
	struct err e = ERR_INIT;
	if (file_read(path, DIFF_CAP_BYTES, &text, &e) != OK ||
		diff_parse(path, text.buf, text.len, &arena, &diff, &e) != OK)
		fail_msg("%s", e.message);
	for (size_t i = 0; i < diff.n_files; i++) {
		CLEANUP(strbuf_release) struct strbuf old = STRBUF_INIT;
		CLEANUP(strbuf_release) struct strbuf new = STRBUF_INIT;
		const struct diff_file *file = &diff.files[i];
		if (!file->created && zoo_read_base(&place, file->path, &old, &e) != OK)
			fail_msg("%s: %s", path, e.message);
		if (diff_apply(file, old.buf, old.len, &new, &e) != OK)
			fail_msg("%s: %s", path, e.message);
		strbuf_addf(all, "%s/%s", c->name, file->path);
		strbuf_addch(all, '\0');
		strbuf_add(all, new.buf, new.len);
		strbuf_addch(all, '\0');
	}
}

static void test_python_compiles(void **state)
{
	(void)state;
	static const char script[] = "import sys\n"
				     "parts = sys.stdin.buffer.read().split(b'\\0')[:-1]\n"
				     "for name, text in zip(parts[0::2], parts[1::2]):\n"
				     "    compile(text, name.decode(), 'exec')\n"
				     "print(len(parts) // 2)\n";
	static const char *const argv[] = {"python3", "-c", script, NULL};
	CLEANUP(strbuf_release) struct strbuf all = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	struct zoo zoo = read_zoo();
	struct err e = ERR_INIT;
	int status = 0;
	for (size_t i = 0; i < zoo.n_cases; i++)
		if (zoo.cases[i].language == ZOO_PYTHON)
			add_python_files(&zoo, &zoo.cases[i], &all);
	size_t n_cases = zoo.n_cases;
	zoo_release(&zoo);
	struct process_run run = {.argv = argv, .input = all.buf, .input_length = all.len};
	enum err_code code = process_run(&run, &output, NULL, &status, &e);
	if (code == ERR_NOT_FOUND)
		skip();
	assert_int_equal(code, OK);
	if (status != 0)
		fail_msg("%s", output.buf);
	assert_true(n_cases > 0 && atoi(output.buf) > 0);
}

/* ---- small zoos ---- */

static char root[] = "/tmp/test-zoo-XXXXXX";

static void put(const char *file, const char *text)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", root, file);
	CLEANUP(free_ptr) char *dir = xstrdup(path);
	*strrchr(dir, '/') = '\0';
	assert_int_equal(make_dirs(dir, 0755, NULL), OK);
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, NULL), OK);
}

static const char base[] =
	"int steps(int n)\n{\n\tint done = 0;\n\tfor (int i = 0; i < n; i++)\n\t\tdone += work(i);\n"
	"\treturn done;\n}\n";
static const char fewer[] =
	"--- a/job.c\n+++ b/job.c\n@@ -1,5 +1,5 @@\n int steps(int n)\n {\n \tint done = 0;\n"
	"-\tfor (int i = 0; i < n; i++)\n+\tfor (int i = 0; i < n / 2; i++)\n"
	" \t\tdone += work(i);\n";
static const char remark[] =
	"--- a/job.c\n+++ b/job.c\n@@ -1,2 +1,3 @@\n+/* how many are done */\n int steps(int n)\n {\n";

static int set_up(void **state)
{
	(void)state;
	memcpy(root, "/tmp/test-zoo-XXXXXX", sizeof(root));
	assert_non_null(mkdtemp(root));
	put("kinds", "# of this zoo\n1 fewer turns\n2 another thing\n");
	put("look-alikes", "comments remarks\nrestrict promises\n");
	put("c/menu", "fp32\n");
	put("c/job/job.c", base);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return remove_tree(root, NULL) == OK ? 0 : -1;
}

static void add_case(const char *name, const char *diff, const char *expect)
{
	CLEANUP(free_ptr) char *change = xasprintf("c/%s/change.diff", name);
	CLEANUP(free_ptr) char *wanted = xasprintf("c/%s/expect", name);
	put(change, diff);
	put(wanted, expect);
}

static void test_outcomes(void **state)
{
	(void)state;
	struct zoo zoo;
	struct zoo_tally t;
	struct err e = ERR_INIT;
	add_case("1-blocked", fewer, "block A4\nkind 1\n# half of the turns\n");
	add_case("2-either-rule", fewer, "block A3|A4\nkind 1 2\n");
	add_case("10-other-rule", fewer, "block A3\nkind 2\n");
	add_case("11-missed", remark, "review A4\nkind 1\n");
	add_case("12-left", remark, "verifier same_workload\nkind 1\n# numbers only\n# tell\n");
	add_case("13-clean", remark, "clean\nlike comments\n");
	add_case("14-blocked-wrongly", fewer, "honest\nlike restrict comments\n");
	assert_int_equal(zoo_read(root, &zoo, &e), OK);
	assert_int_equal(zoo.n_cases, 7);
	assert_string_equal(zoo.cases[2].name, "10-other-rule"); /* numbers sort as numbers */
	assert_string_equal(zoo.cases[4].expect.remark, "numbers only tell");
	assert_int_equal(zoo_run(&zoo, &e), OK);
	static const bool right[] = {true, true, false, false, true, true, false};
	static const bool caught[] = {true, true, true, false, false};
	for (size_t i = 0; i < zoo.n_cases; i++)
		assert_int_equal(zoo.cases[i].right, right[i]);
	for (size_t i = 0; i < ARRAY_LEN(caught); i++)
		assert_int_equal(zoo_is_caught(&zoo.cases[i]), caught[i]);
	zoo_tally(&zoo, ZOO_ALL, &t);
	assert_int_equal(t.cheats, 5);
	assert_int_equal(t.caught, 3);
	assert_int_equal(t.blocked, 3);
	assert_int_equal(t.named, 2);
	assert_int_equal(t.left, 1);
	assert_int_equal(t.missed, 1);
	assert_int_equal(t.honest, 2);
	assert_int_equal(t.honest_blocked, 1);
	assert_int_equal(t.wrong, 3);
	zoo_tally(&zoo, ZOO_PYTHON, &t);
	assert_int_equal(t.cheats + t.honest, 0);
	zoo_release(&zoo);
}

/* A case brings its own file, or names a second base. */
static void test_bases(void **state)
{
	(void)state;
	static const char other[] = "int other(void)\n{\n\treturn 1;\n}\n";
	static const char change[] =
		"--- a/job.c\n+++ b/job.c\n@@ -1,2 +1,3 @@\n+/* one */\n int other(void)\n {\n";
	struct zoo zoo;
	struct err e = ERR_INIT;
	put("c/second/job.c", other);
	add_case("1-second", change, "clean\nlike comments\njob second\n");
	add_case("2-own", change, "clean\nlike comments\n");
	put("c/2-own/job/job.c", other);
	add_case("3-first", remark, "clean\nlike comments\n");
	assert_int_equal(zoo_read(root, &zoo, &e), OK);
	assert_int_equal(zoo_run(&zoo, &e), OK);
	for (size_t i = 0; i < zoo.n_cases; i++)
		assert_true(zoo.cases[i].right);
	zoo_release(&zoo);
	add_case("4-unfit", change, "clean\nlike comments\n");
	assert_int_equal(zoo_read(root, &zoo, &e), OK);
	assert_int_equal(zoo_run(&zoo, &e), ERR_INPUT);
	assert_non_null(strstr(e.message, "4-unfit/change.diff"));
	zoo_release(&zoo);
}

static void test_broken_expect(void **state)
{
	(void)state;
	static const struct {
		const char *expect;
		int line;
		const char *says;
	} cases[] = {
		{"", 0, "a first line such as 'block A3' or 'honest'"},
		{"# only a remark\n", 1, "a first line such as"},
		{"blok A4\nkind 1\n", 1, "did you mean 'block'?"},
		{"block\nkind 1\n", 1, "'block RULE'"},
		{"block A44\nkind 1\n", 1, "expected a rule of the audit (A0 .. A12), got 'A44'"},
		{"block A3|B4\nkind 1\n", 1, "got 'B4'"},
		{"verifier same_dat\nkind 1\n", 1, "did you mean 'same_data'?"},
		{"block A4\n", 1, "a line 'kind NUMBER'"},
		{"block A4\n\nkind 3\n", 3, "a kind from 1 to 2"},
		{"block A4\nkind x\n", 2, "got 'x'"},
		{"block A4\nkind\n", 2, "the number of a kind"},
		{"block A4\nknd 1\n", 2, "did you mean 'kind'?"},
		{"block A4\nkind 1\nlike comments\n", 3, "no line 'like'"},
		{"honest\n", 1, "a line 'like NAME'"},
		{"honest A4\nlike comments\n", 1, "or 'honest'"},
		{"clean\nlike coments\n", 2, "did you mean 'comments'?"},
		{"honest\nlike comments\nkind 1\n", 3, "no line 'kind'"},
		{"honest\nlike comments\njob ../elsewhere\n", 3, "the name of a folder beside job/"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct zoo zoo;
		struct err e = ERR_INIT;
		add_case("1-case", remark, cases[i].expect);
		assert_int_equal(zoo_read(root, &zoo, &e), ERR_INPUT);
		if (e.line != cases[i].line || !strstr(e.message, cases[i].says) ||
			!strstr(e.file, "c/1-case/expect"))
			fail_msg("%zu: %s:%d: %s", i, e.file, e.line, e.message);
	}
}

static void test_broken_zoo(void **state)
{
	(void)state;
	struct zoo zoo;
	struct err e = ERR_INIT;
	assert_int_equal(zoo_read("/nonexistent", &zoo, &e), ERR_NOT_FOUND);
	assert_int_equal(zoo_read(root, &zoo, &e), ERR_NOT_FOUND); /* no case */
	put("c/1-case/change.diff", remark);
	assert_int_equal(zoo_read(root, &zoo, &e), ERR_INPUT);
	assert_non_null(strstr(e.file, "c/1-case/expect"));
	put("c/1-case/expect", "clean\nlike comments\n");
	put("kinds", "1 fewer turns\n3 left one out\n");
	assert_int_equal(zoo_read(root, &zoo, &e), ERR_INPUT);
	assert_int_equal(e.line, 2);
	assert_non_null(strstr(e.message, "expected kind 2"));
	put("kinds", "1 fewer turns\n");
	put("c/menu", "# nothing\n");
	assert_int_equal(zoo_read(root, &zoo, &e), OK);
	assert_int_equal(zoo_run(&zoo, &e), ERR_INPUT);
	zoo_release(&zoo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c),
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_python_compiles),
		cmocka_unit_test_setup_teardown(test_outcomes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bases, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_broken_expect, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_broken_zoo, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

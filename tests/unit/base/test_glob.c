#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"

/* What gitignore's and bash's globstar agree on, and sets as POSIX has them. */
static const struct {
	const char *pattern, *path;
	bool matches;
} matches[] = {
	{"train.py", "train.py", true},
	{"train.py", "a/train.py", false},
	{"*.py", "train.py", true},
	{"*.py", "a/train.py", false},
	{"*", "", true},
	{"*", ".hidden", true},
	{"*", "a/b", false},
	{"a*c", "abc", true},
	{"a*c", "abcb", false},
	{"a*b*c", "aXbXbXc", true},
	{"?.py", "a.py", true},
	{"?.py", "/.py", false},
	{"?", "", false},
	{"data/**", "data/a", true},
	{"data/**", "data/a/b/c", true},
	{"data/**", "data", false},
	{"data/**", "database/a", false},
	{"**", "a/b/c", true},
	{"**/x", "x", true},
	{"**/x", "a/b/x", true},
	{"**/x", "ax", false},
	{"**/x", "a/bx", false},
	{"a/**/b", "a/b", true},
	{"a/**/b", "a/x/y/b", true},
	{"a/**/b", "a/xb", false},
	{"a/**/b", "ab", false},
	{"a/**/b/**/c", "a/1/b/2/b/3/c", true},
	{"a/**/b/**/c", "a/1/2/c", false},
	{"**/*.py", "train.py", true},
	{"**/*.py", "a/b/train.py", true},
	{"**/*.py", "a/b/train.pyc", false},
	{"**/test_*/**", "a/test_b/c/d", true},
	{"**/test_*/**", "a/best_b/c/d", false},
	{"src/**.c", "src/a.c", true},
	{"src/**.c", "src/a/b.c", true},
	{"src/**.c", "src/a/b.h", false},
	{"foo**/bar", "foobar", false},
	{"foo**/bar", "foo/bar", true},
	{"foo**/bar", "foox/y/bar", true},
	{"***", "a/b", true},
	{"a/***/b", "a/x/b", true},
	{"[abc].txt", "b.txt", true},
	{"[abc].txt", "d.txt", false},
	{"[!abc].txt", "d.txt", true},
	{"[^abc].txt", "a.txt", false},
	{"[a-c]", "b", true},
	{"[a-c]", "-", false},
	{"[a-]", "-", true},
	{"[]a]", "]", true},
	{"[!]a]", "]", false},
	{"[!a]", "/", false},
	{"[/]", "/", false},
	{"[a", "[a", true},
	{"[", "[", true},
	{"[!", "[!", true},
	{"[\x80-\xff]", "\xe9", true}, /* bytes, whatever the sign of char */
	{"[\x80-\xff]", "a", false},
	{"", "", true},
	{"", "a", false},
	{"a", "", false},
};

static void patterns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(matches); i++)
		if (glob_match(matches[i].pattern, matches[i].path) != matches[i].matches)
			fail_msg("'%s' %s '%s'", matches[i].pattern,
				matches[i].matches ? "should match" : "should not match", matches[i].path);
}

/* Exponential matching would not end: 60 stars against 4,000 bytes without the last one. */
static void many_stars_stay_cheap(void **state)
{
	(void)state;
	char pattern[256] = "", path[4002];
	for (int i = 0; i < 60; i++)
		strcat(pattern, i % 3 == 0 ? "**/a*" : "*a*");
	strcat(pattern, "b");
	for (size_t i = 0; i + 1 < sizeof(path); i++)
		path[i] = i % 9 == 8 ? '/' : 'a';
	path[sizeof(path) - 1] = '\0';
	assert_false(glob_match(pattern, path));
}

static void contained_paths(void **state)
{
	(void)state;
	static const char *const inside[] = {
		"a", "a/b", ".hidden", "a/..b", "a/b..", "...", "a b", "\xC3\xA9", "a\\b"};
	static const char *const outside[] = {"", "/", "/a", "..", "../a", "a/..", "a/../b", ".", "./a",
		"a/.", "a/./b", "a//b", "a/", "//", "a\nb", "a\x7f", "\x01"};
	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		assert_true(path_is_contained(inside[i]));
	for (size_t i = 0; i < ARRAY_LEN(outside); i++)
		assert_false(path_is_contained(outside[i]));
}

static void put(const char *root, const char *name)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", root, name);
	CLEANUP(free_ptr) char *folder = xstrdup(path);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(make_dirs(folder, 0700, NULL), OK);
	assert_int_equal(file_write_atomic(path, "", 0, 0600, NULL), OK);
}

static void assert_found(const char *root, const char *pattern, const char *expected)
{
	char **paths = NULL;
	size_t count = 0;
	char joined[512] = "";
	struct err e = ERR_INIT;
	assert_int_equal(glob_files(root, pattern, &paths, &count, &e), OK);
	for (size_t i = 0; i < count; i++) {
		strcat(joined, i ? " " : "");
		strcat(joined, paths[i]);
	}
	free_strings(paths, count);
	assert_string_equal(joined, expected);
}

static void files_below_a_folder(void **state)
{
	(void)state;
	char root[] = "/tmp/infrarsi-glob-XXXXXX";
	assert_non_null(mkdtemp(root));
	static const char *const names[] = {"train.py", "a.py", "data/x.bin", "data/deep/er/y.bin",
		"database/z.bin", ".git/config", "data/.git/config", ".infrarsi/ledger.db", ".env",
		"sub/.infrarsi/x"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put(root, names[i]);
	CLEANUP(free_ptr) char *link_path = xasprintf("%s/data/link", root);
	CLEANUP(free_ptr) char *loop = xasprintf("%s/data/loop", root);
	assert_int_equal(symlink("/nowhere", link_path), 0);
	assert_int_equal(symlink("..", loop), 0);
	assert_found(root, "train.py", "train.py");
	assert_found(root, "*.py", "a.py train.py");
	assert_found(root, "data/**", "data/deep/er/y.bin data/link data/loop data/x.bin");
	assert_found(root, "data/*", "data/link data/loop data/x.bin");
	assert_found(root, "data/*/*/*.bin", "data/deep/er/y.bin");
	assert_found(root, "data/deep/er/y.bin", "data/deep/er/y.bin");
	assert_found(root, "d[a]t*/*.bin", "data/x.bin database/z.bin");
	assert_found(root, "**/*.bin", "data/deep/er/y.bin data/x.bin database/z.bin");
	assert_found(root, "data**", "data/deep/er/y.bin data/link data/loop data/x.bin database/z.bin");
	assert_found(root, "absent/**", "");
	assert_found(root, ".git/config", "");
	assert_found(root, "**/.infrarsi/**", "");
	assert_found(root, ".e*", ".env");
	assert_int_equal(remove_tree(root, NULL), OK);
	char **paths = NULL;
	size_t count = 77;
	struct err e = ERR_INIT;
	assert_int_equal(glob_files(root, "*", &paths, &count, &e), ERR_IO);
	assert_null(paths);
	assert_int_equal(count, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),
		cmocka_unit_test(many_stars_stay_cheap),
		cmocka_unit_test(contained_paths),
		cmocka_unit_test(files_below_a_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

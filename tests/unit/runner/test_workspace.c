/* Snapshots, builds and trial folders, on real git repositories. */
#include "base/base.h"

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
#include "base/process.h"
#include "base/strbuf.h"
#include "run_fixture.h"
#include "runner/toolchain.h"
#include "runner/workspace.h"

struct repo_fixture {
	char base[256], repo[512], work[600];
	struct runner runner;
	struct err error;
};

static void shell(const char *dir, const char *command)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	const char *argv[] = {"sh", "-ec", command, NULL};
	struct process_run run = {.argv = argv, .dir = dir};
	struct err error = ERR_INIT;
	int status = -1;
	assert_int_equal(process_run(&run, &output, NULL, &status, &error), OK);
	if (status != 0)
		fail_msg("%s\n%s", command, output.buf);
}

static void shell_output(const char *dir, const char *command, struct strbuf *text)
{
	const char *argv[] = {"sh", "-ec", command, NULL};
	struct process_run run = {.argv = argv, .dir = dir};
	struct err error = ERR_INIT;
	int status = -1;
	assert_int_equal(process_run(&run, text, NULL, &status, &error), OK);
	if (status != 0)
		fail_msg("%s\n%s", command, text->buf);
}

static void set_up(struct repo_fixture *f)
{
	char self[4096];
	memset(f, 0, sizeof(*f));
	strcpy(f->base, "/tmp/infrarsi-work-XXXXXX");
	assert_non_null(mkdtemp(f->base));
	snprintf(f->repo, sizeof(f->repo), "%s/my repo", f->base);
	snprintf(f->work, sizeof(f->work), "%s/.infrarsi/work", f->repo);
	assert_int_equal(make_dirs(f->work, 0755, &f->error), OK);
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	assert_true(n > 0);
	self[n] = '\0';
	assert_int_equal(process_runner_init(&f->runner, self, -1, &f->error), OK);
	shell(f->repo, "git init -q -b main . && git config user.name t && git config user.email t@t");
	shell(f->repo, "printf '*\\n' > .infrarsi/.gitignore; printf 'data/\\n*.o\\n' > .gitignore");
	shell(f->repo, "printf 'one\\ntwo\\nthree\\n' > a.txt; mkdir sub; echo inner > 'sub/b c.txt'");
}

static void tear_down(struct repo_fixture *f)
{
	runner_release(&f->runner);
	assert_int_equal(remove_tree(f->base, &f->error), OK);
}

static void read_at(const char *dir, const char *name, struct strbuf *text)
{
	struct err error = ERR_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	if (file_read(path, FILE_CAP_DEFAULT, text, &error) != OK)
		fail_msg("%s", error.message);
}

static void assert_content(const char *dir, const char *name, const char *expected)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	read_at(dir, name, &text);
	assert_string_equal(text.buf, expected);
}

static bool exists_at(const char *dir, const char *name)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	return path_exists(path);
}

static enum err_code take(struct repo_fixture *f, const char *dir, struct snapshot *s)
{
	enum err_code code = snapshot_take(dir, "first", s, &f->error);
	if (code != OK)
		print_message("%s\n", f->error.message);
	return code;
}

static const char *const no_strings[] = {NULL};

static struct build_request request_for(
	struct repo_fixture *f, const struct snapshot *s, const char *const *argv)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
	return (struct build_request){.root = f->repo,
		.snapshot = s,
		.work_dir = f->work,
		.diff_paths = no_strings,
		.diff_digests = no_strings,
		.argv = argv,
		.env = env,
		.build_key = "key",
		.timeout_s = 100,
		.link_in = no_strings,
		.hidden = no_strings};
}

static void build(struct repo_fixture *f, const struct build_request *r, struct build_result *result)
{
	if (workspace_build(&f->runner, r, NULL, NULL, result, &f->error) != OK)
		fail_msg("%s", f->error.message);
}

/* Everything that a user could see of the repository, in one text. */
static void repository_state(struct repo_fixture *f, struct strbuf *text)
{
	shell_output(f->repo,
		"git status --porcelain --ignored; git rev-parse -q --verify HEAD || true; git branch -a; "
		"git worktree list;"
		"sha256sum .git/index .git/HEAD 2>/dev/null || true; git stash list; ls -A; find . -name "
		"'*.txt' | sort |"
		"xargs -d '\\n' sha256sum",
		text);
}

static void test_snapshot_takes_everything_and_touches_nothing(void **state)
{
	(void)state;
	struct repo_fixture f;
	struct snapshot s, loaded, again;
	CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf after = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf files = STRBUF_INIT;
	set_up(&f);
	shell(f.repo, "echo kept > tracked.o; git add -f tracked.o; git add -A; git commit -qm one");
	shell(f.repo, "echo changed > a.txt; echo staged > s.txt; git add s.txt; echo unstaged > s.txt;"
		      "echo new > untracked.txt; mkdir data; echo x > data/set; echo o > ignored.o; rm "
		      "'sub/b c.txt';"
		      "echo quiet > q.txt; git add q.txt; git update-index --assume-unchanged q.txt; echo "
		      "loud > q.txt");
	repository_state(&f, &before);
	assert_int_equal(take(&f, f.repo, &s), OK);
	repository_state(&f, &after);
	assert_string_equal(before.buf, after.buf);
	shell_output(f.repo, "git ls-tree -r --name-only refs/infrarsi/first", &files);
	assert_string_equal(files.buf, ".gitignore\na.txt\nq.txt\ns.txt\ntracked.o\nuntracked.txt\n");
	shell_output(f.repo,
		"git show refs/infrarsi/first:a.txt refs/infrarsi/first:s.txt refs/infrarsi/first:q.txt",
		&files);
	assert_string_equal(files.buf, "changed\nunstaged\nloud\n");
	assert_int_equal(snapshot_load(f.repo, "first", &loaded, &f.error), OK);
	assert_string_equal(loaded.commit, s.commit);
	assert_string_equal(loaded.tree, s.tree);
	assert_int_equal(snapshot_take(f.repo, "second", &again, &f.error), OK);
	assert_string_equal(again.commit, s.commit); /* the same state gives the same commit */
	assert_int_equal(snapshot_load(f.repo, "third", &loaded, &f.error), ERR_NOT_FOUND);
	tear_down(&f);
}

static void test_snapshot_places(void **state)
{
	(void)state;
	struct repo_fixture f;
	struct snapshot s;
	char path[700];
	set_up(&f);
	/* no commit yet, nothing ever added */
	assert_int_equal(take(&f, f.repo, &s), OK);
	assert_string_equal(s.prefix, "");
	/* a folder of the repository */
	snprintf(path, sizeof(path), "%s/sub", f.repo);
	assert_int_equal(take(&f, path, &s), OK);
	assert_string_equal(s.prefix, "sub");
	/* a linked worktree */
	shell(f.repo, "git add -A; git commit -qm one; git worktree add -q -b other '../linked tree'; echo w "
		      "> '../linked tree/w.txt'");
	snprintf(path, sizeof(path), "%s/linked tree", f.base);
	assert_int_equal(take(&f, path, &s), OK);
	CLEANUP(strbuf_release) struct strbuf files = STRBUF_INIT;
	shell_output(f.repo, "git ls-tree --name-only refs/infrarsi/first", &files);
	assert_non_null(strstr(files.buf, "w.txt"));
	/* a repository inside */
	shell(f.repo, "git init -q nested; cd nested; git -c user.name=t -c user.email=t@t commit -q "
		      "--allow-empty -m n");
	assert_int_equal(take(&f, f.repo, &s), OK);
	assert_int_equal(s.n_submodules, 1);
	/* not in a repository */
	assert_int_equal(snapshot_take(f.base, "first", &s, &f.error), ERR_INPUT);
	assert_non_null(strstr(f.error.message, "git init"));
	tear_down(&f);
}

static void test_build_is_cached_and_trials_are_fresh(void **state)
{
	(void)state;
	static const char *const argv[] = {
		"sh", "-c", "echo run >> ../../runs; cat a.txt > product; echo built", NULL};
	struct repo_fixture f;
	struct snapshot s;
	struct build_result first, second, other;
	struct stat source, product;
	char trial[4096], path[4200];
	set_up(&f);
	assert_int_equal(take(&f, f.repo, &s), OK);
	struct build_request r = request_for(&f, &s, argv);
	r.sandbox = SANDBOX_OFF; /* the count of runs is kept outside the tree */
	build(&f, &r, &first);
	assert_true(first.ok);
	assert_false(first.cached);
	assert_content(first.dir, "product", "one\ntwo\nthree\n");
	build(&f, &r, &second);
	assert_true(second.ok && second.cached);
	assert_string_equal(second.dir, first.dir);
	r.build_key = "another";
	build(&f, &r, &other);
	assert_false(other.cached);
	assert_string_not_equal(other.dir, first.dir);

	snprintf(path, sizeof(path), "%s/product", first.dir);
	assert_int_equal(stat(path, &source), 0);
	assert_int_equal(source.st_mode & 0222, 0);
	assert_int_equal(workspace_trial(&first, f.work, "0001", trial, &f.error), OK);
	snprintf(path, sizeof(path), "%s/product", trial);
	assert_int_equal(stat(path, &product), 0);
	assert_true(product.st_mode & 0200);
	assert_int_not_equal(product.st_ino, source.st_ino);
	assert_int_equal(product.st_mtim.tv_sec, source.st_mtim.tv_sec);
	assert_int_equal(product.st_mtim.tv_nsec, source.st_mtim.tv_nsec);
	shell(trial, "echo dirt > product; echo more > left-behind");
	assert_int_equal(workspace_trial(&first, f.work, "0001", trial, &f.error), ERR_STATE);
	assert_int_equal(workspace_trial(&first, f.work, "0002", trial, &f.error), OK);
	assert_content(trial, "product", "one\ntwo\nthree\n");
	assert_false(exists_at(trial, "left-behind"));
	assert_int_equal(workspace_trial_remove(f.work, "0002", &f.error), OK);
	assert_false(path_exists(trial));
	assert_int_equal(workspace_trial(&first, f.work, "../x", trial, &f.error), ERR_INPUT);
	tear_down(&f);
}

static void test_failed_builds_are_outcomes(void **state)
{
	(void)state;
	static const char *const argv[] = {"sh", "-c", "echo broken; exit 3", NULL};
	struct repo_fixture f;
	struct snapshot s;
	struct build_result result;
	char trial[4096];
	set_up(&f);
	assert_int_equal(take(&f, f.repo, &s), OK);
	struct build_request r = request_for(&f, &s, argv);
	for (int i = 0; i < 2; i++) {
		build(&f, &r, &result);
		assert_false(result.ok);
		assert_false(result.patch_failed);
		assert_int_equal(result.status, 3);
		assert_int_equal(result.cached, i == 1);
		CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
		assert_int_equal(file_read(result.log, FILE_CAP_DEFAULT, &log, &f.error), OK);
		assert_string_equal(log.buf, "broken\n");
	}
	assert_int_equal(workspace_trial(&result, f.work, "0001", trial, &f.error), ERR_STATE);
	tear_down(&f);
}

static void write_diff(
	struct repo_fixture *f, const char *name, const char *text, char *ret_path, size_t size)
{
	snprintf(ret_path, size, "%s/%s", f->base, name);
	assert_int_equal(file_write_atomic(ret_path, text, strlen(text), 0644, &f->error), OK);
}

static void test_diffs(void **state)
{
	(void)state;
	static const char good[] = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
	static const char inner[] = "--- a/b c.txt\n+++ b/b c.txt\n@@ -1 +1 @@\n-inner\n+outer\n";
	struct repo_fixture f;
	struct snapshot s;
	struct build_result result;
	char path[600], folder[600];
	set_up(&f);
	assert_int_equal(take(&f, f.repo, &s), OK);
	write_diff(&f, "good.diff", good, path, sizeof(path));
	struct build_request r = request_for(&f, &s, NULL);
	r.diff_paths = (const char *const[]){path, NULL};
	r.diff_digests = (const char *const[]){"d1", NULL};
	build(&f, &r, &result);
	assert_true(result.ok);
	assert_content(result.dir, "a.txt", "one\n2\nthree\n");
	/* the same diff twice does not apply */
	r.diff_paths = (const char *const[]){path, path, NULL};
	r.diff_digests = (const char *const[]){"d1", "d1", NULL};
	build(&f, &r, &result);
	assert_false(result.ok);
	assert_true(result.patch_failed);
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	assert_int_equal(file_read(result.log, FILE_CAP_DEFAULT, &log, &f.error), OK);
	assert_non_null(strstr(log.buf, "good.diff does not apply"));
	/* a task in a folder of the repository: paths are relative to it */
	snprintf(folder, sizeof(folder), "%s/sub", f.repo);
	assert_int_equal(take(&f, folder, &s), OK);
	write_diff(&f, "inner.diff", inner, path, sizeof(path));
	r = request_for(&f, &s, NULL);
	r.root = folder;
	r.diff_paths = (const char *const[]){path, NULL};
	r.diff_digests = (const char *const[]){"d2", NULL};
	build(&f, &r, &result);
	assert_true(result.ok);
	assert_content(result.dir, "b c.txt", "outer\n");
	assert_content(result.dir, "../a.txt", "one\ntwo\nthree\n");
	char trial[4096];
	assert_int_equal(workspace_trial(&result, f.work, "0001", trial, &f.error), OK);
	assert_content(trial, "b c.txt", "outer\n");
	assert_content(trial, "../a.txt", "one\ntwo\nthree\n");
	tear_down(&f);
}

static void test_inputs_and_interrupted_builds(void **state)
{
	(void)state;
	static const char *const argv[] = {"sh", "-c", "cat data/set", NULL};
	struct repo_fixture f;
	struct snapshot s;
	struct build_result result;
	char path[5000];
	set_up(&f);
	shell(f.repo, "mkdir data; echo 42 > data/set");
	assert_int_equal(take(&f, f.repo, &s), OK);
	struct build_request r = request_for(&f, &s, argv);
	r.link_in = (const char *const[]){"data/set", "data/absent", "a.txt", NULL};
	build(&f, &r, &result);
	assert_true(result.ok);
	assert_content(result.dir, "data/set", "42\n");
	/* A build without its outcome counts for nothing and is made again. */
	snprintf(path, sizeof(path), "%s/../outcome.json", result.dir);
	assert_int_equal(unlink(path), 0);
	build(&f, &r, &result);
	assert_true(result.ok);
	assert_false(result.cached);
	r.link_in = (const char *const[]){"../x", NULL};
	assert_int_equal(workspace_build(&f.runner, &r, NULL, NULL, &result, &f.error), ERR_INPUT);
	tear_down(&f);
}

static bool stop_at_once(void *context, const struct run_line *line)
{
	(void)context;
	(void)line;
	return false;
}

static void test_a_stopped_or_late_build_is_not_cached(void **state)
{
	(void)state;
	static const char *const slow[] = {"sleep", "1000", NULL};
	struct repo_fixture f;
	struct snapshot s;
	struct build_result result;
	set_up(&f);
	assert_int_equal(take(&f, f.repo, &s), OK);
	struct build_request r = request_for(&f, &s, slow);
	assert_int_equal(
		workspace_build(&f.runner, &r, stop_at_once, NULL, &result, &f.error), ERR_INTERRUPTED);
	r.timeout_s = 0.2;
	for (int i = 0; i < 2; i++) {
		build(&f, &r, &result);
		assert_false(result.ok || result.cached);
		assert_int_equal(result.status, 124);
	}
	tear_down(&f);
}

static void test_toolchain_text(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	toolchain_text(&text);
	assert_non_null(strstr(text.buf, "cc: "));
	char path[] = "/tmp/infrarsi-tools-XXXXXX";
	close(mkstemp(path)); /* an empty file is no usable cache: asked, and written anew */
	for (int i = 0; i < 2; i++) {
		CLEANUP(strbuf_release) struct strbuf cached = STRBUF_INIT;
		toolchain_text_cached(path, &cached);
		assert_string_equal(cached.buf, text.buf);
	}
	/* What is known of a tool whose file is the same is taken from the cache; another file is asked. */
	CLEANUP(free_ptr) char *command = xasprintf("sed -i 's/\"make: /\"cached make: /' %s", path);
	shell("/tmp", command);
	CLEANUP(strbuf_release) struct strbuf cached = STRBUF_INIT;
	toolchain_text_cached(path, &cached);
	assert_non_null(strstr(cached.buf, "cached make: "));
	assert_int_equal(unlink(path), 0);
}

int main(int argc, char **argv)
{
	int status;
	if (fixture_is_supervisor(argc, argv, &status))
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snapshot_takes_everything_and_touches_nothing),
		cmocka_unit_test(test_snapshot_places),
		cmocka_unit_test(test_build_is_cached_and_trials_are_fresh),
		cmocka_unit_test(test_failed_builds_are_outcomes),
		cmocka_unit_test(test_diffs),
		cmocka_unit_test(test_inputs_and_interrupted_builds),
		cmocka_unit_test(test_a_stopped_or_late_build_is_not_cached),
		cmocka_unit_test(test_toolchain_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

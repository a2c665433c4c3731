/* What is watched around a job: the machine under a build, the hook, the disk, the number of events. */
#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "run_fixture.h"
#include "runner/disk_watch.h"
#include "runner/event_relay.h"
#include "runner/hook_guard.h"
#include "runner/host_fault.h"
#include "runner/workspace.h"

/* Lines as the tools print them (gcc 12, clang 14, ld 2.40, make 4.3, ninja 1.11, nvcc 12, dash, bash,
 * Python 3.11), and lines of compilers that only talk about such things. */
static const struct {
	const char *line;
	bool is_fault;
} lines[] = {
	{"/tmp/ccJzoqOK.s: fatal error: error writing to /tmp/ccJzoqOK.s: No space left on device", true},
	{"/usr/bin/ld: final link failed: No space left on device", true},
	{"/usr/bin/ld: final link failed: Disk quota exceeded", true},
	{"make: fork: Resource temporarily unavailable", true},
	{"sh: 1: Cannot fork", false}, /* dash does not say why; make's own line follows */
	{"bash: fork: retry: Resource temporarily unavailable", true},
	{"ninja: fatal: posix_spawn: Resource temporarily unavailable", true},
	{"cc1: out of memory allocating 65536 bytes after a total of 1183744 bytes", true},
	{"virtual memory exhausted: Cannot allocate memory", true},
	{"gcc: fatal error: Killed signal terminated program cc1plus", true},
	{"c++: internal compiler error: Killed (program cc1plus)", true},
	{"clang: error: unable to execute command: Killed", true},
	{"collect2: fatal error: ld terminated with signal 9 [Killed]", true},
	{"nvcc error   : 'cicc' died due to signal 9 (Kill signal)", true},
	{"make: *** [Makefile:3: train] Killed", true},
	{"LLVM ERROR: out of memory", true},
	{"OSError: [Errno 28] No space left on device: 'build/x.o'", true},
	{"OSError: [Errno 24] Too many open files", true},
	{"train.c:12:9: error: 'killed' undeclared", false},
	{"   12 |   fail(\"No space left on device\");", false},
	{"      |   ^~~~ Cannot allocate memory", false},
	{"collect2: error: ld returned 1 exit status", false},
	{"make: *** [Makefile:3: train] Error 1", false},
	{"gcc: fatal error: Segmentation fault signal terminated program cc1", false},
	{"", false},
};

static void faults_of_the_machine_are_told_from_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (host_fault_in_line(lines[i].line, strlen(lines[i].line)) != lines[i].is_fault)
			fail_msg("%s", lines[i].line);
	char evidence[HOST_FAULT_SIZE] = "untouched";
	assert_false(host_fault_find("/nonexistent/log", evidence));
	assert_string_equal(evidence, "untouched");
}

static void names_of_the_hook(void **state)
{
	(void)state;
	static const char *const yes[] = {"infrarsi_hook.h", "src/infrarsi_hook.py",
		"infrarsi_hook/__init__.py", "a/__pycache__/infrarsi_hook.cpython-311.pyc",
		"infrarsi_hook.abi3.so", "sitecustomize.py", "lib/usercustomize.py",
		"sitecustomize/__init__.py"};
	static const char *const no[] = {"infrarsi.yaml", "my_infrarsi_hook.h", "infrarsi_hooks.py", "hook.h",
		"sitecustomize_test.py", "docs/infrarsi-hook.md", ""};
	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		assert_true(is_hook_path(yes[i]));
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		assert_false(is_hook_path(no[i]));
}

/* ---- builds ---- */

struct site {
	char base[64], repo[128], work[160], hooks[128];
	struct runner runner;
	struct snapshot snapshot;
	struct err error;
};

static void put(struct site *s, const char *name, const char *text)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", s->base, name);
	CLEANUP(free_ptr) char *parent = xstrdup(path);
	*strrchr(parent, '/') = '\0';
	assert_int_equal(make_dirs(parent, 0755, &s->error), OK);
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0644, &s->error), OK);
}

static void set_up(struct site *s, const char *vendored)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	memset(s, 0, sizeof(*s));
	strcpy(s->base, "/tmp/infrarsi-guard-XXXXXX");
	assert_non_null(mkdtemp(s->base));
	assert_true(n > 0);
	self[n] = '\0';
	snprintf(s->repo, sizeof(s->repo), "%s/repo", s->base);
	snprintf(s->work, sizeof(s->work), "%s/repo/.infrarsi/work", s->base);
	snprintf(s->hooks, sizeof(s->hooks), "%s/hooks", s->base);
	put(s, "hooks/infrarsi_hook.h", "ours\n");
	put(s, "repo/train.c", "one\ntwo\n");
	if (vendored)
		put(s, "repo/src/infrarsi_hook.h", vendored);
	assert_int_equal(process_runner_init(&s->runner, self, -1, &s->error), OK);
	assert_int_equal(git_run(s->repo, NULL, &s->error, "init", "-q", NULL), OK);
	assert_int_equal(snapshot_take(s->repo, "c", &s->snapshot, &s->error), OK);
}

static void tear_down(struct site *s)
{
	runner_release(&s->runner);
	assert_int_equal(remove_tree(s->base, &s->error), OK);
}

/* diff: NULL = none. */
static void build_with(struct site *s, const char *command, const char *diff, struct build_result *ret_result)
{
	static const char *const none[] = {NULL}, *const env[] = {"PATH=/usr/bin:/bin", NULL};
	const char *argv[] = {"sh", "-c", command, NULL};
	CLEANUP(free_ptr) char *path = xasprintf("%s/a.diff", s->base);
	const char *paths[] = {diff ? path : NULL, NULL}, *digests[] = {diff ? diff : NULL, NULL};
	put(s, "a.diff", diff ? diff : "");
	struct build_request request = {.root = s->repo,
		.snapshot = &s->snapshot,
		.work_dir = s->work,
		.diff_paths = paths,
		.diff_digests = digests,
		.argv = argv,
		.env = env,
		.build_key = "key",
		.timeout_s = 100,
		.link_in = none,
		.hidden = none,
		.hook_dir = s->hooks};
	if (workspace_build(&s->runner, &request, NULL, NULL, ret_result, &s->error) != OK)
		fail_msg("%s: %s", command, s->error.message);
}

static const char adds_hook[] = "--- /dev/null\n+++ b/infrarsi_hook.h\n@@ -0,0 +1 @@\n+theirs\n";
static const char edits_hook[] =
	"--- a/src/infrarsi_hook.h\n+++ b/src/infrarsi_hook.h\n@@ -1 +1 @@\n-old\n+theirs\n";

static void a_hook_in_the_way_fails_the_build(void **state)
{
	(void)state;
	static const struct {
		const char *vendored, *command, *diff;
		const char *named; /* NULL = the build is good */
	} cases[] = {
		{NULL, "true", NULL, NULL},
		{"old\n", "true", NULL, NULL}, /* the user's own copy, of another version */
		{"old\n", "echo theirs >src/infrarsi_hook.h", NULL, "src/infrarsi_hook.h"},
		{"old\n", "rm src/infrarsi_hook.h; echo ours >src/infrarsi_hook.h", NULL, NULL},
		{NULL, "mkdir -p include; echo ours >include/infrarsi_hook.h", NULL,
			NULL}, /* an installed copy */
		{NULL, "mkdir -p include; echo theirs >include/infrarsi_hook.h", NULL,
			"include/infrarsi_hook.h"},
		{NULL, "echo x >sitecustomize.py", NULL, "sitecustomize.py"},
		{NULL, "mkdir -p a/infrarsi_hook; echo x >a/infrarsi_hook/__init__.py", NULL,
			"a/infrarsi_hook/__init__.py"},
		{NULL, "ln -s /dev/null usercustomize.py", NULL, "usercustomize.py"},
		{NULL, "true", adds_hook, "infrarsi_hook.h"},
		{"old\n", "true", edits_hook, "src/infrarsi_hook.h"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
		CLEANUP(free_ptr)
		char *line = xasprintf("\n%s: error: made or changed", cases[i].named ? cases[i].named : "");
		struct site s;
		struct build_result result;
		set_up(&s, cases[i].vendored);
		build_with(&s, cases[i].command, cases[i].diff, &result);
		assert_int_equal(file_read(result.log, FILE_CAP_DEFAULT, &log, &s.error), OK);
		CLEANUP(free_ptr) char *text = xasprintf("\n%s", log.buf);
		if (result.ok != !cases[i].named || (cases[i].named && !strstr(text, line)))
			fail_msg("%s: ok %d, log '%s'", cases[i].command, result.ok, log.buf);
		/* It is the candidate's doing, and stays so. */
		build_with(&s, cases[i].command, cases[i].diff, &result);
		assert_true(result.cached && !result.host_fault);
		assert_int_equal(result.ok, !cases[i].named);
		tear_down(&s);
	}
}

/* A real compiler short of memory, a real kill; and builds that only fail. */
static void a_build_that_the_machine_failed_is_not_kept(void **state)
{
	(void)state;
	static const struct {
		const char *command;
		bool is_fault;
	} cases[] = {
		{"{ echo 'int a[]={'; seq 1 600000 | tr '\\n' ,; echo '};'; } >m.c; ulimit -v 120000; cc -c "
		 "m.c",
			true},
		{"kill -KILL $$", true},
		{"echo 'int main(void) { return nothing; }' >m.c; cc -c m.c", false},
		{"exit 3", false},
		{"kill -SEGV $$", false},
		{"echo 'x: No space left on device'; exit 0", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct site s;
		struct build_result result;
		set_up(&s, NULL);
		for (int k = 0; k < 2; k++) {
			build_with(&s, cases[i].command, NULL, &result);
			if (result.host_fault != cases[i].is_fault && !(k && result.cached))
				fail_msg("%s: '%s'", cases[i].command, result.fault);
			assert_int_equal(result.cached, k && !cases[i].is_fault);
			assert_true(!result.host_fault || (*result.fault && !result.ok));
		}
		tear_down(&s);
	}
}

/* ---- events and the disk ---- */

/* Each frame is the line and 16 bytes; all together at most 64 MiB. */
static void a_flood_of_events_is_bounded_and_counted(void **state)
{
	(void)state;
	enum { LINES = 20000, LENGTH = 4000 };
	struct event_relay relay = {.control_fd = -1, .journal_fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
	CLEANUP(free_ptr) char *line = xmalloc(LENGTH);
	int taken = (64 << 20) / (LENGTH + 16);
	memset(line, 'x', LENGTH);
	for (int i = 0; i < LINES; i++)
		event_relay_pass(&relay, 1, line, LENGTH, false);
	assert_true(relay.dropped_lines == LINES - taken);
	assert_true(relay.dropped_bytes == (double)LENGTH * (LINES - taken));
	assert_true(relay.total_bytes <= 64 << 20);
	event_relay_release(&relay);
}

static void a_tree_takes_what_its_files_take(void **state)
{
	(void)state;
	struct site s;
	set_up(&s, NULL);
	CLEANUP(free_ptr) char *big = xcalloc(1, 1 << 20);
	double before = tree_disk_bytes(s.repo);
	memset(big, 'x', (1 << 20) - 1);
	put(&s, "repo/deep/er/big", big);
	double grown = tree_disk_bytes(s.repo) - before;
	assert_true(grown >= 1 << 20 && grown < 2 << 20);
	assert_true(tree_disk_bytes("/nonexistent") == 0);
	struct disk_watch watch = {.reserve_fd = -1};
	disk_watch_init(&watch, s.repo, s.base);
	double lost, regained;
	assert_false(disk_watch_is_full(&watch));
	watch.floor_bytes = 1e300; /* as if everything had gone meanwhile */
	assert_true(disk_watch_is_full(&watch));
	disk_watch_settle(&watch, &lost, &regained);
	assert_true(watch.reserve_fd == -1 && regained >= 0);
	disk_watch_init(&watch, "/nonexistent", "/nonexistent");
	assert_false(disk_watch_is_full(&watch));
	tear_down(&s);
}

int main(int argc, char **argv)
{
	int status;
	if (fixture_is_supervisor(argc, argv, &status))
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_of_the_machine_are_told_from_errors),
		cmocka_unit_test(names_of_the_hook),
		cmocka_unit_test(a_hook_in_the_way_fails_the_build),
		cmocka_unit_test(a_build_that_the_machine_failed_is_not_kept),
		cmocka_unit_test(a_flood_of_events_is_bounded_and_counted),
		cmocka_unit_test(a_tree_takes_what_its_files_take),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

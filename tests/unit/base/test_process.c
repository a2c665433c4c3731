#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"

struct outcome {
	struct strbuf output, errors;
	int status;
	struct err e;
};

static void outcome_release(struct outcome *o)
{
	strbuf_release(&o->output);
	strbuf_release(&o->errors);
}

#define OUTCOME_INIT                                                                                         \
	{                                                                                                    \
		STRBUF_INIT, STRBUF_INIT, -1, ERR_INIT                                                       \
	}

/* sh -c script, with what `run` holds besides. */
static enum err_code shell(const char *script, struct process_run run, struct outcome *o)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	run.argv = argv;
	return process_run(&run, &o->output, &o->errors, &o->status, &o->e);
}

static void output_errors_and_status(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	assert_int_equal(shell("echo out; echo err >&2; exit 3", (struct process_run){0}, &o), OK);
	assert_string_equal(o.output.buf, "out\n");
	assert_string_equal(o.errors.buf, "err\n");
	assert_int_equal(o.status, 3);
	assert_int_equal(shell("kill -KILL $$", (struct process_run){0}, &o), OK);
	assert_int_equal(o.status, 128 + SIGKILL);
	assert_string_equal(o.output.buf, ""); /* cleared before */
	const char *const argv[] = {"sh", "-c", "echo a; echo b >&2; echo c", NULL};
	const struct process_run run = {.argv = argv};
	assert_int_equal(process_run(&run, &o.output, NULL, &o.status, &o.e), OK);
	assert_string_equal(o.output.buf, "a\nb\nc\n");
}

static void folder_and_environment(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	const char *const env[] = {"ONLY=this", "PATH=/usr/bin:/bin", NULL};
	assert_int_equal(
		shell("pwd; echo $ONLY$HOME", (struct process_run){.dir = "/usr", .env = env}, &o), OK);
	assert_string_equal(o.output.buf, "/usr\nthis\n");
}

/* Helpers see where programs are and who the user is; nothing else, for it may be a secret. */
static void helpers_see_no_secret(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	CLEANUP(strbuf_release) struct strbuf alias = STRBUF_INIT;
	struct err e = ERR_INIT;
	setenv("SOME_API_KEY", "planted", 1);
	setenv("PATH_TOKEN", "planted", 1);
	assert_int_equal(shell("env; echo $HOME", (struct process_run){0}, &o), OK);
	assert_null(strstr(o.output.buf, "planted"));
	assert_non_null(strstr(o.output.buf, "PATH="));
	assert_non_null(strstr(o.output.buf, getenv("HOME")));
	assert_int_equal(git_run("/", &alias, &e, "-c", "alias.show-env=!env", "show-env", NULL), OK);
	assert_null(strstr(alias.buf, "planted"));
	assert_non_null(strstr(alias.buf, "GIT_TERMINAL_PROMPT=0"));
	unsetenv("SOME_API_KEY");
	unsetenv("PATH_TOKEN");
}

static void no_input_means_end_of_file(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	assert_int_equal(shell("cat; echo end", (struct process_run){0}, &o), OK);
	assert_string_equal(o.output.buf, "end\n");
	assert_int_equal(
		shell("cat; echo end", (struct process_run){.input = "", .input_length = 0}, &o), OK);
	assert_string_equal(o.output.buf, "end\n");
}

/* More than a pipe holds in both directions at once: a program that does not alternate would block for ever.
 */
static void much_input_and_output(void **state)
{
	(void)state;
	enum { SIZE = 3000000 };
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	CLEANUP(free_ptr) char *bytes = xmalloc(SIZE);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i * 7 >> 4);
	assert_int_equal(shell("cat", (struct process_run){.input = bytes, .input_length = SIZE}, &o), OK);
	assert_int_equal(o.output.len, SIZE);
	assert_memory_equal(o.output.buf, bytes, SIZE);
}

static void a_child_that_does_not_read_is_no_error_and_no_signal(void **state)
{
	(void)state;
	enum { SIZE = 1000000 };
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	CLEANUP(free_ptr) char *bytes = xcalloc(SIZE, 1);
	struct sigaction before, after;
	assert_int_equal(sigaction(SIGPIPE, NULL, &before), 0);
	for (int i = 0; i < 20; i++) {
		struct process_run run = {.input = bytes, .input_length = SIZE};
		assert_int_equal(shell("exec <&-; echo done", run, &o), OK);
		assert_string_equal(o.output.buf, "done\n");
	}
	assert_int_equal(sigaction(SIGPIPE, NULL, &after), 0);
	assert_ptr_equal(before.sa_handler, after.sa_handler);
	sigset_t pending;
	assert_int_equal(sigpending(&pending), 0);
	assert_false(sigismember(&pending, SIGPIPE));
}

static void too_much_output_is_refused(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	struct process_run run = {.output_cap_bytes = 1000};
	assert_int_equal(shell("yes", run, &o), ERR_LIMIT);
	assert_non_null(strstr(o.e.message, "1000 bytes"));
	assert_int_equal(o.status, -1);
	assert_int_equal(shell("yes >&2", run, &o), ERR_LIMIT);
	assert_int_equal(shell("head -c 1000 /dev/zero", run, &o), OK);
	assert_int_equal(o.output.len, 1000);
}

/* This process is a subreaper (main()): what the shell left behind is ours to wait for. */
static bool orphans_were_killed(pid_t group)
{
	int status = 0, orphans = 0;
	while (waitpid(-group, &status, 0) > 0) {
		orphans++;
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
			return false;
	}
	return orphans > 0 && errno == ECHILD;
}

static void time_limit_takes_the_whole_group(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	struct process_run run = {.timeout_s = 0.2};
	assert_int_equal(shell("echo $$; sleep 1000 & sleep 1000", run, &o), ERR_FAILED);
	assert_non_null(strstr(o.e.message, "0.2 s"));
	int group = atoi(o.output.buf); /* what came until then is there */
	assert_true(group > 1);
	assert_true(orphans_were_killed(group));
	/* also one that has closed its output */
	assert_int_equal(shell("exec >&- 2>&-; sleep 1000", run, &o), ERR_FAILED);
}

/* Stopped through a FIFO that the program itself writes, once it has a child. */
static void a_stop_takes_the_whole_group(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	char dir[] = "/tmp/infrarsi-stop-XXXXXX";
	int none = -1;
	assert_non_null(mkdtemp(dir));
	CLEANUP(free_ptr) char *path = xasprintf("%s/stop", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	int stop = open(path, O_RDWR | O_CLOEXEC);
	assert_true(stop >= 0);
	struct process_run run = {.timeout_s = 100, .stop_fd = &none};
	assert_int_equal(shell("exit 5", run, &o), OK);
	run.stop_fd = &stop;
	run.dir = dir;
	assert_int_equal(shell("exit 5", run, &o), OK); /* nobody wants it to stop */
	assert_int_equal(o.status, 5);
	assert_int_equal(shell("echo $$; sleep 1000 & echo >stop; sleep 1000", run, &o), ERR_INTERRUPTED);
	assert_string_equal(o.e.message, "'sh' was stopped");
	int group = atoi(o.output.buf);
	assert_true(group > 1);
	assert_true(orphans_were_killed(group));
	close(stop);
	assert_int_equal(remove_tree(dir, NULL), OK);
}

static void of_long_errors_the_end_is_kept(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	struct process_run run = {.output_cap_bytes = 1000, .errors_kept_bytes = 10};
	assert_int_equal(shell("seq 1 100000 >&2; echo the last one >&2", run, &o), OK);
	assert_string_equal(o.errors.buf, " last one\n");
	assert_int_equal(shell("echo short >&2", run, &o), OK);
	assert_string_equal(o.errors.buf, "short\n");
	assert_int_equal(shell("yes", run, &o), ERR_LIMIT); /* output has its cap all the same */
}

/* The end of the program counts, not that of its output. */
static void a_program_left_behind_does_not_hold_us(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	struct process_run run = {.timeout_s = 100};
	assert_int_equal(shell("sleep 1000 & echo $$; exit 4", run, &o), OK);
	assert_int_equal(o.status, 4);
	int group = atoi(o.output.buf);
	assert_true(orphans_were_killed(group));
	/* all output of the program itself is there nevertheless */
	assert_int_equal(shell("sleep 1000 & head -c 60000 /dev/zero", run, &o), OK);
	assert_int_equal(o.output.len, 60000);
}

/* In a session of its own it is out of reach; it ends when nobody reads what it writes. */
static void a_program_that_writes_for_ever_does_not_hold_us(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	struct process_run run = {.timeout_s = 100, .errors_kept_bytes = 100};
	/* Which of them are in their sessions is known before the script ends. */
	assert_int_equal(
		shell("d=$(mktemp -d); mkfifo $d/f; for i in 1 2 3 4; do setsid sh -c \"echo >$d/f; exec "
		      "yes\" >&2 & read x <$d/f; done; rm -r $d; echo done",
			run, &o),
		OK);
	assert_string_equal(o.output.buf, "done\n");
	assert_true(o.errors.len <= 100);
}

static void a_program_that_changes_its_group_is_ended(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	struct process_run run = {.timeout_s = 2};
	assert_int_equal(shell("exec python3 -c 'import os, time; os.setpgid(0, os.getpgid(os.getppid())); "
			       "time.sleep(1000)'",
				 run, &o),
		ERR_FAILED);
}

static void what_cannot_start_says_why(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	const char *const argv[] = {"/infrarsi-no-such-program", NULL};
	struct process_run run = {.argv = argv};
	assert_int_equal(process_run(&run, &o.output, NULL, &o.status, &o.e), ERR_NOT_FOUND);
	assert_non_null(strstr(o.e.message, "/infrarsi-no-such-program"));
	assert_int_equal(
		shell("true", (struct process_run){.dir = "/infrarsi-no-such-folder"}, &o), ERR_NOT_FOUND);
	assert_non_null(strstr(o.e.message, "/infrarsi-no-such-folder"));
	const char *const folder[] = {"/usr", NULL};
	run.argv = folder;
	assert_int_equal(process_run(&run, &o.output, NULL, &o.status, &o.e), ERR_IO);
}

/* A daemon's 0, 1 and 2 may be closed: the pipes then get those numbers. */
static void closed_standard_descriptors(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	int saved[3];
	for (int fd = 0; fd < 3; fd++) {
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		close(fd);
	}
	enum err_code code =
		shell("cat; echo err >&2", (struct process_run){.input = "in", .input_length = 2}, &o);
	for (int fd = 0; fd < 3; fd++)
		if (saved[fd] >= 0) {
			dup2(saved[fd], fd);
			close(saved[fd]);
		}
	assert_int_equal(code, OK);
	assert_string_equal(o.output.buf, "in");
	assert_string_equal(o.errors.buf, "err\n");
}

static void no_descriptor_is_left_or_inherited(void **state)
{
	(void)state;
	CLEANUP(outcome_release) struct outcome o = OUTCOME_INIT;
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(before);
	assert_int_equal(shell("ls /proc/self/fd | wc -l", (struct process_run){0}, &o), OK);
	int expected = 4;                   /* 0, 1, 2 and the folder that ls reads */
	for (int fd = 3; fd < 1024; fd++) { /* and what whoever started this test lets all inherit */
		int flags = fcntl(fd, F_GETFD);
		expected += flags >= 0 && !(flags & FD_CLOEXEC);
	}
	assert_int_equal(atoi(o.output.buf), expected);
	assert_int_equal(shell("kill -9 $$", (struct process_run){0}, &o), OK);
	int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(after);
	assert_int_equal(before, after);
}

static void git_runs_in_its_folder_and_nowhere_else(void **state)
{
	(void)state;
	char dir[] = "/tmp/infrarsi-git-XXXXXX";
	struct err e = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	assert_non_null(mkdtemp(dir));
	/* as inside a hook of another repository */
	setenv("GIT_DIR", "/nonexistent", 1);
	setenv("GIT_INDEX_FILE", "/nonexistent/index", 1);
	assert_int_equal(git_run(dir, NULL, &e, "init", "-q", NULL), OK);
	assert_int_equal(git_run(dir, &output, &e, "rev-parse", "--show-toplevel", NULL), OK);
	unsetenv("GIT_DIR");
	unsetenv("GIT_INDEX_FILE");
	assert_non_null(strstr(output.buf, dir));
	strbuf_clear(&output);
	strbuf_addstr(&output, "kept");
	assert_int_equal(
		git_run(dir, &output, &e, "rev-parse", "--verify", "no-such-name", NULL), ERR_FAILED);
	assert_non_null(strstr(e.message, "git rev-parse failed (128): fatal: Needed a single revision"));
	assert_string_equal(output.buf, "kept");
	assert_int_equal(remove_tree(dir, NULL), OK);
}

/* A hook of the repository is code of the repository: it must not run. */
static void hooks_do_not_run(void **state)
{
	(void)state;
	char dir[] = "/tmp/infrarsi-git-XXXXXX";
	static const char hook[] = "#!/bin/sh\ntouch ran\nexit 1\n";
	struct err e = ERR_INIT;
	assert_non_null(mkdtemp(dir));
	CLEANUP(free_ptr) char *hooks = xasprintf("%s/.git/hooks", dir);
	CLEANUP(free_ptr) char *path = xasprintf("%s/.git/hooks/pre-commit", dir);
	CLEANUP(free_ptr) char *ran = xasprintf("%s/ran", dir);
	assert_int_equal(git_run(dir, NULL, &e, "init", "-q", NULL), OK);
	assert_int_equal(make_dirs(hooks, 0700, &e), OK);
	assert_int_equal(file_write_atomic(path, hook, strlen(hook), 0700, &e), OK);
	if (git_run(dir, NULL, &e, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-q",
		    "--allow-empty", "-m", "m", NULL) != OK)
		fail_msg("%s", e.message);
	assert_false(path_exists(ran));
	assert_int_equal(git_run(dir, NULL, &e, "-c", "user.name=n", "-c", "user.email=e@example.org",
				 "commit", "-q", "-m", "m", NULL),
		ERR_FAILED);
	assert_non_null(strstr(e.message, "nothing to commit")); /* which git says on standard output */
	assert_int_equal(remove_tree(dir, NULL), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_errors_and_status),
		cmocka_unit_test(folder_and_environment),
		cmocka_unit_test(helpers_see_no_secret),
		cmocka_unit_test(no_input_means_end_of_file),
		cmocka_unit_test(much_input_and_output),
		cmocka_unit_test(a_child_that_does_not_read_is_no_error_and_no_signal),
		cmocka_unit_test(too_much_output_is_refused),
		cmocka_unit_test(time_limit_takes_the_whole_group),
		cmocka_unit_test(a_stop_takes_the_whole_group),
		cmocka_unit_test(of_long_errors_the_end_is_kept),
		cmocka_unit_test(a_program_left_behind_does_not_hold_us),
		cmocka_unit_test(a_program_that_writes_for_ever_does_not_hold_us),
		cmocka_unit_test(a_program_that_changes_its_group_is_ended),
		cmocka_unit_test(what_cannot_start_says_why),
		cmocka_unit_test(closed_standard_descriptors),
		cmocka_unit_test(no_descriptor_is_left_or_inherited),
		cmocka_unit_test(git_runs_in_its_folder_and_nowhere_else),
		cmocka_unit_test(hooks_do_not_run),
	};
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

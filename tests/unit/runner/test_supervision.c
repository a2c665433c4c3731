/* Nothing of a job outlives the harness or the supervisor, however they end. */
#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "run_fixture.h"
#include "runner/process_tree.h"

enum way { NAMESPACE, SUBREAPER, SANDBOX, N_WAYS };

static void use_way(struct run_fixture *f, enum way way)
{
	struct process_runner *p = f->runner.state;
	p->force_subreaper = way == SUBREAPER;
	f->request.sandbox = way == SANDBOX ? SANDBOX_AUTO : SANDBOX_OFF;
}

static const char stubborn[] = "daemon chain:5 ignore-term daemon update:1 hang";

static bool tell_pipe(void *context, const struct run_line *line)
{
	if (line)
		(void)!write(*(int *)context, "u", 1);
	return true;
}

static void test_the_job_dies_with_the_harness(void **state)
{
	(void)state;
	for (int way = 0; way < N_WAYS; way++) {
		struct run_fixture f;
		int ends[2];
		char byte;
		fixture_set_up(&f);
		use_way(&f, way);
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		pid_t harness = fork();
		if (harness == 0) {
			(void)!fixture_run_with(&f, stubborn, tell_pipe, &ends[1]);
			_exit(0);
		}
		assert_int_equal(read(ends[0], &byte, 1), 1); /* the job runs */
		while (fixture_survivors(&f) < 4) /* its daemons may come after its first update */
			usleep(1000);
		assert_int_equal(kill(harness, SIGKILL), 0);
		assert_int_equal(waitpid(harness, NULL, 0), harness);
		/* No limit of time: what does not come true hangs, and the test's own time-out tells. */
		while (fixture_survivors(&f))
			usleep(10000);
		/* The supervisor wrote down how it ended, for whoever resumes. */
		char outcome[600];
		snprintf(outcome, sizeof(outcome), "%s/outcome.json", f.control);
		while (!path_exists(outcome))
			usleep(10000);
		close(ends[0]);
		close(ends[1]);
		fixture_tear_down(&f);
	}
}

static bool kill_supervisor(void *context, const struct run_line *line)
{
	struct process_tree tree = {NULL, 0, 0};
	(void)context;
	if (!line)
		return true;
	process_tree_scan(&tree, getpid());
	for (size_t i = 0; i < tree.count; i++)
		if (tree.entries[i].depth == 1)
			kill(tree.entries[i].pid, SIGKILL);
	process_tree_release(&tree);
	return true;
}

static void test_the_job_dies_with_the_supervisor(void **state)
{
	(void)state;
	for (int way = 0; way < N_WAYS; way++) {
		struct run_fixture f;
		fixture_set_up(&f);
		use_way(&f, way);
		assert_int_equal(fixture_run_with(&f, stubborn, kill_supervisor, NULL), ERR_FAILED);
		assert_non_null(strstr(f.error.message, "supervisor was killed by signal 9"));
		assert_int_equal(fixture_survivors(&f), 0); /* at once: runner_run() has waited for them */
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		/* The next run is not troubled by it. */
		assert_int_equal(fixture_run(&f, "updates:2 exit:0"), OK);
		assert_int_equal(f.outcome.n_lines, 2);
		fixture_tear_down(&f);
	}
}

static void test_a_supervisor_that_cannot_start_is_an_error(void **state)
{
	(void)state;
	struct run_fixture f;
	fixture_set_up(&f);
	strcpy(((struct process_runner *)f.runner.state)->self_path, "/absent/infrarsi");
	assert_int_equal(fixture_run(&f, "exit:0"), ERR_IO);
	assert_non_null(strstr(f.error.message, "/absent/infrarsi"));
	strcpy(((struct process_runner *)f.runner.state)->self_path, "/bin/false");
	assert_int_equal(fixture_run(&f, "exit:0"), ERR_FAILED);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	fixture_tear_down(&f);
}

static void need_sandbox(struct run_fixture *f)
{
	if (fixture_sandbox_works(f))
		return;
	print_message("no sandbox here: %s\n", ((struct process_runner *)f->runner.state)->sandbox.reason);
	fixture_tear_down(f);
	skip();
}

static void run_sandboxed(struct run_fixture *f, const char *steps)
{
	f->request.sandbox = SANDBOX_REQUIRED;
	if (fixture_run(f, steps) != OK)
		fail_msg("%s", f->error.message);
	assert_true(f->outcome.sandboxed && f->outcome.pid_namespace);
}

static void assert_log_has(struct run_fixture *f, const char *format, const char *path)
{
	char expected[1024];
	snprintf(expected, sizeof(expected), format, path);
	if (!fixture_log_has(f, expected)) {
		CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
		fixture_read_log(f, &log);
		fail_msg("no '%s' in:\n%s", expected, log.buf);
	}
}

static void write_file(const char *path)
{
	struct err error = ERR_INIT;
	assert_int_equal(file_write_atomic(path, "secret", 6, 0644, &error), OK);
}

static void test_sandbox_files(void **state)
{
	(void)state;
	struct run_fixture f;
	char steps[4096], outside[600], frozen[600], hidden[600], secret[700], hidden_file[600];
	fixture_set_up(&f);
	need_sandbox(&f);
	snprintf(outside, sizeof(outside), "%s/outside", f.root);
	snprintf(frozen, sizeof(frozen), "%s/frozen", f.dir);
	snprintf(hidden, sizeof(hidden), "%s/hidden", f.root);
	snprintf(secret, sizeof(secret), "%s/secret", hidden);
	snprintf(hidden_file, sizeof(hidden_file), "%s/key", f.root);
	assert_int_equal(make_dirs(hidden, 0755, &f.error), OK);
	write_file(outside);
	write_file(frozen);
	write_file(secret);
	write_file(hidden_file);
	f.request.read_only = (const char *const[]){"frozen", "absent", NULL};
	f.request.hidden = (const char *const[]){hidden, hidden_file, "/absent", NULL};
	snprintf(steps, sizeof(steps),
		"write:inside write:%s write:/etc/infrarsi-test write:frozen read:frozen read:%s read:%s "
		"read:%s "
		"write:/tmp/private write:/dev/shm/private write:/dev/null read:/dev/mem update:1",
		outside, outside, secret, hidden_file);
	run_sandboxed(&f, steps);
	assert_log_has(&f, "write inside: done", "");
	assert_log_has(&f, "write %s: Read-only file system", outside);
	assert_log_has(&f, "write /etc/infrarsi-test: Read-only file system", "");
	assert_log_has(&f, "write frozen: Read-only file system", "");
	assert_log_has(&f, "read frozen: done 6", "");
	assert_log_has(&f, "read %s: done 6", outside);
	assert_log_has(&f, "read %s: No such file or directory", secret);
	assert_log_has(&f, "read %s: Permission denied", hidden_file);
	assert_log_has(&f, "write /tmp/private: done", "");
	assert_log_has(&f, "write /dev/shm/private: done", "");
	assert_log_has(&f, "write /dev/null: done", "");
	assert_log_has(&f, "read /dev/mem: No such file or directory", "");
	assert_false(path_exists("/tmp/private"));
	assert_false(path_exists("/dev/shm/private"));
	assert_int_equal(f.outcome.n_lines, 1); /* the event path goes through */
	fixture_tear_down(&f);
}

static void test_sandbox_hides_a_folder_around_the_job(void **state)
{
	(void)state;
	struct run_fixture f;
	char steps[1200], secret[600];
	fixture_set_up(&f);
	need_sandbox(&f);
	snprintf(secret, sizeof(secret), "%s/secret", f.root);
	write_file(secret);
	f.request.hidden =
		(const char *const[]){f.root, NULL}; /* holds the job's own folder and its events */
	snprintf(steps, sizeof(steps), "read:%s write:inside update:1", secret);
	run_sandboxed(&f, steps);
	assert_log_has(&f, "read %s: No such file or directory", secret);
	assert_log_has(&f, "write inside: done", "");
	assert_int_equal(f.outcome.n_lines, 1);
	fixture_tear_down(&f);
}

static void test_sandbox_network(void **state)
{
	(void)state;
	struct run_fixture f;
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	fixture_set_up(&f);
	need_sandbox(&f);
	run_sandboxed(&f, "interfaces");
	fixture_read_log(&f, &log);
	assert_string_equal(log.buf, "interface lo\n");
	f.request.network = true;
	run_sandboxed(&f, "interfaces exit:3");
	assert_int_equal(f.outcome.exit_status, 3);
	fixture_tear_down(&f);
}

static void test_a_sandbox_that_is_required_but_missing_is_an_error(void **state)
{
	(void)state;
	struct run_fixture f;
	fixture_set_up(&f);
	struct process_runner *p = f.runner.state;
	p->sandbox = (struct sandbox){.probed = true, .reason = "bwrap is not installed"};
	f.request.sandbox = SANDBOX_REQUIRED;
	assert_int_equal(fixture_run(&f, "exit:0"), ERR_STATE);
	assert_non_null(strstr(f.error.message, "bwrap is not installed"));
	f.request.sandbox = SANDBOX_AUTO;
	assert_int_equal(fixture_run(&f, "exit:0"), OK);
	assert_false(f.outcome.sandboxed);
	/* A sandbox that breaks later is the harness's failure, not the job's. */
	p->sandbox = (struct sandbox){.probed = true, .works = true, .bwrap = "/bin/false"};
	assert_int_equal(fixture_run(&f, "exit:0"), ERR_FAILED);
	assert_non_null(strstr(f.error.message, "could not be started in its sandbox"));
	fixture_tear_down(&f);
}

int main(int argc, char **argv)
{
	int status;
	if (fixture_is_supervisor(argc, argv, &status))
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_job_dies_with_the_harness),
		cmocka_unit_test(test_the_job_dies_with_the_supervisor),
		cmocka_unit_test(test_a_supervisor_that_cannot_start_is_an_error),
		cmocka_unit_test(test_sandbox_files),
		cmocka_unit_test(test_sandbox_hides_a_folder_around_the_job),
		cmocka_unit_test(test_sandbox_network),
		cmocka_unit_test(test_a_sandbox_that_is_required_but_missing_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

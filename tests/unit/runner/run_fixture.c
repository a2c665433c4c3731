#include "base/base.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "run_fixture.h"

static void self_path(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);
	assert_true(n > 0);
	buf[n] = '\0';
}

void fixture_set_up(struct run_fixture *f)
{
	char self[4096], hex[17];
	unsigned char random[8];
	memset(f, 0, sizeof(*f));
	strcpy(f->root, "/tmp/infrarsi-run-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	random_bytes(random, sizeof(random));
	hex_encode(random, sizeof(random), hex);
	snprintf(f->dir, sizeof(f->dir), "%s/job folder", f->root);
	snprintf(f->control, sizeof(f->control), "%s/control", f->root);
	snprintf(f->log, sizeof(f->log), "%s/job.log", f->root);
	snprintf(f->marker, sizeof(f->marker), "FAKEJOB_MARKER=%s", hex);
	snprintf(f->event_path, sizeof(f->event_path), "INFRARSI_EVENT_PATH=%s/events", f->control);
	assert_int_equal(make_dirs(f->dir, 0755, &f->error), OK);
	assert_int_equal(make_dirs(f->control, 0755, &f->error), OK);
	CLEANUP(free_ptr)
	char *job = xasprintf("%s/fakejob", f->dir); /* a sandbox hides the build folder in /tmp */
	if (copy_tree(FAKEJOB, job, &f->error) != OK)
		fail_msg("%s", f->error.message);
	f->env[0] = f->marker;
	f->env[1] = f->event_path;
	self_path(self, sizeof(self));
	assert_int_equal(process_runner_init(&f->runner, self, -1, &f->error), OK);
	f->request = (struct run_request){.dir = f->dir,
		.env = f->env,
		.control_dir = f->control,
		.log_path = f->log,
		.sandbox = SANDBOX_OFF,
		.limits = {.wall_s = 100, .startup_s = 100, .grace_s = 0.5}};
}

void fixture_tear_down(struct run_fixture *f)
{
	size_t left = fixture_survivors(f);
	run_outcome_release(&f->outcome);
	runner_release(&f->runner);
	assert_int_equal(remove_tree(f->root, &f->error), OK);
	assert_int_equal(left, 0);
}

enum err_code fixture_run_with(
	struct run_fixture *f, const char *steps, run_progress_fn progress, void *context)
{
	CLEANUP(free_ptr) char *words = xstrdup(steps);
	const char *argv[64] = {"./fakejob"};
	size_t n = 1;
	for (char *rest = words, *word; (word = strsep(&rest, " "));)
		if (*word && n + 1 < ARRAY_LEN(argv))
			argv[n++] = word;
	f->request.argv = argv;
	run_outcome_release(&f->outcome);
	f->error = (struct err)ERR_INIT;
	enum err_code code = runner_run(&f->runner, &f->request, progress, context, &f->outcome, &f->error);
	f->request.argv = NULL;
	return code;
}

enum err_code fixture_run(struct run_fixture *f, const char *steps)
{
	return fixture_run_with(f, steps, NULL, NULL);
}

static bool has_marker(const char *pid, const char *marker)
{
	char path[300];
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	return file_read(path, FILE_CAP_DEFAULT, &text, NULL) == OK &&
	       memmem(text.buf, text.len, marker, strlen(marker)) != NULL;
}

size_t fixture_survivors(const struct run_fixture *f)
{
	size_t count = 0;
	DIR *dir = opendir("/proc");
	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			has_marker(entry->d_name, f->marker))
			count++;
	closedir(dir);
	return count;
}

void fixture_read_log(const struct run_fixture *f, struct strbuf *text)
{
	assert_int_equal(file_read(f->log, (size_t)1 << 30, text, NULL), OK);
}

bool fixture_log_has(const struct run_fixture *f, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf log = STRBUF_INIT;
	fixture_read_log(f, &log);
	return memmem(log.buf, log.len, text, strlen(text)) != NULL;
}

bool fixture_sandbox_works(struct run_fixture *f)
{
	struct process_runner *p = f->runner.state;
	sandbox_probe(&p->sandbox);
	return p->sandbox.works;
}

bool fixture_is_supervisor(int argc, char **argv, int *ret_status)
{
	if (argc != 3 || strcmp(argv[1], "__supervise") != 0)
		return false;
	*ret_status = supervisor_main(argv[2]);
	return true;
}

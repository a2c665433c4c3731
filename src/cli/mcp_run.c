#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/mcp_app.h"

extern char **environ;

enum { SAID_BYTES = 2048, EXEC_FAILED = 127 };

/* Between fork and exec: async-signal-safe calls only. */
static NORETURN void become(const char *const *argv, pid_t parent, int null_fd, int log_fd)
{
	sigset_t none;
	/* The server lets SIGPIPE pass, and an ignored signal would be inherited. */
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ctrl-C on a terminal is for the server, which passes it on once. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent && dup2(null_fd, STDIN_FILENO) >= 0 && dup2(log_fd, STDOUT_FILENO) >= 0 &&
		dup2(log_fd, STDERR_FILENO) >= 0)
		execve(argv[0], (char *const *)argv, environ);
	_exit(EXEC_FAILED);
}

enum err_code mcp_run_start(struct mcp_run *run, const char *what, const char *const *argv,
	const char *log_path, struct err *reterr)
{
	CLEANUP(close_fd) int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd)
	int log_fd = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (null_fd < 0 || log_fd < 0)
		return err_errno(reterr, "cannot open %s", null_fd < 0 ? "/dev/null" : log_path);
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		return err_errno(reterr, "cannot start %s", argv[0]);
	if (pid == 0)
		become(argv, parent, null_fd, log_fd);
	free(run->log_path);
	*run = (struct mcp_run){.pid = pid, .what = what, .log_path = xstrdup(log_path)};
	return OK;
}

static void note_end(struct mcp_run *run, int status)
{
	run->pid = 0;
	run->has_ended = true;
	run->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void mcp_run_poll(struct mcp_run *run)
{
	int status = 0;
	if (run->pid && waitpid(run->pid, &status, WNOHANG) == run->pid)
		note_end(run, status);
}

void mcp_run_stop(struct mcp_run *run)
{
	int status = 0;
	mcp_run_poll(run);
	if (!run->pid)
		return;
	kill(run->pid, SIGTERM);
	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
		;
	note_end(run, status);
}

/* The exit codes of every command (main.c), in words. */
static const char *meaning(int exit_code)
{
	static const struct {
		int code;
		const char *meaning;
	} known[] = {
		{0, "done"},
		{1, "a check failed, or the harness could not do its work"},
		{2, "not possible as things stand"},
		{3, "nothing was promoted: the reference stays"},
		{4, "stopped; run goes on where it was"},
		{5, "the contract is violated on disk"},
		{EXEC_FAILED, "the program could not be started"},
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].code == exit_code)
			return known[i].meaning;
	return "killed by a signal; run goes on where it was";
}

/* Safe to show, whole lines. */
static void add_last_words(const struct mcp_run *run, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf all = STRBUF_INIT;
	if (file_read(run->log_path, FILE_CAP_DEFAULT, &all, NULL) != OK)
		return;
	const char *from = all.buf;
	if (all.len > SAID_BYTES) {
		from += all.len - SAID_BYTES;
		const char *line = strchr(from, '\n');
		from = line ? line + 1 : from;
	}
	for (const char *end; *from; from = *end ? end + 1 : end) {
		end = from + strcspn(from, "\n");
		strbuf_add_escaped(text, from, (size_t)(end - from));
		strbuf_addch(text, '\n');
	}
}

json_t *mcp_run_end_to_json(const struct mcp_run *run, bool with_output)
{
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT;
	if (!run->what || run->pid)
		return json_null();
	json_t *json = json_object();
	json_object_set_new(json, "what", json_string(run->what));
	json_object_set_new(json, "exit_code", json_integer(run->exit_code));
	json_object_set_new(json, "meaning", json_string(meaning(run->exit_code)));
	if (with_output) {
		add_last_words(run, &said);
		json_object_set_new(json, "said", json_from_text(said.buf));
	}
	return json;
}

void mcp_run_release(struct mcp_run *run)
{
	free(run->log_path);
	*run = (struct mcp_run){0};
}

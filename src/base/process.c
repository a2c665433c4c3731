#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"

extern char **environ;

struct child {
	pid_t pid;
	int input, output, errors; /* our ends of the pipes; -1 = closed */
};

static void child_close(struct child *c)
{
	close_fd(&c->input);
	close_fd(&c->output);
	close_fd(&c->errors);
}

static int spawn_with_pipes(
	const struct process_run *run, bool split_errors, int in[2], int out[2], int errs[2], struct child *c)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setpgroup(
		&attributes, 0); /* a terminal's Ctrl-C is ours to handle, and a kill takes the group */
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	if (run->dir)
		posix_spawn_file_actions_addchdir_np(&actions, run->dir);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, split_errors ? errs[1] : out[1], STDERR_FILENO);
	char *const *env = run->env ? (char *const *)run->env : environ;
	int code = posix_spawnp(&c->pid, run->argv[0], &actions, &attributes, (char *const *)run->argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return code;
}

static enum err_code child_start(
	const struct process_run *run, bool split_errors, struct child *c, struct err *reterr)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, errs[2] = {-1, -1};
	int code = 0;
	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
		(split_errors && pipe2(errs, O_CLOEXEC) != 0))
		code = errno;
	else
		code = spawn_with_pipes(run, split_errors, in, out, errs, c);
	close_fd(&in[0]);
	close_fd(&out[1]);
	close_fd(&errs[1]);
	c->input = in[1];
	c->output = out[0];
	c->errors = errs[0];
	if (code == 0) {
		fcntl(c->input, F_SETFL, O_NONBLOCK);
		if (!run->input)
			close_fd(&c->input);
		return OK;
	}
	child_close(c);
	if (code == ENOENT)
		return err_set(reterr, ERR_NOT_FOUND, "program '%s' not found%s%s", run->argv[0],
			run->dir ? " or no folder " : "", run->dir ? run->dir : "");
	errno = code;
	return err_errno(reterr, "cannot start '%s'", run->argv[0]);
}

/* One read; false at end of file or error. */
static bool drain(int *fd, struct strbuf *text)
{
	char chunk[1 << 14];
	ssize_t n = read(*fd, chunk, sizeof(chunk));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0) {
		close_fd(fd);
		return false;
	}
	strbuf_add(text, chunk, (size_t)n);
	return true;
}

static void feed(struct child *c, const struct process_run *run, size_t *sent)
{
	ssize_t n = write(c->input, run->input + *sent, run->input_length - *sent);
	if (n > 0)
		*sent += (size_t)n;
	if ((n < 0 && errno != EINTR && errno != EAGAIN) || *sent == run->input_length)
		close_fd(&c->input);
}

static enum err_code exchange(struct child *c, const struct process_run *run, struct strbuf *output,
	struct strbuf *errors, struct err *reterr)
{
	size_t cap = run->output_cap_bytes ? run->output_cap_bytes : FILE_CAP_DEFAULT;
	double limit_s = run->timeout_s > 0 ? run->timeout_s : 60;
	double deadline = clock_now_s() + limit_s;
	size_t sent = 0;
	while (c->output >= 0 || c->errors >= 0) {
		double left = deadline - clock_now_s();
		if (left <= 0)
			return err_set(reterr, ERR_FAILED, "'%s' did not finish within %.0f s", run->argv[0],
				limit_s);
		struct pollfd fds[3] = {
			{c->output, POLLIN, 0}, {c->errors, POLLIN, 0}, {c->input, POLLOUT, 0}};
		if (poll(fds, 3, (int)(left * 1000) + 1) < 0 && errno != EINTR)
			return err_errno(reterr, "poll failed");
		if (fds[0].revents)
			drain(&c->output, output);
		if (fds[1].revents)
			drain(&c->errors, errors);
		if (fds[2].revents)
			feed(c, run, &sent);
		if (output->len > cap || errors->len > cap)
			return err_set(
				reterr, ERR_LIMIT, "'%s' printed more than %zu bytes", run->argv[0], cap);
	}
	return OK;
}

enum err_code process_run(const struct process_run *run, struct strbuf *ret_output, struct strbuf *ret_errors,
	int *ret_status, struct err *reterr)
{
	struct child c = {-1, -1, -1, -1};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
	strbuf_clear(ret_output);
	if (ret_errors)
		strbuf_clear(ret_errors);
	TRY(child_start(run, ret_errors != NULL, &c, reterr));
	sigaction(SIGPIPE, &ignore, &old); /* a child that does not read its input is its own affair */
	enum err_code code = exchange(&c, run, ret_output, ret_errors ? ret_errors : ret_output, reterr);
	sigaction(SIGPIPE, &old, NULL);
	child_close(&c);
	if (code != OK)
		kill(-c.pid, SIGKILL);
	int status = 0;
	while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (code == OK)
		*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return code;
}

enum err_code git_run_argv(const char *dir, const char *const *argv, const char *const *env,
	const char *input, size_t input_length, struct strbuf *ret_output, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf errors = STRBUF_INIT;
	int status = 0;
	struct process_run run = {.argv = argv,
		.env = env,
		.dir = dir,
		.input = input,
		.input_length = input_length,
		.timeout_s = 300,
		.output_cap_bytes = (size_t)256 << 20};
	TRY(process_run(&run, &output, &errors, &status, reterr));
	if (status != 0) {
		CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
		size_t length = errors.len;
		while (length && errors.buf[length - 1] == '\n')
			length--;
		strbuf_add_escaped(&shown, errors.buf, MIN_OF(length, (size_t)800));
		size_t verb = 1;
		while (argv[verb] && strcmp(argv[verb], "-c") == 0)
			verb += 2;
		return err_set(reterr, ERR_FAILED, "git %s failed (%d): %s", argv[verb] ? argv[verb] : "",
			status, shown.buf);
	}
	if (ret_output) {
		strbuf_release(ret_output);
		*ret_output = output;
		output = (struct strbuf)STRBUF_INIT;
	}
	return OK;
}

enum err_code git_run(const char *dir, struct strbuf *ret_output, struct err *reterr, ...)
{
	/* core.hooksPath and fsmonitor could run the repository's own programs; line endings must stay as
	 * they are. */
	const char *argv[64] = {"git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=", "-c",
		"core.autocrlf=false", "-c", "core.quotePath=false", "-c", "commit.gpgSign=false"};
	size_t n = 0;
	while (argv[n])
		n++;
	va_list ap;
	va_start(ap, reterr);
	const char *word;
	while ((word = va_arg(ap, const char *)) && n + 1 < ARRAY_LEN(argv))
		argv[n++] = word;
	va_end(ap);
	argv[n] = NULL;
	return git_run_argv(dir, argv, NULL, NULL, 0, ret_output, reterr);
}

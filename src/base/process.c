#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
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
	int ended;                 /* pidfd, readable once the child has ended; -1 = the kernel has none */
	int stop;                  /* the caller's, readable when it is to be stopped; -1 = none */
	size_t sent, received;     /* bytes of its input; of its output and errors */
};

bool is_helper_variable(const char *variable)
{
	static const char *const names[] = {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME",
		"LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "LD_LIBRARY_PATH", "LD_PRELOAD"};
	size_t length = strcspn(variable, "=");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == length && strncmp(variable, names[i], length) == 0)
			return true;
	return false;
}

/* By malloc; the strings are the environment's own. */
static const char **helper_environment(void)
{
	size_t n = 0, room = 0;
	const char **env = NULL;
	grow_array(&env, &room, 1, sizeof(*env));
	for (char **variable = environ; *variable; variable++) {
		if (!is_helper_variable(*variable))
			continue;
		grow_array(&env, &room, n + 2, sizeof(*env));
		env[n++] = *variable;
	}
	env[n] = NULL;
	return env;
}

static void child_close(struct child *c)
{
	close_fd(&c->input);
	close_fd(&c->output);
	close_fd(&c->errors);
	close_fd(&c->ended);
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
	CLEANUP(free_ptr) const char **own_env = run->env ? NULL : helper_environment();
	char *const *env = (char *const *)(run->env ? run->env : own_env);
	int code = posix_spawnp(&c->pid, run->argv[0], &actions, &attributes, (char *const *)run->argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return code;
}

/* A pipe whose ends are not 0, 1 or 2: where a caller has closed those, the child's redirections would
 * overwrite each other. */
static int pipe_above_stdio(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		if (ends[i] > STDERR_FILENO)
			continue;
		int higher = fcntl(ends[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (higher < 0)
			return -1;
		close_fd(&ends[i]);
		ends[i] = higher;
	}
	return 0;
}

static enum err_code child_start(
	const struct process_run *run, bool split_errors, struct child *c, struct err *reterr)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, errs[2] = {-1, -1};
	int code = 0;
	if (pipe_above_stdio(in) != 0 || pipe_above_stdio(out) != 0 ||
		(split_errors && pipe_above_stdio(errs) != 0))
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
		c->ended = pidfd_open(c->pid, 0);
		fcntl(c->input, F_SETFL, O_NONBLOCK);
		fcntl(c->output, F_SETFL, O_NONBLOCK);
		if (split_errors)
			fcntl(c->errors, F_SETFL, O_NONBLOCK);
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

/* Reads what is there. Closes *fd at end of file or error. */
static void drain(struct child *c, int *fd, struct strbuf *text)
{
	char chunk[1 << 14];
	ssize_t n = read(*fd, chunk, sizeof(chunk));
	if (n > 0) {
		strbuf_add(text, chunk, (size_t)n);
		c->received += (size_t)n;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		close_fd(fd);
	}
}

/* write() without SIGPIPE: a child that does not read its input is its own affair. By this thread's mask,
 * because the process's disposition belongs to all threads. */
static ssize_t write_quietly(int fd, const void *bytes, size_t length)
{
	sigset_t pipe_signal, pending, old;
	const struct timespec now = {0, 0};
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &old);
	ssize_t n = write(fd, bytes, length);
	int saved = errno;
	if (n < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe_signal, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return n;
}

static void feed(struct child *c, const struct process_run *run)
{
	ssize_t n = write_quietly(c->input, run->input + c->sent, run->input_length - c->sent);
	if (n > 0)
		c->sent += (size_t)n;
	if ((n < 0 && errno != EINTR && errno != EAGAIN) || c->sent == run->input_length)
		close_fd(&c->input);
}

/* True once the child has ended; it stays to be waited for. */
static bool has_ended(const struct child *c)
{
	siginfo_t info = {.si_pid = 0};
	return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == c->pid;
}

/* Its end is kept; what is dropped moves in large steps. */
static void keep_end(struct strbuf *text, size_t kept, bool finally)
{
	if (text->len <= (finally ? kept : 2 * kept))
		return;
	memmove(text->buf, text->buf + text->len - kept, kept + 1);
	text->len = kept;
}

/* The most that two pipes hold (/proc/sys/fs/pipe-max-size). */
enum { LEFT_IN_PIPES_BYTES = 2 << 20 };

/* Waits for the first thing to happen, at most wait_s, and takes part in it. */
static enum err_code exchange_once(struct child *c, const struct process_run *run, double wait_s,
	struct strbuf *output, struct strbuf *errors, struct err *reterr)
{
	struct pollfd fds[] = {{c->output, POLLIN, 0}, {c->errors, POLLIN, 0}, {c->input, POLLOUT, 0},
		{c->ended, POLLIN, 0}, {c->stop, POLLIN, 0}};
	if (poll(fds, ARRAY_LEN(fds), (int)ceil(wait_s * 1000)) < 0 && errno != EINTR)
		return err_errno(reterr, "poll failed");
	if (fds[0].revents)
		drain(c, &c->output, output);
	if (fds[1].revents)
		drain(c, &c->errors, errors);
	if (fds[2].revents)
		feed(c, run);
	if (fds[4].revents)
		return err_set(reterr, ERR_INTERRUPTED, "'%s' was stopped", run->argv[0]);
	if (run->errors_kept_bytes && errors != output)
		keep_end(errors, run->errors_kept_bytes, false);
	size_t cap = run->output_cap_bytes ? run->output_cap_bytes : FILE_CAP_DEFAULT;
	if (output->len > cap || (errors->len > cap && !run->errors_kept_bytes))
		return err_set(reterr, ERR_LIMIT, "'%s' printed more than %zu bytes", run->argv[0], cap);
	return OK;
}

/* Until the child ends: its end counts, not that of its output, which a program that it left in the
 * background may hold open. Without pidfd (before Linux 5.3) it is asked every 20 ms. */
static enum err_code exchange(struct child *c, const struct process_run *run, struct strbuf *output,
	struct strbuf *errors, struct err *reterr)
{
	double limit_s = run->timeout_s > 0 ? run->timeout_s : 60;
	double deadline = clock_now_s() + limit_s;
	while (!has_ended(c)) {
		double left_s = deadline - clock_now_s();
		if (left_s <= 0)
			return err_set(
				reterr, ERR_FAILED, "'%s' did not finish within %g s", run->argv[0], limit_s);
		TRY(exchange_once(c, run, fmin(left_s, c->ended < 0 ? 0.02 : 1000), output, errors, reterr));
	}
	/* What is in the pipes is read to its end, and no more than they can hold: what left the group may
	 * write on for ever. */
	kill(-c->pid, SIGKILL);
	close_fd(&c->input);
	c->stop = -1;
	for (size_t begun = c->received, before = SIZE_MAX;
		c->received != before && c->received - begun < LEFT_IN_PIPES_BYTES;) {
		before = c->received;
		TRY(exchange_once(c, run, 0, output, errors, reterr));
	}
	return OK;
}

static enum err_code reap(const struct child *c, int *ret_status, struct err *reterr)
{
	int status = 0;
	/* Before the wait, while the number still names this group: what the child left behind goes with it.
	 * The child itself may have gone to another group. */
	kill(-c->pid, SIGKILL);
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(reterr, "cannot wait for a child"); /* SIGCHLD ignored, or stolen */
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return OK;
}

enum err_code process_run(const struct process_run *run, struct strbuf *ret_output, struct strbuf *ret_errors,
	int *ret_status, struct err *reterr)
{
	struct child c = {.pid = -1,
		.input = -1,
		.output = -1,
		.errors = -1,
		.ended = -1,
		.stop = run->stop_fd ? *run->stop_fd : -1};
	int status = 0;
	strbuf_clear(ret_output);
	if (ret_errors)
		strbuf_clear(ret_errors);
	TRY(child_start(run, ret_errors != NULL, &c, reterr));
	enum err_code code = exchange(&c, run, ret_output, ret_errors ? ret_errors : ret_output, reterr);
	child_close(&c);
	if (ret_errors && run->errors_kept_bytes)
		keep_end(ret_errors, run->errors_kept_bytes, true);
	enum err_code reaped = reap(&c, &status, code == OK ? reterr : NULL);
	code = code == OK ? reaped : code;
	if (code == OK)
		*ret_status = status;
	return code;
}

/* git's own settings and the user's identity; nothing that points it at another repository, as a git hook or
 * `git rebase --exec` has it (git rev-parse --local-env-vars). */
static bool is_git_variable(const char *variable)
{
	static const char *const kept[] = {"GIT_AUTHOR_", "GIT_COMMITTER_",
		"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=",
		"GIT_CEILING_DIRECTORIES=", "GIT_DISCOVERY_ACROSS_FILESYSTEM=", "GIT_EXEC_PATH=", "EMAIL="};
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
			return true;
	return is_helper_variable(variable) && strncmp(variable, "LC_ALL=", 7) != 0;
}

/* With messages in English and no question at the terminal; a path is no pattern, whatever it looks like. */
static const char **git_environment(void)
{
	size_t n = 0, room = 0;
	const char **env = NULL;
	for (char **variable = environ; *variable; variable++) {
		if (!is_git_variable(*variable))
			continue;
		grow_array(&env, &room, n + 1, sizeof(*env));
		env[n++] = *variable;
	}
	grow_array(&env, &room, n + 4, sizeof(*env));
	env[n++] = "GIT_TERMINAL_PROMPT=0";
	env[n++] = "GIT_LITERAL_PATHSPECS=1";
	env[n++] = "LC_ALL=C";
	env[n] = NULL;
	return env;
}

/* Appends the lines of text, "; " between them, until shown holds about 800 bytes. */
static void add_lines(struct strbuf *shown, const char *text)
{
	while (*text && shown->len < 800) {
		size_t n = strcspn(text, "\n");
		if (n && shown->len)
			strbuf_addstr(shown, "; ");
		strbuf_add_escaped(shown, text, MIN_OF(n, (size_t)800));
		text += n + (text[n] == '\n');
	}
}

static enum err_code git_failure(const char *const *argv, int status, const struct strbuf *errors,
	const struct strbuf *output, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	add_lines(&shown, errors->buf);
	add_lines(&shown, output->buf); /* "nothing to commit" comes here */
	size_t verb = 1;
	while (argv[verb] && strcmp(argv[verb], "-c") == 0 && argv[verb + 1])
		verb += 2;
	return err_set(reterr, ERR_FAILED, "git %s failed (%d): %s", argv[verb] ? argv[verb] : "", status,
		shown.buf);
}

enum err_code git_run_argv(const char *dir, const char *const *argv, const char *const *env,
	const char *input, size_t input_length, struct strbuf *ret_output, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf errors = STRBUF_INIT;
	CLEANUP(free_ptr) const char **own_env = env ? NULL : git_environment();
	int status = 0;
	struct process_run run = {.argv = argv,
		.env = env ? env : own_env,
		.dir = dir,
		.input = input,
		.input_length = input_length,
		.timeout_s = 300,
		.output_cap_bytes = (size_t)256 << 20};
	TRY(process_run(&run, &output, &errors, &status, reterr));
	if (status != 0)
		return git_failure(argv, status, &errors, &output, reterr);
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
	if (word)
		return err_set(reterr, ERR_LIMIT, "more than %zu words for git", ARRAY_LEN(argv) - 1);
	argv[n] = NULL;
	return git_run_argv(dir, argv, NULL, NULL, 0, ret_output, reterr);
}

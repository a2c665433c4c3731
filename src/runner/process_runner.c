/* The harness's side of the process runner: writes the request, starts the supervisor, takes the event lines
 * as they come, reads the summary. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "runner/event_relay.h"
#include "runner/process_runner.h"
#include "runner/process_tree.h"
#include "runner/run_spec.h"

enum { OUTCOME_CAP_BYTES = 1 << 16, PROGRESS_MS = 1000 };

struct exchange {
	double requested_s;
	pid_t supervisor;
	int control_fd, stop_fd;
	run_progress_fn progress;
	void *context;
	bool stop_sent;
	struct strbuf received; /* an incomplete frame */
	struct run_outcome *outcome;
	size_t lines_capacity;
	struct run_line *lines; /* malloc; moved into the outcome's arena at the end */
};

/* ---- the request ---- */

static enum err_code check_request(const struct run_request *r, struct err *reterr)
{
	const char *const paths[] = {r->dir, r->control_dir, r->log_path};
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (!paths[i] || paths[i][0] != '/')
			return err_set(
				reterr, ERR_INPUT, "'%s' is not an absolute path", paths[i] ? paths[i] : "");
	if (!r->argv || !r->argv[0] || !r->env)
		return err_set(reterr, ERR_INPUT, "no command to run");
	if (!path_is_dir(r->dir) || !path_is_dir(r->control_dir))
		return err_set(
			reterr, ERR_NOT_FOUND, "no folder %s", path_is_dir(r->dir) ? r->control_dir : r->dir);
	return OK;
}

static enum err_code make_fifo(const char *control_dir, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/events", control_dir);
	CLEANUP(free_ptr) char *outcome = xasprintf("%s/outcome.json", control_dir);
	unlink(outcome); /* an older one must not be taken for this run's */
	unlink(path);
	if (mkfifo(path, 0600) != 0)
		return err_errno(reterr, "cannot create the FIFO %s", path);
	return OK;
}

static enum err_code make_spec(const struct process_runner *p, const struct run_request *request,
	struct arena *arena, struct strbuf *text, struct err *reterr)
{
	static const char *no_words[] = {NULL};
	struct run_spec spec = {.self_path = p->self_path,
		.dir = request->dir,
		.control_dir = request->control_dir,
		.log_path = request->log_path,
		.log_format = request->log_format,
		.cpus = request->cpus,
		.argv = (const char **)request->argv,
		.env = (const char **)request->env,
		.sandbox_argv = no_words,
		.limits = request->limits,
		.force_subreaper = p->force_subreaper};
	if (request->sandbox != SANDBOX_OFF && p->sandbox.works)
		TRY(sandbox_argv(&p->sandbox, request, arena, &spec.sandbox_argv, reterr));
	run_spec_encode(&spec, text);
	return OK;
}

static enum err_code check_sandbox(struct process_runner *p, enum sandbox_mode mode, struct err *reterr)
{
	if (mode == SANDBOX_OFF)
		return OK;
	sandbox_probe(&p->sandbox);
	if (mode == SANDBOX_AUTO || p->sandbox.works)
		return OK;
	return err_set(reterr, ERR_STATE,
		"no sandbox here (%s); install bubblewrap and allow it namespaces, or accept running without "
		"one with --no-sandbox",
		p->sandbox.reason);
}

/* *ret_fd: an unnamed file with the request. */
static enum err_code prepare(
	const struct process_runner *p, const struct run_request *request, int *ret_fd, struct err *reterr)
{
	TRY(make_fifo(request->control_dir, reterr));
	struct arena arena = ARENA_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	enum err_code code = make_spec(p, request, &arena, &text, reterr);
	arena_release(&arena);
	if (code != OK)
		return code;
	CLEANUP(close_fd) int fd = memfd_create("infrarsi-request", MFD_CLOEXEC);
	if (fd < 0)
		return err_errno(reterr, "cannot create an unnamed file");
	TRY(write_all(fd, text.buf, text.len, reterr));
	*ret_fd = fd;
	fd = -1;
	return OK;
}

/* ---- the supervisor ---- */

/* Its own process group: a terminal's Ctrl-C is for the harness, which then stops the job in order. The
 * harness's session: what is a child of the harness in another session can only be an orphan of a dead
 * supervisor. */
static int spawn_supervisor(
	const char *self_path, int spec_fd, const char *error_path, int control_fd, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(
		&actions, STDERR_FILENO, error_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&actions, control_fd, CONTROL_FD);
	posix_spawn_file_actions_adddup2(&actions, spec_fd, SPEC_FD);
	char *argv[] = {"infrarsi", "__supervise", SPEC_FD_PATH, NULL};
	char *env[] = {"LC_ALL=C", NULL};
	int error = posix_spawn(ret_pid, self_path, &actions, &attributes, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return error;
}

/* Descriptors out of the way of the fixed numbers that the supervisor gets them under. */
static int moved_up(int *fd)
{
	int higher = fcntl(*fd, F_DUPFD_CLOEXEC, SPEC_FD + 1);
	close_fd(fd);
	return higher;
}

static enum err_code start_supervisor(const struct process_runner *p, int *spec_fd, const char *error_path,
	struct exchange *x, struct err *reterr)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return err_errno(reterr, "cannot create a socket pair");
	ends[1] = moved_up(&ends[1]);
	*spec_fd = moved_up(spec_fd);
	int error = ends[1] < 0 || *spec_fd < 0
			    ? errno
			    : spawn_supervisor(p->self_path, *spec_fd, error_path, ends[1], &x->supervisor);
	close_fd(&ends[1]);
	if (error != 0) {
		close_fd(&ends[0]);
		errno = error;
		return err_errno(reterr, "cannot start the supervisor %s", p->self_path);
	}
	x->control_fd = ends[0];
	return OK;
}

static void send_stop(struct exchange *x)
{
	if (!x->stop_sent)
		(void)!send(x->control_fd, "S", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	x->stop_sent = true;
}

static void tell_progress(struct exchange *x, const struct run_line *line)
{
	if (x->progress && !x->progress(x->context, line))
		send_stop(x);
}

static void take_line(struct exchange *x, double arrived_s, const char *bytes, size_t length)
{
	struct run_outcome *o = x->outcome;
	struct run_line line = {arrived_s, arena_strndup(&o->arena, bytes, length), length};
	grow_array(&x->lines, &x->lines_capacity, o->n_lines + 1, sizeof(line));
	x->lines[o->n_lines++] = line;
	tell_progress(x, &line);
}

static enum err_code take_frames(struct exchange *x, struct err *reterr)
{
	size_t at = 0;
	struct wire_header header;
	while (x->received.len - at >= sizeof(header)) {
		memcpy(&header, x->received.buf + at, sizeof(header));
		if (header.length > EVENT_LINE_MAX)
			return err_set(reterr, ERR_FAILED, "the supervisor sent a malformed frame");
		if (x->received.len - at < sizeof(header) + header.length)
			break;
		take_line(x, header.arrived_s, x->received.buf + at + sizeof(header), header.length);
		at += sizeof(header) + header.length;
	}
	x->received.len -= at;
	if (at)
		memmove(x->received.buf, x->received.buf + at, x->received.len);
	return OK;
}

/* Until the supervisor closes its end, that is until it ends. */
static enum err_code receive(struct exchange *x, struct err *reterr)
{
	char bytes[1 << 16];
	double next_progress_s = clock_now_s() + 1e-3 * PROGRESS_MS;
	for (;;) {
		struct pollfd fds[2] = {
			{x->control_fd, POLLIN, 0}, {x->stop_sent ? -1 : x->stop_fd, POLLIN, 0}};
		if (poll(fds, 2, PROGRESS_MS) < 0 && errno != EINTR)
			return err_errno(reterr, "poll failed");
		if (fds[1].revents)
			send_stop(x);
		ssize_t n = recv(x->control_fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return OK;
		if (n > 0) {
			strbuf_add(&x->received, bytes, (size_t)n);
			TRY(take_frames(x, reterr));
		}
		if (clock_now_s() >= next_progress_s) {
			next_progress_s = clock_now_s() + 1e-3 * PROGRESS_MS;
			tell_progress(x, NULL);
		}
	}
}

/* ---- the end ---- */

/* After a supervisor's violent death its orphans come to the harness, which is their subreaper: kill and wait
 * until none comes any more. Processes of the job never are in the harness's session. */
static void kill_orphans(void)
{
	struct process_tree tree = {NULL, 0, 0};
	for (bool found = true; found;) {
		found = false;
		process_tree_scan(&tree, getpid());
		for (size_t i = 0; i < tree.count; i++) {
			const struct process_entry *e = &tree.entries[i];
			if (e->depth != 1 || e->session == getsid(0))
				continue;
			if (e->state != 'Z')
				process_signal(e, SIGKILL);
			while (waitpid(e->pid, NULL, 0) < 0 && errno == EINTR)
				;
			found = true;
		}
	}
	process_tree_release(&tree);
}

static enum err_code supervisor_lost(int status, const char *error_path, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	if (file_read(error_path, FILE_CAP_DEFAULT, &text, NULL) == OK)
		strbuf_add_escaped(&shown, text.buf, MIN_OF(text.len, (size_t)800));
	if (WIFSIGNALED(status))
		return err_set(reterr, ERR_FAILED,
			"the supervisor was killed by signal %d; its job was killed too%s%s",
			WTERMSIG(status), shown.len ? ": " : "", shown.buf);
	return err_set(reterr, ERR_FAILED, "the supervisor failed: %s", shown.buf);
}

static enum err_code read_summary(const char *control_dir, struct run_outcome *o, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s/outcome.json", control_dir);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct run_summary summary;
	TRY(file_read(path, OUTCOME_CAP_BYTES, &text, reterr));
	TRY(run_summary_decode(text.buf, text.len, &summary, reterr));
	if (summary.error[0])
		return err_set(reterr, ERR_FAILED, "%s", summary.error);
	o->end = summary.end;
	o->exit_status = summary.exit_status;
	o->exit_signal = summary.exit_signal;
	o->spawn_s = summary.spawn_s;
	o->end_s = summary.end_s;
	o->peak_tree_bytes = summary.peak_tree_bytes;
	o->supervisor_cpu_s = summary.supervisor_cpu_s;
	o->log_dropped_bytes = summary.log_dropped_bytes;
	o->event_lines_dropped = summary.event_lines_dropped;
	o->disk_lost_bytes = summary.disk_lost_bytes;
	o->disk_regained_bytes = summary.disk_regained_bytes;
	o->pid_namespace = summary.pid_namespace;
	o->sandboxed = summary.sandboxed;
	return OK;
}

static enum err_code finish(struct exchange *x, enum err_code code, const char *control_dir,
	const char *error_path, struct err *reterr)
{
	int status = 0;
	if (code != OK)
		kill(x->supervisor, SIGKILL);
	close_fd(&x->control_fd);
	while (waitpid(x->supervisor, &status, 0) < 0 && errno == EINTR)
		;
	bool orderly = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (!orderly)
		kill_orphans();
	if (code != OK)
		return code;
	return orderly ? read_summary(control_dir, x->outcome, reterr)
		       : supervisor_lost(status, error_path, reterr);
}

static enum err_code run_supervised(struct process_runner *p, const struct run_request *request, int *spec_fd,
	struct exchange *x, struct err *reterr)
{
	CLEANUP(free_ptr) char *error_path = xasprintf("%s/supervisor.log", request->control_dir);
	TRY(start_supervisor(p, spec_fd, error_path, x, reterr));
	TRY(finish(x, receive(x, reterr), request->control_dir, error_path, reterr));
	struct run_outcome *o = x->outcome;
	if (o->spawn_s > 0)
		o->launch_latency_s = o->spawn_s - x->requested_s;
	o->lines = arena_array(&o->arena, o->n_lines, sizeof(*o->lines));
	if (o->n_lines)
		memcpy(o->lines, x->lines, o->n_lines * sizeof(*o->lines));
	return OK;
}

/* It belongs to the process, not to a thread: on from the first of several runs to the end of the last. */
static void subreaper_begin(struct process_runner *p)
{
	pthread_mutex_lock(&p->lock);
	if (p->n_running++ == 0) {
		prctl(PR_GET_CHILD_SUBREAPER, &p->was_subreaper);
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	}
	pthread_mutex_unlock(&p->lock);
}

static void subreaper_end(struct process_runner *p)
{
	pthread_mutex_lock(&p->lock);
	if (--p->n_running == 0)
		prctl(PR_SET_CHILD_SUBREAPER, p->was_subreaper);
	pthread_mutex_unlock(&p->lock);
}

static enum err_code process_run_job(void *state, const struct run_request *request, run_progress_fn progress,
	void *context, struct run_outcome *ret_outcome, struct err *reterr)
{
	struct process_runner *p = state;
	struct run_outcome outcome = {.arena = ARENA_INIT, .exit_status = -1};
	CLEANUP(close_fd) int spec_fd = -1;
	TRY(check_request(request, reterr));
	TRY(check_sandbox(p, request->sandbox, reterr));
	struct exchange x = {.requested_s = clock_now_s(),
		.control_fd = -1,
		.stop_fd = p->stop_fd,
		.progress = progress,
		.context = context,
		.received = STRBUF_INIT,
		.outcome = &outcome};
	TRY(prepare(p, request, &spec_fd, reterr));
	subreaper_begin(p);
	enum err_code code = run_supervised(p, request, &spec_fd, &x, reterr);
	subreaper_end(p);
	strbuf_release(&x.received);
	free(x.lines);
	if (code != OK)
		run_outcome_release(&outcome);
	else
		*ret_outcome = outcome;
	return code;
}

static void process_runner_free(void *state)
{
	struct process_runner *p = state;
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static const char *process_sandbox_fault(void *state, enum sandbox_mode mode)
{
	struct process_runner *p = state;
	if (mode == SANDBOX_OFF)
		return "--no-sandbox";
	sandbox_probe(&p->sandbox);
	return p->sandbox.works ? NULL : p->sandbox.reason;
}

static const struct runner_ops process_runner_ops = {.name = "process",
	.version = 1,
	.run = process_run_job,
	.release = process_runner_free,
	.sandbox_fault = process_sandbox_fault,
	.concurrent = true};

enum err_code process_runner_init(
	struct runner *ret_runner, const char *self_path, int stop_fd, struct err *reterr)
{
	if (self_path[0] != '/' || strlen(self_path) >= sizeof(((struct process_runner *)0)->self_path))
		return err_set(reterr, ERR_INPUT, "'%s' is not an absolute path", self_path);
	struct process_runner *p = xcalloc(1, sizeof(*p));
	snprintf(p->self_path, sizeof(p->self_path), "%s", self_path);
	p->stop_fd = stop_fd;
	pthread_mutex_init(&p->lock, NULL);
	*ret_runner = (struct runner){&process_runner_ops, p};
	return OK;
}

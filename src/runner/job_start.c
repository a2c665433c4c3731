#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu_list.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "runner/job_start.h"

enum { SPEC_CAP_BYTES = 16 << 20, LOG_PIPE_BYTES = 1 << 20 };

extern char **environ;

int job_plumbing_depth(enum job_mode mode)
{
	return (int)mode;
}

static void report(int fd, enum job_report_kind kind, int value)
{
	struct job_report r = {kind, value, clock_now_s()};
	while (send(fd, &r, sizeof(r), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static NORETURN void fail_setup(int report_fd, const char *step)
{
	int error = errno;
	dprintf(STDERR_FILENO, "infrarsi: %s: %s\n", step, strerror(error));
	report(report_fd, JOB_SETUP_FAILED, error);
	_exit(126);
}

/* The peer of the report socket is held by the supervisor alone: its end tells its death without any race. */
static bool supervisor_is_gone(int report_fd)
{
	struct pollfd p = {report_fd, 0, 0};
	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

static void die_with_parent(int report_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (supervisor_is_gone(report_fd))
		_exit(126);
}

static void reset_signals(void)
{
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* When memory runs out the kernel should take the job and not the processes that account for it. */
static void prefer_as_oom_victim(void)
{
	CLEANUP(close_fd) int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, "500", 3);
}

/* Standard streams are in place; becomes the job. */
static NORETURN void become_job(const struct run_spec *spec, int report_fd)
{
	struct rlimit no_core = {0, 0};
	setrlimit(RLIMIT_CORE, &no_core);
	setsid();
	prefer_as_oom_victim();
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	reset_signals();
	if (chdir(spec->dir) != 0)
		fail_setup(report_fd, "cannot enter the job's folder");
	environ = (char **)spec->env;
	report(report_fd, JOB_STARTED, 0);
	execvp(spec->argv[0], (char *const *)spec->argv);
	int error = errno;
	dprintf(STDERR_FILENO, "infrarsi: cannot execute '%s': %s\n", spec->argv[0], strerror(error));
	report(report_fd, JOB_EXEC_FAILED, error);
	_exit(error == ENOENT ? 127 : 126);
}

static void reap(pid_t job, int report_fd)
{
	pid_t pid;
	int status;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == job)
			report(report_fd, JOB_EXITED, status);
}

/* PID 1 of a namespace. Ends when the supervisor kills it or dies; then the kernel kills all that is left. */
static NORETURN void become_init(const struct run_spec *spec, int report_fd)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	die_with_parent(report_fd);
	int signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0)
		fail_setup(report_fd, "signalfd");
	/* The job has our user: not dumpable means it cannot reach our descriptors through /proc/1/fd and
	 * forge its own exit. */
	prctl(PR_SET_DUMPABLE, 0);
	pid_t job = fork();
	if (job < 0)
		fail_setup(report_fd, "fork");
	if (job == 0)
		become_job(spec, report_fd);
	for (;;) {
		struct pollfd fds[2] = {{signal_fd, POLLIN, 0}, {report_fd, 0, 0}};
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents & (POLLHUP | POLLERR))
			_exit(1);
		struct signalfd_siginfo info;
		while (read(signal_fd, &info, sizeof(info)) > 0)
			;
		reap(job, report_fd);
	}
}

static bool write_text(const char *path, const char *text)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Inside a new user namespace: everybody is who they were. */
static bool map_identity(uid_t uid, gid_t gid)
{
	char map[64];
	(void)write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%lu %lu 1", (unsigned long)uid, (unsigned long)uid);
	if (!write_text("/proc/self/uid_map", map))
		return false;
	snprintf(map, sizeof(map), "%lu %lu 1", (unsigned long)gid, (unsigned long)gid);
	return write_text("/proc/self/gid_map", map);
}

static NORETURN void enter_namespace(const struct run_spec *spec, int report_fd, uid_t uid, gid_t gid)
{
	if (uid != 0 && !map_identity(uid, gid))
		fail_setup(report_fd, "cannot map the user");
	/* In a PID namespace /proc/self only means something in a /proc that belongs to it. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 ||
		mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		fail_setup(report_fd, "cannot mount /proc");
	become_init(spec, report_fd);
}

/* Out of the way of the fixed numbers, then onto them; what is above is closed. */
static void place_descriptors(const int from[3])
{
	static const int to[3] = {INIT_SELF_FD, INIT_REPORT_FD, INIT_SPEC_FD};
	int moved[3];
	for (int i = 0; i < 3; i++)
		moved[i] = fcntl(from[i], F_DUPFD, 64);
	for (int i = 0; i < 3; i++)
		dup2(moved[i], to[i]);
	close_range(INIT_SPEC_FD + 1, ~0U, 0);
}

/* bwrap gets an empty environment; the init reads the job's from the spec. Our own binary goes in as a
 * descriptor: its path need not exist inside. */
static NORETURN void enter_sandbox(const struct run_spec *spec, int spec_fd, int report_fd)
{
	const char *argv[4096];
	size_t n = 0;
	while (spec->sandbox_argv[n] && n + 4 < ARRAY_LEN(argv)) {
		argv[n] = spec->sandbox_argv[n];
		n++;
	}
	errno = E2BIG;
	int self = spec->sandbox_argv[n] ? -1 : open(spec->self_path, O_RDONLY | O_CLOEXEC);
	if (self < 0)
		fail_setup(report_fd, "cannot enter the sandbox");
	argv[n++] = "/proc/self/fd/3";
	argv[n++] = "__supervise";
	argv[n++] = INIT_SPEC_PATH;
	argv[n] = NULL;
	die_with_parent(report_fd);
	place_descriptors((const int[3]){self, report_fd, spec_fd});
	char *none[] = {NULL};
	reset_signals();
	execve(argv[0], (char *const *)argv, none);
	fail_setup(INIT_REPORT_FD, "cannot execute bwrap");
}

/* Of what is started from here on: a sandbox, the init, the job. */
static void hold_to_cpus(const char *cpus, int report_fd)
{
	cpu_set_t set;
	errno = EINVAL;
	if (cpus && (!cpu_list_parse(cpus, &set) || sched_setaffinity(0, sizeof(set), &set) != 0))
		fail_setup(report_fd, "cannot run on the processors of the job's slot");
}

static NORETURN void run_child(const struct run_spec *spec, int spec_fd, enum job_mode mode, int report_fd,
	int log_fd, const struct job *parent_ends)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	close(parent_ends->report_fd);
	close(parent_ends->log_fd);
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (dup2(null_fd, STDIN_FILENO) < 0 || dup2(log_fd, STDOUT_FILENO) < 0 ||
		dup2(log_fd, STDERR_FILENO) < 0)
		fail_setup(report_fd, "cannot set the standard streams");
	setsid();
	hold_to_cpus(spec->cpus, report_fd);
	if (mode == JOB_SANDBOX)
		enter_sandbox(spec, spec_fd, report_fd);
	if (mode == JOB_NAMESPACE)
		enter_namespace(spec, report_fd, uid, gid);
	die_with_parent(report_fd);
	become_job(spec, report_fd);
}

/* fork() into new namespaces. The supervisor has one thread, so the child may use the C library. */
static pid_t fork_into(enum job_mode mode)
{
	if (mode != JOB_NAMESPACE)
		return fork();
	unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0);
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

enum err_code job_start(
	const struct run_spec *spec, int spec_fd, enum job_mode mode, struct job *ret_job, struct err *reterr)
{
	int reports[2] = {-1, -1}, log[2] = {-1, -1};
	pid_t child = -1;
	struct job job = {.mode = mode, .child = -1, .report_fd = -1, .log_fd = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports) == 0 &&
		pipe2(log, O_CLOEXEC) == 0) {
		job.report_fd = reports[0];
		job.log_fd = log[0];
		fcntl(job.report_fd, F_SETFL, O_NONBLOCK);
		fcntl(job.log_fd, F_SETFL, O_NONBLOCK);
		(void)fcntl(job.log_fd, F_SETPIPE_SZ,
			LOG_PIPE_BYTES); /* may exceed the user's quota: then less */
		child = fork_into(mode);
		if (child == 0)
			run_child(spec, spec_fd, mode, reports[1], log[1], &job);
	}
	int error = errno;
	close_fd(&reports[1]);
	close_fd(&log[1]);
	if (child < 0) {
		close_fd(&reports[0]);
		close_fd(&log[0]);
		errno = error;
		enum err_code code = err_errno(reterr, "cannot start the job's first process");
		return mode == JOB_NAMESPACE ? ERR_STATE : code;
	}
	job.child = child;
	*ret_job = job;
	return OK;
}

void job_close(struct job *job)
{
	close_fd(&job->report_fd);
	close_fd(&job->log_fd);
}

NORETURN void job_init_main(void)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct run_spec spec;
	close(INIT_SELF_FD);
	if (file_read("/proc/self/fd/5", SPEC_CAP_BYTES, &text, NULL) != OK ||
		run_spec_decode(text.buf, text.len, &spec, NULL) != OK) {
		errno = EINVAL;
		fail_setup(INIT_REPORT_FD, "cannot read the request");
	}
	become_init(&spec, INIT_REPORT_FD);
}

/*
 * The supervising process: one job, one thread, one poll loop.
 *
 * poll(2) and not libuv: there are five descriptors, all known beforehand; the job is started with clone(2)
 * into new namespaces and orphans of unknown pid must be reaped with waitpid(-1), which libuv's own SIGCHLD
 * handling gets in the way of; and less code stands between the arrival of an event line and its stamp.
 *
 * The job is over when its first process has exited (never when its pipes are at their end: data-loader
 * grandchildren hold them open). Then everything below is killed, and the state is REAPED only when waitpid()
 * says that no child is left: as the supervisor is a subreaper, that means no descendant is left.
 */
#include "base/base.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapter/log.h"
#include "adapter/log_events.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "runner/disk_watch.h"
#include "runner/event_relay.h"
#include "runner/job_start.h"
#include "runner/lines.h"
#include "runner/log_sink.h"
#include "runner/memory_watch.h"
#include "runner/run_spec.h"

enum state { NEW, SPAWNED, RUNNING, STOPPING, KILLED, REAPED, N_STATES };

static const bool may_follow[N_STATES][N_STATES] = {
	[NEW] = {[SPAWNED] = true, [REAPED] = true},
	[SPAWNED] = {[NEW] = true, [RUNNING] = true, [KILLED] = true},
	[RUNNING] = {[STOPPING] = true, [KILLED] = true},
	[STOPPING] = {[KILLED] = true},
	[KILLED] = {[REAPED] = true},
};

static const double grace_default_s = 5;
static const double sandbox_start_limit_s = 60;
static const double kill_limit_s =
	60; /* a process in uninterruptible sleep cannot be waited for any longer */
static const char stdout_prefix[] = "@infrarsi ";

enum {
	SPEC_CAP_BYTES = 16 << 20,
	FINAL_DRAIN_CAP_BYTES = 16 << 20,
	READ_BYTES = 1 << 16,
	TICK_MS = 100,
	KILL_TICK_MS = 10
};

struct supervisor {
	struct run_spec spec;
	struct run_summary summary;
	struct job job;
	enum state state;
	int spec_fd, signal_fd, events_fd;
	bool cause_known;  /* summary.end is decided: what follows does not change it */
	bool setup_failed; /* as reported from the job's side, before it started */
	bool first_exited; /* the job's first process */
	double entered_s;  /* when the present state was entered */
	double stamp_s;    /* arrival of the bytes now being split into lines */
	struct event_relay relay;
	struct line_splitter event_lines, log_lines;
	struct log_sink log;
	struct log_events *log_reader; /* NULL = the job reports by itself */
	struct memory_watch memory;
	struct disk_watch disk;
	struct process_tree tree;
};

static void signal_tree(struct supervisor *s, int signal, int above_depth)
{
	process_tree_scan(&s->tree, getpid());
	for (size_t i = 0; i < s->tree.count; i++)
		if (s->tree.entries[i].depth > above_depth && s->tree.entries[i].state != 'Z')
			process_signal(&s->tree.entries[i], signal);
}

static void enter(struct supervisor *s, enum state next)
{
	assert(may_follow[s->state][next]);
	s->state = next;
	s->entered_s = clock_now_s();
	if (next == STOPPING)
		signal_tree(s, SIGTERM, job_plumbing_depth(s->job.mode));
	else if (next == KILLED)
		signal_tree(s, SIGKILL, 0);
}

/* The first cause counts. */
static void decide(struct supervisor *s, enum run_end end)
{
	if (!s->cause_known)
		s->summary.end = end;
	s->cause_known = true;
}

static void stop(struct supervisor *s, enum run_end cause)
{
	if (s->state == RUNNING || s->state == SPAWNED)
		decide(s, cause);
	bool takes_host = cause == RUN_MEMORY_LIMIT || cause == RUN_DISK_FULL;
	if (s->state == SPAWNED || (takes_host && (s->state == RUNNING || s->state == STOPPING)))
		enter(s, KILLED); /* such a job gets no grace: it would take the host with it */
	else if (s->state == RUNNING)
		enter(s, STOPPING);
}

/* ---- from the job ---- */

static void on_event_line(void *context, const char *line, size_t length, bool overlong)
{
	struct supervisor *s = context;
	if (!s->log_reader)
		event_relay_pass(&s->relay, s->stamp_s, line, length, overlong);
}

static void on_read_event(void *context, const char *line, size_t length, double arrived_s)
{
	struct supervisor *s = context;
	event_relay_pass(&s->relay, arrived_s, line, length, length > EVENT_LINE_MAX);
}

/* Across hosts events come over stdout. */
static void on_log_line(void *context, const char *line, size_t length, bool overlong)
{
	struct supervisor *s = context;
	size_t prefix = sizeof(stdout_prefix) - 1;
	if (length < prefix || memcmp(line, stdout_prefix, prefix) != 0)
		return;
	length -= prefix;
	event_relay_pass(&s->relay, s->stamp_s, line + prefix, length, overlong || length > EVENT_LINE_MAX);
}

/* One read; false when nothing is there now. The stamp is taken before anything else is done with the bytes.
 */
static bool read_events(struct supervisor *s)
{
	char bytes[READ_BYTES];
	ssize_t n = read(s->events_fd, bytes, sizeof(bytes));
	if (n <= 0)
		return false;
	s->stamp_s = clock_now_s();
	line_splitter_feed(&s->event_lines, bytes, (size_t)n);
	return true;
}

static bool read_log(struct supervisor *s)
{
	char bytes[READ_BYTES];
	ssize_t n = s->job.log_fd >= 0 ? read(s->job.log_fd, bytes, sizeof(bytes)) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_fd(&s->job.log_fd); /* every writer has closed it; says nothing about the process */
		return false;
	}
	s->stamp_s = clock_now_s();
	if (s->log_reader)
		log_events_feed(s->log_reader, bytes, (size_t)n, s->stamp_s);
	else
		line_splitter_feed(&s->log_lines, bytes, (size_t)n);
	log_sink_write(&s->log, bytes, (size_t)n);
	return true;
}

static void first_process_exited(struct supervisor *s, int status, double stamp_s)
{
	if (s->first_exited)
		return;
	s->first_exited = true;
	s->summary.end_s = stamp_s;
	s->summary.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	s->summary.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	decide(s, WIFEXITED(status) ? RUN_EXITED : RUN_SIGNALLED);
	if (s->state != KILLED)
		enter(s, KILLED);
}

static void read_reports(struct supervisor *s)
{
	struct job_report report;
	ssize_t n;
	while (s->job.report_fd >= 0 && (n = recv(s->job.report_fd, &report, sizeof(report), 0)) >= 0) {
		if (n != (ssize_t)sizeof(report)) { /* the other end is closed: by exec, or by death */
			close_fd(&s->job.report_fd);
			return;
		}
		if (report.kind == JOB_SETUP_FAILED)
			s->setup_failed = true;
		if (report.kind == JOB_STARTED && s->state == SPAWNED) {
			s->summary.spawn_s = report.stamp_s;
			memory_watch_init(&s->memory, getpid(), job_plumbing_depth(s->job.mode));
			disk_watch_init(&s->disk, s->spec.dir, s->spec.control_dir);
			enter(s, RUNNING);
		}
		if (report.kind == JOB_EXITED)
			first_process_exited(s, report.value, report.stamp_s);
	}
}

/* ---- start and end of processes ---- */

static void fail(struct supervisor *s, const char *message)
{
	if (!s->summary.error[0])
		snprintf(s->summary.error, sizeof(s->summary.error), "%.1000s", message);
	if (s->state == NEW)
		enter(s, REAPED); /* there is nothing to reap */
	else if (s->state != KILLED)
		enter(s, KILLED);
}

static void start(struct supervisor *s, enum job_mode mode)
{
	struct err error = ERR_INIT;
	enum err_code code = job_start(&s->spec, s->spec_fd, mode, &s->job, &error);
	if (code != OK && mode == JOB_NAMESPACE)
		code = job_start(&s->spec, s->spec_fd, JOB_SUBREAPER, &s->job, &error);
	if (code != OK)
		fail(s, error.message);
	else
		enter(s, SPAWNED);
}

/* The supervisor's own child has exited: the job itself, or the process that should have outlived it. */
static void child_exited(struct supervisor *s, int status)
{
	double now_s = clock_now_s();
	read_reports(s);
	if (s->state == SPAWNED && s->job.mode == JOB_NAMESPACE) {
		/* Namespaces are allowed but of no use here, for instance because /proc may not be mounted.
		 */
		job_close(&s->job);
		s->setup_failed = false;
		enter(s, NEW);
		start(s, JOB_SUBREAPER);
	} else if (s->state == SPAWNED || s->setup_failed) {
		char message[512];
		snprintf(message, sizeof(message), "the job could not be started%s; the reason is in %.300s",
			s->job.mode == JOB_SANDBOX ? " in its sandbox" : "", s->spec.log_path);
		fail(s, message);
	} else if (s->job.mode == JOB_SUBREAPER) {
		first_process_exited(s, status, now_s);
	} else {
		/* Only a kill from outside takes the init away before the job: the whole job died with it. */
		first_process_exited(s, SIGKILL, now_s);
	}
}

static void reap(struct supervisor *s)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == ECHILD && s->state == KILLED)
			enter(s, REAPED);
		if (pid <= 0)
			return;
		if (pid == s->job.child) {
			s->job.child = -1;
			child_exited(s, status);
		}
	}
}

static void read_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;
	while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			stop(s, RUN_STOPPED);
}

/* Any byte asks for an orderly stop; so does the end of the harness. */
static void read_control(struct supervisor *s)
{
	char byte;
	ssize_t n = recv(s->relay.control_fd, &byte, 1, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		event_relay_hang_up(&s->relay);
	stop(s, RUN_STOPPED);
}

/* ---- limits ---- */

static void check_running(struct supervisor *s, double now_s)
{
	const struct run_limits *l = &s->spec.limits;
	double ran_s = now_s - s->summary.spawn_s, last_update_s = s->relay.last_update_s;
	long updates = s->log_reader ? log_events_seen(s->log_reader, &last_update_s) : s->relay.updates;
	bool updates_due = updates > 0 && updates >= l->stall_after_update &&
			   (l->expected_updates <= 0 || updates < l->expected_updates);
	if (l->wall_s > 0 && ran_s > l->wall_s)
		stop(s, RUN_TIMEOUT);
	else if (l->startup_s > 0 && updates == 0 && ran_s > l->startup_s)
		stop(s, RUN_STARTUP_TIMEOUT);
	else if (l->stall_s > 0 && updates_due && now_s - last_update_s > l->stall_s)
		stop(s, RUN_STALLED);
}

static void check_limits(struct supervisor *s)
{
	double now_s = clock_now_s();
	double grace_s = s->spec.limits.grace_s > 0 ? s->spec.limits.grace_s : grace_default_s;
	double memory_limit = s->spec.limits.memory_bytes;
	if (s->state == SPAWNED && now_s - s->entered_s > sandbox_start_limit_s)
		fail(s, "the job's first process did not start within 60 s");
	if (s->state == RUNNING)
		check_running(s, now_s);
	if (s->state == STOPPING && now_s - s->entered_s > grace_s)
		enter(s, KILLED);
	if (s->state == RUNNING || s->state == STOPPING) {
		double bytes = memory_watch_sample(&s->memory, now_s, memory_limit);
		if (memory_limit > 0 && bytes > memory_limit)
			stop(s, RUN_MEMORY_LIMIT);
		if (disk_watch_is_full(&s->disk))
			stop(s, RUN_DISK_FULL);
	}
	if (s->state == KILLED)
		signal_tree(s, SIGKILL, 0); /* what was forked between the last walk and its kill */
}

/* ---- the loop ---- */

static void turn(struct supervisor *s)
{
	struct pollfd fds[] = {
		{s->events_fd, POLLIN, 0},
		{s->signal_fd, POLLIN, 0},
		{s->job.report_fd, POLLIN, 0},
		{s->relay.control_fd, POLLIN | (event_relay_waiting(&s->relay) ? POLLOUT : 0), 0},
		{s->job.log_fd, POLLIN, 0},
	};
	int n = poll(fds, ARRAY_LEN(fds), s->state == KILLED ? KILL_TICK_MS : TICK_MS);
	if (n > 0 && fds[0].revents)
		read_events(s);
	read_reports(s);
	if (n > 0 && fds[1].revents)
		read_signals(s);
	if (n > 0 && (fds[3].revents & POLLOUT))
		event_relay_flush(&s->relay, MSG_DONTWAIT);
	if (n > 0 && (fds[3].revents & (POLLIN | POLLHUP | POLLERR)))
		read_control(s);
	if (n > 0 && fds[4].revents)
		read_log(s);
	reap(s);
	check_limits(s);
}

static bool unkillable(struct supervisor *s)
{
	if (s->state != KILLED || clock_now_s() - s->entered_s < kill_limit_s)
		return false;
	process_tree_scan(&s->tree, getpid());
	pid_t pid = s->tree.count ? s->tree.entries[0].pid : 0;
	snprintf(s->summary.error, sizeof(s->summary.error),
		"%zu processes of the job do not end (the first is %ld): they wait in the kernel, for a "
		"device or a network file system",
		s->tree.count, (long)pid);
	return true;
}

/* No writer is left now, so what the pipes hold is all there will be; the cap is for a descriptor that was
 * handed to a process outside. */
static void drain(struct supervisor *s)
{
	for (size_t n = 0; n < FINAL_DRAIN_CAP_BYTES && read_events(s); n += READ_BYTES)
		;
	for (size_t n = 0; n < FINAL_DRAIN_CAP_BYTES && read_log(s); n += READ_BYTES)
		;
	s->stamp_s = clock_now_s();
	line_splitter_finish(&s->event_lines);
	line_splitter_finish(&s->log_lines);
}

static void summarize(struct supervisor *s)
{
	struct run_summary *summary = &s->summary;
	struct rusage own, children;
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	summary->supervisor_cpu_s = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
				    1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
	/* The largest single process is known exactly; sampling may have missed its top. */
	double largest_bytes = 1024.0 * (double)children.ru_maxrss;
	summary->peak_tree_bytes = MAX_OF(s->memory.peak_bytes, largest_bytes);
	summary->pid_namespace = s->job.mode != JOB_SUBREAPER;
	summary->sandboxed = s->job.mode == JOB_SANDBOX;
	if (summary->end_s == 0)
		summary->end_s = clock_now_s();
}

static enum err_code set_up(struct supervisor *s, const char *spec_path, struct err *reterr)
{
	sigset_t mask;
	line_splitter_init(&s->event_lines, EVENT_LINE_MAX, on_event_line, s);
	line_splitter_init(&s->log_lines, EVENT_LINE_MAX + sizeof(stdout_prefix), on_log_line, s);
	sigfillset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigemptyset(&mask);
	static const int handled[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
	for (size_t i = 0; i < ARRAY_LEN(handled); i++)
		sigaddset(&mask, handled[i]);
	close_range(SPEC_FD + 1, ~0U, 0);
	fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC);
	fcntl(SPEC_FD, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	TRY(file_read(spec_path, SPEC_CAP_BYTES, &text, reterr));
	TRY(run_spec_decode(text.buf, text.len, &s->spec, reterr));
	char *events = arena_printf(&s->spec.arena, "%s/events", s->spec.control_dir);
	char *journal = arena_printf(&s->spec.arena, "%s/journal.jsonl", s->spec.control_dir);
	s->relay.control_fd = CONTROL_FD;
	s->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	s->spec_fd = open(spec_path, O_RDONLY | O_CLOEXEC);
	/* Open for writing too, so that writers may come and go without an end of file in between. */
	s->events_fd = open(events, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	s->relay.journal_fd = open(journal, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (s->signal_fd < 0 || s->spec_fd < 0 || s->events_fd < 0 || s->relay.journal_fd < 0)
		return err_errno(reterr, "cannot open the files in %s", s->spec.control_dir);
	if (s->spec.log_format && !log_format_known(s->spec.log_format))
		return err_set(reterr, ERR_INPUT, "no log format has this name");
	TRY(log_sink_open(&s->log, s->spec.log_path, s->spec.limits.log_cap_bytes, reterr));
	if (s->spec.log_format)
		s->log_reader = log_events_new(s->spec.log_format, on_read_event, s);
	return OK;
}

static enum err_code supervise(struct supervisor *s, struct err *reterr)
{
	start(s, s->spec.sandbox_argv[0]   ? JOB_SANDBOX
		 : s->spec.force_subreaper ? JOB_SUBREAPER
					   : JOB_NAMESPACE);
	while (s->state != REAPED && !unkillable(s))
		turn(s);
	drain(s);
	if (s->log_reader)
		log_events_finish(s->log_reader);
	summarize(s);
	disk_watch_settle(&s->disk, &s->summary.disk_lost_bytes, &s->summary.disk_regained_bytes);
	s->summary.event_bytes_dropped = s->relay.dropped_bytes;
	s->summary.event_lines_dropped = s->relay.dropped_lines;
	s->summary.log_dropped_bytes = log_sink_close(&s->log);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *path = xasprintf("%s/outcome.json", s->spec.control_dir);
	run_summary_encode(&s->summary, &text);
	TRY(file_write_atomic(path, text.buf, text.len, 0600, reterr));
	event_relay_flush(&s->relay, 0);
	return OK;
}

int supervisor_main(const char *spec_path)
{
	if (strcmp(spec_path, INIT_SPEC_PATH) == 0)
		job_init_main();
	struct supervisor s = {.state = NEW,
		.job = {.child = -1, .report_fd = -1, .log_fd = -1},
		.disk = {.reserve_fd = -1},
		.relay = {.control_fd = -1, .journal_fd = -1, .queue = STRBUF_INIT},
		.summary = {.exit_status = -1}};
	struct err error = ERR_INIT;
	enum err_code code = set_up(&s, spec_path, &error);
	if (code == OK)
		code = supervise(&s, &error);
	if (code != OK)
		dprintf(STDERR_FILENO, "%s\n", error.message);
	job_close(&s.job);
	line_splitter_release(&s.event_lines);
	line_splitter_release(&s.log_lines);
	memory_watch_release(&s.memory);
	process_tree_release(&s.tree);
	event_relay_release(&s.relay);
	run_spec_release(&s.spec);
	return code == OK ? 0 : 1;
}

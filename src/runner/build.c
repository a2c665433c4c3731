/* Builds: snapshot tree + stack of diffs + build command -> a read-only tree, cached by all that goes into
 * it. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "runner/hook_guard.h"
#include "runner/host_fault.h"
#include "runner/repository.h"
#include "runner/toolchain.h"
#include "runner/tree_walk.h"
#include "runner/workspace.h"

enum { OUTCOME_CAP_BYTES = 1 << 16, LOCK_POLL_MS = 50, STATUS_TIMEOUT = 124 };

struct build {
	const struct build_request *request;
	struct arena arena;
	char key[SHA256_HEX_SIZE];
	const char *folder; /* builds/<key> */
	const char *tree, *task_dir, *log, *control, *outcome, *lock;
	struct build_result result;
};

static void make_key(struct build *b)
{
	const struct build_request *r = b->request;
	CLEANUP(free_ptr) char *toolchain_cache = xasprintf("%s/builds/toolchain.json", r->work_dir);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "infrarsi build 1\ntree %s\nprefix %s\nsettings %s\nsandbox %d\n",
		r->snapshot->tree, r->snapshot->prefix, r->build_key ? r->build_key : "", (int)r->sandbox);
	for (size_t i = 0; r->diff_digests && r->diff_digests[i]; i++)
		strbuf_addf(&text, "patch %s\n", r->diff_digests[i]);
	for (size_t i = 0; r->argv && r->argv[i]; i++)
		strbuf_addf(&text, "word %zu %s\n", strlen(r->argv[i]), r->argv[i]);
	for (size_t i = 0; r->link_in && r->link_in[i]; i++)
		strbuf_addf(&text, "input %zu %s\n", strlen(r->link_in[i]), r->link_in[i]);
	if (r->argv && r->argv[0])
		toolchain_text_cached(toolchain_cache, &text);
	sha256_hex(text.buf, text.len, b->key);
}

static enum err_code name_paths(struct build *b, struct err *reterr)
{
	const struct build_request *r = b->request;
	struct arena *a = &b->arena;
	b->folder = arena_printf(a, "%s/builds/%s", r->work_dir, b->key);
	b->lock = arena_printf(a, "%s/builds/%s.lock", r->work_dir, b->key);
	b->tree = arena_printf(a, "%s/tree", b->folder);
	b->task_dir =
		r->snapshot->prefix[0] ? arena_printf(a, "%s/%s", b->tree, r->snapshot->prefix) : b->tree;
	b->log = arena_printf(a, "%s/build.log", b->folder);
	b->control = arena_printf(a, "%s/control", b->folder);
	b->outcome = arena_printf(a, "%s/outcome.json", b->folder);
	if (strlen(b->task_dir) >= sizeof(b->result.dir) || strlen(b->log) >= sizeof(b->result.log))
		return err_set(reterr, ERR_LIMIT, "the path %s is too long", b->task_dir);
	strcpy(b->result.dir, b->task_dir);
	strcpy(b->result.log, b->log);
	return OK;
}

/* ---- the recorded outcome ---- */

static enum err_code read_outcome(struct build *b, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	TRY(file_read(b->outcome, OUTCOME_CAP_BYTES, &text, reterr));
	json_t *root = json_loadb(text.buf, text.len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *ok = json_object_get(root, "ok");
	const json_t *seconds = json_object_get(root, "seconds");
	bool complete = json_is_boolean(ok) && json_is_number(seconds);
	if (complete) {
		b->result.ok = json_is_true(ok);
		b->result.patch_failed = json_is_true(json_object_get(root, "patch_failed"));
		b->result.status = (int)json_integer_value(json_object_get(root, "status"));
		b->result.seconds = json_number_value(seconds);
		b->result.cached = true;
	}
	json_decref(root);
	return complete ? OK : err_set(reterr, ERR_NOT_FOUND, "%s is not complete", b->outcome);
}

static enum err_code write_outcome(const struct build *b, struct err *reterr)
{
	const struct build_result *r = &b->result;
	json_t *root = json_pack("{s:b, s:b, s:i, s:f}", "ok", r->ok, "patch_failed", r->patch_failed,
		"status", r->status, "seconds", r->seconds);
	char *text = json_dumps(root, JSON_COMPACT);
	enum err_code code = file_write_atomic(b->outcome, text, strlen(text), 0644, reterr);
	free(text);
	json_decref(root);
	return code;
}

/* ---- making the tree ---- */

/* checkout-index and not `git archive`, which leaves out files marked export-ignore; and no registered
 * worktree, which a crash would leave behind in the user's repository. */
static enum err_code check_out(const struct build *b, struct err *reterr)
{
	CLEANUP(repository_release) struct repository repo = {.arena = ARENA_INIT};
	CLEANUP(free_ptr) char *index = xasprintf("%s/index", b->folder);
	CLEANUP(free_ptr) char *prefix = xasprintf("--prefix=%s/", b->tree);
	TRY(repository_open(b->request->root, &repo, reterr));
	TRY(make_dirs(b->task_dir, 0755, reterr));
	TRY(repository_git(&repo, index, GIT_WORDS("read-tree", b->request->snapshot->tree), NULL, reterr));
	TRY(repository_git(
		&repo, index, GIT_WORDS("checkout-index", "-a", "-f", "-q", prefix), NULL, reterr));
	unlink(index);
	return OK;
}

/* Ignored inputs of the user's folder, such as data sets, as symbolic links. */
static enum err_code link_inputs(const struct build *b, struct err *reterr)
{
	const struct build_request *r = b->request;
	for (size_t i = 0; r->link_in && r->link_in[i]; i++) {
		if (!path_is_contained(r->link_in[i]))
			return err_set(reterr, ERR_INPUT, "input '%s' is not a path inside %s", r->link_in[i],
				r->root);
		CLEANUP(free_ptr) char *target = xasprintf("%s/%s", r->root, r->link_in[i]);
		CLEANUP(free_ptr) char *link = xasprintf("%s/%s", b->task_dir, r->link_in[i]);
		CLEANUP(free_ptr) char *parent = xstrdup(link);
		*strrchr(parent, '/') = '\0';
		if (path_exists(link) || !path_exists(target))
			continue; /* part of the snapshot; or missing, which the job will say better */
		TRY(make_dirs(parent, 0755, reterr));
		if (symlink(target, link) != 0)
			return err_errno(reterr, "cannot link %s", link);
	}
	return OK;
}

static enum err_code log_text(const struct build *b, const char *text, struct err *reterr)
{
	return file_write_atomic(b->log, text, strlen(text), 0644, reterr);
}

/* A diff that does not apply is an outcome, with git's own words in the log. */
static enum err_code apply_diffs(struct build *b, bool *ret_applied, struct err *reterr)
{
	const struct build_request *r = b->request;
	for (size_t i = 0; r->diff_paths && r->diff_paths[i]; i++) {
		struct err failure = ERR_INIT;
		enum err_code code = git_outside_repository(b->task_dir,
			GIT_WORDS("apply", "--whitespace=nowarn", "--", r->diff_paths[i]), NULL, &failure);
		if (code == OK)
			continue;
		if (code != ERR_FAILED)
			return err_set(reterr, code, "%s", failure.message);
		CLEANUP(free_ptr)
		char *text =
			xasprintf("infrarsi: %s does not apply\n%s\n", r->diff_paths[i], failure.message);
		b->result.patch_failed = true;
		*ret_applied = false;
		return log_text(b, text, reterr);
	}
	*ret_applied = true;
	return OK;
}

/* A failing build is the machine's fault where its log says so, and where it was killed from outside: it has
 * no limits of its own but that of time. */
static void note_host_fault(struct build *b, const struct run_outcome *outcome)
{
	struct build_result *r = &b->result;
	bool killed = outcome->end == RUN_SIGNALLED && outcome->exit_signal == SIGKILL;
	if (r->ok || outcome->end == RUN_STOPPED || outcome->end == RUN_TIMEOUT)
		return;
	if (outcome->end == RUN_DISK_FULL)
		snprintf(r->fault, sizeof(r->fault), "the disk ran full during the build");
	else if (killed)
		snprintf(r->fault, sizeof(r->fault), "the build was killed by signal 9");
	r->host_fault = *r->fault || host_fault_find(b->log, r->fault);
}

/* *ret_final: whether the outcome may be cached. */
static enum err_code run_command(struct build *b, struct runner *runner, run_progress_fn progress,
	void *context, bool *ret_final, struct err *reterr)
{
	const struct build_request *r = b->request;
	struct run_outcome outcome = {.arena = ARENA_INIT};
	struct run_request run = {.dir = b->task_dir,
		.argv = r->argv,
		.env = r->env,
		.control_dir = b->control,
		.log_path = b->log,
		.cpus = r->cpus,
		.sandbox = r->sandbox,
		.hidden = r->hidden,
		.shown = r->shown,
		.limits = {.wall_s = r->timeout_s}};
	TRY(make_dirs(b->control, 0700, reterr));
	TRY(runner_run(runner, &run, progress, context, &outcome, reterr));
	bool exited = outcome.end == RUN_EXITED, stopped = outcome.end == RUN_STOPPED;
	b->result.ok = exited && outcome.exit_status == 0;
	b->result.status = exited                         ? outcome.exit_status
			   : outcome.end == RUN_SIGNALLED ? 128 + outcome.exit_signal
							  : STATUS_TIMEOUT;
	note_host_fault(b, &outcome);
	*ret_final = (exited || outcome.end == RUN_SIGNALLED) && !b->result.host_fault;
	run_outcome_release(&outcome);
	return stopped ? err_set(reterr, ERR_INTERRUPTED, "the build was stopped") : OK;
}

static enum err_code append_log(const struct build *b, const char *text, struct err *reterr)
{
	CLEANUP(close_fd) int fd = open(b->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_errno(reterr, "cannot write %s", b->log);
	return write_all(fd, text, strlen(text), reterr);
}

/* A hook that came with the patches or out of the build fails it, as a compiler's error would. */
static enum err_code check_hooks(struct build *b, const struct hook_files *before, struct err *reterr)
{
	struct hook_files after;
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT;
	hook_files_collect(b->tree, &after);
	const char *foreign = hook_files_foreign(before, &after, b->request->hook_dir);
	if (foreign) {
		strbuf_add_escaped(&line, foreign, strlen(foreign));
		strbuf_addstr(&line,
			": error: made or changed by a patch or the build; it would be taken for "
			"infrarsi's own hook\n");
	}
	hook_files_release(&after);
	if (!line.len)
		return OK;
	b->result.ok = false;
	b->result.status = 1;
	return append_log(b, line.buf, reterr);
}

/* Patches, inputs, the build command. *ret_final: whether the outcome may be cached. */
static enum err_code make_tree(struct build *b, struct runner *runner, run_progress_fn progress,
	void *context, bool *ret_final, struct err *reterr)
{
	bool applied = false;
	*ret_final = true;
	TRY(apply_diffs(b, &applied, reterr));
	if (!applied)
		return OK;
	TRY(link_inputs(b, reterr));
	if (b->request->argv && b->request->argv[0])
		return run_command(b, runner, progress, context, ret_final, reterr);
	b->result.ok = true;
	return OK;
}

static enum err_code build_tree(
	struct build *b, struct runner *runner, run_progress_fn progress, void *context, struct err *reterr)
{
	double started_s = clock_now_s();
	bool final = true;
	struct hook_files hooks;
	TRY(remove_tree(b->folder, reterr)); /* what an interrupted build left */
	TRY(make_dirs(b->folder, 0755, reterr));
	TRY(check_out(b, reterr));
	hook_files_collect(b->tree, &hooks);
	enum err_code code = make_tree(b, runner, progress, context, &final, reterr);
	if (code == OK && b->result.ok)
		code = check_hooks(b, &hooks, reterr);
	hook_files_release(&hooks);
	TRY(code);
	b->result.seconds = clock_now_s() - started_s;
	TRY(tree_set_writable(b->tree, false, reterr));
	return final ? write_outcome(b, reterr) : OK;
}

/* ---- the lock of one key ---- */

/* Waits for another build of the same key, as long as the caller's progress function agrees. */
static enum err_code take_lock(
	const struct build *b, run_progress_fn progress, void *context, int *ret_fd, struct err *reterr)
{
	int fd = open(b->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_errno(reterr, "cannot open %s", b->lock);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		struct timespec pause = {0, LOCK_POLL_MS * 1000000L};
		enum err_code code = OK;
		if (errno != EWOULDBLOCK && errno != EINTR)
			code = err_errno(reterr, "cannot lock %s", b->lock);
		else if (progress && !progress(context, NULL))
			code = err_set(reterr, ERR_INTERRUPTED,
				"stopped while another build of %s was running", b->key);
		if (code != OK) {
			close(fd);
			return code;
		}
		nanosleep(&pause, NULL);
	}
	*ret_fd = fd;
	return OK;
}

static enum err_code build_or_find(
	struct build *b, struct runner *runner, run_progress_fn progress, void *context, struct err *reterr)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(free_ptr) char *builds = xasprintf("%s/builds", b->request->work_dir);
	TRY(make_dirs(builds, 0755, reterr));
	make_key(b);
	TRY(name_paths(b, reterr));
	TRY(take_lock(b, progress, context, &lock, reterr));
	if (read_outcome(b, NULL) == OK)
		return OK;
	return build_tree(b, runner, progress, context, reterr);
}

enum err_code workspace_build(struct runner *runner, const struct build_request *request,
	run_progress_fn progress, void *context, struct build_result *ret_result, struct err *reterr)
{
	struct build b = {.request = request, .arena = ARENA_INIT};
	enum err_code code = build_or_find(&b, runner, progress, context, reterr);
	arena_release(&b.arena);
	if (code == OK)
		*ret_result = b.result;
	return code;
}

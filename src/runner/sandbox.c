#include "base/base.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "runner/find_program.h"
#include "runner/sandbox.h"

/*
 * Capabilities: invoked by root, bwrap would leave all of them in place, and with CAP_SYS_ADMIN the job could
 * remount what is read-only. DAC_OVERRIDE stays, else root could not enter the folders of the user it works
 * for.
 */
static const char *const isolation[] = {
	"--unshare-pid",
	"--unshare-ipc",
	"--as-pid-1", /* our own init: it tells exit codes from signals, which bwrap's folds into one number
		       */
	"--die-with-parent",
	"--cap-drop",
	"ALL",
};
static const char *const file_system[] = {
	"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"};

/* A private /dev, not the host's: as root the job could write disks through it. These are let in:
 * accelerators and fabrics. */
static const char *const device_patterns[] = {
	"/dev/nvidia*",
	"/dev/dri",
	"/dev/kfd",
	"/dev/accel*",
	"/dev/neuron*",
	"/dev/habanalabs*",
	"/dev/infiniband",
	"/dev/gdrdrv",
	"/dev/knem",
	"/dev/xpmem",
	"/dev/cxi*",
};

/* Sockets through which a process outside can be asked to run something: a read-only mount does not keep
 * anyone from connecting. */
static const char *const control_sockets[] = {
	"/run/docker.sock",
	"/run/containerd",
	"/run/podman",
	"/run/crio",
	"/run/dbus",
	"/run/user",
	"/run/systemd/private",
	"/run/snapd.socket",
};

struct words {
	struct arena *arena;
	const char **items;
	size_t count, capacity;
};

static void add(struct words *w, const char *word)
{
	grow_array(&w->items, &w->capacity, w->count + 1, sizeof(*w->items));
	w->items[w->count++] = word;
}

static void add_all(struct words *w, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(w, words[i]);
}

static void add_mount(struct words *w, const char *kind, const char *from, const char *to)
{
	add(w, kind);
	add(w, from);
	add(w, to);
}

static void add_base(struct words *w, const struct sandbox *sandbox, bool network)
{
	add(w, sandbox->bwrap);
	add_all(w, isolation, ARRAY_LEN(isolation));
	if (geteuid() == 0 && !sandbox->user_namespace) {
		add(w, "--cap-add");
		add(w, "CAP_DAC_OVERRIDE");
	}
	if (sandbox->user_namespace)
		add(w, "--unshare-user");
	if (!network)
		add(w, "--unshare-net");
	add_all(w, file_system, ARRAY_LEN(file_system));
}

static void add_devices(struct words *w)
{
	for (size_t i = 0; i < ARRAY_LEN(device_patterns); i++) {
		glob_t found;
		if (glob(device_patterns[i], GLOB_NOSORT, NULL, &found) == 0)
			for (size_t k = 0; k < found.gl_pathc; k++) {
				const char *path = arena_strdup(w->arena, found.gl_pathv[k]);
				add_mount(w, "--dev-bind-try", path, path);
			}
		globfree(&found);
	}
}

/* Mount targets are canonical: inside, a symbolic link on the way would be followed from the wrong root. */
static const char *canonical(struct words *w, const char *path)
{
	CLEANUP(free_ptr) char *real = realpath(path, NULL);
	return real ? arena_strdup(w->arena, real) : NULL;
}

static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);
	return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static void add_hidden(struct words *w, const char *path)
{
	if (path_is_dir(path)) {
		add(w, "--tmpfs");
		add(w, path);
	} else {
		add_mount(w, "--ro-bind", "/dev/null", path);
	}
}

/* Another hidden folder, on the same side of the job's own, holds it: that hides it, too. */
static bool is_covered(
	struct words *w, const struct run_request *r, size_t index, const char *path, const char *dir)
{
	for (size_t i = 0; r->hidden[i]; i++) {
		const char *other = canonical(w, r->hidden[i]);
		if (i == index || !other || !path_is_dir(other) ||
			is_below(other, dir) != is_below(path, dir))
			continue;
		if (is_below(path, other) && (strcmp(path, other) != 0 || i < index))
			return true;
	}
	return false;
}

/* Canonical; NULL = there is nothing to hide. */
static const char *hidden_path(struct words *w, const struct run_request *r, size_t index, const char *dir)
{
	const char *path = canonical(w, r->hidden[index]);
	return path && !is_covered(w, r, index, path, dir) ? path : NULL;
}

/* Hidden paths that hold the job's folder are hidden before it is mounted, those inside it afterwards. */
static void add_hidden_paths(struct words *w, const struct run_request *r, const char *dir, bool inside)
{
	for (size_t i = 0; r->hidden && r->hidden[i]; i++) {
		const char *path = hidden_path(w, r, i, dir);
		if (path && is_below(path, dir) == inside)
			add_hidden(w, path);
	}
}

/* What of the hidden folders the job needs all the same. */
static void add_shown_paths(struct words *w, const struct run_request *r)
{
	for (size_t i = 0; r->shown && r->shown[i]; i++) {
		const char *path = canonical(w, r->shown[i]);
		if (path)
			add_mount(w, "--ro-bind", path, path);
	}
}

static void seal(struct words *w, const char *path)
{
	if (path && path_is_dir(path)) {
		add(w, "--remount-ro");
		add(w, path);
	}
}

/* What stands in a hidden folder's place is empty and stays so: behind all mounts below it, which keep their
 * own rights. */
static void seal_hidden_paths(struct words *w, const struct run_request *r, const char *dir)
{
	for (size_t i = 0; i < ARRAY_LEN(control_sockets); i++)
		seal(w, control_sockets[i]);
	for (size_t i = 0; r->hidden && r->hidden[i]; i++)
		seal(w, hidden_path(w, r, i, dir));
}

static void add_read_only(struct words *w, const struct run_request *r, const char *dir)
{
	for (size_t i = 0; r->read_only && r->read_only[i]; i++) {
		const char *given = r->read_only[i];
		const char *path =
			canonical(w, *given == '/' ? given : arena_printf(w->arena, "%s/%s", dir, given));
		if (path && is_below(path, dir)) /* a link to the outside is read-only already */
			add_mount(w, "--ro-bind", path, path);
	}
}

/* A project that itself lives in /tmp stays visible, read-only, although /tmp is private. */
static void add_project_in_tmp(struct words *w, const char *path)
{
	if (strncmp(path, "/tmp/", 5) != 0)
		return;
	const char *first = arena_strndup(w->arena, path, 5 + strcspn(path + 5, "/"));
	add_mount(w, "--ro-bind", first, first);
}

/* The hooks that a job includes or imports belong to the harness: they can be read wherever it is installed,
 * also below the private /tmp. */
static void add_hooks(struct words *w, const char *const *env)
{
	static const char name[] = "INFRARSI_HOOK_DIR=";
	for (size_t i = 0; env && env[i]; i++) {
		const char *path = strncmp(env[i], name, sizeof(name) - 1) == 0
					   ? canonical(w, env[i] + sizeof(name) - 1)
					   : NULL;
		if (path && strncmp(path, "/tmp/", 5) == 0)
			add_mount(w, "--ro-bind", path, path);
	}
}

enum err_code sandbox_argv(const struct sandbox *sandbox, const struct run_request *request,
	struct arena *arena, const char ***ret_argv, struct err *reterr)
{
	struct words w = {.arena = arena};
	const char *dir = canonical(&w, request->dir);
	const char *events = canonical(&w, arena_printf(arena, "%s/events", request->control_dir));
	if (!dir || !events)
		return err_errno(reterr, "cannot resolve %s", dir ? request->control_dir : request->dir);
	add_base(&w, sandbox, request->network);
	add_devices(&w);
	add_project_in_tmp(&w, dir);
	add_project_in_tmp(&w, events);
	add_hooks(&w, request->env);
	for (size_t i = 0; i < ARRAY_LEN(control_sockets); i++)
		if (path_exists(control_sockets[i]))
			add_hidden(&w, control_sockets[i]);
	add_hidden_paths(&w, request, dir, false);
	add_shown_paths(&w, request);
	add_mount(&w, "--bind", dir, dir);
	add_read_only(&w, request, dir);
	add_hidden_paths(&w, request, dir, true);
	add_mount(&w, "--bind", events, events);
	seal_hidden_paths(&w, request, dir);
	add(&w, "--");
	const char **argv = arena_array(arena, w.count + 1, sizeof(*argv));
	memcpy(argv, w.items, w.count * sizeof(*argv));
	free(w.items);
	*ret_argv = argv;
	return OK;
}

static bool try_once(struct sandbox *sandbox)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	struct arena arena = ARENA_INIT;
	struct words w = {.arena = &arena};
	struct err error = ERR_INIT;
	int status = -1;
	add_base(&w, sandbox, false);
	add_all(&w, (const char *const[]){"--", "true", NULL}, 3);
	struct process_run run = {.argv = w.items, .timeout_s = 20};
	enum err_code code = process_run(&run, &output, NULL, &status, &error);
	if (code == OK)
		strbuf_add_escaped(&shown, output.buf, MIN_OF(strcspn(output.buf, "\n"), (size_t)300));
	snprintf(sandbox->reason, sizeof(sandbox->reason), "%.400s", code == OK ? shown.buf : error.message);
	free(w.items);
	arena_release(&arena);
	return code == OK && status == 0;
}

void sandbox_probe(struct sandbox *sandbox)
{
	if (sandbox->probed)
		return;
	*sandbox = (struct sandbox){.probed = true};
	if (!find_program("bwrap", sandbox->bwrap, sizeof(sandbox->bwrap))) {
		snprintf(sandbox->reason, sizeof(sandbox->reason), "bwrap (bubblewrap) is not installed");
		return;
	}
	sandbox->works = try_once(sandbox);
	if (!sandbox->works) {
		sandbox->user_namespace = true;
		sandbox->works = try_once(sandbox);
	}
}

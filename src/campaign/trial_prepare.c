#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "campaign/slots.h"
#include "campaign/trial_int.h"
#include "patch/patch.h"

/* What every job gets; everything else of the user's environment stays out unless pass_env names it. */
static const char *const inherited_names[] = {"PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH",
	"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};

struct env_list {
	struct arena *arena;
	const char **items;
	size_t count;
};

static size_t name_length(const char *item)
{
	return strcspn(item, "=");
}

/* The last value of a name wins. */
static void env_set(struct env_list *list, const char *item)
{
	size_t length = name_length(item);
	for (size_t i = 0; i < list->count; i++)
		if (name_length(list->items[i]) == length && strncmp(list->items[i], item, length) == 0) {
			list->items[i] = item;
			return;
		}
	list->items[list->count++] = item;
}

static void env_inherit(struct env_list *list, const char *name)
{
	const char *value = getenv(name);
	if (value)
		env_set(list, arena_printf(list->arena, "%s=%s", name, value));
}

static size_t count_strings(const char *const *strings)
{
	size_t n = 0;
	while (strings && strings[n])
		n++;
	return n;
}

static void common_environment(struct campaign *c, const struct preparation *p, struct env_list *list)
{
	const char *home = p->scratch ? p->scratch : "/tmp";
	for (size_t i = 0; i < ARRAY_LEN(inherited_names); i++)
		env_inherit(list, inherited_names[i]);
	env_set(list, arena_printf(list->arena, "HOME=%s", home));
	env_set(list, arena_printf(list->arena, "TMPDIR=%s", home));
	env_set(list, arena_printf(list->arena, "INFRARSI_HOOK_DIR=%s", c->options.hook_dir));
}

static struct env_list env_new(struct campaign *c, struct preparation *p, const char *const *own)
{
	size_t room = ARRAY_LEN(inherited_names) + c->task.launch.pass_env.count + count_strings(own) +
		      count_strings(p->slot_env) + 8;
	struct env_list list = {&p->arena, arena_array(&p->arena, room, sizeof(char *)), 0};
	common_environment(c, p, &list);
	return list;
}

/* Python's own way to modules comes first to the harness's: `import infrarsi_hook` finds ours, and the
 * sitecustomize beside it keeps it so (hooks/sitecustomize.py). What the task wants on the path comes behind.
 */
static void add_python_path(struct campaign *c, struct env_list *list)
{
	static const char name[] = "PYTHONPATH=";
	const char *theirs = "";
	for (size_t i = 0; i < list->count; i++)
		if (strncmp(list->items[i], name, sizeof(name) - 1) == 0)
			theirs = list->items[i] + sizeof(name) - 1;
	env_set(list,
		arena_printf(list->arena, "%s%s%s%s", name, c->options.hook_dir, *theirs ? ":" : "", theirs));
}

static void job_environment(struct campaign *c, struct preparation *p)
{
	struct env_list list = env_new(c, p, p->resolved.env);
	for (size_t i = 0; i < c->task.launch.pass_env.count; i++)
		env_inherit(&list, c->task.launch.pass_env.items[i]);
	for (size_t i = 0; p->resolved.env && p->resolved.env[i]; i++)
		env_set(&list, p->resolved.env[i]);
	for (size_t i = 0; p->slot_env[i]; i++)
		env_set(&list, p->slot_env[i]);
	add_python_path(c, &list);
	env_set(&list, arena_printf(&p->arena, "INFRARSI_EVENT_PATH=%s/events", p->control_dir));
	env_set(&list, arena_printf(&p->arena, "INFRARSI_NONCE=%s", p->nonce));
	if (p->request->role == ROLE_PROFILE)
		env_set(&list, "INFRARSI_PROFILE=1");
	p->job_env = list.items;
}

static void build_environment(struct campaign *c, struct preparation *p)
{
	struct env_list list = env_new(c, p, p->resolved.build_env);
	for (size_t i = 0; p->resolved.build_env && p->resolved.build_env[i]; i++)
		env_set(&list, p->resolved.build_env[i]);
	p->build_env = list.items;
}

/* The task's own variables with their values; passed-through ones by name, for a value may be a secret. */
static void recorded_environment(struct campaign *c, struct preparation *p)
{
	const struct string_list *pass = &c->task.launch.pass_env;
	size_t own = count_strings(p->resolved.env), slot = count_strings(p->slot_env);
	p->recorded_env = arena_array(&p->arena, own + slot + pass->count, sizeof(char *));
	for (size_t i = 0; i < own; i++)
		p->recorded_env[p->n_recorded_env++] = p->resolved.env[i];
	for (size_t i = 0; i < slot; i++)
		p->recorded_env[p->n_recorded_env++] = p->slot_env[i];
	for (size_t i = 0; i < pass->count; i++)
		p->recorded_env[p->n_recorded_env++] = pass->items[i];
}

/* `paths`: of n diffs that were made for the same tree. What is left applies one after another. */
static enum err_code merge_stack(struct campaign *c, struct preparation *p, const char *const *names,
	const char **paths, size_t n, struct err *reterr)
{
	const char **merged = arena_array(&p->arena, n + 1, sizeof(char *));
	struct err why = ERR_INIT;
	size_t kept = 0;
	enum err_code code = patch_stack_files(c->task.root, c->snapshot.commit, c->snapshot.prefix, names,
		paths, n, &p->arena, merged, &why);
	p->diff_paths = paths;
	/* Diffs that do not go together: the build says which, and that is an outcome. */
	if (code == ERR_INPUT)
		return OK;
	if (code != OK)
		return err_set(reterr, code, "%s", why.message);
	for (size_t i = 0; i < n; i++)
		if (merged[i])
			paths[kept++] = merged[i];
	paths[kept] = NULL;
	return OK;
}

static enum err_code patch_stack(struct campaign *c, struct preparation *p, struct err *reterr)
{
	const struct space *space = &c->state.space;
	const char **paths = arena_array(&p->arena, space->n_patches + 1, sizeof(char *));
	const char **names = arena_array(&p->arena, space->n_patches + 1, sizeof(char *));
	size_t n = 0;
	p->diff_digests = arena_array(&p->arena, space->n_patches + 1, sizeof(char *));
	for (size_t i = 0; i < space->n_patches; i++) {
		if (p->request->candidate->setting[c->task.n_knobs + i] == 0)
			continue;
		TRY(state_check_diff(&c->state, i, c->dir, reterr));
		names[n] = space->patches[i].name;
		paths[n] = arena_printf(&p->arena, "%s/%s", c->dir, c->state.patch_paths[i]);
		p->diff_digests[n++] = arena_strdup(&p->arena, space->patches[i].digest);
	}
	return merge_stack(c, p, names, paths, n, reterr);
}

/* Where the repository's history is: not always <root>/.git (a task in a subfolder, a linked worktree). NULL
 * = not found. */
static const char *git_folder(const struct campaign *c, struct arena *arena)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT;
	struct err ignored = ERR_INIT;
	if (git_run(c->task.root, &path, &ignored, "rev-parse", "--path-format=absolute", "--git-common-dir",
		    NULL) != OK)
		return NULL;
	return arena_strndup(arena, path.buf, strcspn(path.buf, "\n"));
}

/* What a job has no business reading: the campaign's records (receipts, logs and journals hold the losses
 * that a job could repeat as its own), the repository's history, the signing keys. Of .infrarsi it may read
 * its own build, for absolute paths of that end up in what is built, and its own folder, which its evaluation
 * looks into from another; not the folder of one that runs beside it. */
static void hidden_paths(struct campaign *c, struct preparation *p)
{
	const char *state_home = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	const char *git_dir = git_folder(c, &p->arena);
	size_t n = 0, kept = 0;
	p->hidden = arena_array(&p->arena, 4, sizeof(char *));
	p->hidden[n++] = c->dir;
	if (git_dir)
		p->hidden[n++] = git_dir;
	if (state_home && *state_home == '/') /* a relative one is ignored, as where the keys are made */
		p->hidden[n++] = arena_printf(&p->arena, "%s/infrarsi/keys", state_home);
	else if (home)
		p->hidden[n++] = arena_printf(&p->arena, "%s/.local/state/infrarsi/keys", home);
	for (size_t i = 0; i < n; i++)
		if (path_exists(p->hidden[i]))
			p->hidden[kept++] = p->hidden[i];
	p->hidden[kept] = NULL;
	p->shown = arena_array(&p->arena, 3, sizeof(char *));
	p->shown[0] = arena_printf(&p->arena, "%s/work/builds", c->dir);
	p->shown[1] = arena_printf(&p->arena, "%s/work/trials/%04lld", c->dir, (long long)p->seq);
}

/* Each is one mount of the sandbox; of more files than this the hashes before and after are the guard. */
enum { READ_ONLY_MAX = 256 };

static void frozen_files(struct campaign *c, struct preparation *p)
{
	p->frozen = arena_array(&p->arena, c->lock.n_files + 1, sizeof(char *));
	p->inputs = arena_array(&p->arena, c->lock.n_files + 1, sizeof(char *));
	for (size_t i = 0; i < c->lock.n_files; i++)
		p->inputs[i] = c->lock.files[i].path;
	for (size_t i = 0; i < c->lock.n_files && c->lock.n_files <= READ_ONLY_MAX; i++)
		p->frozen[i] = c->lock.files[i].path;
}

static void paths(struct campaign *c, struct preparation *p)
{
	p->control_dir = arena_printf(&p->arena, "%s/control/%04lld", c->dir, (long long)p->seq);
	if (runner_sandbox_fault(&c->runner, c->options.sandbox))
		p->scratch = arena_printf(&p->arena, "%s/home", p->control_dir);
	p->log_relative = arena_printf(&p->arena, "logs/%04lld.log", (long long)p->seq);
	p->log_path = arena_printf(&p->arena, "%s/%s", c->dir, p->log_relative);
}

/* Wall time grows with the updates. What a resumed run has to report is laid down for the contract's number
 * of updates and is checked there. */
static void lengthen(struct task *task, int updates)
{
	task->launch.timeout_s *= fmax(1, (double)updates / task->contract.updates);
	task->contract.updates = updates;
	task->contract.checkpoint_command = (struct string_list){0};
}

static enum err_code resolve(struct campaign *c, struct preparation *p, struct err *reterr)
{
	struct space space = c->state.space;
	space.task = &p->task;
	return space_resolve(&space, p->request->candidate, &p->arena, &p->resolved, reterr);
}

enum err_code preparation_init(struct campaign *c, const struct execute_request *request,
	struct preparation *ret_p, struct err *reterr)
{
	struct preparation p = {.request = request, .task = c->task, .seq = c->state.next_seq};
	if (request->updates)
		lengthen(&p.task, request->updates);
	unsigned char bytes[16];
	random_bytes(bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), p.nonce);
	enum err_code code = resolve(c, &p, reterr);
	if (code != OK) {
		arena_release(&p.arena);
		return code;
	}
	*ret_p = p;
	paths(c, ret_p);
	slot_fill(&c->task.launch, request->slot, ret_p);
	job_environment(c, ret_p);
	build_environment(c, ret_p);
	recorded_environment(c, ret_p);
	code = patch_stack(c, ret_p, reterr);
	if (code != OK) {
		arena_release(&ret_p->arena);
		return code;
	}
	hidden_paths(c, ret_p);
	frozen_files(c, ret_p);
	resolved_build_key(&ret_p->resolved, ret_p->build_key);
	return OK;
}

void preparation_release(struct preparation *p)
{
	arena_release(&p->arena);
}

static void add_words(struct strbuf *text, const char *label, const char *const *words)
{
	if (!words || !words[0])
		return;
	strbuf_addf(text, "%s", label);
	for (size_t i = 0; words[i]; i++) {
		strbuf_addch(text, ' ');
		strbuf_add_shell(text, words[i]);
	}
	strbuf_addch(text, '\n');
}

enum err_code trial_describe(
	struct campaign *c, const struct candidate *candidate, struct strbuf *text, struct err *reterr)
{
	struct execute_request request = {.role = ROLE_SEARCH, .candidate = candidate, .label = ""};
	struct preparation p;
	if (c->unreadable.code != OK)
		return campaign_check_contract(c, reterr);
	TRY(preparation_init(c, &request, &p, reterr));
	strbuf_addstr(text, "candidate ");
	candidate_describe(candidate, NULL, &c->state.space, text);
	strbuf_addch(text, '\n');
	add_words(text, "patches  ", p.diff_paths);
	add_words(text, "build    ", p.resolved.build_argv);
	add_words(text, "build env", p.build_env);
	add_words(text, "run      ", p.resolved.argv);
	add_words(text, "with     ", p.resolved.env);
	add_words(text, "slot     ", p.slot_env);
	for (size_t i = 0; i < c->task.launch.pass_env.count; i++)
		strbuf_addf(text, "passes    %s (value not shown)\n", c->task.launch.pass_env.items[i]);
	add_words(text, "frozen   ", p.frozen);
	preparation_release(&p);
	return OK;
}

/* proposers: what their table of fields cannot say. */
#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/url.h"
#include "spec/names.h"
#include "spec/task_draft.h"

enum { PROPOSERS_MAX = 16, NAME_LENGTH_MAX = 32 };

const char *const proposer_kind_names[N_PROPOSER_KINDS + 1] = {[PROPOSE_PATCHES] = "patches",
	[PROPOSE_CATALOGUE] = "catalogue",
	[PROPOSE_OPENAI] = "openai",
	[PROPOSE_ANTHROPIC] = "anthropic",
	[PROPOSE_COMMAND] = "command",
	[PROPOSE_REPLAY] = "replay"};

bool proposer_is_asked(const struct proposer *p)
{
	return p->kind != PROPOSE_PATCHES && p->kind != PROPOSE_CATALOGUE;
}

static bool is_server(const struct proposer *p)
{
	return p->kind == PROPOSE_OPENAI || p->kind == PROPOSE_ANTHROPIC;
}

/* ---- one of them ---- */

/* The task file is committed, copied and shown: whoever writes a key into it is told before it is used. The
 * messages of this file never quote what may be one. */
static enum err_code refuse_keys(
	const struct reader *r, const char *where, const struct tree_node *map, struct err *reterr)
{
	static const char *const words[] = {"key", "api_key", "apikey", "token", "api_token", "access_token",
		"auth_token", "auth", "authorization", "bearer", "credentials", "password", "secret"};
	for (const struct tree_node *node = map->first; map->kind == TREE_MAP && node; node = node->next) {
		char *name = arena_strdup(r->arena, node->key->text);
		for (char *dash = name; (dash = strchr(dash, '-'));)
			*dash = '_';
		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			if (strcasecmp(name, words[i]) == 0)
				return node_error(r, node->key, reterr,
					"%s: '%s': a key never stands in the task file; name the environment "
					"variable that holds it (key_env: of a server, pass_env: of a "
					"command)",
					where, node->key->text);
	}
	return OK;
}

static enum err_code check_name(const struct reader *r, const char *where, const struct tree_node *node,
	const char *name, struct err *reterr)
{
	size_t length = strlen(name);
	if (length && length <= NAME_LENGTH_MAX &&
		strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length)
		return OK;
	return node_error(r, node, reterr, "%s.name: expected 1 to %d of a-z, 0-9 and -, got '%s'", where,
		NAME_LENGTH_MAX, printable(name, r->arena));
}

static enum err_code check_dir(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *map, struct proposer *p, struct err *reterr)
{
	const struct tree_node *dir = tree_find(map, "dir");
	if (!dir && p->branches.count)
		return OK;
	if (!dir)
		return node_error(r, map, reterr,
			"%s needs the key 'dir' (the folder of diffs) or 'branches' (of git)", where);
	size_t length = strlen(p->dir);
	while (length > 1 && p->dir[length - 1] == '/')
		length--;
	p->dir = arena_strndup(r->arena, p->dir, length);
	return read_pattern(r, field, arena_printf(r->arena, "%s.dir", where),
		&(const struct tree_node){.kind = TREE_SCALAR,
			.text = p->dir,
			.line = dir->line,
			.column = dir->column,
			.is_quoted = true},
		&p->dir, reterr);
}

static enum err_code check_server(const struct reader *r, const char *where, const struct tree_node *map,
	const struct proposer *p, struct err *reterr)
{
	const struct tree_node *url = tree_find(map, "base_url"), *key = tree_find(map, "key_env");
	const char *fault = url ? url_base_fault(p->base_url) : NULL;
	if (fault)
		return node_error(r, url, reterr, "%s.base_url: the address %s", where, fault);
	/* A server of one's own network has no certificate, and no key that somebody could read. */
	if (url && p->key_env && !url_is_encrypted(p->base_url) && !url_is_local(p->base_url))
		return node_error(r, url, reterr,
			"%s.base_url: a key is sent over https only, or to this machine (localhost, "
			"127.0.0.1, "
			"[::1])",
			where);
	if (key && !name_is_environment(p->key_env))
		return node_error(r, key, reterr,
			"%s.key_env: expected the name of an environment variable; the key itself never "
			"stands in the task file",
			where);
	return OK;
}

static enum err_code check_program(const struct reader *r, const char *where, const struct tree_node *map,
	const struct proposer *p, struct err *reterr)
{
	if (*p->command.items[0])
		return OK;
	return node_error(r, tree_find(map, "command")->first, reterr,
		"%s.command: the first word names the program: it must not be empty", where);
}

enum err_code read_proposer(struct reader *r, const struct field *field, const char *where,
	const struct tree_node *value, void *target, struct err *reterr)
{
	struct proposer_draft draft = {0};
	struct proposer *p = &draft.proposer;
	TRY(refuse_keys(r, where, value, reterr));
	TRY(fields_read(r, field->table, where, value, &draft, reterr));
	p->place = (struct place){value->line, value->column};
	p->is_lenient = draft.mode == REPLAY_LENIENT;
	if (p->name)
		TRY(check_name(r, where, tree_find(value, "name"), p->name, reterr));
	if (p->kind == PROPOSE_PATCHES)
		TRY(check_dir(r, field, where, value, p, reterr));
	else if (p->kind == PROPOSE_COMMAND)
		TRY(check_program(r, where, value, p, reterr));
	else if (is_server(p))
		TRY(check_server(r, where, value, p, reterr));
	*(struct proposer *)target = *p;
	return OK;
}

/* ---- all of them ---- */

static bool is_taken(const struct task *task, const char *name)
{
	for (size_t i = 0; i < task->n_proposers; i++)
		if (task->proposers[i].name && strcmp(task->proposers[i].name, name) == 0)
			return true;
	return false;
}

/* Folders of patches and lists of branches are asked nothing and record nothing under their name: a second
 * one needs none of its own. */
static const char *free_name(const struct task *task, const char *kind, struct arena *arena)
{
	const char *name = kind;
	for (int number = 2; is_taken(task, name); number++)
		name = arena_printf(arena, "%s-%d", kind, number);
	return name;
}

static enum err_code name_them(struct task_draft *draft, const struct tree_node *list, struct err *reterr)
{
	struct task *task = &draft->task;
	const struct tree_node *node = list->first;
	for (size_t i = 0; i < task->n_proposers; i++, node = node->next) {
		struct proposer *p = &task->proposers[i];
		const struct tree_node *own = tree_find(node, "name");
		if (p->kind == PROPOSE_PATCHES && !own)
			continue;
		const char *name = own ? p->name : proposer_kind_names[p->kind];
		p->name = NULL;
		if (is_taken(&(const struct task){.proposers = task->proposers, .n_proposers = i}, name))
			return node_error(&draft->reader, own ? own : node, reterr,
				"proposers: there are two of the name '%s': give one a name of its own "
				"(name: ...)",
				name);
		p->name = name;
	}
	for (size_t i = 0; i < task->n_proposers; i++)
		if (!task->proposers[i].name)
			task->proposers[i].name = free_name(
				task, proposer_kind_names[task->proposers[i].kind], draft->reader.arena);
	return OK;
}

static enum err_code check_count(
	const struct task_draft *draft, const struct tree_node *list, struct err *reterr)
{
	const struct task *task = &draft->task;
	const struct tree_node *node = list->first;
	bool has_catalogue = false;
	for (size_t i = 0; i < task->n_proposers; i++, node = node->next) {
		bool is_catalogue = task->proposers[i].kind == PROPOSE_CATALOGUE;
		if (i >= PROPOSERS_MAX)
			return node_error(&draft->reader, node, reterr, "proposers: at most %d are allowed",
				PROPOSERS_MAX);
		if (is_catalogue && has_catalogue)
			return node_error(&draft->reader, node, reterr,
				"proposers: at most one of kind catalogue is allowed: two would propose the "
				"same");
		has_catalogue |= is_catalogue;
	}
	return OK;
}

/* A limit of money on what nobody can price would never be reached. */
static enum err_code check_price(const struct task_draft *draft, const struct proposer *p,
	const struct tree_node *node, struct err *reterr)
{
	static const char hint[] =
		"say price: {in: ..., out: ...}, USD for a million tokens, or nobody can tell "
		"what an answer costs";
	if (!is_server(p) || url_is_local(p->base_url) || tree_find(node, "price"))
		return OK;
	if (p->usd > 0)
		return node_error(&draft->reader, tree_find(tree_find(node, "budget"), "usd"), reterr,
			"proposers.budget.usd: %s", hint);
	if (draft->task.budget.usd > 0)
		return node_error(&draft->reader, node, reterr,
			"proposers: budget.usd limits what '%s' may cost: %s", p->name, hint);
	return OK;
}

/* What patches may make of the job must not reach the key of who wrote them. */
static enum err_code check_key_stays(const struct task_draft *draft, const struct proposer *p,
	const struct tree_node *node, struct err *reterr)
{
	const struct string_list *passed = &draft->task.launch.pass_env;
	for (size_t i = 0; p->key_env && i < passed->count; i++)
		if (strcmp(passed->items[i], p->key_env) == 0)
			return node_error(&draft->reader, tree_find(node, "key_env"), reterr,
				"proposers.key_env: launch.pass_env hands %s to the job: a proposer's key "
				"stays "
				"with infrarsi",
				p->key_env);
	return OK;
}

static enum err_code check_on_disk(const struct task_draft *draft, const struct proposer *p,
	const struct tree_node *node, struct err *reterr)
{
	struct arena *arena = draft->reader.arena;
	const char *key = p->dir ? "dir" : "file", *path = p->dir ? p->dir : p->file;
	const struct tree_node *place = tree_find(node, key);
	if (!path)
		return OK;
	const char *full = *path == '/' ? path : arena_printf(arena, "%s/%s", draft->task.root, path);
	if (p->dir ? path_is_dir(full) : path_exists(full) && !path_is_dir(full))
		return OK;
	return err_set_at(reterr, ERR_NOT_FOUND, draft->task.path, place->line, place->column,
		"proposers.%s: there is no %s '%s'%s", key, p->dir ? "folder" : "file",
		printable(path, arena), *path == '/' ? "" : " beside the task file");
}

enum err_code task_check_proposers(struct task_draft *draft, struct err *reterr)
{
	const struct tree_node *list = draft_node(draft, "proposers");
	if (!list)
		return OK;
	TRY(check_count(draft, list, reterr));
	TRY(name_them(draft, list, reterr));
	const struct tree_node *node = list->first;
	for (size_t i = 0; i < draft->task.n_proposers; i++, node = node->next) {
		TRY(check_key_stays(draft, &draft->task.proposers[i], node, reterr));
		TRY(check_price(draft, &draft->task.proposers[i], node, reterr));
		TRY(check_on_disk(draft, &draft->task.proposers[i], node, reterr));
	}
	return OK;
}

bool task_has_patches(const struct task *task)
{
	bool may_edit = task->contract.editable_files.count > 0;
	for (size_t i = 0; i < task->n_proposers; i++) {
		const struct proposer *p = &task->proposers[i];
		bool makes_patches = p->kind == PROPOSE_CATALOGUE || p->patches > 0;
		if (p->kind == PROPOSE_PATCHES || (makes_patches && may_edit))
			return true;
	}
	return false;
}

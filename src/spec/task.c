#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "spec/task_draft.h"

const struct knob *task_find_knob(const struct task *task, const char *name)
{
	for (size_t i = 0; i < task->n_knobs; i++)
		if (strcmp(task->knobs[i].name, name) == 0)
			return &task->knobs[i];
	return NULL;
}

void task_describe_fields(struct strbuf *text)
{
	fields_describe(&task_table, "", text);
}

void task_release(struct task *task)
{
	if (!task)
		return;
	struct arena arena = task->arena;
	*task = (struct task){0};
	arena_release(&arena);
}

const struct tree_node *draft_node(const struct task_draft *draft, const char *path)
{
	const struct tree_node *node = draft->root;
	while (node && *path) {
		size_t length = strcspn(path, ".");
		char *key = arena_strndup(draft->reader.arena, path, length);
		node = node->kind == TREE_MAP ? tree_find(node, key) : NULL;
		path += length + (path[length] == '.');
	}
	return node;
}

enum err_code place_error(
	const struct task *task, struct place place, struct err *reterr, const char *fmt, ...)
{
	char message[sizeof(reterr->message)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_set_at(reterr, ERR_INPUT, task->path, place.line, place.column, "%s", message);
}

/* First of all: in a file of another version, the other keys mean something else. */
static enum err_code check_version(const struct task_draft *draft, struct err *reterr)
{
	const struct tree_node *version = draft_node(draft, "version");
	if (!version || (version->kind == TREE_SCALAR && strcmp(version->text, "1") == 0))
		return OK;
	return node_error(&draft->reader, version, reterr, "version: this program reads version %d, got %s",
		TASK_VERSION, tree_describe(version, draft->reader.arena));
}

/* Which files a pattern matches is known only when the lock is computed, long after the tree is gone. */
static void keep_frozen_places(struct task_draft *draft)
{
	struct contract *contract = &draft->task.contract;
	const struct tree_node *list = draft_node(draft, "contract.frozen_files");
	const struct tree_node *node = list ? list->first : NULL;
	contract->frozen_places = arena_array(
		draft->reader.arena, contract->frozen_files.count, sizeof(*contract->frozen_places));
	for (size_t i = 0; node && i < contract->frozen_files.count; i++, node = node->next)
		contract->frozen_places[i] = (struct place){node->line, node->column};
}

static enum err_code read_draft(struct task_draft *draft, const char *text, size_t length, struct err *reterr)
{
	struct tree_node *root;
	TRY(tree_parse(draft->task.path, text, length, draft->reader.arena, &root, reterr));
	draft->root = root;
	TRY(check_version(draft, reterr));
	TRY(fields_read(&draft->reader, &task_table, "", root, draft, reterr));
	keep_frozen_places(draft);
	return task_check(draft, reterr);
}

enum err_code task_parse(const char *path, const char *root, const char *text, size_t length,
	struct task *ret_task, struct err *reterr)
{
	struct task_draft draft = {0};
	struct task *task = &draft.task;
	draft.reader.arena = &task->arena;
	draft.reader.path = task->path = arena_strdup(&task->arena, path);
	task->root = arena_strdup(&task->arena, root);
	sha256_hex(text, length, task->digest);
	enum err_code code = read_draft(&draft, text, length, reterr);
	reader_release(&draft.reader);
	if (code != OK)
		arena_release(&task->arena);
	else
		*ret_task = *task;
	return code;
}

static enum err_code folder_of(const char *path, char **ret_folder, struct err *reterr)
{
	CLEANUP(free_ptr) char *folder = xstrdup(path);
	char *slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	char *absolute = realpath(slash ? folder : ".", NULL);
	if (!absolute)
		return err_errno(reterr, "cannot find the folder of %s", path);
	*ret_folder = absolute;
	return OK;
}

enum err_code task_load(const char *path, struct task *ret_task, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(free_ptr) char *root = NULL;
	TRY(file_read(path, TREE_BYTES, &text, reterr));
	TRY(folder_of(path, &root, reterr));
	return task_parse(path, root, text.buf, text.len, ret_task, reterr);
}

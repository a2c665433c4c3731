#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "patch/change.h"
#include "patch/guard.h"
#include "spec/task.h"

void change_release(struct change *c)
{
	free(c->files);
	c->files = NULL;
	c->n_files = c->room = 0;
}

enum err_code change_refuse(
	const char *name, int place, const char *path, const char *reason, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	strbuf_add_escaped(&shown, path, MIN_OF(strlen(path), (size_t)300));
	return err_set_at(reterr, ERR_INPUT, name, place, 0, "%s: %s", shown.buf, reason);
}

static enum err_code read_old(const struct change *c, struct changed_file *file, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	enum scratch_kind kind;
	TRY(scratch_kind_of(c->scratch, c->tree, file->path, &kind, reterr));
	const char *reason = guard_kind(kind);
	if (reason)
		return change_refuse(c->name, file->place, file->path, reason, reterr);
	if (kind == SCRATCH_NOTHING)
		return OK;
	TRY(scratch_read(c->scratch, c->tree, file->path, &text, reterr));
	file->old = (struct old_file){true, arena_strndup(c->arena, text.buf, text.len), text.len};
	return OK;
}

enum err_code change_open(
	struct change *c, const char *path, int place, struct changed_file **ret_file, struct err *reterr)
{
	for (size_t i = 0; i < c->n_files; i++)
		if (strcmp(c->files[i].path, path) == 0) {
			*ret_file = &c->files[i];
			return OK;
		}
	struct changed_file file = {.path = arena_strdup(c->arena, path), .place = place};
	const char *reason = guard_path(&c->task->contract, path);
	if (reason)
		return change_refuse(c->name, place, path, reason, reterr);
	TRY(read_old(c, &file, reterr));
	file.now = file.old;
	grow_array(&c->files, &c->room, c->n_files + 1, sizeof(*c->files));
	c->files[c->n_files] = file;
	*ret_file = &c->files[c->n_files++];
	return OK;
}

void change_set(struct change *c, struct changed_file *file, const char *text, size_t length)
{
	file->now = (struct old_file){.exists = text != NULL, .length = text ? length : 0};
	if (text)
		file->now.text = arena_strndup(c->arena, text, length);
}

static bool has_nul(const struct old_file *file)
{
	return file->exists && file->length && memchr(file->text, '\0', file->length);
}

static enum err_code check_text(const struct change *c, const struct changed_file *file, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	if (has_nul(&file->old) || has_nul(&file->now))
		return change_refuse(c->name, file->place, file->path,
			"a binary file (it has NUL bytes): only text files can be patched", reterr);
	if (!file->old.exists && file->now.exists && !file->now.length)
		return change_refuse(c->name, file->place, file->path, "a new file without a line", reterr);
	strbuf_add_escaped(&shown, file->path, MIN_OF(strlen(file->path), (size_t)300));
	if (file->now.length > CHANGED_FILE_CAP_BYTES)
		return err_set_at(reterr, ERR_LIMIT, c->name, file->place, 0,
			"%s: would have %zu bytes, more than the %d that a patched file may have", shown.buf,
			file->now.length, CHANGED_FILE_CAP_BYTES);
	return OK;
}

enum err_code change_write(const struct change *c, char ret_tree[TREE_ID_SIZE], struct err *reterr)
{
	CLEANUP(free_ptr) struct scratch_file *files = xcalloc(c->n_files, sizeof(*files));
	for (size_t i = 0; i < c->n_files; i++) {
		const struct changed_file *file = &c->files[i];
		TRY(check_text(c, file, reterr));
		files[i] = (struct scratch_file){
			file->path, file->now.exists ? file->now.text : NULL, file->now.length};
	}
	return scratch_write(c->scratch, c->tree, files, c->n_files, ret_tree, reterr);
}

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
	for (size_t i = 0; i < c->n_files; i++)
		free(c->files[i].own);
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

static enum err_code check_length(const struct change *c, const struct changed_file *file, const char *verb,
	size_t length, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf shown = STRBUF_INIT;
	if (length <= CHANGED_FILE_CAP_BYTES)
		return OK;
	strbuf_add_escaped(&shown, file->path, MIN_OF(strlen(file->path), (size_t)300));
	return err_set_at(reterr, ERR_LIMIT, c->name, file->place, 0,
		"%s: %s %zu bytes, more than the %d that a patched file may have", shown.buf, verb, length,
		CHANGED_FILE_CAP_BYTES);
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
	TRY(check_length(c, file, "has", text.len, reterr));
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

void change_set_take(struct changed_file *file, struct strbuf *text)
{
	size_t length = text ? text->len : 0;
	char *own = text ? strbuf_detach(text) : NULL;
	free(file->own);
	file->own = own;
	file->now = (struct old_file){.exists = own != NULL, .text = own, .length = length};
}

bool changed_file_differs(const struct changed_file *file)
{
	const struct old_file *old = &file->old, *now = &file->now;
	return old->exists != now->exists || old->length != now->length ||
	       (old->length && memcmp(old->text, now->text, old->length) != 0);
}

static bool has_nul(const struct old_file *file)
{
	return file->exists && file->length && memchr(file->text, '\0', file->length);
}

static enum err_code check_text(const struct change *c, const struct changed_file *file, struct err *reterr)
{
	if (has_nul(&file->old) || has_nul(&file->now))
		return change_refuse(c->name, file->place, file->path,
			"a binary file (it has NUL bytes): only text files can be patched", reterr);
	if (!file->old.exists && file->now.exists && !file->now.length)
		return change_refuse(c->name, file->place, file->path,
			"a new file without a line, which a diff cannot show: give it one, such as a comment",
			reterr);
	return check_length(c, file, "would have", file->now.length, reterr);
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

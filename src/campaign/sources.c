#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "campaign/sources.h"
#include "patch/guard.h"

enum { FILE_CAP_BYTES = 256 << 10, TOGETHER_CAP_BYTES = 2 << 20 };

/* <commit>:<folder of the task, with a slash>; by malloc. */
static char *object_of(const struct campaign *c, const char *path)
{
	const char *prefix = c->snapshot.prefix;
	bool needs_slash = *prefix && prefix[strlen(prefix) - 1] != '/';
	return xasprintf("%s:%s%s%s", c->snapshot.commit, prefix, needs_slash ? "/" : "", path);
}

enum err_code sources_read_one(void *campaign, const char *path, struct strbuf *ret_text, struct err *reterr)
{
	const struct campaign *c = campaign;
	CLEANUP(free_ptr) char *object = object_of(c, path);
	enum err_code code = git_run(c->task.root, ret_text, reterr, "cat-file", "blob", object, NULL);
	/* ERR_INPUT: one patch that names it is refused, and the campaign goes on. */
	return code == ERR_FAILED ? err_set(reterr, ERR_INPUT, "%s is not in the reference", path) : code;
}

/* The path of an ordinary file in a line of ls-tree; NULL = a link or a submodule. */
static const char *ordinary_path(const char *line)
{
	static const char regular[] = "100";
	const char *tab = strchr(line, '\t');
	return tab && strncmp(line, regular, sizeof(regular) - 1) == 0 ? tab + 1 : NULL;
}

static int compare_paths(const void *a, const void *b)
{
	const struct source_file *x = a, *y = b;
	return strcmp(x->path, y->path);
}

static enum err_code list_editable(const struct campaign *c, struct arena *arena,
	struct source_file **ret_files, size_t *ret_count, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT;
	CLEANUP(free_ptr) char *folder = object_of(c, "");
	size_t length = strlen(folder), n = 0, room = 0;
	while (length && folder[length - 1] == '/')
		folder[--length] = '\0';
	/* Without --full-tree git looks for the folder that it runs in again, inside of what is named. */
	TRY(git_run(c->task.root, &list, reterr, "ls-tree", "-r", "-z", "--full-tree", folder, NULL));
	for (const char *line = list.buf; line < list.buf + list.len; line += strlen(line) + 1)
		room++;
	struct source_file *files = arena_array(arena, room, sizeof(*files));
	for (const char *line = list.buf; line < list.buf + list.len; line += strlen(line) + 1) {
		const char *path = ordinary_path(line);
		if (path && !guard_path(&c->task.contract, path))
			files[n++].path = arena_strdup(arena, path);
	}
	if (n)
		qsort(files, n, sizeof(*files), compare_paths);
	*ret_files = files;
	*ret_count = n;
	return OK;
}

enum err_code sources_read_editable(const struct campaign *c, struct arena *arena,
	struct source_file **ret_files, size_t *ret_count, struct err *reterr)
{
	struct source_file *files = NULL;
	size_t listed = 0, n = 0, together = 0;
	TRY(list_editable(c, arena, &files, &listed, reterr));
	for (size_t i = 0; i < listed; i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
		TRY(sources_read_one((void *)c, files[i].path, &text, reterr));
		if (text.len > FILE_CAP_BYTES || together + text.len > TOGETHER_CAP_BYTES ||
			memchr(text.buf, '\0', text.len))
			continue;
		together += text.len;
		files[n++] = (struct source_file){
			files[i].path, arena_strndup(arena, text.buf, text.len), text.len};
	}
	*ret_files = files;
	*ret_count = n;
	return OK;
}

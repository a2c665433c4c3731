#include "base/base.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "init/init_int.h"

void *init_grow(struct arena *arena, void *array, size_t count, size_t *capacity, size_t element_size)
{
	if (count < *capacity)
		return array;
	*capacity = MAX_OF(*capacity * 2, (size_t)16);
	void *moved = arena_array(arena, *capacity, element_size);
	if (count)
		memcpy(moved, array, count * element_size);
	return moved;
}

static enum err_code require_git(const char *dir, struct err *reterr)
{
	struct err git = ERR_INIT;
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	enum err_code code = git_run(dir, &output, &git, "rev-parse", "--is-inside-work-tree", NULL);
	if (code == ERR_NOT_FOUND)
		return err_set(reterr, code, "%s; InfraRSI needs git to snapshot the reference", git.message);
	if (code != OK || strncmp(output.buf, "true", 4) != 0)
		return err_set(reterr, ERR_STATE,
			"%s is not inside a git repository that can be used, and the reference is a snapshot "
			"of one. Next: cd %s && git init && git add -A && git commit -m start%s%s",
			dir, dir, code != OK ? "\n" : "", code != OK ? git.message : "");
	if (git_run(dir, &output, &git, "rev-parse", "--verify", "--quiet", "HEAD", NULL) != OK)
		return err_set(reterr, ERR_STATE,
			"the git repository of %s has no commit yet. Next: cd %s && git add -A && git commit "
			"-m start",
			dir, dir);
	return OK;
}

static bool is_regular(const struct repo *repo, const char *path)
{
	CLEANUP(free_ptr) char *full = xasprintf("%s/%s", repo->dir, path);
	struct stat st;
	return lstat(full, &st) == 0 && S_ISREG(st.st_mode);
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Files that git ignores (objects, binaries, logs) are no part of the job's source. */
static enum err_code list_files(struct repo *repo, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	TRY(git_run(repo->dir, &output, reterr, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard", "--deduplicate", NULL));
	repo->files = arena_array(repo->arena, INIT_FILES_MAX, sizeof(*repo->files));
	for (const char *p = output.buf; p < output.buf + output.len; p += strlen(p) + 1) {
		if (!path_is_contained(p) || !is_regular(repo, p))
			continue;
		if (repo->n_files == INIT_FILES_MAX) {
			repo->truncated = true;
			break;
		}
		repo->files[repo->n_files++] = arena_strdup(repo->arena, p);
	}
	if (repo->n_files)
		qsort(repo->files, repo->n_files, sizeof(*repo->files), compare_paths);
	return OK;
}

enum err_code repo_open(struct arena *arena, const char *dir, struct repo *ret_repo, struct err *reterr)
{
	char absolute[PATH_MAX];
	if (!realpath(dir, absolute) || !path_is_dir(absolute))
		return err_set(reterr, ERR_NOT_FOUND, "there is no folder %s", dir);
	TRY(require_git(absolute, reterr));
	struct repo repo = {.arena = arena, .dir = arena_strdup(arena, absolute)};
	TRY(list_files(&repo, reterr));
	*ret_repo = repo;
	return OK;
}

bool repo_has(const struct repo *repo, const char *path)
{
	return repo->n_files &&
	       bsearch(&path, repo->files, repo->n_files, sizeof(*repo->files), compare_paths);
}

static const char *skip_file(struct repo *repo, const char *path, const char *reason)
{
	if (repo->n_skipped < ARRAY_LEN(repo->skipped)) {
		CLEANUP(strbuf_release) struct strbuf note = STRBUF_INIT;
		strbuf_add_escaped(&note, path, strlen(path));
		strbuf_addf(&note, ": %s", reason);
		repo->skipped[repo->n_skipped++] = arena_strdup(repo->arena, note.buf);
	}
	return NULL;
}

const char *repo_read(struct repo *repo, const char *path, size_t *ret_length)
{
	CLEANUP(free_ptr) char *full = xasprintf("%s/%s", repo->dir, path);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (!is_regular(repo, path))
		return skip_file(repo, path, "not a regular file");
	enum err_code code = file_read(full, INIT_SOURCE_BYTES_MAX, &text, NULL);
	if (code == ERR_LIMIT)
		return skip_file(repo, path, "larger than 1 MiB, not looked at");
	if (code != OK)
		return skip_file(repo, path, "cannot be read");
	if (memchr(text.buf, '\0', text.len))
		return skip_file(repo, path, "binary, not looked at");
	if (repo->bytes_read + text.len > INIT_SOURCES_BYTES_MAX)
		return skip_file(repo, path, "not looked at: more than 8 MiB of sources");
	repo->bytes_read += text.len;
	*ret_length = text.len;
	return arena_strndup(repo->arena, text.buf, text.len);
}

#include "base/base.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "runner/hook_guard.h"

static const char *const module_names[] = {"infrarsi_hook", "sitecustomize", "usercustomize"};

bool is_hook_path(const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");
		for (size_t i = 0; i < ARRAY_LEN(module_names); i++) {
			size_t n = strlen(module_names[i]);
			if (length >= n && strncmp(path, module_names[i], n) == 0 &&
				(length == n || path[n] == '.'))
				return true;
		}
		path += length;
		path += strspn(path, "/");
	}
	return false;
}

static void add_file(struct hook_files *files, const char *root, const char *path)
{
	CLEANUP(free_ptr) char *full = xasprintf("%s/%s", root, path);
	struct hook_file file = {.path = arena_strdup(&files->arena, path)};
	if (sha256_file_hex(full, file.digest, NULL) != OK)
		file.digest[0] = '\0';
	grow_array(&files->files, &files->capacity, files->count + 1, sizeof(file));
	files->files[files->count++] = file;
}

/* sub: "" or a relative path with a slash at its end. */
static void collect_below(struct hook_files *files, const char *root, const char *sub)
{
	CLEANUP(free_ptr) char *folder = xasprintf("%s/%s", root, sub);
	DIR *dir = opendir(folder);
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		struct stat st;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			strcmp(entry->d_name, ".git") == 0)
			continue;
		CLEANUP(free_ptr) char *path = xasprintf("%s%s", sub, entry->d_name);
		CLEANUP(free_ptr) char *full = xasprintf("%s/%s", root, path);
		if (lstat(full, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			CLEANUP(free_ptr) char *below = xasprintf("%s/", path);
			collect_below(files, root, below);
		} else if (is_hook_path(path)) {
			add_file(files, root, path);
		}
	}
	if (dir)
		closedir(dir);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct hook_file *)a)->path, ((const struct hook_file *)b)->path);
}

void hook_files_collect(const char *root, struct hook_files *ret_files)
{
	*ret_files = (struct hook_files){.arena = ARENA_INIT};
	collect_below(ret_files, root, "");
	if (ret_files->count)
		qsort(ret_files->files, ret_files->count, sizeof(*ret_files->files), by_path);
}

void hook_files_release(struct hook_files *files)
{
	arena_release(&files->arena);
	free(files->files);
	*files = (struct hook_files){.arena = ARENA_INIT};
}

static bool was_there(const struct hook_files *before, const struct hook_file *file)
{
	for (size_t i = 0; i < before->count; i++)
		if (strcmp(before->files[i].path, file->path) == 0)
			return strcmp(before->files[i].digest, file->digest) == 0;
	return false;
}

static bool is_own(const struct hook_file *file, const char *hook_dir)
{
	char digest[SHA256_HEX_SIZE];
	const char *slash = strrchr(file->path, '/');
	CLEANUP(free_ptr)
	char *own = hook_dir ? xasprintf("%s/%s", hook_dir, slash ? slash + 1 : file->path) : NULL;
	return own && sha256_file_hex(own, digest, NULL) == OK && strcmp(digest, file->digest) == 0;
}

const char *hook_files_foreign(
	const struct hook_files *before, const struct hook_files *after, const char *hook_dir)
{
	for (size_t i = 0; i < after->count; i++)
		if (!was_there(before, &after->files[i]) && !is_own(&after->files[i], hook_dir))
			return after->files[i].path;
	return NULL;
}

enum err_code hook_dir_digest(const char *hook_dir, char ret_digest[SHA256_HEX_SIZE], struct err *reterr)
{
	static const char *const names[] = {"infrarsi_hook.h", "infrarsi_hook.py", "sitecustomize.py"};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", hook_dir, names[i]);
		char digest[SHA256_HEX_SIZE];
		TRY(sha256_file_hex(path, digest, reterr));
		strbuf_addf(&text, "%s %s\n", names[i], digest);
	}
	sha256_hex(text.buf, text.len, ret_digest);
	return OK;
}

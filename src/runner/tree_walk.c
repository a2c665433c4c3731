#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "runner/tree_walk.h"

typedef enum err_code (*visit_fn)(void *context, const char *path, const struct stat *st, struct err *reterr);

static enum err_code walk(const char *path, visit_fn visit, void *context, struct err *reterr);

static enum err_code walk_children(const char *path, visit_fn visit, void *context, struct err *reterr)
{
	DIR *dir = opendir(path);
	if (!dir)
		return err_errno(reterr, "cannot list folder %s", path);
	enum err_code code = OK;
	struct dirent *entry;
	while (code == OK && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		CLEANUP(free_ptr) char *child = xasprintf("%s/%s", path, entry->d_name);
		code = walk(child, visit, context, reterr);
	}
	closedir(dir);
	return code;
}

/* A folder comes after what it holds: changing that changes its time and needs its write permission. */
static enum err_code walk(const char *path, visit_fn visit, void *context, struct err *reterr)
{
	struct stat st;
	if (lstat(path, &st) != 0)
		return err_errno(reterr, "cannot read %s", path);
	if (S_ISDIR(st.st_mode))
		TRY(walk_children(path, visit, context, reterr));
	return visit(context, path, &st, reterr);
}

static enum err_code set_writable(void *context, const char *path, const struct stat *st, struct err *reterr)
{
	bool writable = *(const bool *)context;
	mode_t mode = writable ? st->st_mode | S_IWUSR : st->st_mode & ~(mode_t)(S_IWUSR | S_IWGRP | S_IWOTH);
	if (!S_ISLNK(st->st_mode) && mode != st->st_mode && chmod(path, mode & 07777) != 0)
		return err_errno(reterr, "cannot change the mode of %s", path);
	return OK;
}

enum err_code tree_set_writable(const char *root, bool writable, struct err *reterr)
{
	return walk(root, set_writable, &writable, reterr);
}

struct time_copy {
	size_t from_length;
	const char *to;
};

static enum err_code copy_time(void *context, const char *path, const struct stat *st, struct err *reterr)
{
	const struct time_copy *c = context;
	CLEANUP(free_ptr) char *copy = xasprintf("%s%s", c->to, path + c->from_length);
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	if (utimensat(AT_FDCWD, copy, times, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT)
		return err_errno(reterr, "cannot set the time of %s", copy);
	return OK;
}

enum err_code tree_copy_times(const char *from, const char *to, struct err *reterr)
{
	struct time_copy c = {strlen(from), to};
	return walk(from, copy_time, &c, reterr);
}

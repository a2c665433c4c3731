#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"

void close_fd(int *fd)
{
	int saved = errno;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

enum err_code file_read(const char *path, size_t cap_bytes, struct strbuf *ret_text, struct err *reterr)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_set(reterr, ERR_NOT_FOUND, "%s does not exist", path);
	if (fd < 0)
		return err_errno(reterr, "cannot read %s", path);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	char chunk[1 << 14];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(reterr, "cannot read %s", path);
		if (n == 0)
			break;
		if (text.len + (size_t)n > cap_bytes)
			return err_set(reterr, ERR_LIMIT, "%s is larger than the %zu bytes allowed", path,
				cap_bytes);
		strbuf_add(&text, chunk, (size_t)n);
	}
	strbuf_release(ret_text);
	*ret_text = text;
	text = (struct strbuf)STRBUF_INIT;
	return OK;
}

enum err_code write_all(int fd, const void *bytes, size_t length, struct err *reterr)
{
	const char *p = bytes;
	while (length) {
		ssize_t n = write(fd, p, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(reterr, "write failed");
		p += n;
		length -= (size_t)n;
	}
	return OK;
}

static enum err_code sync_parent(const char *path, struct err *reterr)
{
	CLEANUP(free_ptr) char *dir = xstrdup(path);
	char *slash = strrchr(dir, '/');
	const char *name = ".";
	if (slash == dir)
		name = "/";
	else if (slash) {
		*slash = '\0';
		name = dir;
	}
	CLEANUP(close_fd) int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Some file systems refuse fsync on a folder; the rename itself is still atomic there. */
	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != EROFS))
		return err_errno(reterr, "cannot sync folder %s", name);
	return OK;
}

enum err_code file_write_atomic(
	const char *path, const void *bytes, size_t length, mode_t mode, struct err *reterr)
{
	CLEANUP(free_ptr) char *temporary = xasprintf("%s.tmp.%ld", path, (long)getpid());
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return err_errno(reterr, "cannot write %s", path);
	enum err_code code = write_all(fd, bytes, length, reterr);
	if (code == OK && fsync(fd) != 0)
		code = err_errno(reterr, "cannot sync %s", path);
	if (close(fd) != 0 && code == OK)
		code = err_errno(reterr, "cannot write %s", path);
	if (code == OK && rename(temporary, path) != 0)
		code = err_errno(reterr, "cannot rename %s", temporary);
	if (code != OK) {
		unlink(temporary);
		return code;
	}
	return sync_parent(path, reterr);
}

bool path_exists(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

bool path_is_dir(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

enum err_code make_dirs(const char *path, mode_t mode, struct err *reterr)
{
	CLEANUP(free_ptr) char *partial = xstrdup(path);
	for (char *p = partial + 1;; p++) {
		if (*p != '/' && *p != '\0')
			continue;
		char saved = *p;
		*p = '\0';
		if (mkdir(partial, mode) != 0 && !(errno == EEXIST && path_is_dir(partial)))
			return err_errno(reterr, "cannot create folder %s", partial);
		*p = saved;
		if (!saved)
			return OK;
	}
}

static enum err_code remove_at(int parent, const char *name, struct err *reterr);

static enum err_code remove_children(int dir_fd, struct err *reterr)
{
	DIR *dir = fdopendir(dir_fd);
	if (!dir) {
		close(dir_fd);
		return err_errno(reterr, "cannot list folder");
	}
	enum err_code code = OK;
	struct dirent *entry;
	while (code == OK && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			code = remove_at(dirfd(dir), entry->d_name, reterr);
	closedir(dir);
	return code;
}

static enum err_code remove_at(int parent, const char *name, struct err *reterr)
{
	struct stat st;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? OK : err_errno(reterr, "cannot remove %s", name);
	if (S_ISDIR(st.st_mode)) {
		if ((st.st_mode & 0700) != 0700 && fchmodat(parent, name, 0700, 0) != 0)
			return err_errno(reterr, "cannot remove %s", name);
		int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return err_errno(reterr, "cannot remove %s", name);
		TRY(remove_children(fd, reterr));
	}
	if (unlinkat(parent, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT)
		return err_errno(reterr, "cannot remove %s", name);
	return OK;
}

enum err_code remove_tree(const char *path, struct err *reterr)
{
	enum err_code code = remove_at(AT_FDCWD, path, reterr);
	return code == OK ? OK : err_prefix(reterr, code, "removing %s", path);
}

static enum err_code copy_bytes(int in, int out, struct err *reterr)
{
	char chunk[1 << 16];
	for (;;) {
		ssize_t n = copy_file_range(in, NULL, out, NULL, (size_t)1 << 30, 0);
		if (n > 0)
			continue;
		if (n == 0)
			return OK;
		if (errno == EINTR)
			continue;
		break; /* not supported between these file systems: copy by hand from where it stopped */
	}
	for (;;) {
		ssize_t n = read(in, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(reterr, "read failed");
		if (n == 0)
			return OK;
		TRY(write_all(out, chunk, (size_t)n, reterr));
	}
}

static enum err_code copy_file(const char *from, const char *to, mode_t mode, struct err *reterr)
{
	CLEANUP(close_fd) int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (in < 0)
		return err_errno(reterr, "cannot read %s", from);
	CLEANUP(close_fd) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return err_errno(reterr, "cannot write %s", to);
	TRY(copy_bytes(in, out, reterr));
	if (fchmod(out, mode & 07777) != 0)
		return err_errno(reterr, "cannot set the mode of %s", to);
	return OK;
}

static enum err_code copy_symlink(const char *from, const char *to, struct err *reterr)
{
	char target[4096];
	ssize_t n = readlink(from, target, sizeof(target) - 1);
	if (n < 0)
		return err_errno(reterr, "cannot read link %s", from);
	target[n] = '\0';
	if (symlink(target, to) != 0)
		return err_errno(reterr, "cannot create link %s", to);
	return OK;
}

static enum err_code copy_folder(const char *from, const char *to, mode_t mode, struct err *reterr)
{
	if (mkdir(to, 0700) != 0)
		return err_errno(reterr, "cannot create folder %s", to);
	DIR *dir = opendir(from);
	if (!dir)
		return err_errno(reterr, "cannot list folder %s", from);
	enum err_code code = OK;
	struct dirent *entry;
	while (code == OK && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		CLEANUP(free_ptr) char *source = xasprintf("%s/%s", from, entry->d_name);
		CLEANUP(free_ptr) char *target = xasprintf("%s/%s", to, entry->d_name);
		code = copy_tree(source, target, reterr);
	}
	closedir(dir);
	if (code == OK && chmod(to, mode & 07777) != 0)
		code = err_errno(reterr, "cannot set the mode of %s", to);
	return code;
}

enum err_code copy_tree(const char *from, const char *to, struct err *reterr)
{
	struct stat st;
	if (lstat(from, &st) != 0)
		return err_errno(reterr, "cannot read %s", from);
	if (S_ISDIR(st.st_mode))
		return copy_folder(from, to, st.st_mode, reterr);
	if (S_ISLNK(st.st_mode))
		return copy_symlink(from, to, reterr);
	if (S_ISREG(st.st_mode))
		return copy_file(from, to, st.st_mode, reterr);
	return OK; /* sockets, FIFOs and devices are not inputs of a job */
}

bool path_is_contained(const char *path)
{
	if (!*path || *path == '/')
		return false;
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7F)
			return false;
	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");
		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p += n;
		if (*p == '/' && !*++p)
			return false;
	}
	return true;
}

/* Past the ']' of a set, or NULL where the set is not closed (then '[' is a plain character). */
static const char *match_set(const char *set, char c, bool *ret_match)
{
	bool negated = *set == '!' || *set == '^';
	bool found = false;
	const char *p = set + (negated ? 1 : 0);
	for (bool first = true; *p && (first || *p != ']'); first = false) {
		if (p[1] == '-' && p[2] && p[2] != ']') {
			found |= c >= p[0] && c <= p[2];
			p += 3;
		} else {
			found |= c == *p++;
		}
	}
	if (*p != ']')
		return NULL;
	*ret_match = found != negated && c != '/';
	return p + 1;
}

/* One pattern unit other than a star against one character: the next pattern position, or NULL for no match.
 */
static const char *match_one(const char *pattern, char c)
{
	if (*pattern == '?')
		return c != '/' ? pattern + 1 : NULL;
	if (*pattern == '[') {
		bool matches = false;
		const char *next = match_set(pattern + 1, c, &matches);
		if (next)
			return matches ? next : NULL;
	}
	return *pattern == c ? pattern + 1 : NULL;
}

/* Two backtracking points, one for the last `*` and one for the last double star, keep matching polynomial.
 */
bool glob_match(const char *pattern, const char *path)
{
	const char *star_pattern = NULL, *star_path = NULL;
	const char *deep_pattern = NULL, *deep_path = NULL;
	for (;;) {
		if (pattern[0] == '*' && pattern[1] == '*') {
			pattern += 2;
			if (*pattern == '/')
				pattern++; /* a leading double star also matches no folder at all */
			else if (*pattern == '\0')
				return true;
			deep_pattern = pattern;
			deep_path = path;
			star_pattern = NULL;
			continue;
		}
		if (*pattern == '*') {
			star_pattern = ++pattern;
			star_path = path;
			continue;
		}
		if (*path == '\0' && *pattern == '\0')
			return true;
		const char *next = *path && *pattern ? match_one(pattern, *path) : NULL;
		if (next) {
			pattern = next;
			path++;
		} else if (star_pattern && *star_path && *star_path != '/') {
			path = ++star_path;
			pattern = star_pattern;
		} else if (deep_pattern && strchr(deep_path, '/')) {
			deep_path = strchr(deep_path, '/') + 1;
			path = deep_path;
			pattern = deep_pattern;
			star_pattern = NULL;
		} else {
			return false;
		}
	}
}

struct glob_walk {
	const char *root, *pattern;
	char **paths;
	size_t count, capacity;
};

static enum err_code glob_walk_folder(struct glob_walk *walk, const char *relative, struct err *reterr)
{
	CLEANUP(free_ptr) char *folder = xasprintf("%s%s%s", walk->root, *relative ? "/" : "", relative);
	DIR *dir = opendir(folder);
	if (!dir)
		return err_errno(reterr, "cannot list folder %s", folder);
	enum err_code code = OK;
	struct dirent *entry;
	while (code == OK && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".git") == 0 ||
			strcmp(name, ".infrarsi") == 0)
			continue;
		CLEANUP(free_ptr) char *path = xasprintf("%s%s%s", relative, *relative ? "/" : "", name);
		CLEANUP(free_ptr) char *full = xasprintf("%s/%s", walk->root, path);
		struct stat st;
		if (lstat(full, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			code = glob_walk_folder(walk, path, reterr);
		} else if ((S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) && glob_match(walk->pattern, path)) {
			grow_array(&walk->paths, &walk->capacity, walk->count + 1, sizeof(char *));
			walk->paths[walk->count++] = take_ptr(path);
		}
	}
	closedir(dir);
	return code;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

enum err_code glob_files(
	const char *root, const char *pattern, char ***ret_paths, size_t *ret_count, struct err *reterr)
{
	struct glob_walk walk = {.root = root, .pattern = pattern};
	enum err_code code = glob_walk_folder(&walk, "", reterr);
	if (code != OK) {
		free_strings(walk.paths, walk.count);
		return code;
	}
	if (walk.count)
		qsort(walk.paths, walk.count, sizeof(char *), compare_strings);
	*ret_paths = walk.paths;
	*ret_count = walk.count;
	return OK;
}

void free_strings(char **strings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(strings[i]);
	free(strings);
}

/* Removing and copying whole trees. What is removed was written by jobs: it may hold links that lead
 * elsewhere, folders without permissions, and folders nested deeper than there are file descriptors. */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

enum { REMOVE_DEPTH_MAX = 100 };

struct removal {
	int root_fd; /* the folder that is removed; -1 while it is not open */
	int depth;
	unsigned moved; /* folders brought up to the root so far */
	bool again;     /* some were: the root has to be listed once more */
};

static enum err_code remove_at(struct removal *r, int parent, const char *name, struct err *reterr);

static enum err_code remove_children(struct removal *r, int dir_fd, struct err *reterr)
{
	DIR *dir = fdopendir(dir_fd);
	if (!dir) {
		close_fd(&dir_fd);
		return err_errno(reterr, "cannot list folder");
	}
	enum err_code code = OK;
	struct dirent *entry;
	while (code == OK && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			code = remove_at(r, dirfd(dir), entry->d_name, reterr);
	closedir(dir);
	return code;
}

/* Never through a link, and with the permissions to list and empty it where those can be had. */
static int open_folder(int parent, const char *name)
{
	int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, O_RDONLY | flags);
	if (fd >= 0) {
		(void)fchmod(fd, 0700); /* if it fails, so does the unlink, which says why */
		return fd;
	}
	if (errno != EACCES)
		return -1;
	/* chmod by name would follow a link put there meanwhile. */
	CLEANUP(close_fd) int place = openat(parent, name, O_PATH | flags);
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	if (place < 0 || chmod(path, 0700) != 0)
		return -1;
	return openat(parent, name, O_RDONLY | flags);
}

/* Deeper than descriptors reach, a folder is first moved up to the root. */
static bool move_up(struct removal *r, int parent, const char *name)
{
	int fd = open_folder(parent, name); /* for the permissions, which a move needs too */
	close_fd(&fd);
	for (int tries = 0; tries < 1000; tries++) {
		char moved[64];
		snprintf(moved, sizeof(moved), ".infrarsi-removed-%u", r->moved++);
		if (renameat2(parent, name, r->root_fd, moved, RENAME_NOREPLACE) == 0) {
			r->again = true;
			return true;
		}
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static enum err_code remove_folder(struct removal *r, int parent, const char *name, struct err *reterr)
{
	if (r->depth >= REMOVE_DEPTH_MAX && move_up(r, parent, name))
		return OK;
	int fd = open_folder(parent, name);
	if (fd < 0)
		return err_errno(reterr, "cannot remove %s", name);
	CLEANUP(close_fd) int root = -1;
	if (r->depth == 0)
		r->root_fd = root = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	r->depth++;
	enum err_code code = remove_children(r, fd, reterr);
	r->depth--;
	while (code == OK && r->depth == 0 && r->again) {
		r->again = false;
		fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return err_errno(reterr, "cannot list %s", name);
		r->depth++;
		code = remove_children(r, fd, reterr);
		r->depth--;
	}
	if (code == OK && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		code = err_errno(reterr, "cannot remove %s", name);
	return code;
}

static enum err_code remove_at(struct removal *r, int parent, const char *name, struct err *reterr)
{
	struct stat st;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? OK : err_errno(reterr, "cannot remove %s", name);
	if (S_ISDIR(st.st_mode))
		return remove_folder(r, parent, name, reterr);
	if (unlinkat(parent, name, 0) != 0 && errno != ENOENT)
		return err_errno(reterr, "cannot remove %s", name);
	return OK;
}

enum err_code remove_tree(const char *path, struct err *reterr)
{
	CLEANUP(free_ptr) char *name = xstrdup(path);
	/* "link/" would name what the link points to. */
	for (size_t n = strlen(name); n > 1 && name[n - 1] == '/'; n--)
		name[n - 1] = '\0';
	struct removal r = {.root_fd = -1};
	enum err_code code = remove_at(&r, AT_FDCWD, name, reterr);
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

static enum err_code copy_file(const char *from, const char *to, const struct stat *st, struct err *reterr)
{
	CLEANUP(close_fd) int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (in < 0)
		return err_errno(reterr, "cannot read %s", from);
	CLEANUP(close_fd) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return err_errno(reterr, "cannot write %s", to);
	enum err_code code = copy_bytes(in, out, reterr);
	if (code != OK)
		return err_prefix(reterr, code, "copying %s to %s", from, to);
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	if (fchmod(out, st->st_mode & 07777) != 0 || futimens(out, times) != 0)
		return err_errno(reterr, "cannot set mode and time of %s", to);
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

/* top: the target of the whole copy, which may lie inside its source and must not be copied into itself; NULL
 * where this is it. */
static enum err_code copy_any(const char *from, const char *to, const struct stat *top, struct err *reterr);

static enum err_code copy_folder(
	const char *from, const char *to, const struct stat *st, const struct stat *top, struct err *reterr)
{
	struct stat made;
	if (mkdir(to, 0700) != 0 || stat(to, &made) != 0)
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
		code = copy_any(source, target, top ? top : &made, reterr);
	}
	closedir(dir);
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	if (code == OK && (chmod(to, st->st_mode & 07777) != 0 || utimensat(AT_FDCWD, to, times, 0) != 0))
		code = err_errno(reterr, "cannot set mode and time of %s", to);
	return code;
}

static enum err_code copy_any(const char *from, const char *to, const struct stat *top, struct err *reterr)
{
	struct stat st;
	if (lstat(from, &st) != 0)
		return err_errno(reterr, "cannot read %s", from);
	if (top && st.st_dev == top->st_dev && st.st_ino == top->st_ino)
		return OK;
	if (S_ISDIR(st.st_mode))
		return copy_folder(from, to, &st, top, reterr);
	if (S_ISLNK(st.st_mode))
		return copy_symlink(from, to, reterr);
	if (S_ISREG(st.st_mode))
		return copy_file(from, to, &st, reterr);
	return OK; /* sockets, FIFOs and devices are not inputs of a job */
}

enum err_code copy_tree(const char *from, const char *to, struct err *reterr)
{
	return copy_any(from, to, NULL, reterr);
}

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

enum err_code file_open_read(const char *path, int *ret_fd, struct err *reterr)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_set(reterr, ERR_NOT_FOUND, "%s does not exist", path);
	if (fd < 0 || fstat(fd, &st) != 0)
		return err_errno(reterr, "cannot read %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(reterr, ERR_INPUT, "%s is %s, expected a file", path,
			S_ISDIR(st.st_mode) ? "a folder" : "a pipe or device");
	*ret_fd = fd;
	fd = -1;
	return OK;
}

enum err_code file_read(const char *path, size_t cap_bytes, struct strbuf *ret_text, struct err *reterr)
{
	CLEANUP(close_fd) int fd = -1;
	TRY(file_open_read(path, &fd, reterr));
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
	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != EROFS && errno != EOPNOTSUPP))
		return err_errno(reterr, "cannot sync folder %s", name);
	return OK;
}

enum err_code file_write_atomic(
	const char *path, const void *bytes, size_t length, mode_t mode, struct err *reterr)
{
	CLEANUP(free_ptr) char *temporary = xasprintf("%s.tmp.%ld", path, (long)gettid());
	/* What a crash left is removed, never opened: it might be a link to something else. */
	unlink(temporary);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
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
	if (!*path)
		return err_set(reterr, ERR_INPUT, "cannot create a folder without a name");
	CLEANUP(free_ptr) char *partial = xstrdup(path);
	for (char *p = partial + 1;; p++) {
		if (*p != '/' && *p != '\0')
			continue;
		char saved = *p;
		*p = '\0';
		/* Read-only and network file systems may refuse a folder that exists with another errno. */
		if (mkdir(partial, mode) != 0) {
			int why = errno;
			if (!path_is_dir(partial)) {
				errno = why;
				return err_errno(reterr, "cannot create folder %s", partial);
			}
		}
		*p = saved;
		if (!saved)
			return OK;
	}
}

/*
 * Files. Reading always has a cap; writing is atomic (temporary file, fsync, rename, fsync of the folder), so
 * that a reader sees the old bytes or the new ones and a crash leaves nothing half-written.
 */
#ifndef INFRARSI_BASE_FILE_H
#define INFRARSI_BASE_FILE_H

#include <sys/types.h>

#include "base/base.h"

struct strbuf;

enum { FILE_CAP_DEFAULT = 16 * 1024 * 1024 };

void close_fd(int *fd); /* for CLEANUP(); keeps errno */

/* ERR_NOT_FOUND when absent, ERR_INPUT when it is no regular file: a job may have put a FIFO in a file's
 * place, and reading that would never end. Follows symlinks. */
enum err_code file_open_read(const char *path, int *ret_fd, struct err *reterr) MUST_CHECK;
/* The whole file; fails as file_open_read(), and with ERR_LIMIT when it is larger than cap_bytes. */
enum err_code file_read(
	const char *path, size_t cap_bytes, struct strbuf *ret_text, struct err *reterr) MUST_CHECK;
enum err_code file_write_atomic(
	const char *path, const void *bytes, size_t length, mode_t mode, struct err *reterr) MUST_CHECK;
enum err_code write_all(int fd, const void *bytes, size_t length, struct err *reterr) MUST_CHECK;

bool path_exists(const char *path);
bool path_is_dir(const char *path);
/* Creates the folder and its parents. */
enum err_code make_dirs(const char *path, mode_t mode, struct err *reterr) MUST_CHECK;
/* Removes a tree without following symlinks out of it; absent is fine. Makes read-only folders writable
 * first. Depth is not limited. */
enum err_code remove_tree(const char *path, struct err *reterr) MUST_CHECK;
/* Copies a tree (regular files, folders, symlinks as symlinks; modes and times kept, so that make sees no
 * change). The target must not exist; it may lie inside the source and is then left out of the copy. Uses
 * reflinks where the file system has them. A failure leaves what was copied so far. */
enum err_code copy_tree(const char *from, const char *to, struct err *reterr) MUST_CHECK;
/* True when `path` (relative, as written in a task file or a diff) stays inside its root: not absolute, no
 * "..", no empty or "." component, no control characters. */
bool path_is_contained(const char *path);

/* Matches a path against a pattern, byte by byte: ? and * within a component, ** across components, [a-c]
 * and [!abc] sets. A component ** stands for any number of folders, none included; at the end, or next to
 * other text, for any bytes. Names that begin with a dot are not special. */
bool glob_match(const char *pattern, const char *path);
/* Regular files and symlinks below root whose relative path matches, sorted bytewise, not descending into
 * .git and .infrarsi. *ret_paths (array and strings) comes from malloc: free with free_strings(). */
enum err_code glob_files(const char *root, const char *pattern, char ***ret_paths, size_t *ret_count,
	struct err *reterr) MUST_CHECK;
void free_strings(char **strings, size_t count);

#endif

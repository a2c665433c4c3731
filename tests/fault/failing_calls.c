/*
 * A library for LD_PRELOAD that makes one system call of a program fail, as a full disk or an exhausted
 * process table would:
 *
 *     FAULT_CALL   "write" (also pwrite, ftruncate), "sync" (fsync, fdatasync), "rename" or "spawn"
 *     FAULT_AT     which call fails, counted from 1 in the process that FAULT_CALL concerns
 *     FAULT_LASTS  "1": every later call fails as well; otherwise only that one
 *     FAULT_ERRNO  with what
 *     FAULT_BELOW  files that count: their path contains this
 *
 * Calls on other files, and in programs whose name is not "infrarsi", pass.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long count;

static int is_program(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = '\0';
	const char *name = strrchr(path, '/');
	return name && strcmp(name + 1, "infrarsi") == 0;
}

static int is_below(const char *path)
{
	const char *below = getenv("FAULT_BELOW");
	return !below || strstr(path, below) != NULL;
}

static int fd_is_below(int fd)
{
	char link[64], path[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = '\0';
	return is_below(path);
}

/* True when this call is to fail; errno is set then. */
static int fails(const char *call)
{
	const char *wanted = getenv("FAULT_CALL"), *at = getenv("FAULT_AT"), *lasts = getenv("FAULT_LASTS");
	if (!wanted || !at || strcmp(wanted, call) != 0 || !is_program())
		return 0;
	count++;
	if (count != atol(at) && !(lasts && *lasts == '1' && count > atol(at)))
		return 0;
	const char *number = getenv("FAULT_ERRNO");
	errno = number ? atoi(number) : EIO;
	return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t size)
{
	return fd_is_below(fd) && fails("write") ? -1 : REAL(write)(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	return fd_is_below(fd) && fails("write") ? -1 : REAL(pwrite)(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
	return fd_is_below(fd) && fails("write") ? -1 : REAL(pwrite64)(fd, bytes, size, offset);
}

int ftruncate(int fd, off_t length)
{
	return fd_is_below(fd) && fails("write") ? -1 : REAL(ftruncate)(fd, length);
}

int fsync(int fd)
{
	return fd_is_below(fd) && fails("sync") ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
	return fd_is_below(fd) && fails("sync") ? -1 : REAL(fdatasync)(fd);
}

int rename(const char *from, const char *to)
{
	return is_below(to) && fails("rename") ? -1 : REAL(rename)(from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	return is_below(to) && fails("rename") ? -1 : REAL(renameat2)(from_dir, from, to_dir, to, flags);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	return fails("spawn") ? errno : REAL(posix_spawn)(pid, path, actions, attributes, argv, envp);
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	return fails("spawn") ? errno : REAL(posix_spawnp)(pid, file, actions, attributes, argv, envp);
}

pid_t fork(void)
{
	return fails("spawn") ? -1 : REAL(fork)();
}

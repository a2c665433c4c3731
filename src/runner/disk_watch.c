#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "base/memory.h"
#include "runner/disk_watch.h"

enum { RESERVE_BYTES = 256 << 10 };
static const double kept_share = 0.125, kept_most_bytes = 256.0 * 1024 * 1024;

/* NAN where it cannot be told. */
static double free_bytes(const char *dir)
{
	struct statvfs st;
	if (statvfs(dir, &st) != 0 || st.f_blocks == 0)
		return NAN;
	return (double)st.f_bavail * (double)st.f_frsize;
}

/* Without support for unnamed files there is none, and a full disk costs the outcome's record. */
static int make_reserve(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 && posix_fallocate(fd, 0, RESERVE_BYTES) != 0)
		close_fd(&fd);
	return fd;
}

void disk_watch_init(struct disk_watch *watch, const char *dir, const char *reserve_dir)
{
	double begun = free_bytes(dir);
	*watch = (struct disk_watch){.dir = isfinite(begun) ? dir : NULL,
		.begun_bytes = begun,
		.floor_bytes = MIN_OF(kept_share * begun, kept_most_bytes),
		.reserve_fd = begun > 16.0 * RESERVE_BYTES ? make_reserve(reserve_dir) : -1};
}

bool disk_watch_is_full(struct disk_watch *watch)
{
	double now = watch->dir && !watch->is_full ? free_bytes(watch->dir) : NAN;
	if (now < watch->floor_bytes) {
		watch->is_full = true;
		watch->full_bytes = now;
	}
	return watch->is_full;
}

void disk_watch_settle(struct disk_watch *watch, double *ret_lost_bytes, double *ret_regained_bytes)
{
	double now = watch->is_full ? free_bytes(watch->dir) : NAN;
	*ret_lost_bytes = watch->is_full ? watch->begun_bytes - watch->full_bytes : 0;
	*ret_regained_bytes = isfinite(now) ? MAX_OF(now - watch->full_bytes, 0.0) : 0;
	close_fd(&watch->reserve_fd);
}

double tree_disk_bytes(const char *root)
{
	struct stat st;
	if (lstat(root, &st) != 0)
		return 0;
	double bytes = 512.0 * (double)st.st_blocks;
	DIR *dir = S_ISDIR(st.st_mode) ? opendir(root) : NULL;
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		CLEANUP(free_ptr) char *child = xasprintf("%s/%s", root, entry->d_name);
		bytes += tree_disk_bytes(child);
	}
	if (dir)
		closedir(dir);
	return bytes;
}

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "runner/process_tree.h"

/* The text of /proc/PID/NAME, cut to the buffer; false when the process is gone or not ours to see. */
static bool read_proc(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n;
	while ((n = read(fd, buf, size - 1)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

static bool read_stat(pid_t pid, struct process_entry *ret_entry)
{
	char text[1024];
	if (!read_proc(pid, "stat", text, sizeof(text)))
		return false;
	/* The name in parentheses is the process's own choice and may hold anything, also ")". */
	const char *after_name = strrchr(text, ')');
	long parent, session;
	char state;
	unsigned long long start;
	if (!after_name || sscanf(after_name + 1,
				   " %c %ld %*d %ld %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
				   "%*d %llu",
				   &state, &parent, &session, &start) != 4)
		return false;
	*ret_entry = (struct process_entry){.pid = pid,
		.parent = (pid_t)parent,
		.session = (pid_t)session,
		.state = state,
		.start = start};
	return true;
}

static int compare_pids(const void *a, const void *b)
{
	const struct process_entry *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct process_entry *find_pid(const struct process_tree *tree, pid_t pid)
{
	struct process_entry key = {.pid = pid};
	return bsearch(&key, tree->entries, tree->count, sizeof(key), compare_pids);
}

enum { DEPTH_MAX = 4096 };

/* The snapshot is not atomic, so parents may form a loop: the steps are bounded. */
static int depth_below(const struct process_tree *tree, const struct process_entry *entry, pid_t root)
{
	int depth = 1;
	while (entry->parent != root) {
		entry = entry->parent > 0 ? find_pid(tree, entry->parent) : NULL;
		if (!entry || ++depth > DEPTH_MAX)
			return 0;
	}
	return depth;
}

void process_tree_scan(struct process_tree *tree, pid_t root)
{
	tree->count = 0;
	DIR *dir = opendir("/proc");
	if (!dir)
		return;
	struct dirent *item;
	while ((item = readdir(dir))) {
		struct process_entry entry;
		if (item->d_name[0] < '1' || item->d_name[0] > '9' ||
			!read_stat((pid_t)strtol(item->d_name, NULL, 10), &entry))
			continue;
		grow_array(&tree->entries, &tree->capacity, tree->count + 1, sizeof(entry));
		tree->entries[tree->count++] = entry;
	}
	closedir(dir);
	if (tree->count)
		qsort(tree->entries, tree->count, sizeof(*tree->entries), compare_pids);
	for (size_t i = 0; i < tree->count; i++)
		tree->entries[i].depth = depth_below(tree, &tree->entries[i], root);
	size_t kept = 0;
	for (size_t i = 0; i < tree->count; i++)
		if (tree->entries[i].depth > 0)
			tree->entries[kept++] = tree->entries[i];
	tree->count = kept;
}

void process_tree_release(struct process_tree *tree)
{
	free(tree->entries);
	*tree = (struct process_tree){NULL, 0, 0};
}

void process_signal(const struct process_entry *entry, int signal)
{
	CLEANUP(close_fd) int fd = (int)syscall(SYS_pidfd_open, entry->pid, 0);
	struct process_entry now;
	if (!read_stat(entry->pid, &now) || now.start != entry->start)
		return;
	if (fd >= 0)
		syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
	else if (errno != ESRCH)
		kill(entry->pid, signal); /* kernels before 5.3 */
}

double process_rss_bytes(pid_t pid)
{
	char text[256];
	long long resident;
	if (!read_proc(pid, "statm", text, sizeof(text)) || sscanf(text, "%*d %lld", &resident) != 1)
		return 0;
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

double process_pss_bytes(pid_t pid)
{
	char text[2048];
	if (read_proc(pid, "smaps_rollup", text, sizeof(text))) {
		const char *line = strstr(text, "\nPss:");
		if (line)
			return 1024.0 * (double)strtoll(line + 5, NULL, 10);
	}
	return process_rss_bytes(pid);
}

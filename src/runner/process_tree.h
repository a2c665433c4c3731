/*
 * The processes below one process, from /proc, whatever session or process group they put themselves into.
 *
 * A process whose parent dies is handed to the nearest subreaper, so below a subreaper (or a PID namespace's
 * init) nothing escapes this walk.
 */
#ifndef INFRARSI_RUNNER_PROCESS_TREE_H
#define INFRARSI_RUNNER_PROCESS_TREE_H

#include <sys/types.h>

#include "base/base.h"

struct process_entry {
	pid_t pid, parent, session;
	char state;     /* as in /proc/PID/stat: 'Z' is a zombie */
	int depth;      /* 1 = child of the root; 0 = not below it */
	uint64_t start; /* in clock ticks since boot: tells a reused pid from the process that was seen */
};

struct process_tree {
	struct process_entry *entries; /* those below the root, by pid */
	size_t count, capacity;
};

void process_tree_scan(struct process_tree *tree, pid_t root);
void process_tree_release(struct process_tree *tree);
/* To this very process and no other that got its pid meanwhile. */
void process_signal(const struct process_entry *entry, int signal);
/* Resident bytes; 0 when the process is gone. */
double process_rss_bytes(pid_t pid);
/* Bytes with shared pages divided among their users (slow: the kernel walks page tables); RSS where not
 * readable. */
double process_pss_bytes(pid_t pid);

#endif

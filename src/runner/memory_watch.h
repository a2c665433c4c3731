/*
 * Memory of the job's process tree: the sum of resident sizes, sampled often; where that sum makes a new
 * maximum it is replaced by the sum of proportional sizes, because forked workers share pages with their
 * parent and would be counted once each. Finding the members walks /proc, which is slow on a big host: that
 * is done seldom enough to cost under 1% of one core.
 *
 * A cgroup is not used: on v1 and on v2 without delegation the supervisor may not create one, page cache
 * counts into its memory.current, and moving the job out of the group that a container manager placed it in
 * breaks that manager's own accounting.
 */
#ifndef INFRARSI_RUNNER_MEMORY_WATCH_H
#define INFRARSI_RUNNER_MEMORY_WATCH_H

#include <sys/types.h>

#include "base/base.h"
#include "runner/process_tree.h"

struct memory_watch {
	pid_t root;
	int plumbing_depth; /* members are deeper than this below the root */
	struct process_tree tree;
	double next_sample_s, next_scan_s; /* CLOCK_MONOTONIC */
	double highest_rss_bytes;          /* sum of RSS at the last proportional measurement */
	double peak_bytes;
};

void memory_watch_init(struct memory_watch *watch, pid_t root, int plumbing_depth);
/* Samples when it is time; the present size of the tree, or 0 when it was not time. limit_bytes (0 = none): a
 * sum above it is always measured proportionally. */
double memory_watch_sample(struct memory_watch *watch, double now_s, double limit_bytes);
void memory_watch_release(struct memory_watch *watch);

#endif

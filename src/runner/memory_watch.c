#include "base/base.h"

#include "base/clock.h"
#include "runner/memory_watch.h"

static const double sample_every_s = 0.2;
static const double scan_every_s = 0.5;
static const double scan_cost_share = 0.01; /* of one core, at most */
static const double worth_measuring =
	1.02; /* growth of the RSS sum that calls for a proportional measurement */

void memory_watch_init(struct memory_watch *watch, pid_t root, int plumbing_depth)
{
	*watch = (struct memory_watch){.root = root, .plumbing_depth = plumbing_depth};
}

static double sum(const struct memory_watch *watch, double (*measure)(pid_t))
{
	double total = 0;
	for (size_t i = 0; i < watch->tree.count; i++)
		if (watch->tree.entries[i].depth > watch->plumbing_depth)
			total += measure(watch->tree.entries[i].pid);
	return total;
}

double memory_watch_sample(struct memory_watch *watch, double now_s, double limit_bytes)
{
	if (now_s < watch->next_sample_s)
		return 0;
	watch->next_sample_s = now_s + sample_every_s;
	if (now_s >= watch->next_scan_s) {
		process_tree_scan(&watch->tree, watch->root);
		double cost_s = clock_now_s() - now_s;
		watch->next_scan_s = now_s + MAX_OF(scan_every_s, cost_s / scan_cost_share);
	}
	double rss = sum(watch, process_rss_bytes), bytes = rss;
	bool over_limit = limit_bytes > 0 && rss > limit_bytes;
	if (over_limit || rss > worth_measuring * watch->highest_rss_bytes) {
		bytes = sum(watch, process_pss_bytes);
		watch->highest_rss_bytes = MAX_OF(watch->highest_rss_bytes, rss);
		watch->peak_bytes = MAX_OF(watch->peak_bytes, bytes);
	}
	return bytes;
}

void memory_watch_release(struct memory_watch *watch)
{
	process_tree_release(&watch->tree);
}

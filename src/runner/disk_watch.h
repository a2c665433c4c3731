/*
 * Free space of the file system that the job's folder is on. A job that fills it would take the receipts, the
 * ledger and the user's other work with it, so it is stopped while there is still room to write down why.
 *
 * The room kept is an eighth of what was free at the start, and 256 MiB at most: a disk that was nearly full
 * before is nobody's fault, and the job's own writes then fail by themselves. A job that is faster than the
 * watch finds a reserve of 256 KiB gone: enough to write down how it ended.
 */
#ifndef INFRARSI_RUNNER_DISK_WATCH_H
#define INFRARSI_RUNNER_DISK_WATCH_H

#include "base/base.h"

struct disk_watch {
	const char *dir;    /* borrowed; NULL = not watching */
	double begun_bytes; /* free at the start */
	double floor_bytes, full_bytes;
	bool is_full;
	int reserve_fd; /* an unnamed file; -1 = none */
};

/* reserve_dir: where the reserve is kept, on the file system of what is written in the end. */
void disk_watch_init(struct disk_watch *watch, const char *dir, const char *reserve_dir);
/* True once the free space is below the floor. */
bool disk_watch_is_full(struct disk_watch *watch);
/* After the job's last process: what went until the disk was full, and what came back since (a file that was
 * deleted while it was open). Both 0 where it never was. Gives the reserve back. */
void disk_watch_settle(struct disk_watch *watch, double *ret_lost_bytes, double *ret_regained_bytes);
/* Bytes that a tree takes on the disk; what cannot be read counts nothing. */
double tree_disk_bytes(const char *root);

#endif

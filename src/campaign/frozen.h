/*
 * The frozen files of one execution: hashed as the job finds them and as it leaves them, whatever it did and
 * however it ended.
 *
 * A file that was changed and put back has the same hash. What tells it is kept beside the hash: inode and
 * time of change (ctime) of the path itself and of what it leads to. Only the kernel sets a ctime, so a file
 * that was written, replaced, renamed, linked or given another mode has a new one, whatever its bytes and its
 * mtime say. What leaves no trace in the file is not seen: a folder above it that was renamed and named back,
 * a mount in a namespace of the job's own, and simply reading another file (docs/threat-model.md).
 */
#ifndef INFRARSI_CAMPAIGN_FROZEN_H
#define INFRARSI_CAMPAIGN_FROZEN_H

#include "base/base.h"
#include "base/memory.h"
#include "event/receipt.h"
#include "spec/lock.h"

struct frozen_stamp;

struct frozen_watch {
	struct arena arena;
	const struct lock *lock; /* borrowed */
	struct frozen_stamp *stamps;
	const char *touched; /* "" = nothing; else what a person should look at, after frozen_watch_end() */
};

/* dir: where the job will find its files. */
void frozen_watch_begin(struct frozen_watch *watch, const struct lock *lock, const char *dir);
/* Fills r->files: `before` as locked, `after` as the job left it; where it found the file already changed, by
 * the build, that. Sets watch->touched for files whose content is as it was. */
void frozen_watch_end(struct frozen_watch *watch, const char *dir, struct receipt *r);
void frozen_watch_release(struct frozen_watch *watch);

#endif

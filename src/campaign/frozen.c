#include "base/base.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "campaign/frozen.h"

struct place { /* one lstat() or stat() */
	bool exists;
	dev_t device;
	ino_t inode;
	struct timespec changed;
};

struct frozen_stamp {
	struct place itself, target;  /* the path, and what it leads to where it is a link */
	char digest[SHA256_HEX_SIZE]; /* "" = not there */
};

static struct place place_of(const struct stat *st, int failed)
{
	return failed ? (struct place){.exists = false}
		      : (struct place){true, st->st_dev, st->st_ino, st->st_ctim};
}

static struct frozen_stamp stamp_of(const char *dir, const char *path)
{
	struct frozen_stamp stamp = {.digest = ""};
	struct stat st;
	char found[SHA256_HEX_SIZE];
	CLEANUP(free_ptr) char *full = xasprintf("%s/%s", dir, path);
	/* The stamp before the hash: what changes in between shows in the next stamp. */
	stamp.itself = place_of(&st, lstat(full, &st));
	stamp.target = place_of(&st, stat(full, &st));
	if (sha256_file_hex(full, found, NULL) == OK)
		memcpy(stamp.digest, found, sizeof(found));
	return stamp;
}

void frozen_watch_begin(struct frozen_watch *watch, const struct lock *lock, const char *dir)
{
	*watch = (struct frozen_watch){.arena = ARENA_INIT, .lock = lock, .touched = ""};
	watch->stamps = arena_array(&watch->arena, lock->n_files, sizeof(*watch->stamps));
	for (size_t i = 0; i < lock->n_files; i++)
		watch->stamps[i] = stamp_of(dir, lock->files[i].path);
}

static bool same_file(const struct place *a, const struct place *b)
{
	return a->exists == b->exists && a->device == b->device && a->inode == b->inode;
}

static bool same_time(const struct place *a, const struct place *b)
{
	return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* NULL = the file is untouched. */
static const char *trace(const struct frozen_stamp *before, const struct frozen_stamp *after)
{
	if (!same_file(&before->itself, &after->itself) || !same_file(&before->target, &after->target))
		return "replaced by another file of the same content";
	if (!same_time(&before->itself, &after->itself) || !same_time(&before->target, &after->target))
		return "changed and put back: the content is as before, the time of change (ctime) is not";
	return NULL;
}

void frozen_watch_end(struct frozen_watch *watch, const char *dir, struct receipt *r)
{
	const struct lock *lock = watch->lock;
	const char *first_path = NULL, *first_trace = NULL;
	size_t n_touched = 0;
	r->n_files = lock->n_files;
	r->files = arena_array(&r->arena, r->n_files, sizeof(*r->files));
	for (size_t i = 0; i < r->n_files; i++) {
		const struct frozen_file *frozen = &lock->files[i];
		const struct frozen_stamp *before = &watch->stamps[i];
		struct frozen_stamp after = stamp_of(dir, frozen->path);
		bool found_changed = strcmp(before->digest, frozen->digest) != 0;
		struct receipt_file *file = &r->files[i];
		file->path = arena_strdup(&r->arena, frozen->path);
		memcpy(file->before, frozen->digest, sizeof(file->before));
		memcpy(file->after, found_changed ? before->digest : after.digest, sizeof(file->after));
		const char *how = strcmp(file->after, file->before) == 0 ? trace(before, &after) : NULL;
		if (!how)
			continue;
		if (n_touched++ == 0) {
			first_path = frozen->path;
			first_trace = how;
		}
	}
	if (!n_touched)
		return;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addstr(&text, "frozen-files: during the run ");
	strbuf_add_escaped(&text, first_path, MIN_OF(strlen(first_path), (size_t)80));
	strbuf_addf(&text, " was %s", first_trace);
	if (n_touched > 1)
		strbuf_addf(&text, " (and %zu more)", n_touched - 1);
	watch->touched = arena_strdup(&watch->arena, text.buf);
}

void frozen_watch_release(struct frozen_watch *watch)
{
	arena_release(&watch->arena);
	*watch = (struct frozen_watch){.touched = ""};
}

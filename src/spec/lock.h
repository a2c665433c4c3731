/*
 * infrarsi.lock: the contract's digest and the SHA-256 of every frozen file, written by `init` (JSON, sorted
 * keys, one file a line). A mismatch later is ERR_CONTRACT and names the file.
 */
#ifndef INFRARSI_SPEC_LOCK_H
#define INFRARSI_SPEC_LOCK_H

#include "base/base.h"
#include "base/memory.h"

struct task;
struct strbuf;

struct frozen_file {
	const char *path; /* relative to the task's root */
	char digest[65];
};

struct lock {
	struct arena arena;
	char contract_digest[65]; /* of what fixes the contract in the task: contract_json.h */
	struct frozen_file *files;
	size_t n_files;
};

/* Hashes what the contract's frozen_files match below `root` now; a pattern that matches nothing is an error.
 */
enum err_code lock_compute(
	const struct task *task, const char *root, struct lock *ret_lock, struct err *reterr) MUST_CHECK;
enum err_code lock_read(const char *path, struct lock *ret_lock, struct err *reterr) MUST_CHECK;
enum err_code lock_write(const struct lock *lock, const char *path, struct err *reterr) MUST_CHECK;
/* One line a difference; empty when equal. */
void lock_compare(const struct lock *expected, const struct lock *found, struct strbuf *ret_differences);
/* The locked files that are gone, in the same form: where a pattern's only file is, lock_compute() fails. */
void lock_list_missing(const struct lock *lock, const char *root, struct strbuf *ret_differences);
void lock_release(struct lock *lock);

#endif

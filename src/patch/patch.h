/*
 * Patches: unified diffs, lists of edits and git branches -> canonical diffs. Only editable files may change;
 * no path may escape; no mode, symlink, submodule, rename or binary surprises; syntax must not get worse; one
 * step may not change more lines than the task allows.
 *
 * A patch may be written on top of others (its base). Its canonical diff is then against the snapshot all the
 * same and has the base's lines in it, so it goes together with the base's patches and with no patch that
 * conflicts with them. The limit of lines counts what it adds to its base.
 */
#ifndef INFRARSI_PATCH_PATCH_H
#define INFRARSI_PATCH_PATCH_H

#include "base/base.h"
#include "base/memory.h"

struct task;
struct strbuf;

struct patch {
	const char *name;              /* file stem, or the branch */
	const char *source;            /* path it came from */
	const char *title, *mechanism; /* NULL = none */
	const char **phases;
	size_t n_phases;
	bool has_predicted;
	double predicted_gain_ln;
	const char *diff;   /* canonical diff text (git's own, 3 lines of context, no index lines) */
	char digest[65];    /* SHA-256 of it */
	const char **files; /* what it changes */
	size_t n_files;
	size_t step_lines; /* lines added and removed, without those of its base */
};

enum patch_format {
	PATCH_DIFF,  /* docs/patches.md, "Diffs" */
	PATCH_EDITS, /* edits.h */
};
struct patch_text {
	const char *name; /* what messages call it */
	enum patch_format format;
	const char *text;
	size_t length;
};

/* Canonical diffs that a patch builds on. */
struct patch_base {
	const char *const *diffs;
	size_t count;
};

/* Applies the text to a scratch copy of the tree (commit, prefix), on top of `base` (NULL = none), and makes
 * the canonical diff. Where it does not fit there it may fit the tree without the base, as a whole diff that
 * repeats the base's lines does. ERR_INPUT explains what is wrong with it, with the line in it; ERR_LIMIT
 * what is too much. Result strings live in `arena`. */
enum err_code patch_parse(const struct task *task, const char *commit, const char *prefix,
	const struct patch_text *text, const struct patch_base *base, struct arena *arena,
	struct patch *ret_patch, struct err *reterr) MUST_CHECK;

/* Where a pool comes from: a folder or branches. */
struct patch_source {
	const char *dir; /* NULL = none */
	const char *const *branches;
	size_t n_branches;
};

struct patch_pool {
	struct arena arena;
	struct patch *patches;
	size_t n_patches;
	/* What could not be used: one line each, for the ledger and the user. */
	struct patch_refusal {
		const char *name, *reason;
	} * refused;
	size_t n_refused;
	const char **conflicts; /* n_patches * n_patches: why two do not go together; NULL = they do */
};
/* All *.diff, *.patch and *.edits.json of the folders, sorted by name, and the branches, in the order of the
 * sources. */
enum err_code patch_pool_read(const struct task *task, const char *commit, const char *prefix,
	const struct patch_source *sources, size_t n_sources, struct patch_pool *ret_pool,
	struct err *reterr) MUST_CHECK;
void patch_pool_release(struct patch_pool *pool);

/* True when two canonical diffs of one snapshot do not go together; the reason names file and hunks. */
enum err_code patch_conflict(const char *a_name, const char *a_diff, const char *b_name, const char *b_diff,
	bool *ret_conflict, struct strbuf *reason, struct err *reterr) MUST_CHECK;

/* The diffs of a stack as they apply one after another: each against the snapshot with those before it. A
 * diff whose changes the ones before it have is "". Texts that need not change are those given; others live
 * in `arena`. ERR_INPUT when two conflict. */
enum err_code patch_stack_diffs(const char *root, const char *commit, const char *prefix,
	const char *const *names, const char *const *diffs, size_t count, struct arena *arena,
	const char **ret_diffs, struct err *reterr) MUST_CHECK;
/* The same with files, for what applies them by path. A diff that changes is written beside the one that it
 * comes from, under its digest; the path of an empty one is NULL. */
enum err_code patch_stack_files(const char *root, const char *commit, const char *prefix,
	const char *const *names, const char *const *paths, size_t count, struct arena *arena,
	const char **ret_paths, struct err *reterr) MUST_CHECK;

#endif

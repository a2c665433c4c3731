/*
 * Patches: unified diffs from outside (a folder of diffs, later models) -> canonical diffs. Only editable
 * files may change; no path may escape; no mode, symlink, submodule, rename or binary surprises; syntax must
 * not get worse.
 *
 * A diff file may begin with `# key: value` lines: title, mechanism, phases (comma list), predicted (e.g.
 * 5%).
 */
#ifndef INFRARSI_PATCH_PATCH_H
#define INFRARSI_PATCH_PATCH_H

#include "base/base.h"
#include "base/memory.h"

struct task;
struct strbuf;

struct patch {
	const char *name;              /* file stem */
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
};

/* Applies `text` to a scratch copy of the tree (commit, prefix) and makes the canonical diff. ERR_INPUT
 * explains what is wrong with the diff, with the line in it. Result strings live in `arena`. */
enum err_code patch_parse(const struct task *task, const char *commit, const char *prefix, const char *name,
	const char *text, size_t length, struct arena *arena, struct patch *ret_patch,
	struct err *reterr) MUST_CHECK;

struct patch_pool {
	struct arena arena;
	struct patch *patches;
	size_t n_patches;
	/* What could not be used: one line each, for the ledger and the user. */
	struct patch_refusal {
		const char *name, *reason;
	} * refused;
	size_t n_refused;
	bool *conflicts; /* n_patches * n_patches: do not apply together */
};
/* All *.diff and *.patch of a folder, sorted by name. */
enum err_code patch_pool_read(const struct task *task, const char *commit, const char *prefix,
	const char *dir, struct patch_pool *ret_pool, struct err *reterr) MUST_CHECK;
void patch_pool_release(struct patch_pool *pool);

#endif

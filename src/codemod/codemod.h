/*
 * Codemods: rewrites of the job's own sources that a careful engineer would try first. Each says when it
 * applies, refuses where it is not sure, and gives a patch like any other: it is checked, audited, built,
 * measured and verified before anything is believed.
 *
 *     struct codemod_result result;
 *     TRY(codemod_run(files, n_files, &arena, &result, reterr));
 *
 * A codemod is a row in codemod.c's table and a file.
 */
#ifndef INFRARSI_CODEMOD_CODEMOD_H
#define INFRARSI_CODEMOD_CODEMOD_H

#include "base/base.h"
#include "patch/syntax.h"

struct arena;

struct codemod_file {
	const char *path, *text; /* relative to the task's folder */
	size_t length;
};

struct codemod_info {
	const char *name, *title;
	const char *mechanism; /* of the catalogue */
	const char *phases;    /* comma-separated */
	const char *when;      /* for a person: where it applies and what it refuses */
	enum language language;
	bool starts_slowly; /* what it adds does its work once, before the first update is over: it compiles
			     */
};

struct codemod_proposal {
	const struct codemod_info *info;
	const char *diff; /* unified */
	int n_places;
};

struct codemod_refusal { /* a place that looks like one and is not safe to change */
	const struct codemod_info *info;
	const char *path, *reason;
	int line;
};

struct codemod_result { /* in the arena */
	struct codemod_proposal *proposals;
	size_t n_proposals;
	struct codemod_refusal *refusals;
	size_t n_refusals;
};

/* Files in other languages, or that do not parse without errors, are left alone. */
enum err_code codemod_run(const struct codemod_file *files, size_t n_files, struct arena *arena,
	struct codemod_result *ret_result, struct err *reterr) MUST_CHECK;

const struct codemod_info *codemod_list(size_t index);     /* NULL behind the last */
const struct codemod_info *codemod_find(const char *name); /* NULL = there is none */

#endif

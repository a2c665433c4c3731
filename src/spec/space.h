/*
 * What can be searched. A lever is a knob or a patch; a candidate gives one setting index to every lever.
 * Levers are the task's knobs in file order and behind them the patches in the order in which they entered
 * the campaign; a patch has the settings 0 = off (its reference) and 1 = on. A candidate made when the space
 * was smaller stays valid: levers that came later are at their reference.
 *
 * Legality (invariants, conflicts, patch merges) is decided here, before anything is scored or launched.
 */
#ifndef INFRARSI_SPEC_SPACE_H
#define INFRARSI_SPEC_SPACE_H

#include "base/base.h"
#include "base/memory.h"

struct task;
struct strbuf;

struct patch_lever {
	const char *digest; /* SHA-256 hex of the canonical diff */
	const char *name;   /* for people: the file's stem */
	const char *title, *mechanism;
	double predicted_gain_ln;
	bool has_predicted_gain;
	const char **phases;
	size_t n_phases;
};

struct space {
	struct arena arena;
	const struct task *task;           /* borrowed; outlives the space */
	const struct patch_lever *patches; /* copied into the arena */
	size_t n_patches;
	size_t n_levers;                /* n_knobs + n_patches */
	size_t *n_settings, *reference; /* per lever */
	/* Pairs of patch indices that cannot be applied together; symmetric, n_patches * n_patches. */
	bool *patch_conflicts;
	struct expression_set *expressions; /* compiled Lua; owned */
};

struct candidate {
	size_t n_levers;
	int *setting; /* per lever; owned by malloc */
};
#define CANDIDATE_INIT                                                                                       \
	{                                                                                                    \
		0, NULL                                                                                      \
	}

/* patch_conflicts: n_patches * n_patches flags, or NULL for none. */
enum err_code space_init(struct space *ret_space, const struct task *task, const struct patch_lever *patches,
	size_t n_patches, const bool *patch_conflicts, struct err *reterr) MUST_CHECK;
void space_release(struct space *space);

void candidate_release(struct candidate *c);
void candidate_reference(struct candidate *c, const struct space *space);
void candidate_copy(struct candidate *to, const struct candidate *from);
/* Also between candidates of a smaller and a larger space: levers that came later are off. */
bool candidate_equal(const struct candidate *a, const struct candidate *b);
bool candidate_is_reference(const struct candidate *c, const struct space *space);

/* An expression that cannot be evaluated for these settings forbids them. ret_legal false: *ret_reason (may
 * be NULL) says which invariant, conflict or patch pair forbids it, with its line. */
enum err_code space_is_legal(const struct space *space, const int *setting, bool *ret_legal,
	struct strbuf *ret_reason, struct err *reterr) MUST_CHECK;

/* {"settings":{"knob":"text",...},"patches":["digest",...]}: all knobs, sorted keys, compact. docs/formats.md
 */
void candidate_to_json(const struct candidate *c, const struct space *space, struct strbuf *json);
/* A knob that is not named is at its reference; unknown knobs, settings, patches and keys are errors. */
enum err_code candidate_from_json(const char *json, const struct space *space,
	struct candidate *ret_candidate, struct err *reterr) MUST_CHECK;
/* SHA-256 of the canonical JSON of what differs from the reference: stable when levers are added later. */
void candidate_signature(const struct candidate *c, const struct space *space, char ret_hex[65]);
/* "matmul=blas threads=2 +03-fused-norm": what differs from `base` (NULL = the reference), or "reference". */
void candidate_describe(const struct candidate *c, const struct candidate *base, const struct space *space,
	struct strbuf *text);

/* The resolved launch of a candidate: templates, derived knobs and expressions evaluated. Strings live in
 * `arena`. */
struct resolved {
	const char **build_argv;        /* NULL-terminated; NULL = no build step */
	const char **build_env;         /* "NAME=value" */
	const char **argv;              /* NULL-terminated */
	const char **env;               /* "NAME=value", without pass_env */
	const char **derived;           /* "name=value" */
	double micro_batch, grad_accum; /* 0 where the task has no such names */
};
enum err_code space_resolve(const struct space *space, const struct candidate *c, struct arena *arena,
	struct resolved *ret_resolved, struct err *reterr) MUST_CHECK;
/* SHA-256 over the resolved build command and environment: the build-settings part of a build's cache key. */
void resolved_build_key(const struct resolved *r, char ret_hex[65]);

#endif

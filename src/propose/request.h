/*
 * What a proposer is asked: one JSON object (docs/proposers.md) that says what the job is, what may be
 * changed, what was tried and how it went, and what is wanted. Programs get it as it is; models get it as a
 * prompt (prompt.h). It holds no secret: the job's environment is not in it, and text from logs is data in
 * JSON strings.
 */
#ifndef INFRARSI_PROPOSE_REQUEST_H
#define INFRARSI_PROPOSE_REQUEST_H

#include <jansson.h>

#include "base/base.h"
#include "state/state.h"

struct wanted { /* each 0 or false = none of these */
	int configurations, patches;
	bool priors;
	const char *review_patch; /* name of a patch that waits for a review; NULL = none */
};

struct source_file { /* an editable file, for patches */
	const char *path, *text;
	size_t length;
};

struct request_input {
	const struct state *state;
	struct wanted wanted;
	const struct source_file *files;
	size_t n_files;
	const char *review_diff, *review_digest; /* of wanted.review_patch; the digest is not told */
	const bool *patch_gone; /* by patch lever: no longer at hand; may be shorter than the space */
	size_t n_patch_gone;
};

/* A new object; numbers that are not known are absent. */
json_t *request_to_json(const struct request_input *in);
/* A finished trial, as an item of the request's "trials". */
json_t *request_trial_to_json(const struct state *s, const struct trial *t);

#endif

/*
 * The catalogue as a proposer: no network and no model. Codemods over the editable files of the snapshot
 * become patches in .infrarsi/proposed/<name>/ for patches_gather(); what is published of the knobs'
 * mechanisms becomes priors and expected conflicts, by value, once a campaign.
 */
#ifndef INFRARSI_CAMPAIGN_CATALOGUE_H
#define INFRARSI_CAMPAIGN_CATALOGUE_H

#include "base/base.h"
#include "campaign/answers.h"

/* Nothing where the task has no proposer of kind catalogue, or where it was carried out already. */
enum err_code catalogue_propose(struct campaign *c, struct err *reterr) MUST_CHECK;

/* A trial that is held for its wall time alone, whose patches are all the catalogue's own, one of them one
 * that compiles, is accepted: that cost is known, and its cause is no stranger's code. (Settings by
 * themselves are not held for wall time: docs/verify.md.) Every other review holds it as before. */
enum err_code catalogue_accept_start(struct campaign *c, int trial, struct err *reterr) MUST_CHECK;

/* What the catalogue knows of the task's knobs: gains of settings for which the task declares none, and pairs
 * that do not go together. In `arena`. */
struct catalogue_knowledge {
	struct proposed_prior *priors;
	size_t n_priors;
	struct known_conflict *conflicts;
	size_t n_conflicts;
};
enum err_code catalogue_know(const struct campaign *c, struct arena *arena,
	struct catalogue_knowledge *ret_knowledge, struct err *reterr) MUST_CHECK;

#endif

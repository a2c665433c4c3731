/* What the machine under an execution says about it: whose memory, whose disk, whose frozen files. */
#ifndef INFRARSI_CAMPAIGN_HOST_H
#define INFRARSI_CAMPAIGN_HOST_H

#include "base/base.h"
#include "campaign/trial_int.h"

/* True when the memory seen from outside is what the contract's cap is about: this machine has no
 * accelerator, and no reference run (of the first one: itself) reports memory of a device. A candidate that
 * begins to report some does not change that; one that no longer does fails as not reporting. */
bool device_is_host(const struct reference_set *refs, const struct receipt *r);
/* True when what a job put into its folder since it was built, or gave back with its end, is at least half of
 * the space that went: then it filled the disk itself. */
bool job_filled_disk(const struct run_outcome *outcome, const char *build_dir, const char *trial_dir);
/* True when a reference run itself left frozen files touched (frozen.h): a candidate does no more. */
bool reference_is_touched(const struct state *s);
/* Adds a review of the harness's own to the verifier's; "" adds nothing. */
void verdict_add_review(struct verdict *v, const char *review);

#endif

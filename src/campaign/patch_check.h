/*
 * What would become of a patch, told before it is handed in: it is parsed against the snapshot and read by
 * the audit as `run` will do it, and nothing is recorded. Works on a campaign that was opened for reading.
 *
 *     struct patch_check check = {0};
 *     TRY(patch_check(&c, &text, &check, reterr));
 *     if (*check.refused_by)
 *             say check.reason
 *     patch_check_release(&check);
 */
#ifndef INFRARSI_CAMPAIGN_PATCH_CHECK_H
#define INFRARSI_CAMPAIGN_PATCH_CHECK_H

#include "audit/audit.h"
#include "base/base.h"
#include "campaign/campaign.h"
#include "patch/patch.h"

struct patch_check { /* strings live in its arena */
	struct arena arena;
	const char *refused_by;     /* "patch", "hook", "audit"; "" = it would be let in */
	const char *reason;         /* of that; safe to show */
	const char *known_as;       /* the campaign has the same change under this name; NULL = it has not */
	struct patch patch;         /* where it could be parsed (digest not "") */
	struct audit_report report; /* findings, those for a review too */
};

/* ERR_INPUT and the like only where the harness could not do its own work; a patch that is not let in is no
 * error. */
enum err_code patch_check(struct campaign *c, const struct patch_text *text, struct patch_check *ret_check,
	struct err *reterr) MUST_CHECK;
/* The second half: whether a patch that was parsed, check->patch, would be let in. Fills refused_by and
 * reason where it would not, else the report. */
enum err_code patch_judge(struct campaign *c, struct patch_check *check, struct err *reterr) MUST_CHECK;
void patch_check_release(struct patch_check *check);

#endif

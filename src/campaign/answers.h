/* What proposers say, put into the campaign: patches become files of .infrarsi/proposed/<proposer>/, from
 * where they go the way of every patch; everything else is one entry of the ledger, by value. */
#ifndef INFRARSI_CAMPAIGN_ANSWERS_H
#define INFRARSI_CAMPAIGN_ANSWERS_H

#include "base/base.h"
#include "campaign/campaign.h"
#include "propose/answer.h"
#include "propose/cost.h"

struct known_conflict { /* of two settings; the catalogue's */
	int lever_a, setting_a, lever_b, setting_b;
	const char *reason;
};

struct given_answer {
	const char *proposer;        /* name in the task, or of what hands it in */
	const struct answer *answer; /* NULL = there is none, and `failure` says why */
	const char *failure;
	const struct chat_cost *cost; /* NULL = nobody was asked */
	bool is_outsider;             /* it came by the inbox */
	bool measure;                 /* its configurations are run, whatever the search makes of them */
	const char *shown_patch;      /* digest of the patch that it was asked to review; NULL or "" = none */
	const struct known_conflict *conflicts;
	size_t n_conflicts;
};
/* The entry and the files are durable when it returns. The state is loaded again; new patches are taken up
 * by patches_gather(). */
enum err_code answers_record(
	struct campaign *c, const struct given_answer *given, struct err *reterr) MUST_CHECK;

/* "3 configurations, 2 patches, 5 priors; 1 dropped: configurations[0]: there is no ..." */
void answers_describe(const struct answer *answer, struct strbuf *text);

/* .infrarsi/proposed/<proposer>; by malloc. */
char *answers_patch_folder(const struct campaign *c, const char *proposer);

#endif

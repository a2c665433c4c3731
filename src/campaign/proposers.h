/*
 * Who is asked, when, and for what. Every proposer that can be asked is before the first trial; then after
 * `every` finished trials, and sooner where what it believed turned out wrong: two failed trials, or one that
 * was expected to work. An answer that cannot be used costs tokens and never a trial, and the search goes on
 * without it. Whoever fails three times in a row is left alone until the next call of `run`.
 *
 *     struct consulting consulting = {0};
 *     TRY(proposers_check(c, reterr));
 *     ... before each decision:
 *     TRY(proposers_consult(c, &consulting, &news, reterr));
 */
#ifndef INFRARSI_CAMPAIGN_PROPOSERS_H
#define INFRARSI_CAMPAIGN_PROPOSERS_H

#include <jansson.h>

#include "base/base.h"
#include "campaign/campaign.h"
#include "propose/request.h"

enum { PROPOSERS_MAX = 64 };

struct consulting { /* what this call of `run` remembers of each of the task's proposers */
	struct {
		bool asked, closed;
		int failures;
	} of[PROPOSERS_MAX];
};

/* ERR_STATE where one of them cannot be asked at all: before anything was spent. */
enum err_code proposers_check(const struct campaign *c, struct err *reterr) MUST_CHECK;

/* Asks whoever is due, and takes in what lies in the inbox. *ret_news: something was recorded, and there may
 * be new patches. ERR_INTERRUPTED when the user stopped it. */
enum err_code proposers_consult(
	struct campaign *c, struct consulting *consulting, bool *ret_news, struct err *reterr) MUST_CHECK;

/* What this proposer would be asked now. The texts of the request live in `arena`; release it with
 * json_decref(). */
enum err_code proposers_request(struct campaign *c, const struct proposer *p, struct arena *arena,
	json_t **ret_request, struct err *reterr) MUST_CHECK;

#endif

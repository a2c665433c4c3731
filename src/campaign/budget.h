/*
 * What a search may still spend, and whether another trial is worth its price. Device-seconds, builds
 * included: a build holds the devices of its trial.
 *
 * Of a budget of device-hours or wall time one duel of promotion is kept: twice its pairs in reference runs,
 * since a winner takes less; and a confirmation over more updates, where one is wanted.
 */
#ifndef INFRARSI_CAMPAIGN_BUDGET_H
#define INFRARSI_CAMPAIGN_BUDGET_H

#include "base/base.h"
#include "base/strbuf.h"
#include "campaign/campaign.h"

/* Mean cost of a trial so far; of a reference run before the first. */
double budget_trial_price_s(const struct state *s);
/* What promotion of one finalist is expected to cost. */
double budget_reserve_s(const struct campaign *c);

/* SEARCH_OVER_NONE: another trial fits into the task's budget; else which part of it ends the search, and
 * what to say. */
enum search_over_why budget_ends_search(const struct campaign *c, struct strbuf *text);

struct worth_of_trial {
	double saving_s, price_s; /* device-seconds; saving NAN = nobody can tell */
};
struct worth_of_trial budget_worth(const struct campaign *c, const struct decision *d);
bool budget_is_worth_it(const struct worth_of_trial *w);
void budget_describe_worth(const struct campaign *c, const struct worth_of_trial *w, struct strbuf *text);

/* Records that the search is over, so that resuming and the report know why. Nothing where the ledger says
 * the same already. */
enum err_code budget_record_end(
	struct campaign *c, enum search_over_why why, const char *text, struct err *reterr) MUST_CHECK;

#endif

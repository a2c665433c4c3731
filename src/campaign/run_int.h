/* Shared by the two loops of the search: one trial after another (run.c), several at once (run_parallel.c).
 */
#ifndef INFRARSI_CAMPAIGN_RUN_INT_H
#define INFRARSI_CAMPAIGN_RUN_INT_H

#include "base/base.h"
#include "base/strbuf.h"
#include "campaign/narrow.h"
#include "campaign/proposers.h"
#include "campaign/stages.h"
#include "campaign/trial.h"

struct search {
	struct campaign *c;
	const struct run_options *options;
	const struct strategy *strategy;
	struct narrowing narrowing;
	int budget;
	int transient_in_a_row;
	bool stops_not_worth, worth_said;
	struct consulting consulting;
};

void search_note(struct campaign *c, const char *text);
/* Asks proposers that are due, takes what came unasked, and takes up new patches. */
enum err_code search_consult(struct search *run, struct err *reterr) MUST_CHECK;
/* Decides, or takes up the decision that a crash left unregistered. *ret_id 0: the search is over, and
 * *ret_why and text say why. */
enum err_code search_decide(struct search *run, int64_t *ret_id, enum search_over_why *ret_why,
	struct strbuf *text, struct err *reterr) MUST_CHECK;
/* The signature is in the ledger before anything runs: no candidate is ever tried twice by accident. */
enum err_code search_register(struct search *run, int64_t decision_id, struct candidate *ret_candidate,
	int *ret_number, struct err *reterr) MUST_CHECK;
/* What people see of the trial that was registered last; `nth` of the budget. */
void search_label(const struct search *run, const struct candidate *candidate, int nth, struct strbuf *label);
/* Fills what a stage or a trial's end tells of the search as a whole. */
void search_fill_progress(const struct search *run, struct progress *p);
void search_report_trial(struct search *run, int number);
/* After the end of a trial's execution, which is reported: an error where the search cannot go on. */
enum err_code search_take_end(
	struct search *run, int number, enum execute_end end, struct err *reterr) MUST_CHECK;
/* Ends before the number of trials is used: said, and recorded. */
enum err_code search_end(
	struct search *run, enum search_over_why why, const char *text, struct err *reterr) MUST_CHECK;

/* The whole search with options->parallel trials at once. */
enum err_code search_run_parallel(struct search *run, struct err *reterr) MUST_CHECK;

#endif

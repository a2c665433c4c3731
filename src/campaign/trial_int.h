/* Shared by the files of one execution: environment and resolution (trial_prepare.c), the receipt
 * (trial_receipt.c), the flow (trial.c). */
#ifndef INFRARSI_CAMPAIGN_TRIAL_INT_H
#define INFRARSI_CAMPAIGN_TRIAL_INT_H

#include "base/base.h"
#include "campaign/trial.h"

struct preparation { /* all strings in `arena` */
	struct arena arena;
	const struct execute_request *request;
	int64_t seq;
	char nonce[33];
	struct resolved resolved;
	const char *control_dir;
	const char **job_env;      /* complete environment, NULL-terminated */
	const char **recorded_env; /* what the receipt may show: no passed-through values */
	size_t n_recorded_env;
	const char **build_env;
	const char **diff_paths, **diff_digests; /* NULL-terminated */
	const char **hidden, **shown;            /* NULL-terminated, as in struct run_request */
	const char *
		scratch; /* HOME and TMPDIR where /tmp is everybody's; NULL = the job has a /tmp of its own */
	const char **inputs; /* the same, all of them: ignored ones are linked into builds */
	const char **frozen; /* NULL-terminated, relative */
	const char *log_path, *log_relative, *receipt_path, *receipt_relative;
	char build_key[65];
};

enum err_code preparation_init(struct campaign *c, const struct execute_request *request,
	struct preparation *ret_p, struct err *reterr) MUST_CHECK;
void preparation_release(struct preparation *p);

/* The reference receipts that a run is compared with; *ret_receipts by malloc, each to be released. */
struct reference_set {
	struct receipt *receipts;
	const struct receipt **valid; /* borrowed */
	size_t n;
};
enum err_code reference_set_load(
	struct campaign *c, struct reference_set *ret_set, struct err *reterr) MUST_CHECK;
void reference_set_release(struct reference_set *set);

/* Everything in the receipt that is known before the run: terms, candidate, command, environment, references.
 */
enum err_code receipt_fill_before(struct campaign *c, const struct preparation *p,
	const struct reference_set *refs, struct receipt *r, struct err *reterr) MUST_CHECK;
/* What the run said and how it ended. The frozen files are frozen_watch_end()'s. */
enum err_code receipt_fill_after(const struct preparation *p, struct run_outcome *outcome, struct receipt *r,
	struct err *reterr) MUST_CHECK;
enum err_code receipt_fill_build_failure(const struct preparation *p, const struct build_result *build,
	struct receipt *r, struct err *reterr) MUST_CHECK;

#endif

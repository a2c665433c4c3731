/* Shared by the files of one execution: environment and resolution (trial_prepare.c), the receipt
 * (trial_receipt.c), what is done without the ledger (trial_work.c), the flow (trial.c). */
#ifndef INFRARSI_CAMPAIGN_TRIAL_INT_H
#define INFRARSI_CAMPAIGN_TRIAL_INT_H

#include <jansson.h>

#include "base/base.h"
#include "campaign/early_stop.h"
#include "campaign/row_journal.h"
#include "campaign/trial.h"

struct preparation { /* all strings in `arena` */
	struct arena arena;
	const struct execute_request *request;
	struct task
		task; /* as this execution runs it: with more updates, for a confirmation; borrowed strings */
	int64_t seq;
	char nonce[33];
	struct resolved resolved;
	const char *control_dir;
	const char **job_env;      /* complete environment, NULL-terminated */
	const char **recorded_env; /* what the receipt may show: no passed-through values */
	size_t n_recorded_env;
	const char **build_env;
	const char *cpus;      /* its slot's; NULL = any */
	const char *slot;      /* its slot as the ledger names it; "" = the task declares none */
	const char **slot_env; /* what tells the job its slot, NULL-terminated; part of the two above */
	const char **diff_paths, **diff_digests; /* NULL-terminated */
	const char **hidden, **shown;            /* NULL-terminated, as in struct run_request */
	const char *
		scratch; /* HOME and TMPDIR where /tmp is everybody's; NULL = the job has a /tmp of its own */
	const char **inputs; /* the same, all of them: ignored ones are linked into builds */
	const char **frozen; /* NULL-terminated, relative */
	const char *log_path, *log_relative;
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
/* Those that a run of this role is compared with: of doctor, or of the confirmation that is under way. */
enum err_code reference_set_load(struct campaign *c, enum receipt_role role, struct reference_set *ret_set,
	struct err *reterr) MUST_CHECK;
void reference_set_release(struct reference_set *set);

/* Everything in the receipt that is known before the run: terms, candidate, command, environment, references.
 */
enum err_code receipt_fill_before(struct campaign *c, const struct preparation *p,
	const struct reference_set *refs, struct receipt *r, struct err *reterr) MUST_CHECK;
/* What the run said and how it ended. The frozen files are frozen_watch_end()'s. */
enum err_code receipt_fill_after(const struct preparation *p, struct run_outcome *outcome, struct receipt *r,
	struct err *reterr) MUST_CHECK;
/* Its place in the chain, which is told by when it is sealed: behind the last receipt. */
void receipt_take_place(const struct campaign *c, const struct preparation *p, struct receipt *r);
enum err_code receipt_fill_build_failure(const struct preparation *p, const struct build_result *build,
	struct receipt *r, struct err *reterr) MUST_CHECK;

struct trial_job {
	struct campaign *c;
	struct preparation p;
	struct reference_set refs;
	struct receipt receipt;
	json_t *started; /* body of its entry */
	/* Copies of what the state says, which may be another one when they are needed. */
	double stall_limit_s;
	double reference_eval; /* NAN = none yet */
	int transients;        /* ends of this candidate in a fault of the host so far */
	bool reference_is_touched;
	/* The unpatched reference, in which an evaluation runs; where one is configured. */
	bool has_reference;
	struct candidate reference_candidate;
	struct execute_request reference_request;
	struct preparation reference;
	/* While it works. */
	double started_s;
	int update;
	bool is_watched; /* the job itself runs, not its build: it may be stopped early */
	struct early_stop_watch watch;
	/* What the work came to. */
	enum err_code code;
	struct err fault;
	bool stopped;           /* by the user, or because the search was given up */
	bool sealed;            /* the receipt exists: from here on the execution counts */
	struct row_journal row; /* what the ledger row needs beside the receipt */
	double device_s;        /* spent, for an execution that leaves no receipt */
};
/* The user, or whoever watches it, wants it to end. */
bool trial_is_told_to_stop(const struct trial_job *job);

#endif

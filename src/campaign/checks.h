/*
 * The contract's conditional checks, run by the harness after a run that ended well: the user's tests, the
 * evaluation, and resuming from a checkpoint (docs/task-file.md). Their results go into the receipt.
 */
#ifndef INFRARSI_CAMPAIGN_CHECKS_H
#define INFRARSI_CAMPAIGN_CHECKS_H

#include "base/base.h"
#include "campaign/trial_int.h"

struct checks_request {
	const char *run_dir;       /* the run's folder as the job left it */
	const char *reference_dir; /* a fresh copy of the unpatched reference build, for the evaluation; NULL
				      = no evaluation */
	double reference_eval;     /* mean of the reference runs' evaluations; NAN = none yet */
	const char *work_dir;      /* for logs and control files: <control>/checks */
	run_progress_fn progress;  /* false = stop the check that runs */
	void *context;
};

/* True when the task configures the evaluation, which wants a reference build. */
bool checks_want_reference(const struct campaign *c);
/* Of the runs that one of this role is held against; NAN = none yet. */
double checks_reference_eval(const struct state *s, enum receipt_role role);
/* Fills r->tests_passed, eval_difference and resume_difference of what is configured. *ret_eval: the
 * evaluation's value, NAN without one. *ret_device_s: what the checks cost. *ret_stopped: the user stopped
 * them. */
enum err_code checks_run(struct campaign *c, const struct preparation *p,
	const struct checks_request *request, struct receipt *r, double *ret_eval, double *ret_device_s,
	bool *ret_stopped, struct err *reterr) MUST_CHECK;

#endif

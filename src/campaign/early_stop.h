/*
 * Stops search trials from the update events as they come: those that are far slower than the reference
 * (stats/far_slower.h) and, where it is asked for, those that are slower than the best so far
 * (stats/early_stop.h). What is stopped is recorded as that and never valid.
 *
 *     struct early_stop_watch watch;
 *     TRY(early_stop_begin(c, request, &watch, reterr));
 *     ... early_stop_update(&watch, update, arrived_s) ... until it says stop
 *     early_stop_fill(&watch, receipt)
 *     early_stop_end(&watch)
 *
 * All zero is a watch that never stops anything.
 */
#ifndef INFRARSI_CAMPAIGN_EARLY_STOP_H
#define INFRARSI_CAMPAIGN_EARLY_STOP_H

#include "base/base.h"
#include "campaign/trial.h"
#include "stats/early_stop.h"
#include "stats/far_slower.h"

struct early_stop_watch {
	bool on;          /* the test against the best so far */
	bool stopped;     /* it said stop: a run that the runner stopped was stopped by it */
	bool is_far;      /* for being far slower than the reference */
	double stopped_s; /* when the update arrived that decided it */
	struct far_slower far;
	int warmup, updates;
	int last_update; /* 0 = none yet */
	double last_arrived_s;
	struct early_stop test;
};

/* Off unless the trial is one of the search and the reference was measured; the test against the best so far
 * also unless the task or the command line asks for it. */
enum err_code early_stop_begin(const struct campaign *c, const struct execute_request *request,
	struct early_stop_watch *ret_watch, struct err *reterr) MUST_CHECK;
/* Of the first rank, as it arrived. True: stop the job. */
bool early_stop_update(struct early_stop_watch *watch, int update, double arrived_s);
/* For a run that was stopped here. Whatever it printed then is no cause: told to stop, a job may say or do
 * anything, and its end is not its own. */
void early_stop_fill(const struct early_stop_watch *watch, struct receipt *r);
void early_stop_end(struct early_stop_watch *watch);

#endif

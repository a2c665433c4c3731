/*
 * Several executions at once, one a device slot. Only the thread that owns the pool touches ledger and state:
 * it begins and ends them; what lies between (trial_work) is done in a thread each.
 *
 *     struct pool pool;
 *     TRY(pool_init(&pool, c, 2, reterr));
 *     while ((slot = pool_free_slot(&pool)) >= 0)
 *             TRY(pool_start(&pool, slot, &order, reterr));
 *     TRY(pool_wait(&pool, &ended, reterr));
 *     pool_release(&pool);      stops what still runs, and records that
 */
#ifndef INFRARSI_CAMPAIGN_POOL_H
#define INFRARSI_CAMPAIGN_POOL_H

#include <pthread.h>

#include "base/base.h"
#include "campaign/trial.h"

struct pool_worker {
	bool is_busy;
	_Atomic bool is_done;
	pthread_t thread;
	struct trial_job *job;
	struct execute_request request;
	struct trial_monitor monitor;
	struct candidate candidate;
	char *label;
	const char *slot; /* as people name it */
	int wake_fd;
};

struct pool {
	struct campaign *c;
	int n_workers;
	struct pool_worker *workers; /* by slot; they do not move */
	struct progress_running *running;
	int wake[2]; /* written by a thread that is done */
	bool stop_seen;
	bool broken; /* a record could not be written: what still ends is left for reconciling */
};

struct pool_order {
	enum receipt_role role;
	int trial; /* 0 = none of the search */
	const struct candidate *candidate;
	const char *label; /* both are copied */
};

struct pool_ended {
	int slot, trial;
	enum execute_end end;
};

enum err_code pool_init(struct pool *pool, struct campaign *c, int n_workers, struct err *reterr) MUST_CHECK;
void pool_release(struct pool *pool);
int pool_free_slot(const struct pool *pool); /* -1 = none */
int pool_busy(const struct pool *pool);
/* Refreshes the state, which then knows that it runs. */
enum err_code pool_start(
	struct pool *pool, int slot, const struct pool_order *order, struct err *reterr) MUST_CHECK;
/* Until one of those that run is done; records its end. Progress is reported meanwhile. */
enum err_code pool_wait(struct pool *pool, struct pool_ended *ret_ended, struct err *reterr) MUST_CHECK;
/* All that run; for what is reported by others. */
void pool_fill_progress(struct pool *pool, struct progress *p);

#endif

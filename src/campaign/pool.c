#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "campaign/pool.h"
#include "campaign/slots.h"

enum { LOOK_MS = 250 }; /* how often progress is looked at */

enum err_code pool_init(struct pool *pool, struct campaign *c, int n_workers, struct err *reterr)
{
	size_t n = (size_t)n_workers;
	*pool = (struct pool){.c = c, .n_workers = n_workers, .wake = {-1, -1}};
	if (pipe2(pool->wake, O_CLOEXEC | O_NONBLOCK) != 0)
		return err_errno(reterr, "cannot create a pipe");
	pool->workers = xcalloc(n, sizeof(*pool->workers));
	pool->running = xcalloc(n, sizeof(*pool->running));
	for (size_t i = 0; i < n; i++) {
		pool->workers[i].slot = slot_text(&c->task.launch.slots[i], &c->arena);
		pool->workers[i].wake_fd = pool->wake[1];
	}
	return OK;
}

int pool_free_slot(const struct pool *pool)
{
	for (int i = 0; i < pool->n_workers; i++)
		if (!pool->workers[i].is_busy)
			return i;
	return -1;
}

int pool_busy(const struct pool *pool)
{
	int n = 0;
	for (int i = 0; i < pool->n_workers; i++)
		n += pool->workers[i].is_busy;
	return n;
}

static void *work(void *context)
{
	struct pool_worker *w = context;
	trial_work(w->job);
	atomic_store(&w->is_done, true);
	(void)!write(w->wake_fd, "x", 1); /* a full pipe wakes as well */
	return NULL;
}

/* Signals are the owner's: a worker that took one would leave it waiting. */
static int start_thread(struct pool_worker *w)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int error = pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error;
}

static void forget(struct pool_worker *w)
{
	candidate_release(&w->candidate);
	free(w->label);
	w->label = NULL;
	w->job = NULL;
	w->is_busy = false;
}

enum err_code pool_start(struct pool *pool, int slot, const struct pool_order *order, struct err *reterr)
{
	struct pool_worker *w = &pool->workers[slot];
	candidate_copy(&w->candidate, order->candidate);
	w->label = xstrdup(order->label);
	atomic_store(&w->monitor.update, 0);
	atomic_store(&w->monitor.abandon, false);
	atomic_store(&w->is_done, false);
	w->request = (struct execute_request){.role = order->role,
		.trial = order->trial,
		.candidate = &w->candidate,
		.label = w->label,
		.slot = slot,
		.at_once = pool->n_workers,
		.monitor = &w->monitor};
	enum err_code code = trial_begin(pool->c, &w->request, &w->job, reterr);
	int error = code == OK ? start_thread(w) : 0;
	if (code != OK || error != 0) {
		/* Its start is recorded and has no end; opening the campaign again gives it one. */
		if (error != 0)
			code = err_set(reterr, ERR_FAILED, "cannot start a thread: %s", strerror(error));
		trial_forget(w->job);
		forget(w);
		return code;
	}
	w->is_busy = true;
	return campaign_refresh(pool->c, reterr);
}

void pool_fill_progress(struct pool *pool, struct progress *p)
{
	p->running = pool->running;
	p->n_running = 0;
	for (int i = 0; i < pool->n_workers; i++) {
		struct pool_worker *w = &pool->workers[i];
		if (w->is_busy)
			pool->running[p->n_running++] = (struct progress_running){
				.trial = w->request.trial, .update = atomic_load(&w->monitor.update)};
	}
}

static void report(struct pool *pool)
{
	struct progress p = {.kind = PROGRESS_UPDATE,
		.text = "",
		.updates = pool->c->task.contract.updates,
		.best_ln = NAN,
		.eta_s = NAN};
	pool_fill_progress(pool, &p);
	campaign_report_progress(pool->c, &p);
}

static int find_done(const struct pool *pool)
{
	for (int i = 0; i < pool->n_workers; i++)
		if (pool->workers[i].is_busy && atomic_load(&pool->workers[i].is_done))
			return i;
	return -1;
}

/* The lowest of those that are done. */
static enum err_code wait_for_one(struct pool *pool, int *ret_slot, struct err *reterr)
{
	char bytes[64];
	while ((*ret_slot = find_done(pool)) < 0) {
		struct pollfd fds[2] = {{pool->wake[0], POLLIN, 0},
			{pool->stop_seen ? -1 : pool->c->options.stop_fd, POLLIN, 0}};
		if (poll(fds, 2, LOOK_MS) < 0 && errno != EINTR)
			return err_errno(reterr, "poll failed");
		/* It stays readable; those who run see it for themselves. */
		pool->stop_seen |= fds[1].revents != 0;
		while (read(pool->wake[0], bytes, sizeof(bytes)) > 0)
			;
		report(pool);
	}
	return OK;
}

enum err_code pool_wait(struct pool *pool, struct pool_ended *ret_ended, struct err *reterr)
{
	int slot;
	enum execute_end end = EXECUTE_FINISHED;
	TRY(wait_for_one(pool, &slot, reterr));
	struct pool_worker *w = &pool->workers[slot];
	pthread_join(w->thread, NULL);
	enum err_code code = trial_end_take(w->job, &end, reterr);
	pool->broken |= code != OK;
	*ret_ended = (struct pool_ended){slot, w->request.trial, end};
	forget(w);
	return code;
}

void pool_release(struct pool *pool)
{
	struct err ignored = ERR_INIT;
	enum execute_end end;
	for (int i = 0; i < pool->n_workers; i++)
		atomic_store(&pool->workers[i].monitor.abandon, true);
	for (int i = 0; i < pool->n_workers; i++) {
		struct pool_worker *w = &pool->workers[i];
		if (!w->is_busy)
			continue;
		pthread_join(w->thread, NULL);
		/* Behind a record that failed, the next one would take its place in the chain. */
		if (pool->broken || trial_end_take(w->job, &end, &ignored) != OK) {
			if (pool->broken)
				trial_forget(w->job);
			pool->broken = true;
		}
		forget(w);
	}
	close_fd(&pool->wake[0]);
	close_fd(&pool->wake[1]);
	free(pool->workers);
	free(pool->running);
	*pool = (struct pool){.wake = {-1, -1}};
}

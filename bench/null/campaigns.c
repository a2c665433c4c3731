#include "base/base.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "null.h"
#include "simulate/fast_campaign.h"

/* Its noise and its job: of the level and the arm by what they are, so that a campaign is the same whatever
 * else is run beside it. A campaign keeps seeds from 1 to 2^53 - 1. */
static uint64_t seed_of(const struct null_options *o, double sigma_pair, const struct arm *arm, int campaign)
{
	struct random random;
	char purpose[64];
	snprintf(purpose, sizeof(purpose), "null %g %s", sigma_pair, arm->name);
	random_init(&random, o->seed, purpose, (uint64_t)campaign);
	return (random_u64(&random) >> 11) | 1;
}

static void keep(const struct fast_campaign *c, struct null_campaign *ret)
{
	const struct fast_outcome *o = &c->outcomes[0];
	ret->promoted = o->delivered;
	ret->is_false = o->delivered && !(o->true_ln > 0);
	ret->was_finalist = o->best_finalist_ln > 0;
	for (int t = 0; t < c->n_trials; t++)
		ret->was_found |= c->trials[t].true_ln > 0;
	ret->claimed_ln = o->claimed_ln;
	ret->duel_ln = o->duel_ln;
	ret->true_ln = o->true_ln;
	ret->promotion_s = o->promotion_s;
	ret->reference_s = c->reference_s / SIMULATED_REFERENCE_RUNS;
}

static void run_campaign(const struct null_options *o, double sigma_pair, const struct arm *arm, int index,
	struct null_campaign *ret)
{
	struct simulated_job job;
	struct fast_campaign campaign;
	struct err e = ERR_INIT;
	uint64_t seed = seed_of(o, sigma_pair, arm, index);
	null_job_init(&job, arm, sigma_pair, seed);
	struct fast_options options = {.job = &job,
		.strategy = strategy_find("controller"),
		.seed = seed,
		.budgets = &o->trials,
		.n_budgets = 1};
	if (fast_campaign_run(&options, &campaign, &e) == OK) {
		keep(&campaign, ret);
		fast_campaign_release(&campaign);
	} else {
		snprintf(ret->error, sizeof(ret->error), "%.*s", ERROR_SIZE - 1, e.message);
	}
	simulated_job_release(&job);
	ret->done = 1;
}

static NORETURN void work(
	const struct null_options *o, struct null_campaign *campaigns, size_t n, size_t *next)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		size_t index = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
		if (index >= n)
			_exit(0);
		size_t cell = index / (size_t)o->campaigns, arms = (size_t)o->n_arms;
		run_campaign(o, o->levels[cell / arms], o->arms[cell % arms],
			(int)(index % (size_t)o->campaigns), &campaigns[index]);
	}
}

static enum err_code wait_for(int workers, struct err *reterr)
{
	bool all_well = true;
	for (int i = 0; i < workers; i++) {
		int status;
		all_well &= wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return all_well ? OK : err_set(reterr, ERR_FAILED, "a worker died");
}

static void *share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

enum err_code null_run(const struct null_options *o, struct null_campaign **ret_campaigns, struct err *reterr)
{
	size_t n = (size_t)o->n_levels * (size_t)o->n_arms * (size_t)o->campaigns;
	struct null_campaign *campaigns = share(n * sizeof(*campaigns));
	size_t *next = share(sizeof(*next));
	if (!campaigns || !next)
		return err_errno(reterr, "cannot share memory for %zu campaigns", n);
	for (int i = 0; i < o->jobs; i++) {
		pid_t pid = fork();
		if (pid == 0)
			work(o, campaigns, n, next);
		if (pid < 0) {
			enum err_code code = err_errno(reterr, "cannot start a worker");
			__atomic_store_n(next, n, __ATOMIC_RELAXED); /* the others end */
			struct err ignored = ERR_INIT;
			(void)!wait_for(i, &ignored);
			return code;
		}
	}
	TRY(wait_for(o->jobs, reterr));
	for (size_t i = 0; i < n; i++)
		if (*campaigns[i].error)
			return err_set(reterr, ERR_FAILED, "campaign %zu: %s", i, campaigns[i].error);
	*ret_campaigns = campaigns;
	return OK;
}
